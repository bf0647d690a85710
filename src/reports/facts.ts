import type { Database } from '../db/database.js';
import type { Session } from '../db/session.js';
import { toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import { depositCounts, type DepositCounts } from '../deposits/stateViews.js';
import { openByClass, type OpenClass } from '../discrepancies/views.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { ordersLeft } from '../orders/reportQueries.js';
import { sinkBacklog, topicBacklog, type Backlog } from '../outbox/backlogViews.js';
import { payoutCounts, type PayoutCount } from '../payouts/stateViews.js';
import { heldLeaseViews } from './lease.js';
import { runRows, type RunRow } from './queries.js';

/** What is not done, in counts. No number grows with the books: closed days and what is paid or delivered is not counted. */
export interface OpenFacts {
  /** Orders of days that a run has begun and not closed. */
  orders: { waiting: number; processing: number };
  quarantinedAccounts: number;
  topics: Backlog[];
  sinks: Backlog[];
  payouts: PayoutCount[];
  deposits: DepositCounts;
  discrepancies: OpenClass[];
}

/** What is told of the last run over all accounts that left a document. */
export interface LastRun {
  run: RunRow;
  stageTimes: { stage: string; durationMs: number }[];
  durationMs: number;
  /** Orders by where they have come to ("source", "read", …) and currency. */
  totals: { stage: string; currency: string; orders: number; netMinor: bigint }[];
  accounts: { settled: number; quarantined: number; carriedForward: number };
  /** Orders that somebody else moved while the run was about to claim them. */
  casLosses: number;
  cancelledShards: number;
}

export interface Facts {
  open: OpenFacts;
  /** Start of the newest run of all. */
  lastAttemptAt: string | null;
  /** When a batch day was last closed. */
  lastSuccessAt: string | null;
  lastRun: LastRun | null;
  newestDay: BatchDay | null;
  /** Cut-off of the earliest day that is begun and not closed. */
  oldestOpenCutOff: string | null;
  leases: { held: number; heartbeatAgeMs: number };
}

/** Everything that is measured, from one snapshot. */
export function collectFacts(database: Database): Promise<Facts> {
  return database.snapshot(async (session) => {
    const open = await openFacts(session);
    const [newest] = await runRows(session, { limit: 1 });
    const [closed] = await session.tuples(
      `select closed_at from batch where state = 'CLOSED' order by batch_day desc limit 1`,
    );
    const [days] = await session.tuples('select max(batch_day) from batch');
    const [first] = await session.tuples(
      `select cut_off from batch where state <> 'CLOSED' order by batch_day limit 1`,
    );
    const leases = await heldLeaseViews(session);
    return {
      open,
      lastAttemptAt: newest?.startedAt ?? null,
      lastSuccessAt: toInstantOrNull(closed?.[0]),
      lastRun: await lastRun(session),
      newestDay: toTextOrNull(days?.[0]),
      oldestOpenCutOff: first === undefined ? null : toInstant(first[0]),
      leases: { held: leases.length, heartbeatAgeMs: Math.max(0, ...leases.map((lease) => lease.heartbeatAgeMs ?? 0)) },
    };
  });
}

export async function openFacts(session: Session): Promise<OpenFacts> {
  const left = await ordersLeft(session);
  const [quarantined] = await session.tuples('select count(*) from quarantine where active = 1');
  return {
    orders: {
      waiting: left.reduce((sum, day) => sum + day.waiting, 0),
      processing: left.reduce((sum, day) => sum + day.processing, 0),
    },
    quarantinedAccounts: toCount(quarantined?.[0]),
    topics: await topicBacklog(session),
    sinks: await sinkBacklog(session),
    payouts: await payoutCounts(session),
    deposits: await depositCounts(session),
    discrepancies: await openByClass(session),
  };
}

async function lastRun(session: Session): Promise<LastRun | null> {
  const [row] = await session.tuples(
    `select id, document from run where shard_no is null and document is not null order by id desc limit 1`,
  );
  if (row === undefined) return null;
  const [run] = await runRows(session, { id: BigInt(String(row[0])), limit: 1 });
  return run === undefined ? null : { run, ...readDocument(toText(row[1])) };
}

interface Stored {
  totals?: Record<string, { currency: string; orders: number; netMinor: string }[]>;
  stageTimes?: LastRun['stageTimes'];
  durationMs?: number;
  accounts?: LastRun['accounts'];
  withdrawn?: unknown[];
  cancelledShards?: unknown[];
}

/** What of a run's document is measured; an older version may have left some of it out. */
export function readDocument(text: string): Omit<LastRun, 'run'> {
  const stored = JSON.parse(text) as Stored;
  return {
    stageTimes: stored.stageTimes ?? [],
    durationMs: stored.durationMs ?? 0,
    totals: Object.entries(stored.totals ?? {}).flatMap(([stage, totals]) =>
      totals.map(({ currency, orders, netMinor }) => ({ stage, currency, orders, netMinor: BigInt(netMinor) })),
    ),
    accounts: stored.accounts ?? { settled: 0, quarantined: 0, carriedForward: 0 },
    casLosses: stored.withdrawn?.length ?? 0,
    cancelledShards: stored.cancelledShards?.length ?? 0,
  };
}
