import type { Cancellation } from '../kernel/cancellation.js';
import type { BatchDeps } from './deps.js';
import type { Run } from './run.js';
import type { Tally } from './tally.js';

/** A shard that was cancelled while the others went on. What it had committed stands, the rest is the next run's. */
export interface CancelledShard {
  stage: 'SETTLING' | 'POSTING';
  lane: number;
  accounts: number;
  /** Names the shard: its first account. */
  firstAccountNo: string;
  orders: number;
  cancellation: Cancellation;
}

/** Records why a shard ended early: the one boundary at which its cancellation becomes a row, a line of the document and of the log. */
export async function recordCancelledShard(
  deps: BatchDeps,
  run: Run,
  tally: Tally,
  shard: CancelledShard,
): Promise<void> {
  tally.cancelledShards.push(shard);
  await deps.effects.noteCancelledShard(run, tally.cancelledShards.length, shard);
  deps.onShardCancelled(shard);
}
