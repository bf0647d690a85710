import { exitCodes } from '../kernel/errors.js';
import { toJson } from '../kernel/json.js';
import type { BatchDeps } from './deps.js';
import { emptyDocument, type RunDocument } from './document.js';
import type { DayProof, Leftover, RunCheck } from './effects.js';
import type { Run } from './run.js';
import { owed } from './settleOrders.js';
import type { Stages } from './stages.js';
import type { Tally } from './tally.js';
import { readTotals, totalsText } from './totals.js';

/** What the stages of a run leave to decide on. */
export interface Findings {
  leftover: readonly Leftover[];
  unsent: number;
  proof: DayProof;
}

/**
 * Reconciles the day. Orders of accounts that are set aside may be cancelled at any moment: when what was frozen is no
 * longer what the tables hold, it is frozen and proven once more, so that only a difference that stays counts.
 */
export async function proveDay(
  { effects }: BatchDeps,
  run: Run,
  tally: Tally,
  leftover: readonly Leftover[],
): Promise<{ leftover: readonly Leftover[]; proof: DayProof }> {
  const proof = await effects.reconcile(run);
  const moved = !compareRead(run, readTotals(run, tally, leftover)).ok && owed(run, leftover).length === 0;
  if (proof.outcome !== 'CONTRADICTION' && !moved) return { leftover, proof };
  await effects.refreeze(run);
  return { leftover: await effects.leftover(run), proof: await effects.reconcile(run) };
}

/** Closes the day if nothing is left and every check holds, and says what the tables say. */
export async function concludeRun(
  deps: BatchDeps,
  run: Run,
  tally: Tally,
  stages: Stages,
  { leftover, unsent, proof }: Findings,
): Promise<RunDocument> {
  const { effects } = deps;
  const read = readTotals(run, tally, leftover);
  const left = owed(run, leftover).length > 0 || unsent > 0 || proof.outcome === 'UNFINISHED';
  // Work that is known to be left makes the totals differ; that is PARTIAL, not a contradiction.
  const readCheck = compareRead(run, read);
  const checks = left ? proof.checks : [readCheck, ...proof.checks];
  const contradicted = proof.outcome === 'CONTRADICTION' || (!left && !readCheck.ok);
  const closing = await effects.close(run, !left && !contradicted, leftover, proof.orders);
  const outcome = contradicted ? 'INTEGRITY' : left || run.setAside.size > 0 ? 'PARTIAL' : 'OK';
  const own = await effects.claimed(run, true);
  const document: RunDocument = {
    ...emptyDocument(run, tally, deps),
    outcome,
    exitCode: exitCodes[outcome],
    closed: closing.closed,
    totals: { ...proof.totals, source: run.source, read },
    settledNow: own,
    accounts: {
      settled: closing.settledAccounts,
      quarantined: run.setAside.size,
      carriedForward: closing.carriedForward,
    },
    checks,
    ledgerHead: closing.ledgerHead,
    discrepancies: { open: await effects.openDiscrepancies(run) },
    late: run.late && own.length > 0 ? [{ batchDay: run.day, totals: own }] : [],
    leftOrders: owed(run, leftover).reduce((sum, { orders }) => sum + orders, 0),
    unsentMessages: unsent,
    stageTimes: stages.times,
    durationMs: stages.durationMs,
  };
  await stages.beat();
  await effects.finish(run, {
    state: outcome,
    exitCode: document.exitCode,
    cancellation: null,
    errorCode: contradicted ? 'CHECK_FAILED' : null,
    document: toJson(document),
  });
  return document;
}

/** What the reader counted against what was frozen. */
function compareRead(run: Run, read: RunDocument['totals']['read']): RunCheck {
  const [expected, actual] = [totalsText(run.source), totalsText(read)];
  return { name: 'read-totals', ok: expected === actual, expected, actual, differences: [] };
}
