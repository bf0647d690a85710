import { dueDay } from '../batch/calendar.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { collectLive } from '../reports/live.js';
import { runRows } from '../reports/queries.js';
import { checkDueDay, collectStatus, runStatus } from '../reports/status.js';
import { checkLine, checkStatus, type Thresholds } from '../reports/statusCheck.js';
import { runsText, statusText } from '../reports/statusText.js';
import { requireBatchDay, requireDuration, requireLimit } from './arguments.js';
import { withDatabase, type Command, type CommandContext } from './context.js';
import { watch } from './watch.js';

interface StatusOptions {
  run?: string;
  watch?: boolean;
  interval?: string;
  check?: boolean;
  grace?: string;
  stuckAfter?: string;
  maxLag?: string;
  maxUnknown?: number;
  maxDiscrepancies?: number;
}

const intervalMsMin = 200;

/** `settle status [RUN] [--watch] [--check]`: with --check exit code 3 while the due day is not closed, or a threshold is passed. */
export const status: Command<StatusOptions> = async (context, options) => {
  refuseStray(options);
  const runId = options.run === undefined ? undefined : requireRunId(options.run);
  const graceMs = options.grace === undefined ? 0 : requireDuration('--grace', options.grace);
  const stuckMs = requireDuration('--stuck-after', options.stuckAfter ?? '15m');
  // With a grace the day that must be closed is the one that was due so long ago.
  const due = (): BatchDay => dueDay(new Date(context.clock.now().getTime() - graceMs), context.config.calendar);
  if (options.watch === true) {
    const intervalMs = requireDuration('--interval', options.interval ?? '2s');
    if (intervalMs < intervalMsMin)
      throw new SettleError('USAGE', `--interval is at least ${String(intervalMsMin)}ms.`);
    return watch(context, process.stdout, { intervalMs, stuckMs, dueDay: due });
  }
  if (options.check === true) return check(context, options, due(), stuckMs);
  return withDatabase(context, async (database) => {
    const view = await collectStatus(database, due(), runId);
    if (context.output === 'text') await context.print(statusText(view));
    else await context.document({ schema: 'settle.status', ...view, check: null });
    return exitCodes.OK;
  });
};

/** One line for a monitor; what it stands for is in the document. */
function check(context: CommandContext, options: StatusOptions, day: BatchDay, stuckMs: number): Promise<number> {
  const thresholds: Thresholds = {
    stuck: options.stuckAfter !== undefined,
    maxLagMs: options.maxLag === undefined ? null : requireDuration('--max-lag', options.maxLag),
    maxUnknown: options.maxUnknown ?? null,
    maxDiscrepancies: options.maxDiscrepancies ?? null,
  };
  return withDatabase(context, async (database) => {
    const ofDay = await checkDueDay(database, day);
    const view = await database.snapshot((session) => collectLive(session, day, stuckMs));
    const { exitCode, ok, findings } = checkStatus(view, ofDay, thresholds);
    if (context.output === 'text') await context.print(checkLine(ofDay, { exitCode, ok, findings }));
    else {
      const all = await collectStatus(database, day);
      await context.document({ schema: 'settle.status', ...all, check: ofDay, ok, findings });
    }
    return exitCode;
  });
}

/** A flag that would be passed over in silence is an error. */
function refuseStray(options: StatusOptions): void {
  const { watch: watches, check: checks } = options;
  const refuse = (flag: string, of: string): never => {
    throw new SettleError('USAGE', `${flag} is for ${of}.`, { details: { flag }, next: 'settle status --help' });
  };
  if (watches === true && checks === true) refuse('--watch', 'people, and --check for monitors: type one of them');
  if (options.run !== undefined && (watches === true || checks === true))
    refuse('The id of a run', 'settle status RUN');
  if (options.interval !== undefined && watches !== true) refuse('--interval', '--watch');
  if (options.stuckAfter !== undefined && watches !== true && checks !== true) {
    refuse('--stuck-after', '--watch and --check');
  }
  if (checks === true) return;
  if (options.grace !== undefined) refuse('--grace', '--check');
  if (options.maxLag !== undefined) refuse('--max-lag', '--check');
  if (options.maxUnknown !== undefined) refuse('--max-unknown', '--check');
  if (options.maxDiscrepancies !== undefined) refuse('--max-discrepancies', '--check');
}

/** `settle runs`: history, newest first. */
export const runs: Command<{ batchDay?: string; limit?: number }> = (context, options) => {
  const day = requireBatchDay(options.batchDay);
  const limit = requireLimit(options.limit, 20);
  return withDatabase(context, async (database) => {
    const found = (await database.read((session) => runRows(session, { day, limit: limit + 1 }))).map(runStatus);
    const shown = found.slice(0, limit);
    if (context.output !== 'text') {
      await context.document({ schema: 'settle.runs', runs: shown, cut: found.length > limit });
    } else if (shown.length === 0) await context.print('No run yet.\nNext: settle run');
    else {
      await context.print(runsText(shown));
      if (found.length > limit) context.say(`Only the newest ${String(limit)}; --limit shows more.`);
    }
    return exitCodes.OK;
  });
};

function requireRunId(text: string): bigint {
  if (/^[1-9][0-9]{0,17}$/.test(text)) return BigInt(text);
  throw new SettleError('USAGE', `"${text}" is not the id of a run.`, { details: { run: text }, next: 'settle runs' });
}
