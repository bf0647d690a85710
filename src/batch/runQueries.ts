import type { Session, Transaction } from '../db/session.js';
import { fromInstant, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { RunState } from '../kernel/states.js';
import type { Shard } from '../sharding/shard.js';
import type { CancelledShard } from './cancelledShard.js';
import type { Run, RunKind, RunRequest, Stage } from './run.js';

export interface RunRow {
  id: bigint;
  day: BatchDay;
  kind: RunKind;
  state: RunState;
  reachedId: bigint;
  exitCode: number | null;
  document: string | null;
}

const runColumns = 'id, batch_day, kind, state, reached_id, exit_code, document';

function toRun(row: Record<string, unknown>): RunRow {
  return {
    id: toBigInt(row['id']),
    day: toText(row['batch_day']),
    kind: toText(row['kind']) as RunKind,
    state: toText(row['state']) as RunState,
    reachedId: toBigInt(row['reached_id']),
    exitCode: row['exit_code'] === null ? null : toCount(row['exit_code']),
    document: toTextOrNull(row['document']),
  };
}

export async function runById(session: Session, id: bigint): Promise<RunRow | null> {
  const [row] = await session.rows(`select ${runColumns} from run where id = ?`, [id]);
  return row === undefined ? null : toRun(row);
}

/** The last run of a day, or of all days. */
export async function lastRun(session: Session, day?: BatchDay): Promise<RunRow | null> {
  const [row] = await session.rows(
    `select ${runColumns} from run ${day === undefined ? '' : 'where batch_day = ?'} order by id desc limit 1`,
    day === undefined ? [] : [day],
  );
  return row === undefined ? null : toRun(row);
}

/** The last run over all accounts of a day that left a result. */
export async function lastDocument(session: Session, day: BatchDay): Promise<RunRow | null> {
  const [row] = await session.rows(
    `select ${runColumns} from run
      where batch_day = ? and shard_no is null and document is not null order by id desc limit 1`,
    [day],
  );
  return row === undefined ? null : toRun(row);
}

/** The last run over all accounts of a day that came to its end, however it judged the day. */
export async function endedRun(session: Session, day: BatchDay): Promise<{ id: bigint; document: string } | null> {
  const [row] = await session.rows(
    `select id, document from run
      where batch_day = ? and shard_no is null and state in ('OK', 'PARTIAL', 'INTEGRITY') and document is not null
      order by id desc limit 1`,
    [day],
  );
  return row === undefined ? null : { id: toBigInt(row['id']), document: toText(row['document']) };
}

/** Numbers of the shards of a division that were settled to their end by runs after the given one. */
export async function doneShards(session: Session, day: BatchDay, of: number, afterRun: bigint): Promise<Set<number>> {
  const rows = await session.rows(
    `select shard_no from run where batch_day = ? and shards = ? and id > ? and state in ('OK', 'PARTIAL')`,
    [day, of, afterRun],
  );
  return new Set(rows.map((row) => toCount(row['shard_no'])));
}

/** Days in [from, upTo] whose last run over all accounts did not reach its end, or ended with a contradiction. */
export async function unendedDays(session: Session, from: BatchDay, upTo: BatchDay): Promise<BatchDay[]> {
  const rows = await session.rows(
    `select batch_day from run
      where id in (select max(id) from run
                    where batch_day >= ? and batch_day <= ? and shard_no is null group by batch_day)
        and state not in ('OK', 'PARTIAL')
      order by batch_day`,
    [from, upTo],
  );
  return rows.map((row) => toText(row['batch_day']));
}

/**
 * The order id after which a run starts. Runs over the whole day start where the earlier ones have come to: everything
 * at or below is claimed or set aside, and the sweep looks there again. A run for some accounts has no sweep, and what
 * it is asked for may lie anywhere, such as the orders of an account that was released.
 */
export async function startOf(session: Session, day: BatchDay, request: RunRequest): Promise<bigint> {
  if (request.fromId !== null) return request.fromId;
  return request.accounts === null ? storedWatermark(session, day, request.shard) : 0n;
}

/**
 * How far the day is: everything of the shard's accounts, or of all accounts, at or below is claimed or set aside. The
 * watermark of a shard says nothing of other accounts; the lowest of all shards of a division says it of all.
 */
export async function storedWatermark(session: Session, day: BatchDay, shard: Shard | null): Promise<bigint> {
  const rows = await session.rows(
    `select shards, shard_no, max(reached_id) as reached from run
      where batch_day = ? and kind in ('RUN', 'RESUME') group by shards, shard_no`,
    [day],
  );
  let watermark = 0n;
  const divisions = new Map<number, bigint[]>();
  for (const row of rows) {
    const reached = toBigInt(row['reached']);
    const [of, no] = [toCount(row['shards'] ?? 0), toCount(row['shard_no'] ?? 0)];
    const own = of === 0 || (of === shard?.of && no === shard.no);
    if (own && reached > watermark) watermark = reached;
    divisions.set(of, [...(divisions.get(of) ?? []), reached]);
  }
  for (const [of, reached] of divisions) {
    if (reached.length < of) continue;
    const lowest = reached.reduce((least, id) => (id < least ? id : least));
    if (lowest > watermark) watermark = lowest;
  }
  return watermark;
}

export async function insertRun(
  trx: Transaction,
  run: {
    day: BatchDay;
    request: RunRequest;
    fencingNo: bigint;
    owner: string;
    fromId: bigint;
    topId: bigint;
    orders: number;
  },
  now: string,
): Promise<bigint> {
  const moment = fromInstant(trx.dialect, now);
  return trx.insert(
    `insert into run (batch_day, kind, state, shard_no, shards, fencing_no, owner, reason, from_id, reached_id, top_id,
                      stage, orders_total, started_at, heartbeat_at)
     values (?, ?, 'RUNNING', ?, ?, ?, ?, ?, ?, ?, ?, 'FREEZE', ?, ?, ?)`,
    [
      run.day,
      run.request.kind,
      run.request.shard?.no ?? null,
      run.request.shard?.of ?? null,
      run.fencingNo,
      run.owner,
      run.request.reason,
      run.fromId,
      run.fromId,
      run.topId,
      run.orders,
      moment,
      moment,
    ],
  );
}

/** The run of a day that was opened under a fencing number; undefined when there is none. */
export async function runUnder(session: Session, day: BatchDay, fencingNo: bigint): Promise<bigint | undefined> {
  const [row] = await session.rows('select id from run where batch_day = ? and fencing_no = ?', [day, fencingNo]);
  return row === undefined ? undefined : toBigInt(row['id']);
}

/** Runs that still say RUNNING although nobody holds the lease they were opened under: their processes are dead. */
export async function abandonRuns(trx: Transaction, now: string): Promise<number> {
  const dead = await trx.rows(
    `select id from run where state = 'RUNNING' and fencing_no not in
       (select fencing_no from lease where owner is not null) order by id`,
  );
  let abandoned = 0;
  for (const row of dead) {
    abandoned += await trx.change(
      `update run set state = 'ABANDONED', finished_at = ? where id = ? and state = 'RUNNING'`,
      [fromInstant(trx.dialect, now), toBigInt(row['id'])],
    );
  }
  return abandoned;
}

/** Repeated after a lost COMMIT, it finds its row. */
export async function insertCancelledShard(
  trx: Transaction,
  run: Run,
  shardNo: number,
  { stage, lane, accounts, firstAccountNo, orders, cancellation }: CancelledShard,
  now: string,
): Promise<void> {
  const key = [run.id, shardNo];
  const known = await trx.rows('select shard_no from cancelled_shard where run_id = ? and shard_no = ?', key);
  if (known.length > 0) return;
  await trx.change(
    `insert into cancelled_shard (run_id, shard_no, batch_day, stage, lane, accounts, first_account_no, orders, cancel_code,
                                  cancel_detail, noticed_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      ...key,
      run.day,
      stage,
      String(lane),
      accounts,
      firstAccountNo,
      orders,
      cancellation.code,
      cancellation.detail,
      fromInstant(trx.dialect, now),
    ],
  );
}

export interface RunProgress {
  stage: Stage;
  reachedId: bigint;
  read: number;
  claimed: number;
  posted: number;
  /** What the lanes have in hand, as JSON. */
  atWork: string;
}

export async function saveProgress(trx: Transaction, run: Run, progress: RunProgress, now: string): Promise<void> {
  await trx.change(
    `update run set stage = ?, reached_id = ?, orders_read = ?, orders_claimed = ?, orders_posted = ?, at_work = ?,
           heartbeat_at = ?
      where id = ? and state = 'RUNNING' and reached_id <= ?`,
    [
      progress.stage,
      progress.reachedId,
      progress.read,
      progress.claimed,
      progress.posted,
      progress.atWork,
      fromInstant(trx.dialect, now),
      run.id,
      progress.reachedId,
    ],
  );
}

export interface RunEnd {
  state: RunState;
  exitCode: number;
  cancellation: { code: string; detail: string; stage: string | null } | null;
  errorCode: string | null;
  document: string | null;
}

export async function finishRun(trx: Transaction, runId: bigint, end: RunEnd, now: string): Promise<number> {
  return trx.change(
    `update run set state = ?, exit_code = ?, cancel_code = ?, cancel_detail = ?, cancel_stage = ?, error_code = ?,
                    document = ?, finished_at = ?, stage = case when ? = 'OK' or ? = 'PARTIAL' then 'DONE' else stage end
      where id = ? and state = 'RUNNING'`,
    [
      end.state,
      end.exitCode,
      end.cancellation?.code ?? null,
      end.cancellation?.detail ?? null,
      end.cancellation?.stage ?? null,
      end.errorCode,
      end.document,
      fromInstant(trx.dialect, now),
      end.state,
      end.state,
      runId,
    ],
  );
}
