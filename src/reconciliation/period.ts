import type { Session } from '../db/session.js';
import { toBigInt, toText, toTextOrNull } from '../db/values.js';
import type { Checklist } from './checklist.js';
import { listedMax } from './ledgerProof.js';

/** How far the books are closed; null before the first batch. */
export interface Period {
  bookingDay: string | null;
  closedThrough: string | null;
}

export async function readPeriod(session: Session): Promise<Period> {
  const [row] = await session.rows('select booking_day, closed_through from ledger_period where id = 1');
  return {
    bookingDay: toTextOrNull(row?.['booking_day']),
    closedThrough: toTextOrNull(row?.['closed_through']),
  };
}

/** Whether the books of a day are closed: what is missing in them then, no run will make good. */
export function isClosed({ closedThrough }: Period, day: string): boolean {
  return closedThrough !== null && day <= closedThrough;
}

/** The books are closed as far as batches are, and the open day is after every batch. */
export async function checkPeriod(session: Session, checklist: Checklist, period: Period): Promise<void> {
  checklist.examine('period', 1);
  const contradict = (problem: string): void => checklist.contradict('period', 'ledger_period', '1', problem);
  const [row] = await session.rows(
    `select max(batch_day) as opened, max(case when state = 'CLOSED' then batch_day end) as closed from batch`,
  );
  const [opened, closed] = [toTextOrNull(row?.['opened']), toTextOrNull(row?.['closed'])];
  if (closed !== period.closedThrough) {
    contradict(`is closed through ${String(period.closedThrough)}, the last closed batch is that of ${String(closed)}`);
  }
  if (opened !== null && (period.bookingDay === null || period.bookingDay <= opened)) {
    contradict(`books into ${String(period.bookingDay)}, which is not after the batch of ${opened}`);
  }
}

/**
 * The entries of a batch day: in time they are booked on the day itself, after its close on a later day, never on an
 * earlier one. What was posted by a run up to the one that closed the day was in time.
 */
export async function checkBookingDays(
  session: Session,
  checklist: Checklist,
  period: Period,
  batchDay: string,
): Promise<void> {
  const rows = await session.rows(
    `select j.id, j.booking_day
       from journal_entry j left join chain_link l on l.booking_day = j.batch_day
      where j.batch_day = ? and j.booking_day <> j.batch_day
        and (j.booking_day < j.batch_day or (j.type in ('SETTLEMENT', 'TERMS') and (${
          isClosed(period, batchDay) ? 'j.run_id <= l.run_id' : '1 = 1'
        })))
      order by j.id limit ${String(listedMax)}`,
    [batchDay],
  );
  for (const row of rows) {
    const bookingDay = toText(row['booking_day']);
    const when = bookingDay < batchDay ? 'before its business' : 'although its own day was open';
    const problem = `of ${batchDay} is booked on ${bookingDay}, ${when}`;
    checklist.contradict('period', 'journal_entry', String(toBigInt(row['id'])), problem);
  }
}
