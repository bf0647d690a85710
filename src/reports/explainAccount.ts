import type { Session } from '../db/session.js';
import { toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import { debtUpTo, payableBefore, payableEntries, type PayableEntry } from '../ledger/payableViews.js';
import { accountOrders, accountOrdersLeft } from '../orders/reportQueries.js';
import { minimumPayoutText } from '../terms/accountTerms.js';
import { payoutDue, type PayoutDue } from '../terms/payout.js';
import { basisPointsText } from '../terms/rate.js';
import { payableEffect } from '../terms/termsLine.js';
import { effectsOfAccount, lastDayOf, termsOfAccount, type EffectView } from '../terms/termsViews.js';

/** A line of the arithmetic from orders to payable; the amounts of a currency add up to what the day made payable. */
export interface ExplainedStep {
  /** Type of the orders, or what the terms did. */
  reason: string;
  /** Channel of the orders; the day whose reserve or debt it is. */
  of: string | null;
  orders: number | null;
  amountMinor: bigint;
}

export interface ExplainedCurrency extends PayoutDue {
  currency: string;
  steps: ExplainedStep[];
  dayMinor: bigint;
  beforeMinor: bigint;
  payableMinor: bigint;
  /** What the account owes after the day, from this day and earlier ones: kept back from what is due. */
  debtMinor: bigint;
}

export interface ExplainedTerms {
  /** The account itself, or `*`. */
  of: string;
  validFrom: BatchDay;
  version: number;
  feePlan: string | null;
  reserveBasisPoints: string;
  reserveDays: number;
  minimumPayout: string;
  payoutHold: boolean;
  payoutDelayDays: number;
}

export interface ExplainedAccount {
  accountNo: string;
  state: string;
  batchDay: BatchDay;
  terms: ExplainedTerms | null;
  currencies: ExplainedCurrency[];
  /** Orders of the day that are not posted: not part of any of this. */
  ordersLeft: number;
  entries: PayableEntry[];
}

const noPayoutTerms = { minimumPayout: new Map<string, bigint>(), payoutHold: false, payoutDelayDays: 0 };

/**
 * How an account's day came to what is payable, as the tables tell it. The day is the last one of which it was settled,
 * unless given. Throws NOT_FOUND for an account that is not registered, or was never settled.
 */
export async function explainAccount(
  session: Session,
  accountNo: string,
  wanted: BatchDay | undefined,
): Promise<ExplainedAccount> {
  const [account] = await session.rows('select state from account where account_no = ?', [accountNo]);
  const batchDay = wanted ?? (await lastDayOf(session, accountNo));
  if (account === undefined || batchDay === null) {
    const what = account === undefined ? 'is not registered' : 'was never settled';
    throw new SettleError('NOT_FOUND', `Account ${accountNo} ${what}.`, {
      details: { accountNo },
      next: account === undefined ? 'settle import accounts FILE' : 'settle run',
    });
  }
  const terms = await termsOfAccount(session, batchDay, accountNo);
  const entries = await payableEntries(session, accountNo, batchDay);
  const before = await payableBefore(session, accountNo, batchDay);
  const debts = await debtUpTo(session, accountNo, batchDay);
  const effects = await effectsOfAccount(session, batchDay, accountNo);
  const orders = await accountOrders(session, batchDay, accountNo);
  const names = [...orders, ...entries, ...effects].map(({ currency }) => currency);
  const currencies = [...new Set([...names, ...before.keys()])].sort().map((currency): ExplainedCurrency => {
    const own = <Row extends { currency: string }>(rows: readonly Row[]): Row[] =>
      rows.filter((row) => row.currency === currency);
    const steps = [
      ...own(orders).map(({ type, channel, orders: count, netMinor }) => ({
        reason: type,
        of: channel,
        orders: count,
        amountMinor: netMinor,
      })),
      ...feeSteps(own(entries)),
      ...effectSteps(own(effects)),
      ...otherSteps(own(entries)),
    ];
    const dayMinor = own(entries).reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
    const beforeMinor = before.get(currency) ?? 0n;
    const payableMinor = beforeMinor + dayMinor;
    const debtMinor = debts.get(currency) ?? 0n;
    const due = payoutDue(payableMinor - debtMinor, currency, batchDay, terms ?? noPayoutTerms);
    return { currency, steps, dayMinor, beforeMinor, payableMinor, debtMinor, ...due };
  });
  return {
    accountNo,
    state: toText(account['state']),
    batchDay,
    terms:
      terms === null
        ? null
        : {
            of: terms.accountNo,
            validFrom: terms.validFrom,
            version: terms.version,
            feePlan: terms.feePlan,
            reserveBasisPoints: basisPointsText(terms.reserveRate),
            reserveDays: terms.reserveDays,
            minimumPayout: minimumPayoutText(terms.minimumPayout),
            payoutHold: terms.payoutHold,
            payoutDelayDays: terms.payoutDelayDays,
          },
    currencies,
    ordersLeft: await accountOrdersLeft(session, batchDay, accountNo),
    entries,
  };
}

/** The fees as the ledger booked them. */
function feeSteps(entries: readonly PayableEntry[]): ExplainedStep[] {
  const fees = entries.filter(({ type, reason }) => type === 'SETTLEMENT' && reason === 'FEE_PLAN');
  if (fees.length === 0) return [];
  const amountMinor = fees.reduce((sum, fee) => sum + fee.amountMinor, 0n);
  return [{ reason: 'FEE_PLAN', of: null, orders: null, amountMinor }];
}

function effectSteps(effects: readonly EffectView[]): ExplainedStep[] {
  return effects.map((effect) => ({
    reason: effect.reason,
    of: effect.dueDay ?? effect.originDay,
    orders: null,
    amountMinor: payableEffect(effect),
  }));
}

/** What was booked of the day by hand or for payouts, by the type of the entry. */
function otherSteps(entries: readonly PayableEntry[]): ExplainedStep[] {
  const sums = new Map<string, bigint>();
  for (const { type, amountMinor } of entries) {
    if (type === 'SETTLEMENT' || type === 'TERMS') continue;
    sums.set(type, (sums.get(type) ?? 0n) + amountMinor);
  }
  return [...sums].map(([reason, amountMinor]) => ({ reason, of: null, orders: null, amountMinor }));
}
