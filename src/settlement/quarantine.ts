import type { BatchDay } from '../kernel/batchDay.js';
import type { Session, Transaction } from '../db/session.js';
import { fromInstant, oneOfIds, toBigInt, toText } from '../db/values.js';
import { andInShard, type Shard } from '../sharding/shard.js';

/** Why an account was set aside for a day. Closed set, mirrored by a CHECK. */
export type QuarantineCode =
  | 'ACCOUNT_UNKNOWN'
  | 'ACCOUNT_FROZEN'
  | 'ACCOUNT_CLOSED'
  | 'DATABASE_REFUSED'
  | 'REVERSAL_REFUSED'
  | 'TERMS_NOT_APPLICABLE';

export interface SetAside {
  accountNo: string;
  code: QuarantineCode;
  detail: string;
  orders: number;
}

/** Accounts that wait for a person on this day. */
export async function quarantinedAccounts(
  session: Session,
  day: BatchDay,
  shard: Shard | null = null,
): Promise<string[]> {
  const rows = await session.rows(
    `select account_no from quarantine where batch_day = ? and active = 1 ${andInShard('account_no', shard)}`,
    [day],
  );
  return rows.map((row) => toText(row['account_no']));
}

export async function insertQuarantine(
  trx: Transaction,
  day: BatchDay,
  runId: bigint,
  accounts: readonly SetAside[],
  now: string,
): Promise<void> {
  const known = new Set(await quarantinedAccounts(trx, day));
  await trx.insertMany(
    'quarantine',
    ['batch_day', 'account_no', 'code', 'detail', 'orders', 'run_id', 'since', 'active'],
    accounts
      .filter((account) => !known.has(account.accountNo))
      .map((account) => [
        day,
        account.accountNo,
        account.code,
        account.detail,
        account.orders,
        runId,
        fromInstant(trx.dialect, now),
        1,
      ]),
  );
}

/** Writes how many orders of each set-aside account are left, as the sweep counted them. */
export async function recountQuarantine(
  trx: Transaction,
  day: BatchDay,
  orders: ReadonlyMap<string, number>,
): Promise<void> {
  for (const accountNo of await quarantinedAccounts(trx, day)) {
    await trx.change(
      'update quarantine set orders = ? where batch_day = ? and account_no = ? and active = 1 and orders <> ?',
      [orders.get(accountNo) ?? 0, day, accountNo, orders.get(accountNo) ?? 0],
    );
  }
}

/** Days in [from, before] on which an account was released and no run has tried again since. */
export async function releasedDays(session: Session, from: BatchDay, upTo: BatchDay): Promise<BatchDay[]> {
  const rows = await session.rows(
    `select distinct batch_day from quarantine
      where active is null and retried_run_id is null and batch_day >= ? and batch_day <= ? order by batch_day`,
    [from, upTo],
  );
  return rows.map((row) => toText(row['batch_day']));
}

/** Rows of accounts that were released for the day and that no run has tried again since. */
export async function releasedAccounts(session: Session, day: BatchDay): Promise<bigint[]> {
  const rows = await session.rows(
    'select id from quarantine where batch_day = ? and active is null and retried_run_id is null order by id',
    [day],
  );
  return rows.map((row) => toBigInt(row['id']));
}

/** The run has tried these released accounts again; one that was released while it worked waits for the next. */
export async function noteRetried(trx: Transaction, released: readonly bigint[], runId: bigint): Promise<void> {
  if (released.length === 0) return;
  const ids = oneOfIds(trx.dialect, 'id', released);
  await trx.change(`update quarantine set retried_run_id = ? where ${ids.sql}`, [runId, ...ids.bindings]);
}
