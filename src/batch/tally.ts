import { Totals } from '../orders/order.js';
import type { LaneTiming } from '../sharding/lanes.js';
import type { TermsTotal } from '../terms/bookEndOfDay.js';
import type { CancelledShard } from './cancelledShard.js';

/** What a run has done so far: counted by the program, and compared at the end with what the tables say. */
export class Tally {
  /** Orders read and handed to lanes. */
  readonly read = new Totals();
  /** Of these, orders of accounts that were set aside because the database refused them. */
  readonly refused = new Totals();
  readonly orders = { read: 0, claimed: 0, posted: 0 };
  readonly withdrawn: { orderNo: string; state: string }[] = [];
  readonly cancelledShards: CancelledShard[] = [];
  /** What the run did at the end of the day, as the terms of its accounts wanted it. */
  terms: readonly TermsTotal[] = [];
  slowest: LaneTiming[] = [];
  medianMs = 0;
  private chunks = 0;

  /** `reachedId`: everything of the day up to it is claimed or set aside. */
  constructor(public reachedId: bigint) {}

  nextChunkNo(): number {
    this.chunks += 1;
    return this.chunks;
  }

  addTimings(slowest: readonly LaneTiming[], medianMs: number): void {
    this.slowest = [...this.slowest, ...slowest].sort((a, b) => b.durationMs - a.durationMs).slice(0, 5);
    this.medianMs = Math.max(this.medianMs, medianMs);
  }
}
