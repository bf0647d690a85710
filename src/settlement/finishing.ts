import type { Transaction } from '../db/session.js';
import { toBigInt, toCount } from '../db/values.js';
import type { Finishing } from '../ledger/postSettlements.js';
import { liesClose, type IdRange } from '../orders/idRanges.js';
import { finishChunkOrders, finishOrdersById } from '../orders/queries.js';
import { chunkOfBizNo } from './planSettlement.js';

/** What of a posted message says which orders it finishes. */
interface Posted {
  readonly bizNo: string;
  readonly orders: number;
}

/**
 * Finishes the orders of posted messages. Messages that hold a whole chunk, whose orders lie close, finish it by its
 * range; others name their orders one by one, by ascending id, so that no two deliveries lock in opposite order.
 */
export async function finishing(trx: Transaction, messages: readonly Posted[]): Promise<Finishing> {
  const chunk = await wholeChunk(trx, messages);
  if (chunk !== null) return { add: () => undefined, finish: (now) => finishChunkOrders(trx, chunk, now) };
  const ids: bigint[] = [];
  return {
    add: (orderIds) => {
      for (const id of orderIds) ids.push(id);
    },
    // What terms do at the end of a day has no orders.
    finish: (now) => (ids.length === 0 ? Promise.resolve(0) : finishOrdersById(trx, ids.sort(ascending), now)),
  };
}

/** The chunk that these messages are all of, and all that there is of; null when there is none, or its orders lie far apart. */
async function wholeChunk(
  trx: Transaction,
  messages: readonly Posted[],
): Promise<(IdRange & { runId: bigint; chunkNo: number }) | null> {
  const chunk = chunkOfBizNo(messages[0]?.bizNo ?? '');
  if (chunk === null) return null;
  const { runId, chunkNo, prefix } = chunk;
  if (!messages.every(({ bizNo }) => bizNo.startsWith(prefix))) return null;
  const [row] = await trx.rows('select orders, first_id, last_id from chunk where run_id = ? and chunk_no = ?', [
    runId,
    chunkNo,
  ]);
  const orders = messages.reduce((sum, message) => sum + message.orders, 0);
  if (row === undefined || toCount(row['orders']) !== orders) return null;
  const range = { firstId: toBigInt(row['first_id']), lastId: toBigInt(row['last_id']) };
  return liesClose(range, orders) ? { runId, chunkNo, ...range } : null;
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : 1;
}
