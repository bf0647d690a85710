import type { Cancellation } from '../kernel/cancellation.js';
import { exitCodes } from '../kernel/errors.js';
import type { CurrencyTotal } from '../orders/order.js';
import type { CancelledShard } from './cancelledShard.js';
import type { BatchDeps, Provenance } from './deps.js';
import type { LedgerHead, RunCheck } from './effects.js';
import { shardText } from '../sharding/shard.js';
import type { TermsTotal } from '../terms/bookEndOfDay.js';
import type { Run } from './run.js';
import type { Tally } from './tally.js';

export type Outcome = 'OK' | 'PARTIAL' | 'INTEGRITY' | 'INTERRUPTED';

export interface DocumentedCancellation {
  code: string;
  detail: string;
  stage: string | null;
  /** Whether a scheduler may start the same work again by itself. */
  mayRetry: boolean;
}

export type CancelledShardPart = Omit<CancelledShard, 'cancellation'> & Omit<DocumentedCancellation, 'stage'>;

/** The `settle.run` document: what one run did for one day, as tables, report and exit code say it too. */
export interface RunDocument {
  schema: 'settle.run';
  runId: string | null;
  batchDay: string;
  dryRun: boolean;
  kind: string;
  reason: string | null;
  /** "2/4" when the run was over a shard of the accounts only. */
  shard: string | null;
  outcome: Outcome;
  exitCode: number;
  closed: boolean;
  alreadyClosed: boolean;
  cancellation: DocumentedCancellation | null;
  error: { code: string; message: string } | null;
  watermark: { from: string; reached: string; top: string };
  totals: {
    source: CurrencyTotal[];
    read: CurrencyTotal[];
    claimed: CurrencyTotal[];
    outbox: CurrencyTotal[];
    posted: CurrencyTotal[];
  };
  /** What this run claimed itself; `totals` are those of the whole day. */
  settledNow: CurrencyTotal[];
  /** What this run booked at the end of the day, as the terms of the accounts want it; a dry run, what it would book. */
  terms: readonly TermsTotal[];
  accounts: { settled: number; quarantined: number; carriedForward: number };
  checks: RunCheck[];
  /** The end of the day's hash chain; null while the day is not closed. */
  ledgerHead: LedgerHead | null;
  discrepancies: { open: number };
  /** Orders that came after their day was closed, settled now under their own day. */
  late: { batchDay: string; totals: CurrencyTotal[] }[];
  /** Shards that were cancelled while the others went on; the next run settles what they left. */
  cancelledShards: CancelledShardPart[];
  withdrawn: { orderNo: string; state: string }[];
  /** Orders of the day that are neither settled nor set aside. */
  leftOrders: number;
  /** Messages of the day that wait or are parked. */
  unsentMessages: number;
  /** Earlier days that were owed and were settled first. */
  catchUp: { batchDay: string; runId: string | null; outcome: Outcome; exitCode: number; orders: number }[];
  /** Runs over shards that the same process made before the day was ended. */
  shardRuns: { shard: string; runId: string | null; outcome: Outcome; orders: number; durationMs: number }[];
  slowestShards: { lane: number; accountNo: string | null; orders: number; durationMs: number; medianMs: number }[];
  stageTimes: { stage: string; durationMs: number }[];
  durationMs: number;
  provenance: Provenance | null;
}

/** The document of a run that has nothing to report yet. */
export function emptyDocument(run: Run, tally: Tally, { effects, settings }: BatchDeps): RunDocument {
  const { dryRun } = effects;
  return {
    schema: 'settle.run',
    runId: dryRun ? null : run.id.toString(),
    batchDay: run.day,
    dryRun,
    kind: run.request.kind,
    reason: run.request.reason,
    shard: run.request.shard === null ? null : shardText(run.request.shard),
    outcome: 'INTERRUPTED',
    exitCode: exitCodes.INTERNAL,
    closed: false,
    alreadyClosed: false,
    cancellation: null,
    error: null,
    watermark: { from: run.fromId.toString(), reached: tally.reachedId.toString(), top: run.topId.toString() },
    totals: { source: run.source, read: [], claimed: [], outbox: [], posted: [] },
    settledNow: [],
    terms: tally.terms,
    accounts: { settled: 0, quarantined: run.setAside.size, carriedForward: 0 },
    checks: [],
    ledgerHead: null,
    discrepancies: { open: 0 },
    late: [],
    cancelledShards: tally.cancelledShards.map(cancelledShardPart),
    withdrawn: tally.withdrawn,
    leftOrders: 0,
    unsentMessages: 0,
    catchUp: [],
    shardRuns: [],
    slowestShards: tally.slowest.map((timing) => ({ ...timing, medianMs: tally.medianMs })),
    stageTimes: [],
    durationMs: 0,
    provenance: settings.provenance ?? null,
  };
}

/** The document that a run stored. */
export function storedDocument(text: string): RunDocument {
  return JSON.parse(text, (key, value: unknown) =>
    key === 'netMinor' || key === 'amountMinor' ? BigInt(value as string) : value,
  ) as RunDocument;
}

export function cancellationPart(cancellation: Cancellation): DocumentedCancellation {
  const { code, detail, stage, mayRetry } = cancellation;
  return { code, detail, stage, mayRetry };
}

function cancelledShardPart({ cancellation, ...shard }: CancelledShard): CancelledShardPart {
  const { code, detail, mayRetry } = cancellation;
  return { ...shard, code, detail, mayRetry };
}
