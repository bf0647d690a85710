import type { Session } from '../db/session.js';
import { toBigInt, toCount, toInstant, toInstantOrNull, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { Payout } from './payout.js';
import { payoutColumns, toPayout } from './queries.js';

/**
 * The payouts of the first batch day from a day on that paid an account out in a currency: what was payable on the day is
 * in them. Empty while there is none.
 */
export async function firstPayoutsFrom(
  session: Session,
  accountNo: string,
  currency: string,
  day: BatchDay,
): Promise<Payout[]> {
  const rows = await session.rows(
    `select ${payoutColumns} from payout p where p.account_no = ? and p.currency = ? and p.batch_day >= ?
      order by p.batch_day, p.seq limit 100`,
    [accountNo, currency, day],
  );
  const payouts = rows.map(toPayout);
  return payouts.filter(({ batchDay }) => batchDay === payouts[0]?.batchDay);
}

/** Why what is payable to an account is not planned, by the last plan; null where it is, or nothing is payable. */
export async function carriedOf(
  session: Session,
  accountNo: string,
  currency: string,
): Promise<{ batchDay: BatchDay; amountMinor: bigint; reason: string } | null> {
  const [row] = await session.rows(
    `select batch_day, amount_minor, reason from payout_carried
      where batch_day = (select max(batch_day) from payout_plan) and account_no = ? and currency = ?`,
    [accountNo, currency],
  );
  if (row === undefined) return null;
  return {
    batchDay: toText(row['batch_day']),
    amountMinor: toBigInt(row['amount_minor']),
    reason: toText(row['reason']),
  };
}

/** The payment file in which a payout went to a bank; null where it went in none. */
export async function paymentFileOf(
  session: Session,
  payoutId: bigint,
): Promise<{
  fileName: string;
  messageId: string;
  payments: number;
  createdAt: string;
  writtenAt: string | null;
} | null> {
  const [row] = await session.rows(
    `select f.file_name, f.message_id, f.payments, f.created_at, f.written_at
       from payment_file_entry e join payment_file f on f.channel = e.channel and f.file_no = e.file_no
      where e.payout_id = ?`,
    [payoutId],
  );
  if (row === undefined) return null;
  return {
    fileName: toText(row['file_name']),
    messageId: toText(row['message_id']),
    payments: toCount(row['payments']),
    createdAt: toInstant(row['created_at']),
    writtenAt: toInstantOrNull(row['written_at']),
  };
}
