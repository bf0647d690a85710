import type { Database } from '../db/database.js';
import type { Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { invariant } from '../kernel/invariant.js';
import { settlementEntry, type Settlement } from './journalEntry.js';
import type { PostedEntry } from './digest.js';
import { holdPeriod, isClosed, ledgerPeriod } from './period.js';
import { insertJournal, postedIds } from './queries.js';

/**
 * A message as the ledger takes it in, opened when its turn comes: of a large delivery few lie open at once. `id` is the
 * message's own: one message, one journal entry.
 */
export interface LedgerIntake {
  readonly id: bigint;
  readonly bizNo: string;
  readonly orders: number;
  readonly batchDay: BatchDay;
  open(): Settlement & { readonly batchDay: BatchDay; readonly orderIds: readonly bigint[] };
}

/** Orders on their way from PROCESSING to SUCCESS. */
export interface Finishing {
  add(orderIds: readonly bigint[]): void;
  /** Moves them all, and gives how many were in PROCESSING. */
  finish(now: string): Promise<number>;
}

export interface LedgerPorts {
  /** The run that posts. */
  runId: bigint;
  now: () => string;
  fence: (trx: Transaction) => Promise<void>;
  /** Begins to finish the orders of these messages. */
  finishing: (trx: Transaction, messages: readonly Pick<LedgerIntake, 'bizNo' | 'orders'>[]) => Promise<Finishing>;
  /** Aborted, it undoes the posting. */
  signal: AbortSignal;
}

/** Messages that lie open at once. */
const openMax = 1_000;

/**
 * The ledger's intake: posts each message once, however often it is delivered, and finishes its orders in the same
 * transaction. A message that was posted before is taken as done; so is one whose COMMIT was carried out unheard.
 */
export async function postSettlements(
  database: Database,
  messages: readonly LedgerIntake[],
  { runId, now, fence, finishing, signal }: LedgerPorts,
): Promise<void> {
  const ids = messages.map((message) => message.id);
  await database.transact(
    repeatable('post settlements', async (trx) => {
      const posted = await postedIds(trx, ids);
      const due = messages.filter((message) => !posted.has(message.id));
      if (due.length === 0) return;
      const moment = now();
      const bookingDay = await bookingDays(trx, due);
      const orders = await finishing(trx, due);
      for (let at = 0; at < due.length; at += openMax) {
        const entries = due.slice(at, at + openMax).map((message): PostedEntry => {
          const settlement = message.open();
          orders.add(settlement.orderIds);
          const type = settlement.lines.length === 0 ? 'TERMS' : 'SETTLEMENT';
          const { batchDay } = settlement;
          const days = { batchDay, bookingDay: bookingDay(batchDay) };
          return { ...settlementEntry(settlement), id: message.id, type, ...days, runId, postedAt: moment };
        });
        await insertJournal(trx, entries);
      }
      const wanted = due.reduce((sum, message) => sum + message.orders, 0);
      const finished = await orders.finish(moment);
      invariant(
        finished === wanted,
        'POSTED_ORDERS_DIFFER',
        `${String(wanted)} orders were to be finished, ${String(finished)} were in PROCESSING.`,
        { messages: due.length, firstMessage: due[0]?.bizNo },
      );
      await fence(trx);
    }),
    signal,
  );
}

/**
 * The day on which each batch day is booked: its own, which only the run under this lease does, so that nothing needs to
 * be held; or the open day where its own is closed.
 */
async function bookingDays(
  trx: Transaction,
  messages: readonly LedgerIntake[],
): Promise<(batchDay: BatchDay) => BatchDay> {
  const period = await ledgerPeriod(trx);
  if (!messages.some(({ batchDay }) => isClosed(period, batchDay))) return (batchDay) => batchDay;
  const held = await holdPeriod(trx);
  return (batchDay) => (isClosed(held, batchDay) ? (held.bookingDay ?? batchDay) : batchDay);
}
