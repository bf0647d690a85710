import type { Database } from '../db/database.js';
import type { Session } from '../db/session.js';
import { discrepanciesOpenAt, type OpenAt } from '../discrepancies/views.js';
import { addDays, daysIn, type BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import { compareBytes } from '../kernel/ids.js';
import { settledTotals } from '../orders/reportQueries.js';
import { payoutTotalsBetween, type PayoutTotal } from '../payouts/views.js';
import { activeQuarantine, type QuarantinedAccount } from '../settlement/quarantineViews.js';
import { totalsByCurrency, type CurrencyTotals } from './currencyTotals.js';
import { batchesBetween, daysKnown, type BatchOfMonth } from './historyQueries.js';
import { ledgerHead, type LedgerHead } from './ledgerQueries.js';

export interface MonthDay extends Omit<BatchOfMonth, 'cutOff'> {
  totals: CurrencyTotals[];
}

/** The roll-up of a month as data. Amounts are minor units. */
export interface MonthReport {
  /** "2026-11" */
  month: string;
  /** Days of the month that have a batch, oldest first. */
  days: MonthDay[];
  /** Sums over all days, per currency. */
  totals: CurrencyTotals[];
  /** Days of the month that were begun and are not closed now. */
  notClosed: BatchDay[];
  /** Business days of the month, between the first and the last day that was ever settled, without a batch. */
  withoutBatch: BatchDay[];
  /** Accounts of these days that are set aside now. */
  quarantined: QuarantinedAccount[];
  /** Payouts of the days of the month, as they stand now. */
  payouts: PayoutTotal[];
  /** The end of the month: when its last day that has a batch was closed, or its cut-off while it is not. */
  endsAt: string;
  /** Discrepancies of days up to then that were open at that moment, by class. */
  discrepancies: OpenAt[];
  /** The newest link of the hash chain on a day of the month. */
  ledgerHead: (LedgerHead & { batchDay: BatchDay }) | null;
}

/**
 * What the database says about the days of a month, from one snapshot; the same facts give the same report. Reads the
 * orders of one day at a time. Throws NOT_FOUND for a month without any batch.
 */
export async function collectMonth(
  database: Database,
  month: string,
  isBusinessDay: (day: BatchDay) => boolean,
): Promise<MonthReport> {
  const all = daysOf(month);
  const [from, until] = [all[0] as BatchDay, all[all.length - 1] as BatchDay];
  return database.snapshot(async (session) => {
    const batches = await batchesBetween(session, from, until);
    const last = batches[batches.length - 1];
    const known = await daysKnown(session);
    if (last === undefined || known === null) throw noBatch(month, known);
    const endsAt = last.closedAt ?? last.cutOff;
    const days: MonthDay[] = [];
    for (const { cutOff: _, ...batch } of batches) {
      days.push({ ...batch, totals: totalsByCurrency(await settledTotals(session, batch.batchDay)) });
    }
    const begun = new Set(batches.map(({ batchDay }) => batchDay));
    return {
      month,
      days,
      totals: sumOf(days.flatMap(({ totals }) => totals)),
      notClosed: days.filter(({ status }) => status !== 'CLOSED').map(({ batchDay }) => batchDay),
      withoutBatch: all.filter(
        (day) => day >= known.first && day <= known.last && !begun.has(day) && isBusinessDay(day),
      ),
      quarantined: (await activeQuarantine(session)).filter(({ batchDay }) => begun.has(batchDay)),
      payouts: await payoutTotalsBetween(session, from, until),
      endsAt,
      discrepancies: await discrepanciesOpenAt(session, until, endsAt),
      ledgerHead: await lastHead(session, batches),
    };
  });
}

/** Every day of a month, "2026-11". */
export function daysOf(month: string): BatchDay[] {
  const [year = 0, no = 1] = month.split('-').map(Number);
  return Array.from({ length: daysIn(year, no) }, (_, at) => addDays(`${month}-01`, at));
}

async function lastHead(session: Session, batches: readonly BatchOfMonth[]): Promise<MonthReport['ledgerHead']> {
  for (const { batchDay } of [...batches].reverse()) {
    const head = await ledgerHead(session, batchDay);
    if (head !== null) return { ...head, batchDay };
  }
  return null;
}

const amounts = ['grossMinor', 'refundMinor', 'feeMinor', 'adjustmentMinor', 'netMinor'] as const;

/** Totals of several days added up, per currency in order of its code. */
export function sumOf(totals: readonly CurrencyTotals[]): CurrencyTotals[] {
  const sums = new Map<string, CurrencyTotals>();
  for (const total of totals) {
    const sum = sums.get(total.currency);
    if (sum === undefined) sums.set(total.currency, { ...total });
    else {
      sum.orders += total.orders;
      for (const amount of amounts) sum[amount] += total[amount];
    }
  }
  return [...sums.values()].sort((a, b) => compareBytes(a.currency, b.currency));
}

function noBatch(month: string, known: { last: BatchDay } | null): SettleError {
  const newest = known === null ? null : known.last.slice(0, 7);
  const said =
    newest === null ? 'No day has been settled yet.' : `The newest day that has one is ${known?.last ?? ''}.`;
  return new SettleError('NOT_FOUND', `No day of ${month} has a batch. ${said}`, {
    details: { month, newestMonth: newest },
    next: newest === null ? 'settle run' : `settle report --month ${newest}`,
  });
}
