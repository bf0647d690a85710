import { setTimeout as sleep } from 'node:timers/promises';

const firstMs = 1_000;
const lastMs = 60_000;

/** When a receiver that is not to be had is tried again: after 1 s, 2 s, 4 s, … a minute, or after what it asked for. */
export class Backoff {
  private failures = 0;
  private until = 0;

  /** Failures in a row. */
  get inARow(): number {
    return this.failures;
  }

  /** Several turns that fail at the same time are one failure. */
  fail(retryAfterMs: number | null): void {
    const now = performance.now();
    if (now < this.until) return;
    this.failures += 1;
    const usual = Math.min(lastMs, firstMs * 2 ** (this.failures - 1)) * (0.75 + Math.random() / 2);
    this.until = now + Math.max(usual, retryAfterMs ?? 0);
  }

  succeed(): void {
    this.failures = 0;
    this.until = 0;
  }

  /** Resolves when the next try is due, or `signal` is aborted. */
  async due(signal: AbortSignal): Promise<void> {
    for (let left = this.left(); left > 0 && !signal.aborted; left = this.left()) await pause(left, signal);
  }

  private left(): number {
    return this.until - performance.now();
  }
}

/** Sleeps; an abort ends it early. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.ceil(ms), undefined, { signal }).catch(() => undefined);
}
