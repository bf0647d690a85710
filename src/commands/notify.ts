import type { NotificationTarget } from '../configNotifications.js';
import { Cancellation } from '../kernel/cancellation.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import type { Notice, OpenCounts } from '../notifications/notice.js';
import { ping, type PingEvent } from '../notifications/ping.js';
import { NotDelivered } from '../notifications/sender.js';
import { tellTarget } from '../notifications/tell.js';
import { localDay } from '../batch/calendar.js';
import { dayStandings } from '../reports/dayOutcome.js';
import { openFacts, readDocument, type OpenFacts } from '../reports/facts.js';
import { withDatabase, type Command, type CommandContext } from './context.js';
import { openPing, openSender } from './notifyTargets.js';

type Targets = [name: string, target: NotificationTarget][];
const targetsOf = ({ config }: CommandContext): Targets => Object.entries(config.notifications.targets);

/** A database that was just lost is not waited for as long as a run would. */
const connectMsMax = 5_000;

/** Tells every switch at once. One that does not answer in time is said, and holds back none of the others. */
export async function pingAll(context: CommandContext, event: PingEvent): Promise<void> {
  await Promise.all(
    targetsOf(context).map(async ([name, target]) => {
      if (target.kind !== 'ping') return;
      const problem = await problemOf(async () => {
        const { place } = await openPing(name, target);
        await ping(place, event, AbortSignal.timeout(context.config.notifications.timeout));
      });
      if (problem !== null) context.say(`Ping (${String(event)}) of ${name}: ${problem}`);
    }),
  );
}

/**
 * Tells every target what has changed since it was last told. Returns how many messages arrived, and how many targets could
 * not be told.
 */
export async function tellChanges(context: CommandContext): Promise<{ arrived: number; failed: number }> {
  const { timeout } = context.config.notifications;
  const told = targetsOf(context).flatMap(([name, target]) => (target.kind === 'ping' ? [] : [{ name, target }]));
  const result = { arrived: 0, failed: 0 };
  if (told.length === 0) return result;
  const statementMsMax = Math.min(timeout, context.config.database.statementTimeout);
  await withDatabase(
    context,
    async (database) => {
      const limit = setTimeout(
        () => {
          database.abandon(new Cancellation('DEADLINE', 'The database took too long to say what is to be told.'));
        },
        3 * timeout + connectMsMax,
      );
      try {
        const [standings, open] = await database.snapshot(async (session) => [
          await dayStandings(session),
          countsOf(await openFacts(session)),
        ]);
        await Promise.all(
          told.map(async ({ name, target }) => {
            const say = (text: string): void => {
              result.failed += 1;
              context.say(text);
            };
            const problem = await problemOf(async () => {
              const sender = await openSender(name, target);
              result.arrived += await tellTarget(
                { database, standings, open, totalsOf: totalsIn, timeoutMs: timeout, say },
                sender,
              );
            });
            if (problem !== null) say(`Notifications of ${name}: ${problem}`);
          }),
        );
      } finally {
        clearTimeout(limit);
      }
    },
    { connections: 2, connectMsMax: Math.min(connectMsMax, context.config.database.connectTimeout), statementMsMax },
  );
  return result;
}

/** `settle notify send`: tells what a run that died could not; exit code 75 when a target could not be told. */
export const send: Command<object> = async (context) => {
  requireTargets(context);
  const { arrived, failed } = await tellChanges(context);
  if (context.output === 'text') await context.print(`${String(arrived)} told, ${String(failed)} failed.`);
  else await context.document({ schema: 'settle.notify', arrived, failed });
  return failed === 0 ? exitCodes.OK : exitCodes.TEMPFAIL;
};

/** `settle notify test`: sends a test to each target and says how it went. */
export const test: Command<object> = async (context) => {
  requireTargets(context);
  const notice = testNotice(context);
  const results = await Promise.all(
    targetsOf(context).map(async ([name, target]) => {
      const problem = await problemOf(async () => {
        const within = (): AbortSignal => AbortSignal.timeout(context.config.notifications.timeout);
        // A line in its log: a test must not look like a run that started, or one that went well.
        if (target.kind === 'ping') {
          const { place } = await openPing(name, target);
          await ping(place, 'log', within());
        } else {
          const sender = await openSender(name, target);
          await sender.send(notice, within());
        }
      });
      return { target: name, kind: target.kind, problem };
    }),
  );
  if (context.output !== 'text') await context.document({ schema: 'settle.notifyTest', targets: results });
  else {
    for (const { target, kind, problem } of results)
      await context.print(
        `${problem === null ? 'ok    ' : 'FAILED'} ${target} (${kind})${problem === null ? '' : `: ${problem}`}`,
      );
  }
  return results.every(({ problem }) => problem === null) ? exitCodes.OK : exitCodes.TEMPFAIL;
};

function requireTargets(context: CommandContext): void {
  if (targetsOf(context).length > 0) return;
  throw new SettleError('USAGE', 'Nobody is configured to be told anything.', {
    details: { setting: 'notifications.targets' },
    next: 'Add a target under notifications.targets in settle.yaml; see docs/observability.md.',
  });
}

/** What hindered it, in words that hold no secret; null when nothing did. A bug is thrown on. */
async function problemOf(work: () => Promise<void>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof NotDelivered) return `${error.message}.`;
    if (error instanceof SettleError) return `${error.message} Next: ${error.next}`;
    if (error instanceof Cancellation) return error.detail;
    throw error;
  }
}

function countsOf({ quarantinedAccounts, topics, sinks, payouts, discrepancies }: OpenFacts): OpenCounts {
  const parked = [...topics, ...sinks].reduce((sum, backlog) => sum + backlog.parked, 0);
  const inState = (wanted: string): number =>
    payouts.filter(({ state }) => state === wanted).reduce((sum, count) => sum + count.payouts, 0);
  return {
    quarantinedAccounts,
    parkedMessages: parked,
    unknownPayouts: inState('UNKNOWN'),
    manualPayouts: inState('MANUAL'),
    openDiscrepancies: discrepancies.reduce((sum, { count }) => sum + count, 0),
  };
}

function totalsIn({ document }: { document: string | null }): Notice['totals'] {
  return document === null ? [] : readDocument(document).totals.filter(({ stage }) => stage === 'source');
}

function testNotice({ clock, config }: CommandContext): Notice {
  const now = clock.now();
  return {
    id: `settle.test.${String(now.getTime())}`,
    batchDay: localDay(now, config.calendar),
    outcome: 'CLOSED',
    previous: null,
    recovered: false,
    test: true,
    runId: null,
    exitCode: null,
    code: null,
    totals: [],
    open: { quarantinedAccounts: 0, parkedMessages: 0, unknownPayouts: 0, manualPayouts: 0, openDiscrepancies: 0 },
    next: 'settle status',
  };
}
