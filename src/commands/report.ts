import { closedBecause } from '../batch/calendar.js';
import { isBatchDay } from '../kernel/batchDay.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { collectReport } from '../reports/dayReport.js';
import { collectMonth } from '../reports/monthReport.js';
import { monthDocument, reportDocument } from '../reports/reportJson.js';
import { formatOfFile, renderMonth, renderReport, writeReportFile, type ReportFormat } from '../reports/reportFiles.js';
import type { Database } from '../db/database.js';
import { requireBatchDay } from './arguments.js';
import { withDatabase, type Command, type CommandContext } from './context.js';

interface ReportOptions {
  batchDay?: string;
  compare?: string;
  month?: string;
  format?: ReportFormat;
  out?: string;
}

/** A report, ready to be written: what it is about, its text in the wanted form, and its document. */
interface Made {
  about: { batchDay: string } | { month: string };
  text: string;
  document: { schema: string } & Record<string, unknown>;
}

/** `settle report`: the report of a day (default: the latest) or of a month, to stdout or into a file. */
export const report: Command<ReportOptions> = (context, options) => {
  const file = options.out === undefined || options.out === '-' ? null : options.out;
  const format = formatFor(context, options, file);
  const make = options.month === undefined ? dayMaker(options, format) : monthMaker(context, options, format);
  return withDatabase(context, async (database) => {
    const { about, text, document } = await make(database);
    if (file !== null) {
      await writeReportFile(file, text);
      await confirm(context, about, format, file);
    } else if (format === 'json' && context.output === 'jsonl') {
      const { schemaVersion: _, ...rest } = document;
      await context.document(rest);
    } else await context.print(text.replace(/\n$/, ''));
    return exitCodes.OK;
  });
};

function dayMaker(options: ReportOptions, format: ReportFormat): (database: Database) => Promise<Made> {
  const [day, compare] = [requireBatchDay(options.batchDay), requireBatchDay(options.compare, '--compare')];
  // Machines get every account that moved; the CSV form only where it was asked to compare.
  const everyMover = compare !== undefined && (format === 'csv' || format === 'json');
  return async (database) => {
    const found = await collectReport(database, { day, compare, everyMover });
    const text = await (format === 'csv' && everyMover ? moversText(found) : renderReport(found, format));
    return { about: { batchDay: found.batchDay }, text, document: { ...reportDocument(found) } };
  };
}

async function moversText(found: Awaited<ReturnType<typeof collectReport>>): Promise<string> {
  return (await import('../reports/reportCsv.js')).moversCsv(found);
}

function monthMaker(
  { config }: CommandContext,
  options: ReportOptions,
  format: ReportFormat,
): (database: Database) => Promise<Made> {
  const month = requireMonth(options);
  return async (database) => {
    const found = await collectMonth(database, month, (day) => closedBecause(day, config.calendar) === null);
    const text = await renderMonth(found, format);
    return { about: { month }, text, document: { ...monthDocument(found) } };
  };
}

function requireMonth({ month = '', batchDay, compare }: ReportOptions): string {
  if (batchDay !== undefined || compare !== undefined) {
    throw new SettleError('USAGE', '--month asks for whole days of a month, --batch-day and --compare for one day.', {
      details: { month },
      next: `settle report --month ${month}`,
    });
  }
  if (isBatchDay(`${month}-01`)) return month;
  throw new SettleError('USAGE', `--month: "${month}" is not a month such as 2026-11.`, {
    details: { flag: '--month', value: month },
    next: 'Give a month as YYYY-MM.',
  });
}

function formatFor(context: CommandContext, options: ReportOptions, file: string | null): ReportFormat {
  const wantsDocument = context.output !== 'text';
  if (file !== null) return options.format ?? formatOfFile(file) ?? (wantsDocument ? 'json' : 'text');
  if (wantsDocument && options.format !== undefined && options.format !== 'json') {
    throw new SettleError('USAGE', `--json and --format ${options.format} ask for two different answers on stdout.`, {
      details: { format: options.format },
      next: 'Leave one of them out, or write the report into a file with --out FILE.',
    });
  }
  return options.format ?? (wantsDocument ? 'json' : 'text');
}

async function confirm(context: CommandContext, about: Made['about'], format: ReportFormat, file: string) {
  const of = 'month' in about ? about.month : about.batchDay;
  if (context.output === 'text') context.say(`Report of ${of} (${format}) written: ${file}`);
  else await context.document({ schema: 'settle.reportFile', ...about, format, file });
}
