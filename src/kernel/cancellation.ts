import { exitCodes } from './errors.js';

/**
 * Why work was stopped. A closed set, so that a retry policy, a metric and a person can decide on it; what is
 * free text goes into `detail`. `retry` says whether the same work may be started again without being asked.
 */
export const cancellationCodes = {
  SIGINT: { exitCode: exitCodes.SIGINT, retry: false },
  SIGTERM: { exitCode: exitCodes.SIGTERM, retry: false },
  OPERATOR: { exitCode: exitCodes.PARTIAL, retry: false },
  DEADLINE: { exitCode: exitCodes.DEADLINE, retry: true },
  SHARD_TIMEOUT: { exitCode: exitCodes.PARTIAL, retry: true },
  LEASE_LOST: { exitCode: exitCodes.LOCKED, retry: false },
  DATABASE_LOST: { exitCode: exitCodes.TEMPFAIL, retry: true },
  DATABASE_CONTENTION: { exitCode: exitCodes.TEMPFAIL, retry: true },
  DISK_FULL: { exitCode: exitCodes.TEMPFAIL, retry: false },
  UPSTREAM_FAILED: { exitCode: exitCodes.INTERNAL, retry: false },
  INTERNAL_ERROR: { exitCode: exitCodes.INTERNAL, retry: false },
} as const satisfies Record<string, { exitCode: number; retry: boolean }>;

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
