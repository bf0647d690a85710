import { exitCodes } from './errors.js';

/**
 * Why work was stopped. A closed set, so that a retry policy, a metric and a person can decide on it; what is
 * free text goes into `detail`. `retry` says whether the same work may be started again without being asked: a time-out
 * may, what a person stopped may not. `ends` says what stops: the whole run, or only the shard that it struck.
 */
export const cancellationCodes = {
  SIGINT: { exitCode: exitCodes.SIGINT, retry: false, ends: 'run' },
  SIGTERM: { exitCode: exitCodes.SIGTERM, retry: false, ends: 'run' },
  OPERATOR: { exitCode: exitCodes.PARTIAL, retry: false, ends: 'run' },
  DEADLINE: { exitCode: exitCodes.DEADLINE, retry: true, ends: 'run' },
  SHARD_TIMEOUT: { exitCode: exitCodes.PARTIAL, retry: true, ends: 'shard' },
  LEASE_LOST: { exitCode: exitCodes.LOCKED, retry: false, ends: 'run' },
  DATABASE_LOST: { exitCode: exitCodes.TEMPFAIL, retry: true, ends: 'run' },
  DATABASE_CONTENTION: { exitCode: exitCodes.TEMPFAIL, retry: true, ends: 'run' },
  DISK_FULL: { exitCode: exitCodes.TEMPFAIL, retry: false, ends: 'run' },
  UPSTREAM_FAILED: { exitCode: exitCodes.INTERNAL, retry: false, ends: 'run' },
  INTERNAL_ERROR: { exitCode: exitCodes.INTERNAL, retry: false, ends: 'run' },
} as const satisfies Record<string, { exitCode: number; retry: boolean; ends: 'run' | 'shard' }>;

export type CancellationCode = keyof typeof cancellationCodes;

/** The reason put into an AbortController, unchanged from its origin to the boundary that records it. */
export class Cancellation extends Error {
  override readonly name = 'Cancellation';
  constructor(
    readonly code: CancellationCode,
    readonly detail: string,
    readonly stage: string | null = null,
    cause?: unknown,
  ) {
    super(`${code}: ${detail}`, cause === undefined ? undefined : { cause });
  }

  get exitCode(): number {
    return cancellationCodes[this.code].exitCode;
  }

  /** Whether the same work may be started again without a person being asked. */
  get mayRetry(): boolean {
    return cancellationCodes[this.code].retry;
  }

  at(stage: string): Cancellation {
    return this.stage === null ? new Cancellation(this.code, this.detail, stage, this.cause) : this;
  }
}

/** Finds the cancellation inside whatever wraps it: AggregateError, `cause` chains, an AbortError. Null if there is none. */
export function cancellationIn(error: unknown, seen: Set<unknown> = new Set()): Cancellation | null {
  if (error instanceof Cancellation) return error;
  if (typeof error !== 'object' || error === null || seen.has(error)) return null;
  seen.add(error);
  const { cause, errors, reason } = error as { cause?: unknown; errors?: unknown; reason?: unknown };
  for (const inner of [cause, reason, ...(Array.isArray(errors) ? (errors as unknown[]) : [])]) {
    const found = cancellationIn(inner, seen);
    if (found !== null) return found;
  }
  return null;
}

/** Throws the signal's own reason, as it was given. */
export function throwIfCancelled(signal: AbortSignal): void {
  if (signal.aborted) throw signal.reason;
}

/** What work that may be cancelled came to, for callers to whom that is one of two expected ends. */
export type Attempt<T> = { done: true; value: T } | { done: false; cancellation: Cancellation };

/**
 * Does a shard's work within `ms`. Then its signal is aborted with SHARD_TIMEOUT, and what it had not committed is
 * undone: the shard is cancelled, the others go on. Any other cancellation ends more than the shard and is thrown.
 */
export async function withinShardTime<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<Attempt<T>> {
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort(new Cancellation('SHARD_TIMEOUT', `Not done within ${String(ms / 1_000)} s.`));
  }, ms);
  try {
    return { done: true, value: await work(controller.signal) };
  } catch (error) {
    const cancellation = cancellationIn(error);
    if (cancellation === null || cancellationCodes[cancellation.code].ends !== 'shard') throw error;
    return { done: false, cancellation };
  } finally {
    clearTimeout(timer);
  }
}
