import type { Database } from '../db/database.js';
import { repeatable } from '../db/transaction.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { Cancellation } from '../kernel/cancellation.js';
import { instantText, type Clock } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { quarantinedAccounts } from '../settlement/quarantine.js';
import type { Calendar } from './calendar.js';
import { DatabaseEffects } from './databaseEffects.js';
import type { BatchDeps, BatchSettings, Progress } from './deps.js';
import type { RunDocument } from './document.js';
import { DryEffects } from './dryEffects.js';
import type { BatchEffects } from './effects.js';
import { acquireLease, releaseLease, type Lease } from './lease.js';
import { planDays } from './planDays.js';
import { abandonRuns, lastDocument } from './runQueries.js';
import { runBatch } from './runBatch.js';
import { wholeDay, type RunRequest } from './run.js';

export interface RunDaysOptions {
  target: BatchDay;
  /** Asked for `target` only (a rerun of a part); null: whatever is owed up to `target`. */
  request: RunRequest | null;
  kind: 'RUN' | 'RESUME';
  dryRun: boolean;
  accounts: readonly string[] | null;
  settings: BatchSettings & { lookBackDays: number; messageAttempts: number };
  calendar: Calendar;
  clock: Clock;
  /** For the lease: what was typed. */
  command: string;
  progress: Progress;
  signal: AbortSignal;
  say: (text: string) => void;
}

/**
 * Settles what is owed up to a day, earliest first, under one lease. The document is that of the target day; earlier
 * days are listed in it. A day that does not close stops the ones after it.
 */
export async function runDays(database: Database, options: RunDaysOptions): Promise<RunDocument> {
  const days = await daysOwed(database, options);
  if (days.length === 0) return alreadyClosed(database, options);
  if (options.dryRun) {
    return inOrder(database, days, options, (day, own) =>
      runBatch(
        depsFor(database, new DryEffects(database, options.calendar), options, options.signal, () => undefined),
        day,
        own,
      ),
    );
  }
  const lease = await acquireLease(database, {
    durationMs: options.settings.leaseMs,
    command: options.command,
    startedAt: instantText(options.clock.now()),
  });
  const within = new AbortController();
  const signal = AbortSignal.any([options.signal, within.signal]);
  const effects = new DatabaseEffects(database, lease, {
    calendar: options.calendar,
    clock: options.clock,
    lanes: options.settings.lanes,
    chunkSize: options.settings.chunkSize,
    messageAttempts: options.settings.messageAttempts,
    leaseMs: options.settings.leaseMs,
  });
  const deps = depsFor(database, effects, options, signal, (reason) => {
    within.abort(reason);
    // What the run still waits for would hold it for a statement limit, and may not be written any more.
    if (reason.code === 'DATABASE_LOST') database.abandon(reason);
  });
  try {
    await abandonDead(database, lease, options);
    // Asked again under the lease: another run may have closed the day just before this one took it.
    const owed = await daysOwed(database, options);
    if (owed.length === 0) return await alreadyClosed(database, options);
    return await inOrder(database, owed, options, (day, own) => runBatch(deps, day, own));
  } finally {
    await giveBack(database, lease, options.say);
  }
}

async function daysOwed(database: Database, { target, request, settings }: RunDaysOptions): Promise<BatchDay[]> {
  return request === null ? planDays(database, target, settings.lookBackDays) : [target];
}

function depsFor(
  database: Database,
  effects: BatchEffects,
  { settings, progress, say }: RunDaysOptions,
  signal: AbortSignal,
  giveUp: (reason: Cancellation) => void,
): BatchDeps {
  return {
    database,
    effects,
    settings,
    progress,
    signal,
    giveUp,
    onUnrecorded: (error) => {
      say(`How the run ended could not be recorded: ${error instanceof Error ? error.message : String(error)}`);
    },
  };
}

async function inOrder(
  database: Database,
  days: readonly BatchDay[],
  options: RunDaysOptions,
  settle: (day: BatchDay, request: RunRequest) => Promise<RunDocument>,
): Promise<RunDocument> {
  const { target } = options;
  const request: RunRequest = options.request ?? { ...wholeDay, kind: options.kind, accounts: options.accounts };
  const earlier: RunDocument[] = [];
  for (const day of days) {
    const document = await settle(day, request);
    if (day === target) return withEarlier(document, earlier);
    if (!document.closed || document.cancellation !== null) {
      if (document.cancellation !== null || document.exitCode === exitCodes.INTEGRITY)
        return withEarlier(document, earlier);
      throw new SettleError('EARLIER_DAY_OPEN', `Batch day ${day} could not be closed, so ${target} was not begun.`, {
        details: { batchDay: day, outcome: document.outcome, runId: document.runId },
        next: `settle report --batch-day ${day}`,
      });
    }
    options.say(`${day}: settled first, ${document.outcome}.`);
    earlier.push(document);
  }
  // Only earlier days were owed: the target itself is closed, and its former figures stand.
  return withEarlier(await alreadyClosed(database, options), earlier);
}

/** One document for all days of the run: the worst outcome counts, late orders of each day are listed. */
function withEarlier(document: RunDocument, earlier: readonly RunDocument[]): RunDocument {
  const partial = earlier.some((day) => day.exitCode === exitCodes.PARTIAL);
  const worse = document.exitCode === exitCodes.OK && partial;
  return {
    ...document,
    ...(worse ? { outcome: 'PARTIAL' as const, exitCode: exitCodes.PARTIAL } : {}),
    late: [...earlier.flatMap((day) => day.late), ...document.late],
    catchUp: earlier.map((day) => ({
      batchDay: day.batchDay,
      runId: day.runId,
      outcome: day.outcome,
      exitCode: day.exitCode,
      orders: day.totals.source.reduce((sum, total) => sum + total.orders, 0),
    })),
  };
}

/** Nothing is owed: nothing is written, and the figures of the run that closed the day are shown again. */
async function alreadyClosed(database: Database, { target, dryRun }: RunDaysOptions): Promise<RunDocument> {
  const [stored, setAside] = await database.read(async (session) => [
    await lastDocument(session, target),
    await quarantinedAccounts(session, target),
  ]);
  if (stored?.document === null || stored === null) {
    throw new SettleError('NOT_FOUND', `Batch day ${target} is closed, but no run of it left a document.`, {
      next: `settle verify --batch-day ${target}`,
    });
  }
  const outcome = setAside.length > 0 ? 'PARTIAL' : 'OK';
  const former = JSON.parse(stored.document, (key, value: unknown) =>
    key === 'netMinor' ? BigInt(value as string) : value,
  ) as RunDocument;
  return {
    ...former,
    dryRun,
    outcome,
    exitCode: exitCodes[outcome],
    closed: true,
    alreadyClosed: true,
    late: [],
    settledNow: [],
  };
}

async function abandonDead(database: Database, lease: Lease, { clock, say }: RunDaysOptions): Promise<void> {
  const dead = await database.transact(
    repeatable('abandon dead runs', (trx) => abandonRuns(trx, lease.fencingNo, instantText(clock.now()))),
  );
  if (dead > 0) say(`Found ${String(dead)} run(s) dead; going on from what they committed.`);
}

async function giveBack(database: Database, lease: Lease, say: (text: string) => void): Promise<void> {
  try {
    await database.transact(repeatable('release lease', (trx) => releaseLease(trx, lease)));
  } catch (error) {
    say(`The lease could not be given back and will expire: ${error instanceof Error ? error.message : String(error)}`);
  }
}
