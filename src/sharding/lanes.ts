import pLimit, { type LimitFunction } from 'p-limit';

export interface LaneTiming {
  lane: number;
  orders: number;
  durationMs: number;
  /** The only account of the piece of work, or null when it had several. */
  accountNo: string | null;
}

const slowestKept = 5;

/**
 * The bounded pool. Each lane works on one piece at a time; the reader waits while more than `aheadMax` pages are unfinished, so a
 * slow writer slows the reader and memory stays flat. The first failure stops all lanes from taking more work.
 */
export class Lanes {
  private readonly limits: LimitFunction[];
  private readonly pages = new Set<Promise<unknown>>();
  private failure: { error: unknown } | null = null;
  private readonly durations: number[] = [];
  /** The longest pieces of work, longest first. */
  readonly slowest: LaneTiming[] = [];

  constructor(
    count: number,
    private readonly aheadMax: number,
  ) {
    this.limits = Array.from({ length: count }, () => pLimit(1));
  }

  /** Queues a page's pieces of work, each in its lane; calls `done` when all of them have been worked. */
  addPage(pieces: readonly { lane: number; work: () => Promise<LaneTiming | null> }[], done: () => void): void {
    const works = pieces.map(({ lane, work }) =>
      (this.limits[lane] as LimitFunction)(async () => {
        if (this.failure !== null) return false;
        try {
          const timing = await work();
          if (timing !== null) this.record(timing);
          return timing !== null;
        } catch (error) {
          this.failure ??= { error };
          return false;
        }
      }),
    );
    const page: Promise<unknown> = Promise.all(works).then((finished) => {
      this.pages.delete(page);
      if (finished.every(Boolean)) done();
    });
    this.pages.add(page);
  }

  /** Waits until another page may be read. Throws what a lane threw. */
  async room(): Promise<void> {
    while (this.pages.size > this.aheadMax) await Promise.race(this.pages);
    this.throwFailure();
  }

  /** Waits until everything that was added has been worked or dropped. Throws what a lane threw. */
  async drained(): Promise<void> {
    await Promise.all(this.pages);
    this.throwFailure();
  }

  private throwFailure(): void {
    if (this.failure !== null) throw this.failure.error;
  }

  private record(timing: LaneTiming): void {
    this.durations.push(timing.durationMs);
    this.slowest.push(timing);
    this.slowest.sort((a, b) => b.durationMs - a.durationMs);
    this.slowest.length = Math.min(this.slowest.length, slowestKept);
  }

  get medianMs(): number {
    const sorted = [...this.durations].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  }
}
