import type { Session, Transaction } from '../db/session.js';
import {
  exactSum,
  fromInstant,
  sumIn,
  sumIsNegative,
  toBigInt,
  toCount,
  toInstant,
  toText,
  toTextOrNull,
} from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { BatchState, RunState } from '../kernel/states.js';
import type { CurrencyTotal } from '../orders/order.js';
import type { SourceTotal } from '../orders/queries.js';
import type { Run, RunKind, RunRequest, Stage } from './run.js';

export interface BatchRow {
  day: BatchDay;
  state: BatchState;
  cutOff: string;
  topId: bigint;
  ordersAtClose: number | null;
}

const batchColumns = 'batch_day, state, cut_off, top_id, orders_at_close';

function toBatch(row: Record<string, unknown>): BatchRow {
  return {
    day: toText(row['batch_day']),
    state: toText(row['state']) as BatchState,
    cutOff: toInstant(row['cut_off']),
    topId: toBigInt(row['top_id']),
    ordersAtClose: row['orders_at_close'] === null ? null : toCount(row['orders_at_close']),
  };
}

export async function batchOf(session: Session, day: BatchDay): Promise<BatchRow | null> {
  const [row] = await session.rows(`select ${batchColumns} from batch where batch_day = ?`, [day]);
  return row === undefined ? null : toBatch(row);
}

/** Batches before a day: all that are not closed, and the closed ones from `from` on. */
export async function batchesBefore(session: Session, from: BatchDay, before: BatchDay): Promise<BatchRow[]> {
  const rows = await session.rows(
    `select ${batchColumns} from batch
      where batch_day < ? and (batch_day >= ? or state <> 'CLOSED') order by batch_day`,
    [before, from],
  );
  return rows.map(toBatch);
}

export async function insertBatch(trx: Transaction, batch: BatchRow, now: string): Promise<void> {
  await trx.change('insert into batch (batch_day, state, cut_off, top_id, opened_at) values (?, ?, ?, ?, ?)', [
    batch.day,
    batch.state,
    fromInstant(trx.dialect, batch.cutOff),
    batch.topId,
    fromInstant(trx.dialect, now),
  ]);
}

export async function raiseTopId(trx: Transaction, day: BatchDay, topId: bigint): Promise<void> {
  await trx.change('update batch set top_id = ?, version = version + 1 where batch_day = ? and top_id < ?', [
    topId,
    day,
    topId,
  ]);
}

/** Moves the batch from one state to the next; 0 when it was not in that state. */
export async function moveBatch(trx: Transaction, day: BatchDay, from: BatchState, to: BatchState): Promise<number> {
  return trx.change('update batch set state = ?, version = version + 1 where batch_day = ? and state = ?', [
    to,
    day,
    from,
  ]);
}

export async function closeBatch(trx: Transaction, day: BatchDay, orders: number, now: string): Promise<number> {
  return trx.change(
    `update batch set state = 'CLOSED', closed_at = ?, orders_at_close = ?, version = version + 1
      where batch_day = ? and state = 'RECONCILING'`,
    [fromInstant(trx.dialect, now), orders, day],
  );
}

/** Late orders were settled under a day that stays closed: what it holds is counted anew. */
export async function recountClosedBatch(trx: Transaction, day: BatchDay, orders: number): Promise<number> {
  return trx.change(
    `update batch set orders_at_close = ?, version = version + 1 where batch_day = ? and state = 'CLOSED'`,
    [orders, day],
  );
}

export async function replaceSourceTotals(
  trx: Transaction,
  day: BatchDay,
  totals: readonly SourceTotal[],
): Promise<void> {
  await trx.change('delete from source_total where batch_day = ?', [day]);
  await trx.insertMany(
    'source_total',
    ['batch_day', 'currency', 'type', 'orders', 'amount_minor'],
    // As text: the sum may be wider than 64 bits.
    totals.map((total) => [day, total.currency, total.type, total.orders, total.amountMinor.toString()]),
  );
}

/** Nets of a day by currency: what its runs have claimed so far. With a run, only what that run claimed. */
export async function claimedTotals(session: Session, day: BatchDay, runId?: bigint): Promise<CurrencyTotal[]> {
  const rows = await session.rows(
    `select n.currency, sum(n.orders) as orders, ${exactSum(session.dialect, 'n.amount_minor', 'net')}
       from chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no
      where c.batch_day = ? ${runId === undefined ? '' : 'and c.run_id = ?'}
      group by n.currency order by n.currency`,
    runId === undefined ? [day] : [day, runId],
  );
  return rows.map((row) => ({
    currency: toText(row['currency']),
    orders: toCount(row['orders']),
    netMinor: sumIn(row, 'net'),
  }));
}

/** Accounts with a net on the day, and those whose position is negative in some currency: debt that is carried on. */
export async function accountCounts(
  session: Session,
  day: BatchDay,
): Promise<{ settled: number; carriedForward: number }> {
  const [row] = await session.rows(
    `select count(distinct account_no) as settled,
            count(distinct case when negative = 1 then account_no end) as carried
       from (select n.account_no, n.currency,
                    case when ${sumIsNegative(session.dialect, 'n.amount_minor')} then 1 else 0 end as negative
               from chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no
              where c.batch_day = ? group by n.account_no, n.currency) p`,
    [day],
  );
  return { settled: toCount(row?.['settled'] ?? 0), carriedForward: toCount(row?.['carried'] ?? 0) };
}

/** Positions of a day: the sum of its nets by account and currency. */
export async function netPositions(
  session: Session,
  day: BatchDay,
): Promise<(CurrencyTotal & { accountNo: string })[]> {
  const rows = await session.rows(
    `select n.account_no, n.currency, sum(n.orders) as orders, ${exactSum(session.dialect, 'n.amount_minor', 'net')}
       from chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no
      where c.batch_day = ? group by n.account_no, n.currency`,
    [day],
  );
  return rows.map((row) => ({
    accountNo: toText(row['account_no']),
    currency: toText(row['currency']),
    orders: toCount(row['orders']),
    netMinor: sumIn(row, 'net'),
  }));
}

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

/** The last run of a day that left a result. */
export async function lastDocument(session: Session, day: BatchDay): Promise<RunRow | null> {
  const [row] = await session.rows(
    `select ${runColumns} from run where batch_day = ? and document is not null order by id desc limit 1`,
    [day],
  );
  return row === undefined ? null : toRun(row);
}

/** How far runs over the whole day have come: everything at or below is claimed or set aside. */
export async function storedWatermark(session: Session, day: BatchDay): Promise<bigint> {
  const [row] = await session.rows(
    `select max(reached_id) as reached from run where batch_day = ? and kind in ('RUN', 'RESUME')`,
    [day],
  );
  return toBigInt(row?.['reached'] ?? 0);
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
    `insert into run (batch_day, kind, state, fencing_no, owner, reason, from_id, reached_id, top_id, stage,
                      orders_total, started_at, heartbeat_at)
     values (?, ?, 'RUNNING', ?, ?, ?, ?, ?, ?, 'FREEZE', ?, ?, ?)`,
    [
      run.day,
      run.request.kind,
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

/** Runs that still say RUNNING although their lease is ours now: their processes are dead. */
export async function abandonRuns(trx: Transaction, fencingNo: bigint, now: string): Promise<number> {
  return trx.change(`update run set state = 'ABANDONED', finished_at = ? where state = 'RUNNING' and fencing_no < ?`, [
    fromInstant(trx.dialect, now),
    fencingNo,
  ]);
}

export interface RunProgress {
  stage: Stage;
  reachedId: bigint;
  read: number;
  claimed: number;
  posted: number;
}

export async function saveProgress(trx: Transaction, run: Run, progress: RunProgress, now: string): Promise<void> {
  await trx.change(
    `update run set stage = ?, reached_id = ?, orders_read = ?, orders_claimed = ?, orders_posted = ?, heartbeat_at = ?
      where id = ? and state = 'RUNNING' and reached_id <= ?`,
    [
      progress.stage,
      progress.reachedId,
      progress.read,
      progress.claimed,
      progress.posted,
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
