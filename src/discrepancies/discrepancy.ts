import { createHash } from 'node:crypto';
import type { BatchDay } from '../kernel/batchDay.js';
import { magnitude } from '../kernel/money.js';
import type { DiscrepancyClass, DiscrepancyState } from '../kernel/states.js';

/** Where a difference was looked for: what is open in a scope, and is not found there any more, has cleared. */
export type Scope = 'LINES' | 'OURS' | 'FILE' | 'CONTINUITY' | 'CASH' | 'BOOKS';
export type Severity = 'HIGH' | 'MEDIUM' | 'LOW';

/** A correction that an entry could book: to this ledger account and account of its sub-ledger, debits less credits. */
export interface Adjustable {
  readonly account: 'CHANNEL_CASH' | 'CHANNEL_RECEIVABLE';
  readonly subAccount: string;
  readonly minor: bigint;
}

/** A difference as it was found. Amounts are minor units, signed as money is for us: in is positive, out negative. */
export interface Found {
  /** What it is a difference of: the same texts, the same row, however often it is found. */
  readonly identity: readonly string[];
  readonly scope: Scope;
  readonly class: DiscrepancyClass;
  readonly severity: Severity;
  /** Null of what concerns no channel. */
  readonly channel: string | null;
  readonly batchDay: BatchDay;
  /** What a person knows it by: an order number, a key of a payout, a place in a file. */
  readonly itemKey: string;
  readonly currency: string | null;
  readonly expectedMinor: bigint | null;
  readonly actualMinor: bigint | null;
  /** Where the difference is not one of amounts, or not only. */
  readonly expectedText?: string | null;
  readonly actualText?: string | null;
  /** What the books would be changed by to say as the statement does; null where no entry could do that. */
  readonly adjusts?: Adjustable | null;
  readonly line?: { readonly fileId: bigint; readonly seq: bigint } | null;
  readonly ours?: { readonly kind: 'PAYOUT' | 'ORDER'; readonly id: bigint } | null;
}

/** A difference as it is stored. */
export interface Discrepancy {
  readonly id: bigint;
  readonly scope: Scope;
  readonly class: DiscrepancyClass;
  readonly severity: Severity;
  readonly state: DiscrepancyState;
  readonly version: number;
  readonly channel: string | null;
  readonly batchDay: BatchDay;
  readonly itemKey: string;
  readonly currency: string | null;
  readonly expectedMinor: bigint | null;
  readonly actualMinor: bigint | null;
  readonly expectedText: string | null;
  readonly actualText: string | null;
  /** How much money is in question. */
  readonly stakeMinor: bigint;
  readonly adjusts: Adjustable | null;
  readonly owner: string | null;
  readonly attempts: number;
  readonly nextMs: bigint | null;
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly closedAt: string | null;
  readonly closedBy: string | null;
  readonly adjustment: string | null;
}

export const openStates = ['OPEN', 'RETRYING', 'MANUAL'] as const satisfies readonly DiscrepancyState[];

/** SHA-256 over the texts as netstrings. */
export function identityOf(texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${String(Buffer.byteLength(text))}:${text},`);
  return hash.digest('hex');
}

/** The money in question: the difference of the amounts, or the amount of what is missing or double. */
export function stakeOf({ expectedMinor, actualMinor, class: kind }: Found): bigint {
  if (kind === 'CURRENCY' || kind === 'STATE') return magnitude(actualMinor ?? expectedMinor ?? 0n);
  return magnitude((actualMinor ?? 0n) - (expectedMinor ?? 0n));
}

/** Differences that a later statement or import may explain; nothing clears the others but a change of what they compare. */
export const looksAgain: readonly DiscrepancyClass[] = ['MISSING_OURS', 'MISSING_THEIRS', 'STATE', 'GAP'];

/** Minutes until it is looked for again, doubled with each try, a day at most. */
export function pauseMs(attempts: number): bigint {
  const hour = 3_600_000n;
  const doubled = hour << BigInt(Math.min(attempts, 10));
  return doubled < 24n * hour ? doubled : 24n * hour;
}
