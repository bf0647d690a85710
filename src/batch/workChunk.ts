import { failureKind } from '../db/failure.js';
import { withinShardTime } from '../kernel/cancellation.js';
import { invariant } from '../kernel/invariant.js';
import { signedAmount, type Order, type Orders } from '../orders/order.js';
import { planSettlement, uncoveredIn } from '../settlement/planSettlement.js';
import type { SetAside } from '../settlement/quarantine.js';
import { OrdersMoved } from '../settlement/settleChunk.js';
import type { LaneTiming } from '../sharding/lanes.js';
import type { Chunk } from '../sharding/planChunks.js';
import type { TermsLookup } from '../terms/appliedTerms.js';
import { recordCancelledShard } from './cancelledShard.js';
import type { BatchDeps } from './deps.js';
import type { Run } from './run.js';
import type { Tally } from './tally.js';

/**
 * One chunk in its lane, within the time that a shard has. Null when it is left to the next run: told to stop before it
 * began, or cancelled because its time was over, which is recorded and keeps this run off its accounts.
 */
export async function workChunk(
  deps: BatchDeps,
  run: Run,
  tally: Tally,
  chunk: Chunk,
  terms: TermsLookup,
): Promise<LaneTiming | null> {
  if (deps.signal.aborted) return null;
  const started = performance.now();
  const { lane } = chunk;
  const accounts = chunk.accountNos();
  const [first = ''] = accounts;
  const accountNo = accounts.size === 1 ? first : null;
  tally.atWork.set(lane, { accountNo, accounts: accounts.size, orders: chunk.length, since: started });
  deps.progress.lane(lane, accountNo, chunk.length);
  const attempt = await withinShardTime(deps.settings.shardMs, (signal) =>
    settleOrIsolate({ deps, run, tally, lane, terms, signal }, chunk, chunk.isRange),
  );
  deps.progress.laneDone(lane);
  tally.atWork.delete(lane);
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
  /** Of the accounts of the chunk's page. */
  terms: TermsLookup;
  signal: AbortSignal;
}

/**
 * Settles the orders of a chunk together. When the database refuses a value, the accounts are halved until the one bad
 * account stands alone and is set aside; the others go on. So is an account whose terms do not tell what an order costs.
 * Orders that somebody moved are listed and left out.
 */
async function settleOrIsolate(work: Work, orders: Orders, isRange = false): Promise<void> {
  if (orders.length === 0) return;
  const { deps, run, tally, lane, terms, signal } = work;
  const plan = planSettlement(
    { runId: run.id, chunkNo: tally.nextChunkNo(), batchDay: run.day, lane },
    orders,
    isRange,
    terms,
  );
  const uncovered = uncoveredIn(plan);
  if (uncovered.size > 0) return settleOrIsolate(work, await withoutUncovered(work, orders, uncovered));
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
    await setAside(work, orders, new Map([[accountNo, { code: 'DATABASE_REFUSED', detail }]]));
  }
}

function only(orders: Orders, wanted: (order: Order) => boolean): Order[] {
  return Array.from(orders).filter(wanted);
}

/** Sets accounts aside whose terms do not say what one of their orders costs; gives the orders of the others. */
async function withoutUncovered(
  work: Work,
  orders: Orders,
  uncovered: ReadonlyMap<string, string>,
): Promise<readonly Order[]> {
  const reasons = [...uncovered].map(([accountNo, order]) => {
    const detail = `Its fee plan has no rule for ${order}.`;
    return [accountNo, { code: 'TERMS_NOT_APPLICABLE', detail }] as const;
  });
  await setAside(work, orders, new Map(reasons));
  return only(orders, ({ accountNo }) => !uncovered.has(accountNo));
}

/** Sets accounts aside that have these orders, which were read and are not settled. */
async function setAside(
  { deps, run, tally }: Work,
  orders: Orders,
  reasons: ReadonlyMap<string, Pick<SetAside, 'code' | 'detail'>>,
): Promise<void> {
  const counts = new Map([...reasons.keys()].map((accountNo) => [accountNo, 0]));
  for (const order of orders) {
    const count = counts.get(order.accountNo);
    if (count === undefined) continue;
    counts.set(order.accountNo, count + 1);
    tally.refused.add(order.currency, 1, signedAmount(order));
  }
  const accounts = [...reasons].map(([accountNo, reason]) => ({
    accountNo,
    ...reason,
    orders: counts.get(accountNo) ?? 0,
  }));
  await deps.effects.setAside(run, accounts);
  for (const { accountNo } of accounts) run.setAside.add(accountNo);
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
