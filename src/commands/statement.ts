import { hostname } from 'node:os';
import { instantText } from '../kernel/clock.js';
import { exitCodes } from '../kernel/errors.js';
import { formatMinorGrouped } from '../kernel/money.js';
import { printable } from '../kernel/printable.js';
import type { Database } from '../db/database.js';
import { requireReadable } from '../orders/importSource.js';
import { textTable } from '../reports/tables.js';
import { countText, momentText } from '../reports/words.js';
import { openStatements, type OpenedStatements } from '../statements/file.js';
import { formatNamed, sniffFormat } from '../statements/formats.js';
import { importStatement, type ImportedStatement, type ImportPorts } from '../statements/importStatement.js';
import { StatementRefusal } from '../statements/refusal.js';
import { listFiles } from '../statements/storedFiles.js';
import { withDatabase, type Command, type CommandContext } from './context.js';
import { requireChannelName } from './statementChannels.js';

interface ImportOptions {
  files: string[];
  channel: string;
  format?: string;
}

interface FileResult {
  file: string;
  format: string | null;
  imported: ImportedStatement | null;
  refused: StatementRefusal | null;
}

/**
 * `settle statement import FILE… --channel C`: each file all of it or nothing. Exit code 2 when one is refused, 3 when one is
 * flagged: readable, but it contradicts itself or its neighbours.
 */
export const importCommand: Command<ImportOptions> = async (context, options) => {
  const channel = requireChannelName(options.channel);
  const own = context.config.statements.channels[channel];
  const name = options.format ?? own?.format ?? (own?.profile === undefined ? undefined : 'csv');
  if (name !== undefined) formatNamed(name);
  for (const file of options.files) await requireReadable(file);
  return withDatabase(context, async (database) => {
    const results: FileResult[] = [];
    for (const file of options.files) {
      const read = await importAll(context, database, file, channel, name);
      results.push(...read);
      if (context.output === 'text') for (const result of read) await context.print(resultText(result));
    }
    if (context.output !== 'text')
      await context.document({ schema: 'settle.statementImport', files: results.map(documentOf) });
    if (results.some(({ refused }) => refused !== null)) return exitCodes.USAGE;
    const flagged = results.some(({ imported }) => imported?.outcome === 'flagged');
    return flagged ? exitCodes.PARTIAL : exitCodes.OK;
  });
};

/** A file, or each file of an archive. */
async function importAll(
  context: CommandContext,
  database: Database,
  path: string,
  channel: string,
  name: string | undefined,
): Promise<FileResult[]> {
  const refused = (file: string, format: string | null, error: unknown): FileResult => {
    if (!(error instanceof StatementRefusal)) throw error;
    return { file, format, imported: null, refused: error };
  };
  const opened = await openStatements(path, process.stdin, context.signal).catch((error: unknown) => error);
  if (opened instanceof Error) return [refused(path, null, opened)];
  const { sources, close } = opened as OpenedStatements;
  const results: FileResult[] = [];
  try {
    for (const source of sources) {
      const file = sources.length === 1 ? path : source.name;
      let format: string | null = name ?? null;
      try {
        const reader = name === undefined ? await sniffFormat(source) : formatNamed(name);
        format = reader.name;
        const imported = await importStatement(database, source, reader, portsOf(context, channel));
        results.push({ file, format: imported.format, imported, refused: null });
      } catch (error) {
        results.push(refused(file, format, error));
      }
    }
  } finally {
    await close();
  }
  return results;
}

function portsOf({ config, clock, signal }: CommandContext, channel: string): ImportPorts {
  const { timeZone = null, currency = null, profile } = config.statements.channels[channel] ?? {};
  return {
    channel,
    settings: {
      timeZone,
      currency,
      profile: profile === undefined ? null : (config.statements.profiles[profile] ?? null),
    },
    owner: `${hostname()} process ${String(process.pid)}`,
    isAlive,
    now: () => instantText(clock.now()),
    signal,
  };
}

/** Of another host nobody here can tell. */
function isAlive(owner: string): boolean {
  const [, host, pid] = /^(.*) process ([0-9]+)$/.exec(owner) ?? [];
  if (host !== hostname()) return true;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function documentOf({ file, format, imported, refused }: FileResult): Record<string, unknown> {
  if (imported === null) {
    const { code = '', message = '', line = null, column = null } = refused ?? {};
    return {
      ...{ file, format, outcome: 'refused', lines: 0, newLines: 0, knownLines: 0, byCurrency: [] },
      problems: [{ code, message, line, column }],
    };
  }
  const { outcome, lines, newLines, knownLines, byCurrency, problems } = imported;
  return {
    ...{ file, format, outcome, lines, newLines, knownLines },
    byCurrency: byCurrency.map(({ currency, creditMinor, debitMinor, feeMinor, openingMinor, closingMinor }) => ({
      ...{ currency, creditMinor, debitMinor, feeMinor, openingMinor, closingMinor },
    })),
    problems,
  };
}

function resultText({ file, format, imported, refused }: FileResult): string {
  const name = file === '-' ? 'standard input' : printable(file);
  if (imported === null) {
    const at = placeText(refused?.line ?? null, refused?.column ?? null);
    return `${name}: refused, nothing of it is stored: ${refused?.code ?? ''}${at}: ${printable(refused?.message ?? '')}`;
  }
  const { outcome, lines, knownLines, byCurrency, problems } = imported;
  const known = knownLines === 0 ? '' : `, ${countText(knownLines)} of them known from an earlier file`;
  const head =
    outcome === 'repeat'
      ? `${name}: imported before (${format ?? ''}); nothing is changed`
      : `${name}: ${outcome} (${format ?? ''}), ${countText(lines)} lines${known}`;
  const totals = byCurrency.map((total) => {
    const amount = (minor: bigint): string => formatMinorGrouped(minor, total.currency);
    const closing = total.closingMinor === null ? '' : `, closing ${amount(total.closingMinor)}`;
    return `  ${total.currency}: in ${amount(total.creditMinor)}, out ${amount(total.debitMinor)}, fees ${amount(total.feeMinor)}${closing}`;
  });
  const troubles = problems.map(({ code, message, line, column }) => {
    return `  ! ${code}${placeText(line, column)}: ${printable(message)}`;
  });
  return [head, ...totals, ...(outcome === 'repeat' ? [] : troubles)].join('\n');
}

function placeText(line: number | null, column: number | null): string {
  if (line === null) return '';
  return column === null ? `, line ${String(line)}` : `, line ${String(line)}, column ${String(column)}`;
}

/** `settle statement list`: files that were imported, the newest first. */
export const list: Command<{ channel?: string; limit?: number }> = (context, options) =>
  withDatabase(context, async (database) => {
    const files = await database.read((session) => listFiles(session, options.channel ?? null, options.limit ?? 100));
    if (context.output !== 'text') {
      const statements = files.map((file) => ({ ...file, id: String(file.id) }));
      await context.document({ schema: 'settle.statements', statements });
    } else if (files.length === 0) await context.print('No statement was imported.');
    else {
      const right = (title: string) => ({ title, align: 'right' as const });
      await context.print(
        textTable(
          [
            ...[right('id'), { title: 'channel' }, { title: 'format' }, { title: 'state' }, { title: 'from' }],
            ...[{ title: 'to' }, right('lines'), right('matched to'), right('problems'), { title: 'imported' }],
            { title: 'file' },
          ],
          files.map((file) => [
            ...[String(file.id), file.channel, file.format, file.state, file.fromDay ?? '-', file.toDay ?? '-'],
            ...[countText(file.lines), countText(file.matched), countText(file.problems), momentText(file.importedAt)],
            file.name,
          ]),
        ),
      );
    }
    return exitCodes.OK;
  });
