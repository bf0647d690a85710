import type { Row, Session } from '../db/session.js';
import { nowMs, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import { instantText } from '../kernel/clock.js';

/** The process that took the lease, as it described itself. */
export interface LeaseHolder {
  host: string;
  pid: string;
  startedAt: string | null;
  command: string | null;
}

export interface LeaseView {
  held: boolean;
  holder: LeaseHolder | null;
  fencingNo: string;
  acquiredAt: string | null;
  heartbeatAt: string | null;
  /** By the database's clock, which is the one that decides. */
  heartbeatAgeMs: number | null;
  expiresAt: string | null;
  expired: boolean;
}

/** One of the leases that are held; `shard` is "2/4", or null for a run over all accounts. */
export type HeldLeaseView = LeaseView & { shard: string | null };

/** The job of runs over all accounts; "batch 2/4" is that of a shard. */
const wholeJob = 'batch';

const nothing: LeaseView = {
  held: false,
  holder: null,
  fencingNo: '0',
  acquiredAt: null,
  heartbeatAt: null,
  heartbeatAgeMs: null,
  expiresAt: null,
  expired: false,
};

/** Who holds the lease of whole runs, since when, and whether its heartbeat is still in time. */
export async function leaseView(session: Session): Promise<LeaseView> {
  return (await leaseRows(session)).find(({ job }) => job === wholeJob)?.view ?? nothing;
}

/** Every lease that is held: that of a whole run, or those of shards. */
export async function heldLeaseViews(session: Session): Promise<HeldLeaseView[]> {
  const rows = await leaseRows(session);
  return rows
    .filter(({ view }) => view.held)
    .map(({ job, view }) => ({ shard: job === wholeJob ? null : job.slice(wholeJob.length + 1), ...view }));
}

async function leaseRows(session: Session): Promise<{ job: string; view: LeaseView }[]> {
  const rows = await session.rows(
    `select job, fencing_no, owner, acquired_ms, heartbeat_ms, expires_ms, ${nowMs(session.dialect)} as now_ms
       from lease order by job`,
  );
  return rows.map((row) => ({ job: toText(row['job']), view: viewOf(row) }));
}

function viewOf(row: Row): LeaseView {
  const fencingNo = toBigInt(row['fencing_no']).toString();
  const owner = toTextOrNull(row['owner']);
  if (owner === null) return { ...nothing, fencingNo };
  const moment = (name: string): number | null => (row[name] === null ? null : toCount(row[name]));
  const now = toCount(row['now_ms']);
  const [acquired, heartbeat, expires] = [moment('acquired_ms'), moment('heartbeat_ms'), moment('expires_ms')];
  return {
    held: true,
    holder: holderIn(owner),
    fencingNo,
    acquiredAt: acquired === null ? null : instantText(new Date(acquired)),
    heartbeatAt: heartbeat === null ? null : instantText(new Date(heartbeat)),
    heartbeatAgeMs: heartbeat === null ? null : Math.max(0, now - heartbeat),
    expiresAt: expires === null ? null : instantText(new Date(expires)),
    expired: expires === null || expires <= now,
  };
}

function holderIn(owner: string): LeaseHolder {
  const text = (value: unknown): string | null =>
    typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null;
  try {
    const given = JSON.parse(owner) as Record<string, unknown> | null;
    return {
      host: text(given?.['host']) ?? 'unknown host',
      pid: text(given?.['pid']) ?? '?',
      startedAt: text(given?.['startedAt']),
      command: text(given?.['command']),
    };
  } catch {
    // Written by hand or by another version: still better shown than hidden.
    return { host: owner, pid: '?', startedAt: null, command: null };
  }
}
