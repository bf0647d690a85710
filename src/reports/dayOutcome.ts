import type { Session } from '../db/session.js';
import { oneOfIds, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { DayOutcome } from '../kernel/dayOutcome.js';
import type { BatchState, RunState } from '../kernel/states.js';

/** The newest run of a day, and what the day has come to by it. */
export interface DayStanding {
  batchDay: BatchDay;
  outcome: DayOutcome;
  runId: bigint;
  /** Why the run ended early, or what contradicts: a stable code; null otherwise. */
  code: string | null;
  exitCode: number | null;
  document: string | null;
}

/** Runs that are looked at, newest first: with a day in 64 shards still the last fifteen days. */
const runsMax = 1_000;

/** How each of the days that the newest runs were for stands, oldest first. A day with a run at work is left out. */
export async function dayStandings(session: Session): Promise<DayStanding[]> {
  const recent = await session.tuples(
    `select max(id) from (select id, batch_day from run order by id desc limit ${String(runsMax)}) r group by batch_day`,
  );
  if (recent.length === 0) return [];
  const newest = oneOfIds(
    session.dialect,
    'r.id',
    recent.map(([id]) => toBigInt(id)),
  );
  const rows = await session.rows(
    `select r.batch_day, r.id, r.state, r.shard_no, r.cancel_code, r.error_code, r.exit_code, r.document,
            b.state as batch_state
       from run r join batch b on b.batch_day = r.batch_day
      where ${newest.sql} order by r.batch_day`,
    newest.bindings,
  );
  return rows.flatMap((row) => {
    const outcome = dayOutcomeOf({
      batch: toText(row['batch_state']) as BatchState,
      run: toText(row['state']) as RunState,
      isShard: row['shard_no'] !== null,
      cancelCode: toTextOrNull(row['cancel_code']),
    });
    if (outcome === null) return [];
    return {
      batchDay: toText(row['batch_day']),
      outcome,
      runId: toBigInt(row['id']),
      code: toTextOrNull(row['cancel_code']) ?? toTextOrNull(row['error_code']),
      exitCode: row['exit_code'] === null ? null : toCount(row['exit_code']),
      document: toTextOrNull(row['document']),
    };
  });
}

const stoppedByHand: ReadonlySet<string> = new Set(['SIGINT', 'SIGTERM', 'OPERATOR']);

/** What a day has come to by its newest run; null while that cannot be said: a run, or another shard, is at work. */
export function dayOutcomeOf(facts: {
  batch: BatchState;
  run: RunState;
  isShard: boolean;
  cancelCode: string | null;
}): DayOutcome | null {
  switch (facts.run) {
    case 'RUNNING':
      return null;
    case 'INTEGRITY':
      return 'INTEGRITY';
    case 'ABANDONED':
      return 'FAILED';
    case 'INTERRUPTED':
      if (facts.cancelCode === 'DEADLINE') return 'DEADLINE';
      return stoppedByHand.has(facts.cancelCode ?? '') ? 'INTERRUPTED' : 'FAILED';
    case 'OK':
    case 'PARTIAL':
      if (facts.isShard) return null;
      if (facts.batch !== 'CLOSED') return 'OPEN';
      return facts.run === 'OK' ? 'CLOSED' : 'PARTIAL';
  }
}
