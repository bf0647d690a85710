import type { Session, Transaction } from '../db/session.js';
import { toTextOrNull } from '../db/values.js';
import { addDays, type BatchDay } from '../kernel/batchDay.js';

/** How far the books are closed. Both are null before the first batch. */
export interface LedgerPeriod {
  /** On this day is booked what no run books on its own day: it is after every day whose batch was opened. */
  readonly bookingDay: BatchDay | null;
  /** Nothing more is booked on a day up to this one. */
  readonly closedThrough: BatchDay | null;
}

export async function ledgerPeriod(session: Session): Promise<LedgerPeriod> {
  return readPeriod(session, '');
}

async function readPeriod(session: Session, lock: string): Promise<LedgerPeriod> {
  const [row] = await session.rows(`select booking_day, closed_through from ledger_period where id = 1 ${lock}`);
  return {
    bookingDay: toTextOrNull(row?.['booking_day']),
    closedThrough: toTextOrNull(row?.['closed_through']),
  };
}

/**
 * The period, held until the transaction ends: no batch of its booking day is opened before, so what is booked on it is
 * there when that batch makes its balances. A node of a Galera cluster heeds no lock of another, so there the row is written.
 */
export async function holdPeriod(trx: Transaction): Promise<LedgerPeriod> {
  if (trx.clustered) await trx.change('update ledger_period set version = version + 1 where id = 1');
  return readPeriod(trx, trx.dialect === 'sqlite' ? '' : 'lock in share mode');
}

/** Whether a day takes no more entries. */
export function isClosed({ closedThrough }: LedgerPeriod, day: BatchDay): boolean {
  return closedThrough !== null && day <= closedThrough;
}

/** A batch of the day is opened: from now on only its own run books on this day, everybody else on a later one. */
export async function openDay(trx: Transaction, day: BatchDay): Promise<void> {
  const next = addDays(day, 1);
  await trx.change(
    'update ledger_period set booking_day = ?, version = version + 1 where id = 1 and (booking_day is null or booking_day < ?)',
    [next, next],
  );
}

/** The books are closed up to and with the day. */
export async function closeDay(trx: Transaction, day: BatchDay): Promise<void> {
  await trx.change(
    `update ledger_period set closed_through = ?, version = version + 1
      where id = 1 and (closed_through is null or closed_through < ?)`,
    [day, day],
  );
}

/** Days up to and with `until` that have journal entries and are not closed, in order. */
export async function bookedDays(
  session: Session,
  { closedThrough }: LedgerPeriod,
  until: BatchDay,
): Promise<BatchDay[]> {
  const days: BatchDay[] = [];
  for (let last = closedThrough ?? '1000-01-01'; ;) {
    const [row] = await session.rows(
      'select min(booking_day) as day from journal_entry where booking_day > ? and booking_day <= ?',
      [last, until],
    );
    const day = toTextOrNull(row?.['day']);
    if (day === null) return days;
    days.push(day);
    last = day;
  }
}
