import type { BatchDay } from '../kernel/batchDay.js';
import type { Session, Transaction } from '../db/session.js';
import { fromInstant, oneOfIds, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import { andInShard, type Shard } from '../sharding/shard.js';
import { ledgerTopic } from './message.js';

export interface StoredMessage {
  id: bigint;
  bizNo: string;
  batchDay: BatchDay;
  accountNo: string | null;
  orders: number;
  payload: string;
  attempts: number;
}

/** NEW messages after an id, oldest first. */
export async function newMessages(
  session: Session,
  topic: string,
  afterId: bigint,
  limit: number,
  shard: Shard | null,
): Promise<StoredMessage[]> {
  const rows = await session.tuples(
    `select id, biz_no, batch_day, account_no, orders, payload, attempts
       from outbox
      where state = 'NEW' and id > ? and topic = ? ${andInShard('account_no', shard)}
      order by id
      limit ${String(limit)}`,
    [afterId, topic],
  );
  return rows.map(([id, bizNo, batchDay, accountNo, orders, payload, attempts]) => ({
    id: toBigInt(id),
    bizNo: toText(bizNo),
    batchDay: toText(batchDay),
    accountNo: toTextOrNull(accountNo),
    orders: toCount(orders),
    payload: toText(payload),
    attempts: toCount(attempts),
  }));
}

/** Marks confirmed messages. One that is SENT already stays as it is. */
export async function markSent(trx: Transaction, ids: readonly bigint[], now: string): Promise<number> {
  const list = oneOfIds(trx.dialect, 'id', ids);
  return trx.change(`update outbox set state = 'SENT', sent_at = ? where ${list.sql} and state = 'NEW'`, [
    fromInstant(trx.dialect, now),
    ...list.bindings,
  ]);
}

/** Notes a refused delivery; with `park` the message waits for an operator instead of for the next attempt. */
export async function noteRefusal(trx: Transaction, id: bigint, reason: string, park: boolean): Promise<number> {
  return trx.change(
    `update outbox set attempts = attempts + 1, last_error = ?, state = '${park ? 'PARKED' : 'NEW'}'
      where id = ? and state = 'NEW'`,
    [reason, id],
  );
}

/** Messages of a day to the ledger that are not SENT: waiting or parked. */
export async function unsentMessages(session: Session, day: BatchDay, shard: Shard | null): Promise<number> {
  const [row] = await session.rows(
    `select count(*) as messages from outbox
      where state in ('NEW', 'PARKED') and batch_day = ? and topic = ? ${andInShard('account_no', shard)}`,
    [day, ledgerTopic],
  );
  return toCount(row?.['messages']);
}
