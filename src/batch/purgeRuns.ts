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
  const found = { runs: 0, cancelledShards: 0 };
  for (const day of await database.read((session) => closedDays(session, before))) {
    const { runIds, cancelled } = await database.read((session) => tracesOf(session, day));
    found.runs += runIds.length;
    found.cancelledShards += cancelled;
  }
  return found;
}

/** Deletes them, each day in a transaction of its own, and counts what is gone. */
export async function purgeTraces(database: Database, before: string): Promise<OldTraces> {
  const gone = { runs: 0, cancelledShards: 0 };
  for (const day of await database.read((session) => closedDays(session, before))) {
    const unit = repeatable('purge traces of a closed day', async (trx) => {
      // Looked at again in here: a person may have reopened the day's accounts or begun a run.
      if (!(await closedDays(trx, before)).includes(day)) return { runs: 0, cancelledShards: 0 };
      const { runIds } = await tracesOf(trx, day);
      const cancelledShards = await trx.change('delete from cancelled_shard where batch_day = ?', [day]);
      if (runIds.length === 0) return { runs: 0, cancelledShards };
      const list = oneOfIds(trx.dialect, 'id', runIds);
      const runs = await trx.change(`delete from run where ${list.sql} and state <> 'RUNNING'`, list.bindings);
      return { runs, cancelledShards };
    });
    const { runs, cancelledShards } = await database.transact(unit);
    gone.runs += runs;
    gone.cancelledShards += cancelledShards;
  }
  return gone;
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

async function tracesOf(session: Session, day: BatchDay): Promise<{ runIds: bigint[]; cancelled: number }> {
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
  const [cancelled] = await session.rows('select count(*) as shards from cancelled_shard where batch_day = ?', [day]);
  const runIds: bigint[] = [];
  for (const id of supersededRuns(traces)) if (!(await isNamed(session, id, day))) runIds.push(id);
  return { runIds, cancelled: toCount(cancelled?.['shards']) };
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
