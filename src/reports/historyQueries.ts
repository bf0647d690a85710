import type { Session } from '../db/session.js';
import { toCount, toInstant, toInstantOrNull, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { BatchState } from '../kernel/states.js';

/** The last day before another one that has a batch, or null. */
export async function dayBefore(session: Session, day: BatchDay): Promise<BatchDay | null> {
  const [row] = await session.rows('select max(batch_day) as batch_day from batch where batch_day < ?', [day]);
  return row === undefined || row['batch_day'] === null ? null : toText(row['batch_day']);
}

export interface SettledDay {
  batchDay: BatchDay;
  status: BatchState;
  /** Claimed by chunks, late ones too. */
  orders: number;
}

/** The last days up to one that have a batch, oldest first. */
export async function lastDays(session: Session, day: BatchDay, limit: number): Promise<SettledDay[]> {
  const rows = await session.rows(
    `select b.batch_day, b.state,
            (select coalesce(sum(c.orders), 0) from chunk c where c.batch_day = b.batch_day) as orders
       from batch b where b.batch_day <= ? order by b.batch_day desc limit ${String(limit)}`,
    [day],
  );
  return rows.reverse().map((row) => ({
    batchDay: toText(row['batch_day']),
    status: toText(row['state']) as BatchState,
    orders: toCount(row['orders']),
  }));
}

export interface BatchOfMonth {
  batchDay: BatchDay;
  status: BatchState;
  cutOff: string;
  closedAt: string | null;
}

/** Days from one to another, both counted in, that have a batch, oldest first. */
export async function batchesBetween(session: Session, from: BatchDay, until: BatchDay): Promise<BatchOfMonth[]> {
  const rows = await session.rows(
    'select batch_day, state, cut_off, closed_at from batch where batch_day between ? and ? order by batch_day',
    [from, until],
  );
  return rows.map((row) => ({
    batchDay: toText(row['batch_day']),
    status: toText(row['state']) as BatchState,
    cutOff: toInstant(row['cut_off']),
    closedAt: toInstantOrNull(row['closed_at']),
  }));
}

/** The first and the last day that has a batch, or null. */
export async function daysKnown(session: Session): Promise<{ first: BatchDay; last: BatchDay } | null> {
  const [row] = await session.rows('select min(batch_day) as first_day, max(batch_day) as last_day from batch');
  if (row === undefined || row['first_day'] === null) return null;
  return { first: toText(row['first_day']), last: toText(row['last_day']) };
}
