import type { Database } from '../db/database.js';
import type { Session } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { fromInstant, oneOfIds, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';

/** A run of a closed day, as far as it decides whether it may be forgotten. */
export interface RunTrace {
  id: bigint;
  kind: string;
  state: string;
  /** Of one shard, and not over all accounts. */
  isShard: boolean;
  reachedId: bigint;
  claimed: number;
  posted: number;
  /** A person began it or ended it: its reason is kept. */
  byHand: boolean;
  hasDocument: boolean;
}

const ended = ['OK', 'PARTIAL', 'INTEGRITY'];

/**
 * Runs of one closed day that settled nothing and whose place others have taken: tries that were cut off, and runs that found
 * the day closed. What a report, a resume or the next run reads stays, and so does every run that a person gave a reason for.
 * Pure.
 */
export function supersededRuns(runs: readonly RunTrace[]): bigint[] {
  const last = (fits: (run: RunTrace) => boolean): bigint | undefined =>
    runs
      .filter(fits)
      .reduce<bigint | undefined>((id, run) => (id === undefined || run.id > id ? run.id : id), undefined);
  const read = new Set([
    last(() => true),
    last(({ isShard }) => !isShard),
    last(({ isShard, hasDocument }) => !isShard && hasDocument),
    last(({ isShard, hasDocument, state }) => !isShard && hasDocument && ended.includes(state)),
  ]);
  const isKept = (run: RunTrace): boolean =>
    read.has(run.id) ||
    run.state === 'RUNNING' ||
    run.kind === 'RERUN' ||
    run.byHand ||
    run.claimed > 0 ||
    run.posted > 0;
  const reached = runs.filter(isKept).reduce((most, { reachedId }) => (reachedId > most ? reachedId : most), 0n);
  // The farthest watermark of a day is a hint that saves reading; a run that alone has it stays.
  return runs.filter((run) => !isKept(run) && run.reachedId <= reached).map(({ id }) => id);
}

/** Rows that tell of work and hold no money, of days that closed long ago with nothing left open. */
export interface OldTraces {
  runs: number;
  cancelledShards: number;
}

/** What `purgeTraces` would delete. `before`: RFC 3339; days that were closed before it. */
export async function countTraces(database: Database, before: string): Promise<OldTraces> {
  const { runIds, cancelled } = await oldTraces(database, before);
  return { runs: runIds.length, cancelledShards: cancelled.reduce((sum, { shards }) => sum + shards, 0) };
}

/** Deletes them, a bounded number in each transaction, and counts what is gone. */
export async function purgeTraces(database: Database, before: string): Promise<OldTraces> {
  // Decided outside of a transaction: a run that has ended never changes, and what is superseded stays so.
  const { runIds, cancelled } = await oldTraces(database, before);
  const remove = async (table: string, column: string, ids: readonly bigint[], condition: string): Promise<number> => {
    let removed = 0;
    for (let at = 0; at < ids.length; at += idsMax) {
      const part = ids.slice(at, at + idsMax);
      const unit = repeatable(`purge ${table}`, (trx) => {
        const list = oneOfIds(trx.dialect, column, part);
        return trx.change(`delete from ${table} where ${list.sql} ${condition}`, list.bindings);
      });
      removed += await database.transact(unit);
    }
    return removed;
  };
  return {
    runs: await remove('run', 'id', runIds, `and state <> 'RUNNING'`),
    cancelledShards: await remove(
      'cancelled_shard',
      'run_id',
      cancelled.map(({ runId }) => runId),
      '',
    ),
  };
}

/** Runs in one transaction. */
const idsMax = 1_000;

/** In the order of ids. */
async function oldTraces(
  database: Database,
  before: string,
): Promise<{ runIds: bigint[]; cancelled: { runId: bigint; shards: number }[] }> {
  const days = await database.read((session) => closedDays(session, before));
  const runIds: bigint[] = [];
  for (const day of days) runIds.push(...(await database.read((session) => runsOf(session, day))));
  const rows = await database.read((session) =>
    session.tuples(
      'select run_id, batch_day, count(*) from cancelled_shard group by run_id, batch_day order by run_id',
    ),
  );
  const isOld = new Set(days);
  const cancelled = rows
    .filter(([, day]) => isOld.has(toText(day)))
    .map(([runId, , shards]) => ({ runId: toBigInt(runId), shards: toCount(shards) }));
  return { runIds: runIds.sort((one, other) => (one < other ? -1 : 1)), cancelled };
}

/** Days that were closed before then, and on which no account is set aside. */
async function closedDays(session: Session, before: string): Promise<BatchDay[]> {
  const rows = await session.tuples(
    `select b.batch_day from batch b
      where b.state = 'CLOSED' and b.closed_at < ?
        and not exists (select 1 from quarantine q where q.batch_day = b.batch_day and q.active = 1)
      order by b.batch_day`,
    [fromInstant(session.dialect, before)],
  );
  return rows.map(([day]) => toText(day));
}

async function runsOf(session: Session, day: BatchDay): Promise<bigint[]> {
  const rows = await session.rows(
    `select id, kind, state, shard_no, reached_id, orders_claimed, orders_posted, reason, cancel_code,
            case when document is null then 0 else 1 end as has_document
       from run where batch_day = ? order by id`,
    [day],
  );
  const traces = rows.map((row): RunTrace => ({
    id: toBigInt(row['id']),
    kind: toText(row['kind']),
    state: toText(row['state']),
    isShard: row['shard_no'] !== null,
    reachedId: toBigInt(row['reached_id']),
    claimed: toCount(row['orders_claimed']),
    posted: toCount(row['orders_posted']),
    byHand: row['reason'] !== null || toTextOrNull(row['cancel_code']) === 'OPERATOR',
    hasDocument: toCount(row['has_document']) === 1,
  }));
  const runIds: bigint[] = [];
  for (const id of supersededRuns(traces)) if (!(await isNamed(session, id, day))) runIds.push(id);
  return runIds;
}

/** Whether a row of the books or of the audit names the run. */
async function isNamed(session: Session, id: bigint, day: BatchDay): Promise<boolean> {
  const [row] = await session.rows(
    `select case when exists (select 1 from chunk where run_id = ?)
                   or exists (select 1 from quarantine where batch_day = ? and (run_id = ? or retried_run_id = ?))
                   or exists (select 1 from withdrawn_order where run_id = ?)
                   or exists (select 1 from chain_link where run_id = ?)
                   or exists (select 1 from journal_entry where batch_day = ? and run_id = ?)
                 then 1 else 0 end as named`,
    [id, day, id, id, id, id, day, id],
  );
  return toCount(row?.['named']) === 1;
}
