import { availableParallelism } from 'node:os';
import { cutOffOf, dueDay } from '../batch/calendar.js';
import type { RunDocument } from '../batch/document.js';
import { lastRun, runById } from '../batch/runQueries.js';
import type { RunRequest } from '../batch/run.js';
import { runDays, type RunDaysOptions } from '../batch/runDays.js';
import { runDaysInShards } from '../batch/runShards.js';
import { settingsHash } from '../configShow.js';
import type { Database } from '../db/database.js';
import { followChart } from '../ledger/chart.js';
import { dayAfterWatermark } from '../orders/queries.js';
import { parseDatabaseUrl } from '../db/url.js';
import { isBatchDay, type BatchDay } from '../kernel/batchDay.js';
import { Cancellation } from '../kernel/cancellation.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { programVersion } from '../kernel/version.js';
import { keepYoungSpaceSmall } from '../kernel/youngSpace.js';
import { runProgress } from '../reports/progress.js';
import { shardText, type Shard } from '../sharding/shard.js';
import { requireDuration, requireShard } from './arguments.js';
import { withDatabase, type Command, type CommandContext } from './context.js';
import { runText } from './runText.js';
import { nobody, traced, type Following } from './traced.js';
import { watched } from './watched.js';

interface Tuning {
  lanes?: number;
  pageSize?: number;
  chunkSize?: number;
  maxDuration?: string;
  shardTimeout?: string;
  reportDir?: string;
}

interface RunOptions extends Tuning {
  batchDay?: string;
  dryRun?: boolean;
  account?: string[];
  shard?: string;
  detailedExitcode?: boolean;
}

/** Lanes of their own for accounts that are larger than a chunk; see `sharding/planChunks`. */
const elephantLanes = 2;

/**
 * What pays on each database. On a server short transactions keep locks short, and lanes overlap its work with ours; its
 * pages are large because an account's orders of a page net to one row. A SQLite file has one writer, and each commit
 * writes every page of the file that the chunk touched: there few large chunks take all accounts of a large page.
 * (1,000,000 orders: 74 s of processor time like this, 129 s with pages and chunks of 100,000 orders.) More lanes than the
 * machine has cores only wait for each other: on two cores beside the server, 2 lanes took 103 s and 4 lanes 115 s.
 */
export const usualTuning = {
  mysql: {
    lanes: Math.max(2, Math.min(4, availableParallelism())),
    pageSize: 500_000,
    chunkSize: 10_000,
    pagesAhead: 1,
    messagesMax: 4_000,
  },
  sqlite: { lanes: 1, pageSize: 1_000_000, chunkSize: 200_000, pagesAhead: 0, messagesMax: 40_000 },
} as const;

/** `settle run`: the job that cron starts after cut-off. */
export const run: Command<RunOptions> = (context, options) => {
  const shard = shardOf(context, options);
  return onDatabase(context, 'run', options, async (database, base) => {
    const target = dayOrDue(context, options.batchDay);
    const asked: RunDaysOptions = {
      ...base,
      target,
      request: null,
      kind: 'RUN',
      dryRun: options.dryRun ?? false,
      accounts: options.account ?? null,
      shard,
      command: shard === null ? 'settle run' : `settle run --shard ${shardText(shard)}`,
    };
    const document =
      shard === null || asked.dryRun ? await runDays(database, asked) : await runDaysInShards(database, asked, shard);
    const nothingDue = document.alreadyClosed && document.catchUp.length === 0;
    if (nothingDue && options.detailedExitcode === true && document.exitCode === exitCodes.OK) {
      document.exitCode = exitCodes.NOTHING_DUE;
    }
    return finish(context, database, document, options, base);
  });
};

/** `settle resume`: goes on with a run that did not reach its end. */
export const resume: Command<Tuning & { run?: string }> = (context, options) =>
  onDatabase(context, 'resume', options, async (database, base) => {
    const stopped = await database.read((session) =>
      options.run === undefined ? lastRun(session) : runById(session, orderId('run', options.run)),
    );
    if (stopped === null) {
      throw new SettleError(
        'NOT_FOUND',
        options.run === undefined ? 'No run has ever been made here.' : `There is no run ${options.run}.`,
        {
          next: options.run === undefined ? 'settle run' : 'settle runs',
        },
      );
    }
    const document = await runDays(database, {
      ...base,
      target: stopped.day,
      request: null,
      kind: 'RESUME',
      dryRun: false,
      accounts: null,
      shard: null,
      command: 'settle resume',
    });
    return finish(context, database, document, options, base);
  });

interface RerunOptions extends Tuning {
  fromWatermark: string;
  until?: string;
  batchDay?: string;
  reason: string;
  dryRun?: boolean;
}

/** `settle rerun`: goes over a range again by hand; says first what it would change, and changes only what is left. */
export const rerun: Command<RerunOptions> = (context, options) =>
  onDatabase(context, 'rerun', options, async (database, base) => {
    if (options.reason.trim() === '') throw new SettleError('USAGE', '--reason must say why.');
    const fromId = orderId('--from-watermark', options.fromWatermark);
    const untilId = options.until === undefined ? null : orderId('--until', options.until);
    if (untilId !== null && untilId <= fromId)
      throw new SettleError('USAGE', '--until must be greater than --from-watermark.');
    const target =
      options.batchDay === undefined
        ? ((await database.read((session) => dayAfterWatermark(session, fromId))) ??
          dueDay(context.clock.now(), context.config.calendar))
        : dayOrDue(context, options.batchDay);
    const request: RunRequest = { kind: 'RERUN', fromId, untilId, accounts: null, shard: null, reason: options.reason };
    const asked: RunDaysOptions = {
      ...base,
      target,
      request,
      kind: 'RUN',
      dryRun: true,
      accounts: null,
      shard: null,
      command: 'settle rerun',
    };
    const announced = await runDays(database, {
      ...asked,
      progress: runProgress('none', process.stderr, context.say, context.clock),
    });
    if (options.dryRun === true) return finish(context, database, announced, options, base);
    const orders = announced.settledNow.reduce((sum, total) => sum + total.orders, 0);
    context.say(
      `Rerun of ${target} from watermark ${options.fromWatermark}: ${String(orders)} orders are left to settle.`,
    );
    const document = await runDays(database, { ...asked, dryRun: false });
    return finish(context, database, document, options, base);
  });

type Base = Pick<RunDaysOptions, 'settings' | 'calendar' | 'clock' | 'progress' | 'signal' | 'say'> & {
  following: Following;
};
type RunWork = (database: Database, base: Base) => Promise<number>;

/** The work of a run that is told to those outside, and followed by traces, where the settings ask for it; a dry run is not. */
function onDatabase(
  context: CommandContext,
  command: string,
  options: Tuning & { dryRun?: boolean },
  work: RunWork,
): Promise<number> {
  if (options.dryRun === true) return underDeadline(context, options, nobody, work);
  return watched(context, () =>
    traced(context, command, (following) => underDeadline(context, options, following, work)),
  );
}

/** Opens the database with connections for every lane, and ends the run in good order after --max-duration. */
async function underDeadline(
  context: CommandContext,
  options: Tuning & { dryRun?: boolean },
  following: Following,
  work: RunWork,
): Promise<number> {
  keepYoungSpaceSmall();
  const { batch, calendar } = context.config;
  const usual = usualTuning[parseDatabaseUrl(context.config.database.url).dialect];
  const lanes = within('--lanes', options.lanes ?? batch.lanes ?? usual.lanes, 64);
  const settings = {
    provenance: {
      version: programVersion(),
      configHash: settingsHash({ file: context.configFile, environment: process.env }),
      timeZone: calendar.timeZone,
      cutOff: calendar.cutOff,
    },
    lanes,
    elephantLanes,
    pageSize: within('--page-size', options.pageSize ?? batch.pageSize ?? usual.pageSize, 1_000_000),
    pagesAhead: usual.pagesAhead,
    messagesMax: usual.messagesMax,
    chunkSize: within('--chunk-size', options.chunkSize ?? batch.chunkSize ?? usual.chunkSize, 500_000),
    leaseMs: batch.leaseDuration,
    shardMs:
      options.shardTimeout === undefined
        ? batch.shardTimeout
        : requireDuration('--shard-timeout', options.shardTimeout),
    lookBackDays: batch.lookBackDays,
    messageAttempts: batch.messageAttempts,
  };
  const deadline = new AbortController();
  const timer =
    options.maxDuration === undefined
      ? undefined
      : setTimeout(
          () => {
            deadline.abort(new Cancellation('DEADLINE', `--max-duration ${options.maxDuration ?? ''} is over.`));
          },
          requireDuration('--max-duration', options.maxDuration),
        );
  const base: Base = {
    settings,
    calendar,
    clock: context.clock,
    following,
    progress: following.progress(
      runProgress(
        // Quiet means no bars; lines go on, since `say` keeps them for the log file.
        context.quiet && context.progress === 'auto' ? 'plain' : context.progress,
        process.stderr,
        context.say,
        context.clock,
        context.verbose ? 1_000 : 30_000,
      ),
    ),
    signal: AbortSignal.any([context.signal, deadline.signal]),
    say: context.say,
  };
  try {
    const dir = reportDir(context, options);
    // Before any order moves: a folder that cannot be made is a wrong flag, and touches nothing.
    if (dir !== undefined && options.dryRun !== true)
      (await import('../reports/writeReports.js')).makeReportFolder(dir);
    const { chart } = context.config.ledger;
    const open = async (database: Database): Promise<number> => {
      if (chart !== undefined && options.dryRun !== true) await followChart(database, chart);
      return work(database, base);
    };
    return await withDatabase(context, open, {
      connections: connectionsOf(lanes),
      readOnly: options.dryRun ?? false,
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Each lane may hold one connection; the reader, the heartbeat and a check of the day hold one each. */
export function connectionsOf(lanes: number): number {
  return lanes + elephantLanes + 3;
}

async function finish(
  context: CommandContext,
  database: Database,
  document: RunDocument,
  options: Tuning,
  { following }: Base,
): Promise<number> {
  following.document(document);
  if (document.closed && !document.dryRun && !document.alreadyClosed) await planPayoutsOf(context, database);
  if (context.output === 'text') await context.print(runText(document, context.colors));
  else await context.document({ ...document });
  const dir = reportDir(context, options);
  if (dir !== undefined && !document.dryRun) await report(context, database, document.batchDay, dir);
  return document.exitCode;
}

/** The payout tasks of a closed day. What hinders them is said, and changes nothing of how the day ended: `payout run` makes them. */
async function planPayoutsOf(context: CommandContext, database: Database): Promise<void> {
  const { planClosedDay } = await import('./payoutPlan.js');
  try {
    const plan = await planClosedDay(context, database);
    if (plan !== null)
      context.say(`Payouts of ${plan.batchDay}: ${String(plan.payouts)} planned. Next: settle payout run`);
  } catch (error) {
    if (!(error instanceof SettleError || error instanceof Cancellation)) throw error;
    context.say(`${error.code}: ${error.message} The day is closed all the same.`);
    context.say('  next: settle payout run');
  }
}

/** A report that cannot be written after all is said, and changes nothing of how the day ended. */
async function report(context: CommandContext, database: Database, day: BatchDay, dir: string): Promise<void> {
  const { writeReports } = await import('../reports/writeReports.js');
  try {
    for (const file of await writeReports(database, day, dir)) context.say(`Report: ${file}`);
  } catch (error) {
    if (!(error instanceof SettleError || error instanceof Cancellation)) throw error;
    context.say(`${error.code}: ${error.message} The day is as told above.`);
    context.say(`  next: settle report --batch-day ${day} --out FILE`);
  }
}

function reportDir(context: CommandContext, options: Tuning): string | undefined {
  return options.reportDir ?? context.config.report.dir;
}

function dayOrDue(context: CommandContext, given: string | undefined): BatchDay {
  const { calendar } = context.config;
  if (given === undefined) return dueDay(context.clock.now(), calendar);
  if (!isBatchDay(given)) {
    throw new SettleError('USAGE', `--batch-day "${given}" is not a day of the calendar, YYYY-MM-DD.`, {
      next: 'Write the day as in 2026-11-29.',
    });
  }
  const cutOff = cutOffOf(given, calendar);
  if (cutOff > context.clock.now()) {
    context.say(
      `${given} is not over: its cut-off is ${cutOff.toISOString()}. Orders that come until then are settled as late ones.`,
    );
  }
  return given;
}

/** The shard that was asked for: by the flag, or by number and count as a scheduler gives them, counted from 0. */
function shardOf({ config }: CommandContext, options: RunOptions): Shard | null {
  const { index, count } = config.shard;
  if (options.shard === undefined && (index === undefined || count === undefined)) return null;
  if (options.account !== undefined) {
    throw new SettleError('USAGE', '--account and a shard cannot be asked for together.', {
      next: 'Leave --account out, or --shard with SETTLE_SHARD_INDEX and SETTLE_SHARD_COUNT.',
    });
  }
  if (options.shard === undefined) return { no: (index as number) + 1, of: count as number };
  return requireShard(options.shard);
}

function within(flag: string, value: number, most: number): number {
  if (value < 1 || value > most) throw new SettleError('USAGE', `${flag} must be from 1 to ${String(most)}.`);
  return value;
}

const idMax = 2n ** 63n - 1n;

function orderId(flag: string, text: string): bigint {
  // What a signed 64-bit column holds: no database takes a greater one.
  if (/^(0|[1-9][0-9]{0,18})$/.test(text) && BigInt(text) <= idMax) return BigInt(text);
  throw new SettleError('USAGE', `${flag} "${text}" is not an id.`);
}
