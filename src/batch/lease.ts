import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Database } from '../db/database.js';
import type { Session, Transaction } from '../db/session.js';
import { nowMs, toBigInt, toText, toTextOrNull } from '../db/values.js';
import { Cancellation } from '../kernel/cancellation.js';
import { SettleError } from '../kernel/errors.js';
import { parseShard, shardText, type Shard } from '../sharding/shard.js';

/**
 * The job that moves money, over all accounts. Its row stays for ever, and is the counter that every fencing number is
 * drawn from. A shard has a job of its own, "batch 2/4", with a row while it is held.
 */
const wholeJob = 'batch';

export function jobOf(shard: Shard | null): string {
  return shard === null ? wholeJob : `${wholeJob} ${shardText(shard)}`;
}

/** The shard that a lease is for; null for a whole run. */
function shardOfJob(job: string): Shard | null {
  return job === wholeJob ? null : parseShard(job.slice(wholeJob.length + 1));
}

export interface Lease {
  readonly job: string;
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
 * Takes the lease of a shard, or of the whole job, under a new fencing number. Throws BATCH_LOCKED, naming the holder, while
 * a lease is held that shuts it out: a whole run is alone, and shards of one division are beside each other. A holder
 * whose process is provably gone from this machine is taken over at once, any other after its lease has expired.
 * Taking over early would be safe too: the old holder's writes carry the old number.
 */
export async function acquireLease(
  database: Database,
  options: { shard?: Shard | null; durationMs: number; command: string; startedAt: string },
): Promise<Lease> {
  const job = jobOf(options.shard ?? null);
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
      work: (trx) => take(trx, job, owner, options.durationMs),
      landed: async (session) =>
        (await leaseRows(session)).find((held) => held.owner?.token === owner.token)?.fencingNo,
    });
    return { job, fencingNo, token: owner.token, owner };
  } catch (error) {
    throw await withHolder(database, job, error);
  }
}

/**
 * Names the holder when the lease could not be taken because something keeps the database locked: mostly the holder
 * itself, stopped or hanging inside a transaction. Reading needs no lock.
 */
async function withHolder(database: Database, job: string, error: unknown): Promise<unknown> {
  if (!(error instanceof SettleError) || error.code !== 'DATABASE_CONTENTION') return error;
  const leases = await database.read(leaseRows).catch((): LeaseRow[] => []);
  const held = leases.filter(hasOwner).find((lease) => shutsOut(lease.job, job));
  if (held === undefined) return error;
  const { pid, host } = held.owner;
  const process = `process ${String(pid)} on ${host}`;
  return new SettleError('DATABASE_CONTENTION', `${error.message}; ${holding(held)}`, {
    cause: error,
    details: { ...error.details, ...holderDetails(held) },
    next: `If ${process} hangs or is stopped, let it go on (kill -CONT ${String(pid)}) or end it (kill -9 ${String(pid)}), then type the same command again. Nothing is half-done.`,
  });
}

async function take(trx: Transaction, job: string, owner: Owner, durationMs: number): Promise<bigint> {
  // Locks the counter: takes come one after another, and each sees what the one before has left.
  await trx.change('update lease set fencing_no = fencing_no + 1 where job = ?', [wholeJob]);
  const leases = await leaseRows(trx);
  const barring = leases.filter((held) => shutsOut(held.job, job));
  const holder = barring.find(isHeld);
  if (holder !== undefined) throw lockedBy(holder);
  // Their holders are dead. One that is not after all finds its number gone, and writes nothing more.
  for (const dead of barring) await removeHolder(trx, dead);
  const fencingNo = (leases.find((held) => held.job === wholeJob) as LeaseRow).fencingNo;
  const now = nowMs(trx.dialect);
  if (job !== wholeJob) await trx.change('insert into lease (job, fencing_no) values (?, ?)', [job, fencingNo]);
  await trx.change(
    `update lease set owner = ?, acquired_ms = ${now}, heartbeat_ms = ${now}, expires_ms = ${now} + ? where job = ?`,
    [JSON.stringify(owner), durationMs, job],
  );
  return fencingNo;
}

/** Whether a lease on one job keeps another from being taken. */
function shutsOut(held: string, wanted: string): boolean {
  const [a, b] = [shardOfJob(held), shardOfJob(wanted)];
  return a === null || b === null || a.of !== b.of || a.no === b.no;
}

/** Ends a hold. The row of a shard goes with it, so that a late write finds none. */
async function removeHolder(trx: Transaction, { job, fencingNo }: { job: string; fencingNo: bigint }): Promise<void> {
  if (job === wholeJob) await freeLease(trx, job, fencingNo);
  else await trx.change('delete from lease where job = ? and fencing_no = ?', [job, fencingNo]);
}

/**
 * Takes the lease from who holds it under this number; false when nobody did. The number stays, under which the holder
 * can still write why it stops.
 */
export async function freeLease(trx: Session, job: string, fencingNo: bigint): Promise<boolean> {
  const freed = await trx.change(
    'update lease set owner = null, expires_ms = 0 where job = ? and fencing_no = ? and owner is not null',
    [job, fencingNo],
  );
  return freed === 1;
}

interface LeaseRow {
  job: string;
  fencingNo: bigint;
  owner: Owner | null;
  heartbeatMs: bigint;
  expiresMs: bigint;
  nowMs: bigint;
}

async function leaseRows(session: Session): Promise<LeaseRow[]> {
  const rows = await session.rows(
    `select job, fencing_no, owner, heartbeat_ms, expires_ms, ${nowMs(session.dialect)} as now_ms
       from lease order by job`,
  );
  return rows.map((row) => {
    const owner = toTextOrNull(row['owner']);
    return {
      job: toText(row['job']),
      fencingNo: toBigInt(row['fencing_no']),
      owner: owner === null ? null : (JSON.parse(owner) as Owner),
      heartbeatMs: toBigInt(row['heartbeat_ms'] ?? 0),
      expiresMs: toBigInt(row['expires_ms'] ?? 0),
      nowMs: toBigInt(row['now_ms']),
    };
  });
}

type HeldLease = LeaseRow & { owner: Owner };

function hasOwner(lease: LeaseRow): lease is HeldLease {
  return lease.owner !== null;
}

function isHeld(lease: LeaseRow): lease is HeldLease {
  return hasOwner(lease) && lease.expiresMs > lease.nowMs && !isGone(lease.owner);
}

/** The leases whose holders may be alive. */
export async function heldLeases(session: Session): Promise<{ shard: Shard | null; owner: Owner }[]> {
  return (await leaseRows(session)).filter(isHeld).map(({ job, owner }) => ({ shard: shardOfJob(job), owner }));
}

function lockedBy(held: HeldLease): SettleError {
  return new SettleError(
    'BATCH_LOCKED',
    `${holding(held)}, taken over if silent for another ${seconds(held.expiresMs - held.nowMs)} s.`,
    { next: 'settle status', details: holderDetails(held) },
  );
}

function holding({ owner, nowMs: now, heartbeatMs }: HeldLease): string {
  return (
    `${owner.command} on ${owner.host} (process ${String(owner.pid)}) holds the lease since ${owner.startedAt}; ` +
    `last sign of life ${seconds(now - heartbeatMs)} s ago`
  );
}

function holderDetails(held: HeldLease): Record<string, unknown> {
  const { host, pid, startedAt } = held.owner;
  const shard = shardOfJob(held.job);
  return {
    host,
    pid,
    since: startedAt,
    heartbeatAgeMs: held.nowMs - held.heartbeatMs,
    shard: shard === null ? null : shardText(shard),
  };
}

function seconds(ms: bigint): string {
  return String(Number(ms) / 1_000);
}

/** The fence, last statement of each money transaction: the lock it takes makes a takeover wait until the COMMIT is through. */
export async function assertLeaseHeld(trx: Session, lease: Lease): Promise<void> {
  const [row] = await trx.rows(
    `select fencing_no from lease where job = ? ${trx.dialect === 'sqlite' ? '' : 'lock in share mode'}`,
    [lease.job],
  );
  if (row === undefined || toBigInt(row['fencing_no']) !== lease.fencingNo) throw leaseLost();
}

/** Renews the lease; throws OPERATOR when a person has freed it, LEASE_LOST when another run has taken it over. */
export async function renewLease(trx: Transaction, lease: Lease, durationMs: number): Promise<void> {
  const now = nowMs(trx.dialect);
  const renewed = await trx.change(
    `update lease set heartbeat_ms = ${now}, expires_ms = ${now} + ? where job = ? and fencing_no = ? and owner is not null`,
    [durationMs, lease.job, lease.fencingNo],
  );
  if (renewed === 1) return;
  const row = (await leaseRows(trx)).find(({ job }) => job === lease.job);
  throw row?.fencingNo === lease.fencingNo ? await freedByHand(trx) : leaseLost();
}

/** Only a person frees a lease that is not theirs; who and why is told to the run that held it. */
async function freedByHand(trx: Transaction): Promise<Cancellation> {
  const [row] = await trx.rows(
    `select by_name, reason from operator_action where action = 'LOCK_RELEASE' order by id desc limit 1`,
  );
  const [by, reason] = [toTextOrNull(row?.['by_name']), toTextOrNull(row?.['reason'])];
  return new Cancellation('OPERATOR', `${by ?? 'Somebody'} released the lease: ${reason ?? 'no reason given'}`);
}

/** Gives the lease back. Numbers are never drawn twice, so late writes of ours are refused after the next take. */
export async function releaseLease(trx: Transaction, lease: Lease): Promise<void> {
  await removeHolder(trx, lease);
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
