import { Cancellation, cancellationIn, type CancellationCode } from '../kernel/cancellation.js';
import { errorCatalogue, SettleError, type ErrorCode } from '../kernel/errors.js';
import { toJson } from '../kernel/json.js';
import type { BatchDeps } from './deps.js';
import { cancellationPart, emptyDocument, type Outcome, type RunDocument } from './document.js';
import type { Run } from './run.js';
import type { Stages } from './stages.js';
import type { Tally } from './tally.js';

/** Records why the run ended early: the one boundary at which a cancellation or an error becomes a row. */
export async function recordFailure(
  deps: BatchDeps,
  run: Run,
  tally: Tally,
  stages: Stages,
  error: unknown,
): Promise<RunDocument> {
  const stage = stages.current;
  const { cancellation, outcome, exitCode, code, message } = classify(error, stage);
  const document: RunDocument = {
    ...emptyDocument(run, tally, deps),
    outcome,
    exitCode,
    cancellation: cancellation === null ? null : cancellationPart(cancellation),
    error: code === null ? null : { code, message },
    stageTimes: stages.times,
    durationMs: stages.durationMs,
  };
  try {
    document.totals.claimed = await deps.effects.claimed(run, false);
    document.settledNow = await deps.effects.claimed(run, true);
    // A lease that a person has freed cannot be renewed; until somebody takes it, the fence still lets the reason be written.
    if (cancellation?.code !== 'OPERATOR') await stages.beat();
    await deps.effects.finish(run, {
      state: outcome,
      exitCode,
      cancellation: document.cancellation,
      errorCode: code,
      document: toJson(document),
    });
  } catch (recording) {
    // The lease or the database is gone: the next run finds this one dead and says so. The first error is the one to tell.
    deps.onUnrecorded(recording);
  }
  if (cancellation?.code === 'INTERNAL_ERROR') throw error;
  return document;
}

interface Failure {
  cancellation: Cancellation | null;
  outcome: Outcome;
  exitCode: number;
  code: string | null;
  message: string;
}

function classify(error: unknown, stage: string): Failure {
  const message = error instanceof Error ? error.message : String(error);
  const cancelled = (cancellation: Cancellation, code: string | null): Failure => ({
    cancellation,
    outcome: 'INTERRUPTED',
    exitCode: cancellation.exitCode,
    code,
    message,
  });
  const given = cancellationIn(error);
  if (given !== null) return cancelled(given.at(stage), null);
  if (!(error instanceof SettleError)) {
    return cancelled(new Cancellation('INTERNAL_ERROR', message, stage, error), 'INTERNAL');
  }
  if (errorCatalogue[error.code] === 'INTEGRITY') {
    return { cancellation: null, outcome: 'INTEGRITY', exitCode: error.exitCode, code: error.code, message };
  }
  return cancelled(new Cancellation(cancellationCodeOf(error.code), message, stage, error), error.code);
}

/** A full disk and a database that stays locked are not a database that is gone: the operator does something else. */
function cancellationCodeOf(code: ErrorCode): CancellationCode {
  if (code === 'DISK_FULL' || code === 'DATABASE_CONTENTION') return code;
  return errorCatalogue[code] === 'TEMPFAIL' ? 'DATABASE_LOST' : 'INTERNAL_ERROR';
}
