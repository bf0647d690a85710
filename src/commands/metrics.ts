import writeFileAtomic from 'write-file-atomic';
import { cutOffOf } from '../batch/calendar.js';
import type { Calendar } from '../batch/calendar.js';
import { addDays } from '../kernel/batchDay.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { collectFacts, type Facts } from '../reports/facts.js';
import { metricsText } from '../reports/metricsText.js';
import { withDatabase, type Command } from './context.js';

/** A scrape must not burden a night's run: what takes longer than that is not worth a metric. */
const statementMsMax = 60_000;

/** `settle metrics`: what the database knows, as Prometheus text. With --textfile, into a file that is never half written. */
export const metrics: Command<{ textfile?: string }> = (context, { textfile }) => {
  if (context.output !== 'text') {
    throw new SettleError('USAGE', 'settle metrics prints the text that Prometheus reads, and no JSON.', {
      next: 'settle status --json',
    });
  }
  if (textfile !== undefined && !textfile.endsWith('.prom')) {
    throw new SettleError('USAGE', `--textfile "${textfile}" does not end in .prom, so that nobody would read it.`, {
      next: 'settle metrics --textfile /var/lib/prometheus/node-exporter/settle.prom',
    });
  }
  const statementTimeout = Math.min(context.config.database.statementTimeout, statementMsMax);
  return withDatabase(
    context,
    async (database) => {
      const facts = await collectFacts(database);
      const text = await metricsText(facts, oldestUnsettledMs(facts, context.clock.now(), context.config.calendar));
      if (textfile === undefined) await context.print(text.trimEnd());
      else await write(textfile, text);
      return exitCodes.OK;
    },
    { readOnly: true, statementMsMax: statementTimeout, connections: 1 },
  );
};

/** Since the cut-off of the earliest day that is begun and not closed, or else of the first one that no run has begun. */
export function oldestUnsettledMs(
  { oldestOpenCutOff, newestDay }: Pick<Facts, 'oldestOpenCutOff' | 'newestDay'>,
  now: Date,
  calendar: Calendar,
): number {
  const cutOffs = [
    ...(oldestOpenCutOff === null ? [] : [Date.parse(oldestOpenCutOff)]),
    ...(newestDay === null ? [] : [cutOffOf(addDays(newestDay, 1), calendar).getTime()]),
  ];
  return cutOffs.length === 0 ? 0 : Math.max(0, now.getTime() - Math.min(...cutOffs));
}

async function write(file: string, text: string): Promise<void> {
  try {
    // Read by the exporter, which is another user; nothing in it is of any account.
    await writeFileAtomic(file, text, { mode: 0o644 });
  } catch (error) {
    throw new SettleError('FILE_NOT_WRITABLE', `The metrics cannot be written: ${(error as Error).message}`, {
      details: { file },
      next: 'Name another file with --textfile.',
    });
  }
}
