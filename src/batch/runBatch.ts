import { Cancellation, cancellationIn, throwIfCancelled } from '../kernel/cancellation.js';
import { errorCatalogue, exitCodes, SettleError } from '../kernel/errors.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { toJson } from '../kernel/json.js';
import type { BatchDeps } from './deps.js';
import { cancellationPart, emptyDocument, type Outcome, type RunDocument } from './document.js';
import type { DayProof, Leftover, RunCheck } from './effects.js';
import { startHeartbeat } from './heartbeat.js';
import type { Run, RunRequest, Stage } from './run.js';
import { owed, settleOrders } from './settleOrders.js';
import { Tally } from './tally.js';
import { readTotals, totalsText } from './totals.js';

/**
 * Settles one day: freeze the input, settle it in lanes, post it to the ledger, reconcile, close. Whatever is committed
 * when it ends early stands, and the next run goes on from there. Returns the document of the run; throws only bugs.
 */
export async function runBatch(deps: BatchDeps, day: BatchDay, request: RunRequest): Promise<RunDocument> {
  const { effects, progress, signal } = deps;
  const run = await effects.open(day, request);
  const tally = new Tally(run.fromId);
  const stages = new Stages(deps, run, tally);
  try {
    await stages.enter('SETTLING');
    const leftover = await settleOrders(deps, run, tally);
    await stages.enter('POSTING');
    const unsent = await effects.post(run, signal, (orders) => {
      tally.orders.posted += orders;
      progress.advance('posted', orders);
    });
    await stages.enter('RECONCILING');
    const proven = await prove(deps, run, tally, leftover);
    await stages.end();
    return await conclude(deps, run, tally, stages, { ...proven, unsent });
  } catch (error) {
    await stages.end();
    return recordFailure(deps, run, tally, stages, error);
  }
}

/** The stage at hand, its time, and the heartbeat that tells the database about it. */
class Stages {
  readonly times: { stage: string; durationMs: number }[] = [];
  current: Stage = 'FREEZE';
  private readonly startedAt = performance.now();
  private since = this.startedAt;
  private readonly heartbeat;

  constructor(
    private readonly deps: BatchDeps,
    private readonly run: Run,
    private readonly tally: Tally,
  ) {
    this.heartbeat = startHeartbeat(() => this.beat(), {
      everyMs: 1_000,
      leaseMs: deps.settings.leaseMs,
      giveUp: deps.giveUp,
    });
  }

  async enter(stage: Stage): Promise<void> {
    throwIfCancelled(this.deps.signal);
    this.clock();
    this.current = stage;
    await this.deps.effects.enter(this.run, stage);
    this.deps.progress.stage(
      stage,
      this.run.source.reduce((sum, total) => sum + total.orders, 0),
    );
  }

  /** Stops the heartbeat, so that nothing is written after the run has ended. */
  async end(): Promise<void> {
    this.clock();
    this.deps.progress.end();
    await this.heartbeat.stop();
  }

  get durationMs(): number {
    return Math.round(performance.now() - this.startedAt);
  }

  private clock(): void {
    const now = performance.now();
    this.times.push({ stage: this.current, durationMs: Math.round(now - this.since) });
    this.since = now;
  }

  beat(): Promise<void> {
    const { read, claimed, posted } = this.tally.orders;
    const { reachedId } = this.tally;
    return this.deps.effects.beat(this.run, { stage: this.current, reachedId, read, claimed, posted });
  }
}

interface Findings {
  leftover: readonly Leftover[];
  unsent: number;
  proof: DayProof;
}

/**
 * Reconciles the day. Orders of accounts that are set aside may be cancelled at any moment: when what was frozen is no
 * longer what the tables hold, it is frozen and proven once more, so that only a difference that stays counts.
 */
async function prove(
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
async function conclude(
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
    ...emptyDocument(run, tally, effects.dryRun),
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
    late: run.late && own.length > 0 ? [{ batchDay: run.day, totals: own }] : [],
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

/** Records why the run ended early: the one boundary at which a cancellation or an error becomes a row. */
async function recordFailure(
  deps: BatchDeps,
  run: Run,
  tally: Tally,
  stages: Stages,
  error: unknown,
): Promise<RunDocument> {
  const stage = stages.current;
  const { cancellation, outcome, exitCode, code, message } = classify(error, stage);
  const document: RunDocument = {
    ...emptyDocument(run, tally, deps.effects.dryRun),
    outcome,
    exitCode,
    cancellation: cancellation === null ? null : cancellationPart(cancellation),
    error: code === null ? null : { code, message },
    stageTimes: stages.times,
    durationMs: stages.durationMs,
  };
  try {
    document.totals.claimed = await deps.effects.claimed(run, false);
    await stages.beat();
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
  const code = errorCatalogue[error.code] === 'TEMPFAIL' ? 'DATABASE_LOST' : 'INTERNAL_ERROR';
  return cancelled(new Cancellation(code, message, stage, error), error.code);
}
