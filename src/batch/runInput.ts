import type { Session } from '../db/session.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { signedTotals, sourceTotals, withdrawnTotals, type SourceTotal } from '../orders/queries.js';
import { quarantinedAccounts, releasedAccounts } from '../settlement/quarantine.js';
import { claimedTotals } from './batchQueries.js';
import type { Run, RunRequest } from './run.js';
import { startOf } from './runQueries.js';

/** What a run finds when it is opened: of its shard's accounts, or of all. */
export interface RunInput {
  totals: SourceTotal[];
  fromId: bigint;
  before: Pick<Run, 'claimedBefore' | 'withdrawnBefore' | 'setAside' | 'released'>;
}

/** Reads the input up to `topId`; the caller holds one snapshot, so that all of it is of one moment. */
export async function readInput(
  session: Session,
  day: BatchDay,
  request: RunRequest,
  topId: bigint,
): Promise<RunInput> {
  const { shard } = request;
  const from = await startOf(session, day, request);
  return {
    totals: await sourceTotals(session, day, topId, shard),
    fromId: from < topId ? from : topId,
    before: {
      claimedBefore: await claimedTotals(session, day, shard),
      withdrawnBefore: await withdrawnTotals(session, day, topId, shard),
      setAside: new Set(await quarantinedAccounts(session, day, shard)),
      released: await releasedAccounts(session, day),
    },
  };
}

export function openedRun(
  id: bigint,
  request: RunRequest,
  frozen: Pick<Run, 'day' | 'cutOff' | 'topId' | 'late'>,
  { totals, fromId, before }: RunInput,
): Run {
  const { topId } = frozen;
  const untilId = request.untilId !== null && request.untilId < topId ? request.untilId : topId;
  return { id, request, ...frozen, fromId, untilId, source: signedTotals(totals), ...before, leftToNext: new Set() };
}
