import type { AccountState } from '../kernel/states.js';
import { accountStatesOf } from '../orders/accountsQueries.js';
import type { OrderPage } from '../orders/orderPage.js';
import { refusedReversals } from '../orders/reversals.js';
import { readOrderPages } from '../orders/readPages.js';
import type { SetAside } from '../settlement/quarantine.js';
import { Lanes } from '../sharding/lanes.js';
import { planChunks } from '../sharding/planChunks.js';
import { termsOfDay } from '../terms/termsOfDay.js';
import type { BatchDeps } from './deps.js';
import type { Leftover } from './effects.js';
import type { Run } from './run.js';
import type { Tally } from './tally.js';
import { readTotals, totalsText } from './totals.js';
import { workChunk } from './workChunk.js';

const passesMax = 4;

/**
 * Pages → chunks → lanes, until the sweep finds no INIT order that is not set aside. The first pass starts at the
 * watermark; a further one is needed when an order became visible below it, or an account was released.
 * Returns what is left, which is what is set aside unless somebody stopped the run, asked for a part only, or a shard
 * was cancelled.
 */
export async function settleOrders(deps: BatchDeps, run: Run, tally: Tally): Promise<Leftover[]> {
  await settlePass(deps, run, tally, 1);
  for (let pass = 2; ; pass += 1) {
    const leftover = await deps.effects.leftover(run);
    if (deps.signal.aborted || isPartial(run)) return leftover;
    const due = owed(run, leftover).filter(({ accountNo }) => !run.leftToNext.has(accountNo));
    if (due.length === 0 || pass > passesMax) {
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
  tally.pool = pool;
  const marks = new LowWatermark(tally);
  const fromId = pass === 1 ? run.fromId : 0n;
  // A dry run moves nothing, so what its first pass has planned is still INIT: only what lies below is looked at again.
  const topId = pass > 1 && deps.effects.dryRun ? run.fromId : run.untilId;
  const { accounts, shard } = run.request;
  const range = { day: run.day, fromId, topId, pageSize, accounts, shard };
  try {
    for await (const page of readOrderPages(deps.database, range, deps.signal)) {
      const eligible = await withoutBlocked(deps, run, page.orders);
      tally.read.addAll(eligible.totals());
      tally.orders.read += eligible.length;
      deps.progress.advance('read', page.orders.length);
      const terms = await deps.database.read((session) => termsOfDay(session, run.day, eligible.accountNos));
      const pieces = planChunks(eligible, deps.settings).map((chunk) => ({
        lane: chunk.lane,
        work: () => workChunk(deps, run, tally, chunk, terms),
      }));
      // A pass over some accounts only, or over what was left behind, says nothing of the rest of its pages.
      const whole = pass === 1 && run.request.accounts === null;
      pool.addPage(pieces, whole ? marks.begin(page.lastId) : () => undefined);
      await pool.room();
    }
  } finally {
    // Whatever went wrong, chunks in flight are waited for: nothing of this run writes after it has ended.
    await pool.drained().finally(() => {
      tally.pool = null;
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

/** Sets accounts aside that must not be settled, and gives the page of the others, as far as this run still works on them. */
async function withoutBlocked(deps: BatchDeps, run: Run, page: OrderPage): Promise<OrderPage> {
  const states = await deps.database.read((session) => accountStatesOf(session, page.accountNos));
  await registerUnknown(deps, page, states);
  const refused = await deps.database.read((session) => refusedReversals(session, page.idsThatMayReverse()));
  const blocked: SetAside[] = [];
  page.accountNos.forEach((accountNo, account) => {
    const state = states.get(accountNo) ?? 'UNKNOWN';
    const detail = refused.get(accountNo);
    const problem = page.problems.get(accountNo);
    if (run.setAside.has(accountNo) || run.leftToNext.has(accountNo)) return;
    const orders = page.ordersOf[account] as number;
    if (state !== 'ACTIVE') blocked.push({ accountNo, code: codeOf[state], detail: detailOf[state], orders });
    else if (problem !== undefined) blocked.push({ accountNo, code: 'DATABASE_REFUSED', detail: problem, orders });
    else if (detail !== undefined) blocked.push({ accountNo, code: 'REVERSAL_REFUSED', detail, orders });
  });
  if (blocked.length > 0) {
    await deps.effects.setAside(run, blocked);
    for (const { accountNo } of blocked) run.setAside.add(accountNo);
  }
  return page.without(new Set([...run.setAside, ...run.leftToNext]));
}

/** What the import of orders does for the accounts that its files name, where no import brings the orders. */
async function registerUnknown(
  { database, effects }: BatchDeps,
  { accountNos }: OrderPage,
  states: Map<string, AccountState>,
): Promise<void> {
  if (!database.source.registersAccounts) return;
  const unknown = accountNos.filter((accountNo) => !states.has(accountNo));
  if (unknown.length === 0) return;
  await effects.register(unknown);
  for (const accountNo of unknown) states.set(accountNo, 'ACTIVE');
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
