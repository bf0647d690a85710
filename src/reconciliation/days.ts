import { isBatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import type { Session } from '../db/session.js';
import { toBigInt, toCount, toText } from '../db/values.js';

export interface BatchRow {
  batchDay: string;
  state: string;
  topId: bigint;
  /** Rows of the day at or below `topId` when it was closed; null while it is open. */
  ordersAtClose: number | null;
}

/** Batch days that have a batch, oldest first. */
export async function batchDays(session: Session): Promise<string[]> {
  return (await session.rows('select batch_day from batch order by batch_day')).map((row) => toText(row['batch_day']));
}

export async function findBatch(session: Session, batchDay: string): Promise<BatchRow | undefined> {
  const [row] = await session.rows('select state, top_id, orders_at_close from batch where batch_day = ?', [batchDay]);
  if (row === undefined) return undefined;
  const counted = row['orders_at_close'];
  return {
    batchDay,
    state: toText(row['state']),
    topId: toBigInt(row['top_id']),
    ordersAtClose: counted === null ? null : toCount(counted),
  };
}

/** Whether the day is closed and its last run left nothing to do: what is missing then, no run will make good. */
export async function closedWell(session: Session, { batchDay, state }: BatchRow): Promise<boolean> {
  if (state !== 'CLOSED') return false;
  const [row] = await session.rows('select state from run where batch_day = ? order by id desc limit 1', [batchDay]);
  return row === undefined || toText(row['state']) === 'OK';
}

/** The batch of a day. Errors: USAGE for what is no day, NOT_FOUND with the days that there are. */
export async function requireBatch(session: Session, batchDay: string): Promise<BatchRow> {
  if (!isBatchDay(batchDay)) {
    throw new SettleError('USAGE', `"${batchDay}" is not a day.`, { next: 'Write it as 2026-11-29.' });
  }
  const batch = await findBatch(session, batchDay);
  if (batch !== undefined) return batch;
  const days = await batchDays(session);
  const known = days.slice(-20);
  throw new SettleError('NOT_FOUND', `No batch has been run for ${batchDay}.`, {
    details: { batchDay, days: known },
    next: known.length === 0 ? 'settle run' : `Days that there are: ${known.join(', ')}`,
  });
}

const tablesByDay = [
  ...['chunk', 'journal_entry', 'source_total'].map((table) => [table, 'batch_day'] as const),
  ...['journal_entry', 'account_balance', 'general_balance', 'chain_link'].map(
    (table) => [table, 'booking_day'] as const,
  ),
];

/**
 * Every day that any money table with an index by day names, oldest first: a row moved to a day without a batch must be
 * looked at too. Goes from day to day, since counting distinct values would read each index whole.
 */
export async function everyDay(session: Session): Promise<string[]> {
  const days = new Set(await batchDays(session));
  // A table of others has days of before our time; what was settled of it is in chunks.
  const { own, table: orders } = session.source;
  for (const [table, column] of own ? [[orders, 'batch_day'] as const, ...tablesByDay] : tablesByDay) {
    let last = '1000-01-01';
    for (;;) {
      const [row] = await session.rows(`select min(${column}) as day from ${table} where ${column} > ?`, [last]);
      if (row?.['day'] === null || row?.['day'] === undefined) break;
      last = toText(row['day']);
      days.add(last);
    }
  }
  return [...days].sort();
}
