import type { Database } from '../db/database.js';
import type { Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { invariant } from '../kernel/invariant.js';
import { settlementEntry, type Settlement } from './journalEntry.js';
import { insertJournal, postedIds } from './queries.js';

/** A message as the ledger takes it in. `id` is the message's own: one message, one journal entry. */
export interface LedgerIntake extends Settlement {
  readonly id: bigint;
  readonly batchDay: BatchDay;
  readonly orderIds: readonly bigint[];
}

export interface LedgerPorts {
  /** The run that posts. */
  runId: bigint;
  now: () => string;
  fence: (trx: Transaction) => Promise<void>;
  /** Moves orders from PROCESSING to SUCCESS; gives how many it moved. */
  finishOrders: (trx: Transaction, orderIds: readonly bigint[], now: string) => Promise<number>;
  /** Aborted, it undoes the posting. */
  signal: AbortSignal;
}

/**
 * The ledger's intake: posts each message once, however often it is delivered, and finishes its orders in the same
 * transaction. A message that was posted before is taken as done; so is one whose COMMIT was carried out unheard.
 */
export async function postSettlements(
  database: Database,
  messages: readonly LedgerIntake[],
  { runId, now, fence, finishOrders, signal }: LedgerPorts,
): Promise<void> {
  const ids = messages.map((message) => message.id);
  await database.transact(
    repeatable('post settlements', async (trx) => {
      const posted = await postedIds(trx, ids);
      const due = messages.filter((message) => !posted.has(message.id));
      if (due.length === 0) return;
      const moment = now();
      await insertJournal(
        trx,
        due.map((message) => {
          const { id, batchDay } = message;
          return { ...settlementEntry(message), id, type: 'SETTLEMENT', batchDay, runId, postedAt: moment };
        }),
      );
      const orderIds = due.flatMap((message) => message.orderIds).sort(ascending);
      const finished = await finishOrders(trx, orderIds, moment);
      invariant(
        finished === orderIds.length,
        'POSTED_ORDERS_DIFFER',
        `${String(orderIds.length)} orders were to be finished, ${String(finished)} were in PROCESSING.`,
        { messages: due.length, firstMessage: due[0]?.bizNo },
      );
      await fence(trx);
    }),
    signal,
  );
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : 1;
}
