import type { Binding, Transaction } from '../db/session.js';
import { fromInstant } from '../db/values.js';
import { encodePayload, ledgerTopic, type SettlementMessage } from './message.js';

const columns = ['topic', 'biz_no', 'batch_day', 'account_no', 'orders', 'payload', 'state', 'created_at'];

/** Adds messages to the outbox inside the transaction that makes them true: both are committed or neither is. */
export async function appendOutbox(
  trx: Transaction,
  messages: Iterable<SettlementMessage>,
  now: string,
): Promise<void> {
  await trx.insertMany('outbox', columns, outboxRows(messages, fromInstant(trx.dialect, now)));
}

function* outboxRows(messages: Iterable<SettlementMessage>, createdAt: string): Generator<Binding[]> {
  for (const message of messages) {
    const { bizNo, batchDay, accountNo, orderIds } = message;
    yield [ledgerTopic, bizNo, batchDay, accountNo, orderIds.length, encodePayload(message), 'NEW', createdAt];
  }
}
