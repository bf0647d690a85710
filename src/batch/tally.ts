import { Totals } from '../orders/order.js';
import type { LaneTiming, Lanes } from '../sharding/lanes.js';
import type { TermsTotal } from '../terms/bookEndOfDay.js';
import type { CancelledShard } from './cancelledShard.js';

/** A piece of work that a lane has in hand; `since` is of the process's own clock. */
export interface LaneAtWork {
  readonly accountNo: string | null;
  readonly accounts: number;
  readonly orders: number;
  readonly since: number;
}

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
  readonly atWork = new Map<number, LaneAtWork>();
  /** The lanes of the pass at hand. */
  pool: Lanes | null = null;
  slowest: LaneTiming[] = [];
  medianMs = 0;
  private chunks = 0;

  /** `reachedId`: everything of the day up to it is claimed or set aside. */
  constructor(public reachedId: bigint) {}

  nextChunkNo(): number {
    this.chunks += 1;
    return this.chunks;
  }

  /** What the lanes have in hand at a moment of the process's clock, and how the slowest piece compares with the median. */
  atWorkText(now: number): string {
    const lanes = [...this.atWork].map(([lane, { since, ...work }]) => ({
      lane,
      ...work,
      forMs: Math.round(now - since),
    }));
    const slowest = [...this.slowest, ...(this.pool?.slowest ?? [])].sort((a, b) => b.durationMs - a.durationMs)[0];
    const medianMs = this.pool?.medianMs ?? this.medianMs;
    return JSON.stringify({ lanes, slowest: slowest ?? null, medianMs });
  }

  addTimings(slowest: readonly LaneTiming[], medianMs: number): void {
    this.slowest = [...this.slowest, ...slowest].sort((a, b) => b.durationMs - a.durationMs).slice(0, 5);
    this.medianMs = Math.max(this.medianMs, medianMs);
  }
}
