import { dueDay } from '../batch/calendar.js';
import { addDays } from '../kernel/batchDay.js';
import { exitCodes } from '../kernel/errors.js';
import { checkSource } from '../orders/sourceCheck.js';
import type { Finding } from '../kernel/finding.js';
import { withDatabase, type Command } from './context.js';
import { printFindings } from './doctor.js';
import { configuredSource, placeOf } from './orderSource.js';

interface CheckOptions {
  days?: number | undefined;
}

/**
 * `settle source check`: looks at the table that the settings name and changes nothing. Exit code 5 when runs could not
 * work on it.
 */
const check: Command<CheckOptions> = async (context, { days }) => {
  const { config } = context;
  const source = configuredSource(config);
  const upTo = dueDay(context.clock.now(), config.calendar);
  const from = addDays(upTo, -(days ?? config.batch.lookBackDays));
  const findings: Finding[] =
    source === null
      ? [{ name: 'source', status: 'ok', found: 'not set: orders are in the table that Settle makes', fix: null }]
      : await withDatabase(
          context,
          (database) => checkSource(database, source, { from, upTo }, placeOf(context.configFile)),
          { schema: 'none' },
        );
  const fits = findings.every(({ status }) => status !== 'fail');
  if (context.output === 'text') await printFindings(context, findings);
  else await context.document({ schema: 'settle.source-check', ok: fits, from, upTo, findings });
  return fits ? exitCodes.OK : exitCodes.PRECONDITION;
};

export const sourceCommands = { check };
