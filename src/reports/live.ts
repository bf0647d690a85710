import type { Session } from '../db/session.js';
import { nowMs, toCount } from '../db/values.js';
import { openBySeverity } from '../discrepancies/views.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { instantText } from '../kernel/clock.js';
import type { BatchState } from '../kernel/states.js';
import { ledgerLag } from '../outbox/lagViews.js';
import { sinkStatus } from '../outbox/views.js';
import { payoutsNotFinal, type OpenPayouts } from '../payouts/openViews.js';
import { quarantinedNow } from '../settlement/settlementViews.js';
import { heldLeaseViews, type HeldLeaseView } from './lease.js';
import * as queries from './queries.js';
import { runStatus, type RunStatus } from './status.js';
import { msBetween } from './words.js';

/** A piece of work of a lane, as old as it was at the run's last heartbeat. */
export interface LiveLane {
  lane: number;
  /** Null where it has several accounts. */
  accountNo: string | null;
  accounts: number;
  orders: number;
  forMs: number;
}

export interface LiveRun extends RunStatus {
  lanes: LiveLane[];
  slowest: { lane: number; accountNo: string | null; orders: number; durationMs: number } | null;
  /** What half of the pieces of work took at most. */
  medianMs: number;
}

/** What somebody who watches sees at one moment, by the database's clock. */
export interface LiveView {
  at: string;
  due: { day: BatchDay; state: BatchState | null; lastRun: string | null };
  leases: HeldLeaseView[];
  /** Those at work, oldest first; else the newest. */
  runs: LiveRun[];
  ledger: { waiting: number; parked: number; oldestMs: number | null };
  sinks: { sink: string; waiting: number; parked: number; oldestMs: number | null }[];
  /** What is PROCESSING for longer than the threshold. */
  stuck: { afterMs: number; orders: number; payouts: number; payoutsForMs: number | null };
  payouts: Pick<OpenPayouts, 'INIT' | 'PROCESSING' | 'UNKNOWN' | 'MANUAL'>;
  discrepancies: { open: number; high: number };
  quarantined: number;
}

/**
 * Everything of the live view from one snapshot, asked in a way that costs little beside a run: along indexes of what is
 * open, and from the counters of the run, never by counting orders.
 */
export async function collectLive(session: Session, dueDay: BatchDay, stuckMs: number): Promise<LiveView> {
  const [clock] = await session.rows(`select ${nowMs(session.dialect)} as now_ms`);
  const now = toCount(clock?.['now_ms']);
  const since = (instant: string | null): number | null =>
    instant === null ? null : Math.max(0, now - Date.parse(instant));
  const batch = await queries.batchOf(session, dueDay);
  const [ofDue] = await queries.runRows(session, { day: dueDay, limit: 1 });
  const running = (await queries.runRows(session, { state: 'RUNNING' })).reverse();
  const newest = running.length > 0 ? [] : await queries.runRows(session, { limit: 1 });
  const lag = await ledgerLag(session, instantText(new Date(now - stuckMs)));
  const { stuck, stuckSinceMs, ...payouts } = await payoutsNotFinal(session, now - stuckMs);
  const { HIGH, MEDIUM, LOW } = await openBySeverity(session);
  const sinks = await sinkStatus(session);
  return {
    at: instantText(new Date(now)),
    due: { day: dueDay, state: batch?.state ?? null, lastRun: ofDue?.state ?? null },
    leases: await heldLeaseViews(session),
    runs: [...running, ...newest].map(liveRun),
    ledger: { waiting: lag.waiting, parked: lag.parked, oldestMs: since(lag.oldestAt) },
    sinks: sinks.map(({ sink, waiting, parked, oldest }) => ({
      ...{ sink, waiting, parked },
      oldestMs: since(oldest?.createdAt ?? null),
    })),
    stuck: {
      ...{ afterMs: stuckMs, orders: lag.stuckOrders, payouts: stuck },
      payoutsForMs: stuckSinceMs === null ? null : Math.max(0, now - stuckSinceMs),
    },
    payouts,
    discrepancies: { open: HIGH + MEDIUM + LOW, high: HIGH },
    quarantined: await quarantinedNow(session),
  };
}

function liveRun(run: queries.RunRow): LiveRun {
  return { ...runStatus(run), ...atWorkIn(run.atWork) };
}

/** What was written by another version, or by hand, shows no lanes. */
function atWorkIn(text: string | null): Pick<LiveRun, 'lanes' | 'slowest' | 'medianMs'> {
  try {
    const { lanes, slowest, medianMs } = JSON.parse(text ?? '') as Pick<LiveRun, 'lanes' | 'slowest' | 'medianMs'>;
    return { lanes, slowest, medianMs };
  } catch {
    return { lanes: [], slowest: null, medianMs: 0 };
  }
}

/** How fast the runs are just now: from what was seen in the last half minute, each run and stage for itself. */
export class Pace {
  private readonly seen = new Map<string, { at: string; done: number }[]>();

  /** Sets rate and time left of each run that was seen before; of another it keeps those since its start. */
  of(view: LiveView): LiveView {
    const runs = view.runs.map((run): LiveRun => {
      const key = `${String(run.runId)} ${run.stage}`;
      const done = run.stage === 'POSTING' ? run.ordersPosted : run.orders;
      const samples = [...(this.seen.get(key) ?? []), { at: run.heartbeatAt, done }].filter(
        ({ at }) => msBetween(at, run.heartbeatAt) <= windowMs,
      );
      this.seen.set(key, samples);
      const [first] = samples;
      const elapsedMs = first === undefined ? 0 : msBetween(first.at, run.heartbeatAt);
      if (first === undefined || elapsedMs <= 0 || run.state !== 'RUNNING') return run;
      const perSecond = ((done - first.done) * 1_000) / elapsedMs;
      const etaMs = perSecond > 0 ? Math.round(((run.ordersTotal - done) / perSecond) * 1_000) : null;
      return { ...run, ordersPerSecond: Math.round(perSecond), etaMs };
    });
    return { ...view, runs };
  }
}

const windowMs = 30_000;
