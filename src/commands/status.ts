import { dueDay } from '../batch/calendar.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { runRows } from '../reports/queries.js';
import { checkDueDay, collectStatus, runStatus } from '../reports/status.js';
import { runsText, statusText } from '../reports/statusText.js';
import { requireBatchDay, requireLimit } from './arguments.js';
import { withDatabase, type Command } from './context.js';

/** `settle status [RUN] [--check]`: exit code 3 with --check while the day that is due is not closed. */
export const status: Command<{ run?: string; check?: boolean }> = (context, options) => {
  const runId = options.run === undefined ? undefined : requireRunId(options.run);
  return withDatabase(context, async (database) => {
    const due = dueDay(context.clock.now(), context.config.calendar);
    const view = await collectStatus(database, due, runId);
    const check = options.check === true ? await checkDueDay(database, due) : null;
    if (context.output === 'text') await context.print(statusText(view, check));
    else await context.document({ schema: 'settle.status', ...view, check });
    return check === null || check.closed ? exitCodes.OK : exitCodes.PARTIAL;
  });
};

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
