import type { Database } from '../db/database.js';
import type { Transaction } from '../db/session.js';
import type { Unit } from '../db/transaction.js';
import { claimOrders } from '../orders/queries.js';
import { appendOutbox } from '../outbox/append.js';
import { messagesOf, type SettlementPlan } from './planSettlement.js';
import { chunkOrders, insertNets, markChunk } from './queries.js';

/** Somebody moved or edited an order of the chunk since its page was read: nothing was written; read again and plan again. */
export class OrdersMoved extends Error {
  override readonly name = 'OrdersMoved';
}

/**
 * Settles a chunk in one short transaction: commit mark, CAS over exactly these orders, nets, outbox. All or nothing.
 * `fence` refuses the commit to a run whose lease was taken over; an abort of `signal` undoes it. Returns the number of
 * orders settled.
 */
export async function settleChunk(
  database: Database,
  plan: SettlementPlan,
  { now, fence, signal }: { now: () => string; fence: (trx: Transaction) => Promise<void>; signal: AbortSignal },
): Promise<number> {
  const unit: Unit<number> = {
    name: 'settle chunk',
    work: async (trx) => {
      await markChunk(trx, plan, now());
      if (!(await claimOrders(trx, plan))) throw new OrdersMoved();
      await insertNets(trx, plan);
      await appendOutbox(trx, messagesOf(plan), now());
      await fence(trx);
      return plan.orderIds.length;
    },
    landed: (session) => chunkOrders(session, plan.runId, plan.chunkNo),
  };
  return database.transact(unit, signal);
}
