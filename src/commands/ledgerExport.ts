import { rename, rm, stat } from 'node:fs/promises';
import { createWriteStream } from 'node:fs';
import type { Database } from '../db/database.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { throwIfCancelled } from '../kernel/cancellation.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { exportedEntries } from '../ledger/exportEntries.js';
import { exportWriter, type ExportFormat } from '../ledger/exportFormats.js';
import { notWritable } from '../reports/reportFiles.js';
import { requireBatchDay } from './arguments.js';
import { withDatabase, type Command, type CommandContext } from './context.js';

interface ExportOptions {
  format: ExportFormat;
  from?: string;
  until?: string;
  out?: string;
}

/** `settle ledger export`: the journal in the form of another tool, on stdout or as a file that is whole or not there. */
export const exportLedger: Command<ExportOptions> = async (context, options) => {
  const { format, out } = options;
  const [from, until] = [requireBatchDay(options.from, '--from'), requireBatchDay(options.until, '--until')];
  if (from !== undefined && until !== undefined && from > until) {
    throw new SettleError('USAGE', `--from ${from} is after --until ${until}.`, { next: 'Exchange the two.' });
  }
  if (context.output !== 'text' && out === undefined) {
    throw new SettleError('USAGE', 'The journal itself takes the place of the JSON document.', {
      next: 'Name a file with --out, or leave --json out.',
    });
  }
  return withDatabase(
    context,
    async (database) => {
      if (out === undefined) {
        await exportTo(context, database, format, from, until, printTo(context));
        return exitCodes.OK;
      }
      const entries = await exportFile(out, (write) => exportTo(context, database, format, from, until, write));
      if (context.output === 'text') await context.print(`${String(entries)} journal entries written to ${out}`);
      else {
        const range = { from: from ?? null, until: until ?? null };
        await context.document({ schema: 'settle.ledgerExport', format, ...range, file: out, journalEntries: entries });
      }
      return exitCodes.OK;
    },
    { readOnly: true },
  );
};

type Write = (text: string) => Promise<void>;

function printTo(context: CommandContext): Write {
  return (text) => (text === '' ? Promise.resolve() : context.print(text.replace(/\n$/, '')));
}

/** Writes the journal from one snapshot; gives the number of journal entries. */
async function exportTo(
  { signal }: CommandContext,
  database: Database,
  format: ExportFormat,
  from: BatchDay | undefined,
  until: BatchDay | undefined,
  write: Write,
): Promise<number> {
  let begun = false;
  return database.snapshot(async (session) => {
    // What is written cannot be taken back, so a lost connection is no reason to begin again.
    if (begun) {
      throw new SettleError('DATABASE_UNREACHABLE', 'The connection was lost in the middle of the journal.', {
        next: 'Type the same command again; what it wrote before is not whole.',
      });
    }
    begun = true;
    const writer = exportWriter(format);
    await write(writer.head());
    let count = 0;
    for await (const slice of exportedEntries(session, from, until)) {
      throwIfCancelled(signal);
      await write(writer.slice(slice));
      count += slice.length;
    }
    return count;
  });
}

/** Writes beside the file and renames, so that no half journal bears its name; readable by its owner only. */
async function exportFile(file: string, work: (write: Write) => Promise<number>): Promise<number> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory() === true) {
    throw new SettleError('FILE_IS_DIRECTORY', `${file} is a folder; the journal needs the name of a file.`, {
      details: { file },
      next: 'settle ledger export --out FILE',
    });
  }
  const regular = found === undefined || found.isFile();
  const temporary = regular ? `${file}.${String(process.pid)}` : file;
  const stream = createWriteStream(temporary, { flags: 'w', mode: 0o600 });
  // Each write tells its own error; one without a listener would end the process.
  stream.on('error', () => undefined);
  try {
    const entries = await work((text) => taken(file, (done) => stream.write(text, done)));
    await taken(file, (done) => stream.end(done));
    if (regular) await rename(temporary, file).catch((error: unknown) => Promise.reject(notWritable(file, error)));
    return entries;
  } catch (error) {
    stream.destroy();
    if (regular) await rm(temporary, { force: true });
    throw error;
  }
}

/** Waits until the file has taken what is written. Explained here, a missing folder is not mistaken for a lost database. */
function taken(file: string, write: (done: (problem?: Error | null) => void) => unknown): Promise<void> {
  return new Promise((resolve, reject) => {
    write((problem) => {
      if (problem === null || problem === undefined) resolve();
      else reject(notWritable(file, problem));
    });
  });
}
