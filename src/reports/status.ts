import type { Database } from '../db/database.js';
import type { Session } from '../db/session.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import type { RunState } from '../kernel/states.js';
import { owedDays, type OwedDay } from '../orders/lateViews.js';
import { ordersLeft } from '../orders/reportQueries.js';
import { outboxStatus } from '../outbox/views.js';
import { activeQuarantine } from '../settlement/quarantineViews.js';
import { cancellationOf, type ReportedRun } from './dayReport.js';
import { heldLeaseViews, leaseView, type HeldLeaseView, type LeaseView } from './lease.js';
import * as queries from './queries.js';
import { msBetween, plural } from './words.js';

export interface RunStatus extends ReportedRun {
  batchDay: BatchDay;
  stage: string;
  ordersTotal: number;
  ordersRead: number;
  watermark: { from: bigint; reached: bigint; top: bigint };
  heartbeatAt: string;
  /** While it runs: orders per second of its current stage, and the time left at that rate. */
  ordersPerSecond: number | null;
  etaMs: number | null;
}

export interface StatusView {
  /** That of runs over all accounts. */
  lease: LeaseView;
  /** Every lease that is held, those of shards too. */
  leases: HeldLeaseView[];
  run: RunStatus | null;
  /** Runs at work, oldest first: several when processes share a day. */
  running: RunStatus[];
  openDays: BatchDay[];
  /** Days up to the due one with orders that no run has begun, or that came after the day was closed. */
  owedDays: OwedDay[];
  left: {
    orders: number;
    processing: number;
    messagesNew: number;
    messagesParked: number;
    quarantinedAccounts: number;
  };
  /** What to type next; null while a run is at work. */
  next: string | null;
}

/**
 * Who runs, how far, what is left of the days up to the due one, from one snapshot. `runId` asks for another run than the newest. Throws NOT_FOUND
 * when that run does not exist.
 */
export async function collectStatus(database: Database, dueDay: BatchDay, runId?: bigint): Promise<StatusView> {
  return database.snapshot(async (session) => {
    const [run] = await queries.runRows(session, { id: runId, limit: 1 });
    if (run === undefined && runId !== undefined) {
      throw new SettleError('NOT_FOUND', `There is no run ${String(runId)}.`, {
        details: { runId },
        next: 'settle runs',
      });
    }
    const lease = await leaseView(session);
    const leases = await heldLeaseViews(session);
    const running = (await queries.runRows(session, { state: 'RUNNING' })).reverse().map(runStatus);
    const orders = await ordersLeft(session);
    const owed = await owedDays(session, dueDay);
    const outbox = await outboxStatus(session);
    const left = {
      orders: orders.reduce((sum, day) => sum + day.waiting, 0) + owed.reduce((sum, day) => sum + day.orders, 0),
      processing: orders.reduce((sum, day) => sum + day.processing, 0),
      messagesNew: outbox.counts.NEW,
      messagesParked: outbox.counts.PARKED,
      quarantinedAccounts: (await activeQuarantine(session)).length,
    };
    const openDays = await queries.openDays(session);
    const newest = run === undefined ? null : runStatus(run);
    const view = { lease, leases, run: newest, running, openDays, owedDays: owed, left };
    return { ...view, next: nextCommand(view) };
  });
}

/** One run with its progress. */
export function runStatus(run: queries.RunRow): RunStatus {
  const done = run.stage === 'POSTING' ? run.ordersPosted : run.ordersClaimed;
  const elapsedMs = msBetween(run.startedAt, run.heartbeatAt);
  const measurable = run.state === 'RUNNING' && done > 0 && elapsedMs > 0;
  const perSecond = measurable ? (done * 1_000) / elapsedMs : null;
  return {
    runId: run.id,
    batchDay: run.batchDay,
    kind: run.kind,
    shard: run.shard,
    state: run.state,
    stage: run.stage,
    exitCode: run.exitCode,
    errorCode: run.errorCode,
    reason: run.reason,
    cancellation: cancellationOf(run),
    orders: run.ordersClaimed,
    ordersPosted: run.ordersPosted,
    ordersRead: run.ordersRead,
    ordersTotal: run.ordersTotal,
    watermark: { from: run.fromId, reached: run.reachedId, top: run.topId },
    startedAt: run.startedAt,
    heartbeatAt: run.heartbeatAt,
    finishedAt: run.finishedAt,
    ordersPerSecond: perSecond === null ? null : Math.round(perSecond),
    etaMs: perSecond === null ? null : Math.round((Math.max(0, run.ordersTotal - done) / perSecond) * 1_000),
  };
}

const continued: ReadonlySet<RunState> = new Set(['INTERRUPTED', 'ABANDONED']);

function nextCommand({
  leases,
  run,
  running,
  openDays,
  owedDays: owed,
  left,
}: Omit<StatusView, 'next'>): string | null {
  const atWork = leases.some((lease) => !lease.expired);
  if (atWork && (run === null || running.length > 0)) return null;
  if (run === null) return 'settle run';
  if (running.length > 0) return 'settle resume';
  if (continued.has(run.state) && openDays.length > 0) return 'settle resume';
  if (run.state === 'INTEGRITY') return `settle verify --batch-day ${run.batchDay}`;
  if (left.messagesParked > 0) return 'settle outbox status';
  if (openDays.length > 0 || left.messagesNew > 0) return 'settle run';
  // Named, since the first of them may lie further back than a run looks by itself.
  if (owed[0] !== undefined) return `settle run --batch-day ${owed[0].batchDay}`;
  if (left.quarantinedAccounts > 0) return 'settle quarantine list';
  return `settle report --batch-day ${run.batchDay}`;
}

export interface DueCheck {
  dueDay: BatchDay;
  closed: boolean;
  /** What stands between the due day and CLOSED, one sentence each. */
  missing: string[];
}

/** Whether the day that is due is closed; if not, what is missing. */
export async function checkDueDay(database: Database, dueDay: BatchDay): Promise<DueCheck> {
  return database.snapshot(async (session) => {
    const batch = await queries.batchOf(session, dueDay);
    if (batch?.state === 'CLOSED') return { dueDay, closed: true, missing: [] };
    const missing =
      batch === undefined
        ? [`No run has settled ${dueDay} yet.`]
        : [`The batch of ${dueDay} is ${batch.state}.`, ...(await missingFor(session, dueDay))];
    return { dueDay, closed: false, missing };
  });
}

async function missingFor(session: Session, day: BatchDay): Promise<string[]> {
  const orders = (await ordersLeft(session)).find((left) => left.batchDay === day);
  const messages = await queries.unsentMessages(session, day);
  const facts: [number, string, string][] = [
    [orders?.waiting ?? 0, 'order', 'not claimed'],
    [orders?.processing ?? 0, 'order', 'claimed and not posted'],
    [messages.new, 'message', 'not delivered'],
    [messages.parked, 'message', 'parked'],
  ];
  return facts.filter(([count]) => count > 0).map(([count, what, how]) => `${plural(count, what)} ${how}.`);
}
