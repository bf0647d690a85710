import { addDays, type BatchDay } from '../kernel/batchDay.js';
import { debtMoves } from './debt.js';
import { halfEven, rateOne, shareOf } from './rate.js';
import { payableEffect, type TermsLine } from './termsLine.js';

/** An account's day in one currency, as far as it matters at its end. */
export interface DayPosition {
  readonly accountNo: string;
  readonly currency: string;
  /** Its nets less the fees on them. */
  readonly netMinor: bigint;
  readonly paymentMinor: bigint;
  readonly reserveRate: bigint;
  readonly reserveDays: number;
}

/** A reserve that is held, or a debt: what is still open of it. */
export interface OpenEffect extends TermsLine {
  readonly reason: 'RESERVE_HOLD' | 'DEBT';
  readonly id: bigint;
  readonly accountNo: string;
  readonly currency: string;
  readonly openMinor: bigint;
  /** How often it was drawn on. */
  readonly draws: number;
}

/** An effect that was booked of an account before, on the same day. */
export interface BookedEffect extends TermsLine {
  readonly accountNo: string;
  readonly currency: string;
}

export interface PlannedEffect extends TermsLine {
  /** Number among those of its account, currency, reason and day; null for one that draws on another. */
  readonly seq: number | null;
  /** What it draws on, and for the how manyth time. */
  readonly of: { id: bigint; no: number; leftMinor: bigint } | null;
  readonly dueDay: BatchDay | null;
}

/** What the terms of an account do at the end of a day: one journal entry. */
export interface AccountEnd {
  readonly accountNo: string;
  readonly currency: string;
  readonly effects: readonly PlannedEffect[];
}

export interface DayEnd {
  readonly day: BatchDay;
  readonly positions: readonly DayPosition[];
  /** Reserves whose day has come. */
  readonly due: readonly OpenEffect[];
  /** Open debts of this day and of earlier ones. */
  readonly debts: readonly OpenEffect[];
  readonly booked: readonly BookedEffect[];
}

/**
 * The end of a day, account by account: reserves that are due are released, the day's own is held, a position that is
 * negative after that becomes a debt, and a positive one pays back debts. Asked again it finds nothing more to do, and
 * after late orders the difference, since it starts from what is booked of the day already.
 */
export function planDayEnd(end: DayEnd): AccountEnd[] {
  const accounts = new Map<string, Known>();
  const at = (accountNo: string, currency: string): Known => {
    const key = `${currency}${accountNo}`;
    let known = accounts.get(key);
    if (known === undefined) {
      known = { accountNo, currency, position: null, due: [], debts: [], booked: [] };
      accounts.set(key, known);
    }
    return known;
  };
  for (const position of end.positions) at(position.accountNo, position.currency).position = position;
  for (const hold of end.due) at(hold.accountNo, hold.currency).due.push(hold);
  for (const debt of end.debts) at(debt.accountNo, debt.currency).debts.push(debt);
  for (const booked of end.booked) at(booked.accountNo, booked.currency).booked.push(booked);
  return [...accounts.values()]
    .map((known) => ({ accountNo: known.accountNo, currency: known.currency, effects: effectsOf(end.day, known) }))
    .filter(({ effects }) => effects.length > 0);
}

interface Known {
  accountNo: string;
  currency: string;
  position: DayPosition | null;
  due: OpenEffect[];
  debts: OpenEffect[];
  booked: BookedEffect[];
}

function effectsOf(day: BatchDay, { position, due, debts, booked }: Known): PlannedEffect[] {
  const effects: PlannedEffect[] = due.map((hold) => drawn('RESERVE_RELEASE', hold, hold.openMinor));
  const bookedOf = (reason: string): BookedEffect[] => booked.filter((effect) => effect.reason === reason);
  const sum = (list: readonly TermsLine[]): bigint => list.reduce((total, { amountMinor }) => total + amountMinor, 0n);
  const started = { originDay: day, of: null };
  if (position !== null) {
    const holds = bookedOf('RESERVE_HOLD');
    const amountMinor = shareOf(position.paymentMinor, position.reserveRate) - sum(holds);
    const dueDay = addDays(day, position.reserveDays);
    const hold = { ...started, reason: 'RESERVE_HOLD', amountMinor, seq: holds.length + 1, dueDay } as const;
    if (amountMinor > 0n) effects.push(hold);
  }
  const payableMinor = [...booked, ...effects].reduce(
    (total, effect) => total + payableEffect(effect),
    position?.netMinor ?? 0n,
  );
  const { newDebtMinor, recoveries } = debtMoves(payableMinor, debts);
  if (newDebtMinor > 0n) {
    const seq = bookedOf('DEBT').length + 1;
    effects.push({ ...started, reason: 'DEBT', amountMinor: newDebtMinor, seq, dueDay: null });
  }
  for (const { debt, amountMinor } of recoveries) effects.push(drawn('DEBT_RECOVERY', debt, amountMinor));
  return effects;
}

function drawn(reason: 'RESERVE_RELEASE' | 'DEBT_RECOVERY', from: OpenEffect, amountMinor: bigint): PlannedEffect {
  const of = { id: from.id, no: from.draws + 1, leftMinor: from.openMinor - amountMinor };
  return { reason, originDay: from.originDay, amountMinor, seq: null, of, dueDay: null };
}

/** The fees of a day in one currency, as charged order by order. */
export interface ChargedFees {
  readonly currency: string;
  readonly feeMinor: bigint;
  readonly rest: bigint;
  /** What of their rounding is booked already. */
  readonly bookedMinor: bigint;
  readonly bookings: number;
}

/** What is to be added to the fee income of a day, so that it is the exact total of the fees, rounded once. */
export function planRounding(
  day: BatchDay,
  { currency, feeMinor, rest, bookedMinor, bookings }: ChargedFees,
): AccountEnd {
  const amountMinor = halfEven(feeMinor * rateOne + rest, rateOne) - feeMinor - bookedMinor;
  const effect = {
    reason: 'FEE_ROUNDING',
    originDay: day,
    amountMinor,
    seq: bookings + 1,
    of: null,
    dueDay: null,
  } as const;
  return { accountNo: '', currency, effects: amountMinor === 0n ? [] : [effect] };
}
