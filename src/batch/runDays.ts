import type { Database } from '../db/database.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { quarantinedAccounts } from '../settlement/quarantine.js';
import { storedDocument, type RunDocument } from './document.js';
import { DryEffects } from './dryEffects.js';
import { planDays } from './planDays.js';
import { wholeDay, type RunRequest } from './run.js';
import { runBatch } from './runBatch.js';
import type { RunDaysOptions } from './runDaysOptions.js';
import { lastDocument } from './runQueries.js';
import { depsFor, underLease } from './underLease.js';

export type { RunDaysOptions } from './runDaysOptions.js';

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
  return underLease(database, options, null, async (deps) => {
    // Asked again under the lease: another run may have closed the day just before this one took it.
    const owed = await daysOwed(database, options);
    if (owed.length === 0) return alreadyClosed(database, options);
    return inOrder(database, owed, options, (day, own) => runBatch(deps, day, own));
  });
}

/** The days that the options ask for: what is owed up to the target, or the target alone. */
export async function daysOwed(database: Database, { target, request, settings }: RunDaysOptions): Promise<BatchDay[]> {
  return request === null ? planDays(database, target, settings.lookBackDays) : [target];
}

/** Settles the days one after the other; a day that does not close stops the ones after it. */
export async function inOrder(
  database: Database,
  days: readonly BatchDay[],
  options: RunDaysOptions,
  settle: (day: BatchDay, request: RunRequest) => Promise<RunDocument>,
): Promise<RunDocument> {
  const { target } = options;
  const request: RunRequest = options.request ?? {
    ...wholeDay,
    kind: options.kind,
    accounts: options.accounts,
    shard: options.shard,
  };
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
export async function alreadyClosed(database: Database, { target, dryRun }: RunDaysOptions): Promise<RunDocument> {
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
  return {
    ...storedDocument(stored.document),
    dryRun,
    outcome,
    exitCode: exitCodes[outcome],
    closed: true,
    alreadyClosed: true,
    late: [],
    catchUp: [],
    settledNow: [],
    terms: [],
  };
}
