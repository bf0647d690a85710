import { exitCodes, SettleError } from '../kernel/errors.js';
import { collectReport } from '../reports/dayReport.js';
import { formatOfFile, renderReport, writeReportFile, type ReportFormat } from '../reports/reportFiles.js';
import { reportDocument } from '../reports/reportJson.js';
import { requireBatchDay } from './arguments.js';
import { withDatabase, type Command, type CommandContext } from './context.js';

interface ReportOptions {
  batchDay?: string;
  format?: ReportFormat;
  out?: string;
}

/** `settle report`: the report of a day (default: the latest), to stdout or into a file. */
export const report: Command<ReportOptions> = (context, options) => {
  const day = requireBatchDay(options.batchDay);
  const file = options.out === undefined || options.out === '-' ? null : options.out;
  const format = formatFor(context, options, file);
  return withDatabase(context, async (database) => {
    const found = await collectReport(database, day);
    if (file !== null) {
      await writeReportFile(file, await renderReport(found, format));
      await confirm(context, found.batchDay, format, file);
    } else if (format === 'json' && context.output === 'jsonl') {
      const { schemaVersion: _, ...document } = reportDocument(found);
      await context.document(document);
    } else await context.print((await renderReport(found, format)).replace(/\n$/, ''));
    return exitCodes.OK;
  });
};

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

async function confirm(context: CommandContext, batchDay: string, format: ReportFormat, file: string): Promise<void> {
  if (context.output === 'text') context.say(`Report of ${batchDay} (${format}) written: ${file}`);
  else await context.document({ schema: 'settle.reportFile', batchDay, format, file });
}
