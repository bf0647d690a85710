import { failureKind } from '../db/failure.js';
import { withinShardTime } from '../kernel/cancellation.js';
import { invariant } from '../kernel/invariant.js';
import { signedAmount, type Order, type Orders } from '../orders/order.js';
import { planSettlement } from '../settlement/planSettlement.js';
import { OrdersMoved } from '../settlement/settleChunk.js';
import type { LaneTiming } from '../sharding/lanes.js';
import type { Chunk } from '../sharding/planChunks.js';
import { recordCancelledShard } from './cancelledShard.js';
import type { BatchDeps } from './deps.js';
import type { Run } from './run.js';
import type { Tally } from './tally.js';

/**
 * One chunk in its lane, within the time that a shard has. Null when it is left to the next run: told to stop before it
 * began, or cancelled because its time was over, which is recorded and keeps this run off its accounts.
 */
export async function workChunk(deps: BatchDeps, run: Run, tally: Tally, chunk: Chunk): Promise<LaneTiming | null> {
  if (deps.signal.aborted) return null;
  const started = performance.now();
  const { lane } = chunk;
  const accounts = chunk.accountNos();
  const [first = ''] = accounts;
  const accountNo = accounts.size === 1 ? first : null;
  deps.progress.lane(lane, accountNo);
  const attempt = await withinShardTime(deps.settings.shardMs, (signal) =>
    settleOrIsolate({ deps, run, tally, lane, signal }, chunk, chunk.isRange),
  );
  deps.progress.laneDone(lane);
  if (!attempt.done) {
    for (const left of accounts) run.leftToNext.add(left);
    const shard = {
      stage: 'SETTLING',
      lane,
      accounts: accounts.size,
      firstAccountNo: first,
      orders: chunk.length,
    } as const;
    await recordCancelledShard(deps, run, tally, { ...shard, cancellation: attempt.cancellation });
    return null;
  }
  return { lane, orders: chunk.length, durationMs: Math.round(performance.now() - started), accountNo };
}

/** A chunk at work. `signal` cancels its transactions, not those of its neighbours. */
interface Work {
  deps: BatchDeps;
  run: Run;
  tally: Tally;
  lane: number;
  signal: AbortSignal;
}

/**
 * Settles the orders of a chunk together. When the database refuses a value, the accounts are halved until the one bad
 * account stands alone and is set aside; the others go on. Orders that somebody moved are listed and left out.
 */
async function settleOrIsolate(work: Work, orders: Orders, isRange = false): Promise<void> {
  if (orders.length === 0) return;
  const { deps, run, tally, lane, signal } = work;
  const plan = planSettlement(
    { runId: run.id, chunkNo: tally.nextChunkNo(), batchDay: run.day, lane },
    orders,
    isRange,
  );
  try {
    await deps.effects.settle(run, plan, signal);
    tally.orders.claimed += orders.length;
    deps.progress.advance('claimed', orders.length);
  } catch (error) {
    // The range may hold an order that came since: named one by one, these are claimed without it.
    if (error instanceof OrdersMoved && isRange) return settleOrIsolate(work, orders);
    if (error instanceof OrdersMoved) return settleOrIsolate(work, await withoutMoved(work, [...orders]));
    if (failureKind(error) !== 'refused') throw error;
    const accounts = [...new Set(Array.from(orders, (order) => order.accountNo))];
    if (accounts.length > 1) {
      const half = new Set(accounts.slice(0, Math.ceil(accounts.length / 2)));
      await settleOrIsolate(
        work,
        only(orders, (order) => half.has(order.accountNo)),
      );
      return settleOrIsolate(
        work,
        only(orders, (order) => !half.has(order.accountNo)),
      );
    }
    const [accountNo = ''] = accounts;
    const detail = error instanceof Error ? error.message : String(error);
    await deps.effects.setAside(run, [{ accountNo, code: 'DATABASE_REFUSED', detail, orders: orders.length }]);
    run.setAside.add(accountNo);
    for (const order of orders) tally.refused.add(order.currency, 1, signedAmount(order));
  }
}

function only(orders: Orders, wanted: (order: Order) => boolean): Order[] {
  return Array.from(orders).filter(wanted);
}

/**
 * The orders that are still as they were read. Those that somebody failed or cancelled are listed; those that somebody
 * edited are left to the next pass, which reads them anew.
 */
async function withoutMoved({ deps, run, tally }: Work, orders: readonly Order[]): Promise<readonly Order[]> {
  const moved = await deps.effects.withdraw(
    run,
    orders.map((order) => order.id),
  );
  const unchanged = await deps.effects.unchanged(run, orders);
  invariant(unchanged.length < orders.length, 'STATE_MOVE_FORBIDDEN', 'Orders changed and changed back.', {
    runId: run.id,
  });
  for (const { orderNo, state } of moved) tally.withdrawn.push({ orderNo, state });
  const accountedFor = new Set([...moved.map(({ id }) => id), ...unchanged.map(({ id }) => id)]);
  for (const order of orders) {
    if (accountedFor.has(order.id)) continue;
    tally.read.add(order.currency, -1, -signedAmount(order));
    tally.orders.read -= 1;
  }
  return unchanged;
}
