import type { Session } from '../db/session.js';
import { toBigInt, toCount, toInstant, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { compareBytes } from '../kernel/ids.js';

export interface QuarantinedAccount {
  accountNo: string;
  batchDay: BatchDay;
  code: string;
  detail: string;
  orders: number;
  runId: bigint;
  since: string;
}

/** Accounts that are set aside now, by day and account number; of one day when given. */
export async function activeQuarantine(session: Session, day?: BatchDay): Promise<QuarantinedAccount[]> {
  const rows = await session.rows(
    `select account_no, batch_day, code, detail, orders, run_id, since from quarantine
      where active = 1 ${day === undefined ? '' : 'and batch_day = ?'}`,
    day === undefined ? [] : [day],
  );
  return rows
    .map((row) => ({
      accountNo: toText(row['account_no']),
      batchDay: toText(row['batch_day']),
      code: toText(row['code']),
      detail: toText(row['detail']),
      orders: toCount(row['orders']),
      runId: toBigInt(row['run_id']),
      since: toInstant(row['since']),
    }))
    .sort((a, b) => compareBytes(a.batchDay, b.batchDay) || compareBytes(a.accountNo, b.accountNo));
}
