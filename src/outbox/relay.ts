import type { Database } from '../db/database.js';
import { failureKind } from '../db/failure.js';
import { repeatable } from '../db/transaction.js';
import type { Transaction } from '../db/session.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { withinShardTime, type Cancellation } from '../kernel/cancellation.js';
import { SettleError } from '../kernel/errors.js';
import type { Shard } from '../sharding/shard.js';
import { decodePayload, ledgerTopic, type SettlementMessage } from './message.js';
import { markSent, newMessages, noteRefusal, type StoredMessage } from './queries.js';

/**
 * Where messages go. Resolves when the receiver confirmed all of them; throws when it confirmed none, also when an
 * abort of `signal` cuts it short.
 */
export interface Sink {
  deliver(messages: readonly SealedMessage[], signal: AbortSignal): Promise<void>;
}

/** A message whose payload is read when somebody needs it. */
export interface SealedMessage {
  readonly id: bigint;
  readonly bizNo: string;
  readonly orders: number;
  readonly batchDay: BatchDay;
  /** Throws when the payload cannot be read, which concerns this message only. */
  open(): SettlementMessage;
}

export interface RelayPlan {
  /** Only messages of this shard's accounts; null for all. */
  shard: Shard | null;
  /** Deliveries at the same time; an account's messages are always in the same one. */
  lanes: number;
  laneOf: (accountNo: string, lanes: number) => number;
  /** Messages read at once; they are held in memory. */
  messagesMax: number;
  /** Orders in one delivery, at most, unless a single message has more. */
  ordersMax: number;
  attemptsMax: number;
  now: () => string;
  fence: (trx: Transaction) => Promise<void>;
  signal: AbortSignal;
  /** How long one delivery may take; one that takes longer is given up, and its messages stay NEW. */
  shardMs: number;
  onPosted: (orders: number) => void;
  onCancelled: (delivery: CancelledDelivery) => Promise<void>;
}

export interface CancelledDelivery {
  lane: number;
  accounts: number;
  firstAccountNo: string;
  orders: number;
  cancellation: Cancellation;
}

export interface RelayResult {
  sent: number;
  parked: number;
}

/**
 * Hands NEW messages to the sink, oldest first, and marks each SENT after its confirmation: at least once outward. What
 * the sink refuses is tried alone, a bounded number of times, then parked with its reason, so that later ones flow.
 */
export async function relayOutbox(database: Database, sink: Sink, plan: RelayPlan): Promise<RelayResult> {
  const result: RelayResult = { sent: 0, parked: 0 };
  let afterId = 0n;
  while (!plan.signal.aborted) {
    const window = await database.read((session) =>
      newMessages(session, ledgerTopic, afterId, plan.messagesMax, plan.shard),
    );
    if (window.length === 0) break;
    const perLane: StoredMessage[][] = Array.from({ length: plan.lanes }, () => []);
    for (const message of window) {
      (perLane[plan.laneOf(message.accountNo ?? message.bizNo, plan.lanes)] as StoredMessage[]).push(message);
    }
    const outcomes = await Promise.allSettled(
      perLane.map((messages, lane) => deliverLane(database, sink, plan, lane, messages)),
    );
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') throw outcome.reason;
      result.sent += outcome.value.sent;
      result.parked += outcome.value.parked;
    }
    afterId = (window[window.length - 1] as StoredMessage).id;
  }
  return result;
}

async function deliverLane(
  database: Database,
  sink: Sink,
  plan: RelayPlan,
  lane: number,
  messages: readonly StoredMessage[],
): Promise<RelayResult> {
  const result: RelayResult = { sent: 0, parked: 0 };
  for (const batch of batches(messages, plan.ordersMax)) {
    if (plan.signal.aborted) break;
    const attempt = await withinShardTime(plan.shardMs, (signal) =>
      deliver(database, sink, { ...plan, signal }, batch, result),
    );
    if (!attempt.done) await plan.onCancelled({ lane, ...shardOf(batch), cancellation: attempt.cancellation });
  }
  return result;
}

function shardOf(batch: readonly StoredMessage[]): { accounts: number; firstAccountNo: string; orders: number } {
  const accounts = new Set(batch.map((message) => message.accountNo ?? message.bizNo));
  const [firstAccountNo = ''] = accounts;
  const orders = batch.reduce((sum, message) => sum + message.orders, 0);
  return { accounts: accounts.size, firstAccountNo, orders };
}

function* batches(messages: readonly StoredMessage[], ordersMax: number): Generator<StoredMessage[]> {
  let batch: StoredMessage[] = [];
  let orders = 0;
  for (const message of messages) {
    if (batch.length > 0 && orders + message.orders > ordersMax) {
      yield batch;
      batch = [];
      orders = 0;
    }
    batch.push(message);
    orders += message.orders;
  }
  if (batch.length > 0) yield batch;
}

/** Delivers together; when that is refused, halves, until the one bad message stands alone. */
async function deliver(
  database: Database,
  sink: Sink,
  plan: RelayPlan,
  batch: readonly StoredMessage[],
  result: RelayResult,
): Promise<void> {
  try {
    await sink.deliver(batch.map(sealed), plan.signal);
  } catch (error) {
    const reason = refusalIn(error);
    if (reason === null) throw error;
    const [only] = batch;
    if (batch.length > 1 || only === undefined) {
      const middle = Math.ceil(batch.length / 2);
      await deliver(database, sink, plan, batch.slice(0, middle), result);
      await deliver(database, sink, plan, batch.slice(middle), result);
      return;
    }
    await refuse(database, sink, plan, only, reason, result);
    return;
  }
  await database.transact(
    repeatable('mark sent', async (trx) => {
      await markSent(
        trx,
        batch.map((message) => message.id),
        plan.now(),
      );
      await plan.fence(trx);
    }),
  );
  result.sent += batch.length;
  plan.onPosted(batch.reduce((sum, message) => sum + message.orders, 0));
}

async function refuse(
  database: Database,
  sink: Sink,
  plan: RelayPlan,
  message: StoredMessage,
  reason: string,
  result: RelayResult,
): Promise<void> {
  const attempts = message.attempts + 1;
  const park = attempts >= plan.attemptsMax;
  // Repeated after a lost COMMIT it may count one attempt too many, which only parks the message earlier.
  await database.transact(
    repeatable('note refusal', async (trx) => {
      await noteRefusal(trx, message.id, reason, park);
      await plan.fence(trx);
    }),
  );
  if (park) result.parked += 1;
  else await deliver(database, sink, plan, [{ ...message, attempts }], result);
}

class UnreadablePayload extends Error {}

function sealed(message: StoredMessage): SealedMessage {
  const { id, bizNo, orders, payload, accountNo, batchDay } = message;
  const open = (): SettlementMessage => {
    const decoded = decodePayload(bizNo, payload, orders);
    if (decoded === null || decoded.accountNo !== accountNo || decoded.batchDay !== batchDay) {
      throw new UnreadablePayload(`The payload of message ${bizNo} cannot be read, or is not this message's.`);
    }
    return decoded;
  };
  return { id, bizNo, orders, batchDay, open };
}

/** Why this message cannot be taken, whatever is tried; null when the trouble is not the message's own. */
function refusalIn(error: unknown): string | null {
  if (error instanceof UnreadablePayload) return error.message;
  if (failureKind(error) === 'refused') return error instanceof Error ? error.message : String(error);
  if (error instanceof SettleError && messageFaults.has(error.code)) return error.message;
  return null;
}

/** Contradictions inside one message. What contradicts the books (orders not in PROCESSING) stops the run instead. */
const messageFaults = new Set<string>([
  'NET_DIFFERS_FROM_ORDERS',
  'JOURNAL_ENTRY_UNBALANCED',
  'JOURNAL_ENTRY_TOO_SHORT',
  'LEDGER_AMOUNT_NOT_POSITIVE',
]);
