import type { Binding, Transaction } from '../db/session.js';
import { fromInstant, placeholders, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { toJson } from '../kernel/json.js';
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

/** What another part of the program is to do once the transaction is committed; it does it once for each number. */
export interface Task {
  readonly topic: string;
  readonly bizNo: string;
  readonly batchDay: BatchDay;
  readonly accountNo: string | null;
  /** JSON; money in it as text. */
  readonly payload: string;
}

/** Adds a task inside the transaction that makes it due. */
export async function appendTask(trx: Transaction, task: Task, now: string): Promise<void> {
  const { topic, bizNo, batchDay, accountNo, payload } = task;
  const createdAt = fromInstant(trx.dialect, now);
  await trx.insertMany('outbox', columns, [[topic, bizNo, batchDay, accountNo, 0, payload, 'NEW', createdAt]]);
}

/** Something that a person must look at. Carries no account number of a bank, no secret, and no answer as it came. */
export interface Alert {
  /** One per cause: a second alert under the same number is not written. */
  readonly bizNo: string;
  readonly batchDay: BatchDay;
  readonly accountNo: string;
  /** What happened, in fields that a program can read; `suggestedAction` is a command to type. */
  readonly content: { readonly code: string; readonly suggestedAction: string } & Readonly<
    Record<string, string | null>
  >;
}

export const alertTopic = 'ALERT';

/** Adds alerts inside the transaction that makes them true, each once. */
export async function appendAlerts(trx: Transaction, alerts: readonly Alert[], now: string): Promise<void> {
  if (alerts.length === 0) return;
  const numbers = alerts.map(({ bizNo }) => bizNo);
  const known = await trx.tuples(`select biz_no from outbox where biz_no in (${placeholders(numbers)})`, numbers);
  const told = new Set(known.map(([bizNo]) => toText(bizNo)));
  const createdAt = fromInstant(trx.dialect, now);
  await trx.insertMany(
    'outbox',
    columns,
    alerts
      .filter(({ bizNo }) => !told.has(bizNo))
      .map(({ bizNo, batchDay, accountNo, content }): Binding[] => {
        return [alertTopic, bizNo, batchDay, accountNo, 0, toJson({ v: 1, ...content }), 'NEW', createdAt];
      }),
  );
}
