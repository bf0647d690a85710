import type { BatchDay } from '../kernel/batchDay.js';
import { recordCancelledShard } from './cancelledShard.js';
import { concludeRun, proveDay } from './concludeRun.js';
import type { BatchDeps } from './deps.js';
import type { RunDocument } from './document.js';
import type { Posting } from './effects.js';
import { recordFailure } from './recordFailure.js';
import type { RunRequest } from './run.js';
import { owed, settleOrders } from './settleOrders.js';
import { Stages } from './stages.js';
import { Tally } from './tally.js';

/**
 * Settles one day: freeze the input, settle it in lanes, post it to the ledger, reconcile, close. Whatever is committed
 * when it ends early stands, and the next run goes on from there. Returns the document of the run; throws only bugs.
 */
export async function runBatch(deps: BatchDeps, day: BatchDay, request: RunRequest): Promise<RunDocument> {
  const { effects, settings, progress, signal } = deps;
  const startedAt = performance.now();
  const run = await effects.open(day, request);
  const tally = new Tally(run.fromId);
  const stages = new Stages(deps, run, tally, startedAt);
  try {
    await stages.enter('SETTLING');
    const leftover = await settleOrders(deps, run, tally);
    await stages.enter('POSTING');
    const posting: Posting = {
      signal,
      shardMs: settings.shardMs,
      onPosted: (orders) => {
        tally.orders.posted += orders;
        progress.advance('posted', orders);
      },
      onCancelled: (shard) => recordCancelledShard(deps, run, tally, shard),
    };
    let unsent = await effects.post(run, posting);
    if (unsent === 0 && owed(run, leftover).length === 0) {
      const ended = await effects.bookTerms(run);
      tally.terms = ended.totals;
      if (ended.messages > 0) unsent = await effects.post(run, posting);
    }
    await stages.enter('RECONCILING');
    await effects.balance(run, signal);
    const proven = await proveDay(deps, run, tally, leftover);
    stages.end();
    return await concludeRun(deps, run, tally, stages, { ...proven, unsent });
  } catch (error) {
    stages.end();
    return await recordFailure(deps, run, tally, stages, error);
  } finally {
    await stages.stop();
  }
}
