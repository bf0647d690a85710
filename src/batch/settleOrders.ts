import { failureKind } from '../db/failure.js';
import { invariant } from '../kernel/invariant.js';
import { signedAmount, type Order } from '../orders/order.js';
import { readOrderPages } from '../orders/readPages.js';
import { planSettlement } from '../settlement/planSettlement.js';
import { OrdersMoved } from '../settlement/settleChunk.js';
import type { SetAside } from '../settlement/quarantine.js';
import { Lanes, type LaneTiming } from '../sharding/lanes.js';
import { planChunks } from '../sharding/planChunks.js';
import type { BatchDeps } from './deps.js';
import type { Leftover } from './effects.js';
import type { Run } from './run.js';
import type { Tally } from './tally.js';
import { readTotals, totalsText } from './totals.js';

const passesMax = 4;

/**
 * Pages → chunks → lanes, until the sweep finds no INIT order that is not set aside. The first pass starts at the
 * watermark; a further one is needed when an order became visible below it, or an account was released.
 * Returns what is left, which is what is set aside unless somebody stopped the run or asked for a part only.
 */
export async function settleOrders(deps: BatchDeps, run: Run, tally: Tally): Promise<Leftover[]> {
  await settlePass(deps, run, tally, 1);
  for (let pass = 2; ; pass += 1) {
    const leftover = await deps.effects.leftover(run);
    if (deps.signal.aborted || isPartial(run)) return leftover;
    if (owed(run, leftover).length === 0 || pass > passesMax) {
      // Orders came or went below the top id since the freeze: freeze again, so that both sides are of one moment.
      if (totalsText(readTotals(run, tally, leftover)) !== totalsText(run.source)) await deps.effects.refreeze(run);
      return leftover;
    }
    await settlePass(deps, run, tally, pass);
  }
}

/** What is left and not set aside. */
export function owed(run: Run, leftover: readonly Leftover[]): Leftover[] {
  return leftover.filter(({ accountNo }) => !run.setAside.has(accountNo));
}

/** Asked for a part of the day only, so that a rest is to be expected. */
function isPartial({ request, untilId, topId }: Run): boolean {
  return request.accounts !== null || (request.fromId ?? 0n) > 0n || untilId < topId;
}

async function settlePass(deps: BatchDeps, run: Run, tally: Tally, pass: number): Promise<void> {
  const { lanes, elephantLanes, pageSize, pagesAhead } = deps.settings;
  const pool = new Lanes(lanes + elephantLanes, pagesAhead);
  const marks = new LowWatermark(tally);
  const fromId = pass === 1 ? run.fromId : 0n;
  // A dry run moves nothing, so what its first pass has planned is still INIT: only what lies below is looked at again.
  const topId = pass > 1 && deps.effects.dryRun ? run.fromId : run.untilId;
  const range = { day: run.day, fromId, topId, pageSize, accounts: run.request.accounts };
  try {
    for await (const page of readOrderPages(deps.database, range, deps.signal)) {
      const eligible = await withoutBlocked(deps, run, page.orders);
      for (const order of eligible) tally.read.add(order.currency, 1, signedAmount(order));
      tally.orders.read += eligible.length;
      deps.progress.advance('read', page.orders.length);
      const pieces = planChunks(eligible, deps.settings).map(({ lane, orders }) => ({
        lane,
        work: () => workChunk(deps, run, tally, lane, orders),
      }));
      // A pass over some accounts only, or over what was left behind, says nothing of the rest of its pages.
      const whole = pass === 1 && run.request.accounts === null;
      pool.addPage(pieces, whole ? marks.begin(page.lastId) : () => undefined);
      await pool.room();
    }
  } finally {
    // Whatever went wrong, chunks in flight are waited for: nothing of this run writes after it has ended.
    await pool.drained().finally(() => {
      tally.addTimings(pool.slowest, pool.medianMs);
    });
  }
}

const codeOf = { FROZEN: 'ACCOUNT_FROZEN', CLOSED: 'ACCOUNT_CLOSED', UNKNOWN: 'ACCOUNT_UNKNOWN' } as const;
const detailOf = {
  FROZEN: 'The account is frozen.',
  CLOSED: 'The account is closed.',
  UNKNOWN: 'The account is not registered.',
} as const;

/** Sets accounts aside that must not be settled, and gives the orders of the others. */
async function withoutBlocked(deps: BatchDeps, run: Run, orders: readonly Order[]): Promise<readonly Order[]> {
  const blocked = new Map<string, SetAside>();
  const eligible: Order[] = [];
  for (const order of orders) {
    const { accountNo, accountState } = order;
    if (run.setAside.has(accountNo)) continue;
    if (accountState === 'ACTIVE') {
      eligible.push(order);
      continue;
    }
    const account = blocked.get(accountNo);
    if (account !== undefined) account.orders += 1;
    else blocked.set(accountNo, { accountNo, code: codeOf[accountState], detail: detailOf[accountState], orders: 1 });
  }
  if (blocked.size > 0) {
    await deps.effects.setAside(run, [...blocked.values()]);
    for (const accountNo of blocked.keys()) run.setAside.add(accountNo);
  }
  return eligible;
}

/** One chunk in its lane. Null when the run was told to stop before the chunk began. */
async function workChunk(
  deps: BatchDeps,
  run: Run,
  tally: Tally,
  lane: number,
  orders: readonly Order[],
): Promise<LaneTiming | null> {
  if (deps.signal.aborted) return null;
  const started = performance.now();
  const first = (orders[0] as Order).accountNo;
  const accountNo = orders.every((order) => order.accountNo === first) ? first : null;
  deps.progress.lane(lane, accountNo);
  await settleOrIsolate(deps, run, tally, lane, orders);
  deps.progress.laneDone(lane);
  return { lane, orders: orders.length, durationMs: Math.round(performance.now() - started), accountNo };
}

/**
 * Settles the orders of a chunk together. When the database refuses a value, the accounts are halved until the one bad
 * account stands alone and is set aside; the others go on. Orders that somebody moved are listed and left out.
 */
async function settleOrIsolate(
  deps: BatchDeps,
  run: Run,
  tally: Tally,
  lane: number,
  orders: readonly Order[],
): Promise<void> {
  if (orders.length === 0) return;
  const plan = planSettlement({ runId: run.id, chunkNo: tally.nextChunkNo(), batchDay: run.day, lane }, orders);
  try {
    await deps.effects.settle(run, plan);
    tally.orders.claimed += orders.length;
    deps.progress.advance('claimed', orders.length);
  } catch (error) {
    if (error instanceof OrdersMoved) {
      await settleOrIsolate(deps, run, tally, lane, await withoutMoved(deps, run, tally, orders));
      return;
    }
    if (failureKind(error) !== 'refused') throw error;
    const accounts = [...new Set(orders.map((order) => order.accountNo))];
    if (accounts.length > 1) {
      const half = new Set(accounts.slice(0, Math.ceil(accounts.length / 2)));
      await settleOrIsolate(
        deps,
        run,
        tally,
        lane,
        orders.filter((order) => half.has(order.accountNo)),
      );
      await settleOrIsolate(
        deps,
        run,
        tally,
        lane,
        orders.filter((order) => !half.has(order.accountNo)),
      );
      return;
    }
    const [accountNo = ''] = accounts;
    const detail = error instanceof Error ? error.message : String(error);
    await deps.effects.setAside(run, [{ accountNo, code: 'DATABASE_REFUSED', detail, orders: orders.length }]);
    run.setAside.add(accountNo);
    for (const order of orders) tally.refused.add(order.currency, 1, signedAmount(order));
  }
}

/**
 * The orders that are still as they were read. Those that somebody failed or cancelled are listed; those that somebody
 * edited are left to the next pass, which reads them anew.
 */
async function withoutMoved(
  deps: BatchDeps,
  run: Run,
  tally: Tally,
  orders: readonly Order[],
): Promise<readonly Order[]> {
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

/** Contiguous low watermark: rises to a page's end when that page and all before it are done. */
class LowWatermark {
  private readonly pages: { lastId: bigint; done: boolean }[] = [];

  constructor(private readonly tally: Tally) {}

  begin(lastId: bigint): () => void {
    const page = { lastId, done: false };
    this.pages.push(page);
    return () => {
      page.done = true;
      while (this.pages[0]?.done === true) {
        const { lastId: reached } = this.pages.shift() as { lastId: bigint };
        if (reached > this.tally.reachedId) this.tally.reachedId = reached;
      }
    };
  }
}
