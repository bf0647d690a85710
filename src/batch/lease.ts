import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Database } from '../db/database.js';
import type { Session, Transaction } from '../db/session.js';
import { nowMs, toBigInt, toTextOrNull } from '../db/values.js';
import { Cancellation } from '../kernel/cancellation.js';
import { SettleError } from '../kernel/errors.js';

/** One lease for the one job that moves money; its name holds nothing that changes from night to night. */
export const job = 'batch';

export interface Lease {
  readonly fencingNo: bigint;
  readonly token: string;
  readonly owner: Owner;
}

/** Who holds the lease: enough for a person to find the process, and for the next run to see that it is dead. */
export interface Owner {
  host: string;
  pid: number;
  /** Boot and process namespace: a pid means nothing outside of them. */
  realm: string;
  token: string;
  startedAt: string;
  command: string;
}

/**
 * Takes the lease by compare-and-swap and raises its fencing number. Throws BATCH_LOCKED, naming the holder, while
 * another holds it; a holder whose process is provably gone from this machine is taken over at once, any other after
 * its lease has expired. Taking over early would be safe too: the old holder's writes carry the old number.
 */
export async function acquireLease(
  database: Database,
  options: { durationMs: number; command: string; startedAt: string },
): Promise<Lease> {
  const owner: Owner = {
    host: hostname(),
    pid: process.pid,
    realm: realm(),
    token: randomUUID(),
    startedAt: options.startedAt,
    command: options.command,
  };
  try {
    const fencingNo = await database.transact({
      name: 'take lease',
      work: (trx) => take(trx, owner, options.durationMs),
      landed: async (session) => {
        const held = await leaseRow(session);
        return held?.owner?.token === owner.token ? held.fencingNo : undefined;
      },
    });
    return { fencingNo, token: owner.token, owner };
  } catch (error) {
    throw await withHolder(database, error);
  }
}

/**
 * Names the holder when the lease could not be taken because something keeps the database locked: mostly the holder
 * itself, stopped or hanging inside a transaction. Reading needs no lock.
 */
async function withHolder(database: Database, error: unknown): Promise<unknown> {
  if (!(error instanceof SettleError) || error.code !== 'DATABASE_CONTENTION') return error;
  const held = await database.read(leaseRow).catch(() => null);
  if (held === null || held.owner === null) return error;
  const { pid, host } = held.owner;
  const process = `process ${String(pid)} on ${host}`;
  return new SettleError('DATABASE_CONTENTION', `${error.message}; ${holding(held.owner, held)}`, {
    cause: error,
    details: { ...error.details, ...holderDetails(held.owner, held) },
    next: `If ${process} hangs or is stopped, let it go on (kill -CONT ${String(pid)}) or end it (kill -9 ${String(pid)}), then type the same command again. Nothing is half-done.`,
  });
}

async function take(trx: Transaction, owner: Owner, durationMs: number): Promise<bigint> {
  const held = await leaseRow(trx);
  if (held === null) {
    await trx.change('insert into lease (job, fencing_no) values (?, 0)', [job]);
    return take(trx, owner, durationMs);
  }
  if (held.owner !== null && held.expiresMs > held.nowMs && !isGone(held.owner)) throw lockedBy(held.owner, held);
  const now = nowMs(trx.dialect);
  const taken = await trx.change(
    `update lease set fencing_no = fencing_no + 1, owner = ?, acquired_ms = ${now}, heartbeat_ms = ${now},
            expires_ms = ${now} + ?
      where job = ? and fencing_no = ?`,
    [JSON.stringify(owner), durationMs, job, held.fencingNo],
  );
  if (taken === 1) return held.fencingNo + 1n;
  throw new SettleError('BATCH_LOCKED', 'Another run took the lease in this very moment.', { next: 'settle status' });
}

interface LeaseRow {
  fencingNo: bigint;
  owner: Owner | null;
  acquiredMs: bigint;
  heartbeatMs: bigint;
  expiresMs: bigint;
  nowMs: bigint;
}

async function leaseRow(session: Session): Promise<LeaseRow | null> {
  const [row] = await session.rows(
    `select fencing_no, owner, acquired_ms, heartbeat_ms, expires_ms, ${nowMs(session.dialect)} as now_ms
       from lease where job = ?`,
    [job],
  );
  if (row === undefined) return null;
  const owner = toTextOrNull(row['owner']);
  return {
    fencingNo: toBigInt(row['fencing_no']),
    owner: owner === null ? null : (JSON.parse(owner) as Owner),
    acquiredMs: toBigInt(row['acquired_ms'] ?? 0),
    heartbeatMs: toBigInt(row['heartbeat_ms'] ?? 0),
    expiresMs: toBigInt(row['expires_ms'] ?? 0),
    nowMs: toBigInt(row['now_ms']),
  };
}

function lockedBy(owner: Owner, held: LeaseRow): SettleError {
  const leftMs = held.expiresMs - held.nowMs;
  return new SettleError(
    'BATCH_LOCKED',
    `${holding(owner, held)}, taken over if silent for another ${seconds(leftMs)} s.`,
    { next: 'settle status', details: holderDetails(owner, held) },
  );
}

function holding(owner: Owner, held: LeaseRow): string {
  return (
    `${owner.command} on ${owner.host} (process ${String(owner.pid)}) holds the lease since ${owner.startedAt}; ` +
    `last sign of life ${seconds(held.nowMs - held.heartbeatMs)} s ago`
  );
}

function holderDetails(owner: Owner, held: LeaseRow): Record<string, unknown> {
  const { host, pid, startedAt } = owner;
  return { host, pid, since: startedAt, heartbeatAgeMs: held.nowMs - held.heartbeatMs };
}

function seconds(ms: bigint): string {
  return String(Number(ms) / 1_000);
}

/** The fence, last statement of each money transaction: the lock it takes makes a takeover wait until the COMMIT is through. */
export async function assertLeaseHeld(trx: Session, lease: Lease): Promise<void> {
  const [row] = await trx.rows(
    `select fencing_no from lease where job = ? ${trx.dialect === 'sqlite' ? '' : 'lock in share mode'}`,
    [job],
  );
  if (row === undefined || toBigInt(row['fencing_no']) !== lease.fencingNo) throw leaseLost();
}

/** Renews the lease; throws LEASE_LOST when it is no longer ours. */
export async function renewLease(trx: Transaction, lease: Lease, durationMs: number): Promise<void> {
  const now = nowMs(trx.dialect);
  const renewed = await trx.change(
    `update lease set heartbeat_ms = ${now}, expires_ms = ${now} + ? where job = ? and fencing_no = ? and owner is not null`,
    [durationMs, job, lease.fencingNo],
  );
  if (renewed !== 1) throw leaseLost();
}

/** Gives the lease back; the fencing number stays, so that late writes of ours are refused after the next takeover. */
export async function releaseLease(trx: Transaction, lease: Lease): Promise<void> {
  await trx.change('update lease set owner = null, expires_ms = 0 where job = ? and fencing_no = ?', [
    job,
    lease.fencingNo,
  ]);
}

function leaseLost(): Cancellation {
  return new Cancellation('LEASE_LOST', 'Another run has taken over the lease; nothing more is written by this one.');
}

/** True only when it is certain: the same boot, the same process namespace, and no such process. */
function isGone(owner: Owner): boolean {
  if (owner.host !== hostname() || owner.realm !== realm()) return false;
  try {
    process.kill(owner.pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function realm(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return randomUUID(); // not Linux: never equal, so expiry alone decides
  }
}
