import type { Transaction } from '../db/session.js';
import { fromInstant } from '../db/values.js';
import { encodePayload, ledgerTopic, type SettlementMessage } from './message.js';

const columns = ['topic', 'biz_no', 'batch_day', 'account_no', 'orders', 'payload', 'state', 'created_at'];

/** Adds messages to the outbox inside the transaction that makes them true: both are committed or neither is. */
export async function appendOutbox(
  trx: Transaction,
  messages: readonly SettlementMessage[],
  now: string,
): Promise<void> {
  const createdAt = fromInstant(trx.dialect, now);
  await trx.insertMany(
    'outbox',
    columns,
    messages.map((message) => [
      ledgerTopic,
      message.bizNo,
      message.batchDay,
      message.accountNo,
      message.orderIds.length,
      encodePayload(message),
      'NEW',
      createdAt,
    ]),
  );
}
