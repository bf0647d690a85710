import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import { isUniqueViolation } from '../db/failure.js';
import { throwIfCancelled } from '../kernel/cancellation.js';
import { bookFile } from './bookFile.js';
import { LineKeys } from './lineKeys.js';
import { StatementRefusal } from './refusal.js';
import { beginStaging, discardStaged, stageLines, type KeyedLine, type StagedFile } from './staging.js';
import type {
  StatementFormat,
  StatementLine,
  StatementProblem,
  StatementSettings,
  StatementSource,
} from './statement.js';
import { importedFile } from './storedFiles.js';
import { FileTally, requireLine, type StatementTotal } from './tally.js';

/** What became of a file. FLAGGED: readable, but it contradicts itself or its neighbours. */
export interface ImportedStatement {
  readonly fileId: bigint;
  readonly format: string;
  readonly outcome: 'booked' | 'flagged' | 'repeat';
  /** Money lines of the file, those that an earlier file brought included. */
  readonly lines: number;
  readonly newLines: number;
  readonly knownLines: number;
  readonly byCurrency: StatementTotal[];
  readonly problems: StatementProblem[];
}

/** Bytes with the SHA-256 that they are known by. */
export interface DigestedSource extends StatementSource {
  readonly digest: string;
}

export interface ImportPorts {
  readonly channel: string;
  readonly settings: StatementSettings;
  /** Host and process, for whoever finds the file half read. */
  readonly owner: string;
  /** Whether the process of that name may still be alive. */
  isAlive(owner: string): boolean;
  now(): string;
  readonly signal: AbortSignal;
}

const linesAtOnce = 4_000;

/**
 * Reads a channel's statement into the database, all of it or nothing: lines are staged in short transactions, and count from
 * the last one on, which names the file by its digest. The same file again is a repeat; lines that an earlier file of the
 * channel brought are known and are not stored again. Throws a StatementRefusal for a file that cannot be taken, and
 * STATEMENT_LOCKED while another process reads one of the same channel.
 */
export async function importStatement(
  database: Database,
  file: DigestedSource,
  format: StatementFormat,
  ports: ImportPorts,
): Promise<ImportedStatement> {
  const known = await database.read((session) => importedFile(session, ports.channel, file.digest));
  if (known !== null) return known;
  const staged = await afterOthers(() => beginStaging(database, file, format.name, ports));
  try {
    const tally = new FileTally();
    const lines = await stageAll(database, staged, format.read(file, ports.settings), tally, ports);
    return await bookFile(database, staged, format.name, tally, lines, ports.now());
  } catch (error) {
    // Refused or stopped: nothing of it stays. A process that is killed leaves it to the next import of the channel.
    await discardStaged(database, staged).catch(() => undefined);
    throw error;
  }
}

/** How many lines a file had, by whether an earlier one brought them. */
export interface LineCounts {
  staged: number;
  fresh: number;
  known: number;
}

async function stageAll(
  database: Database,
  file: StagedFile,
  events: ReturnType<StatementFormat['read']>,
  tally: FileTally,
  ports: ImportPorts,
): Promise<LineCounts> {
  const keys = new LineKeys();
  const stager = new Stager(database, file, tally);
  for await (const event of events) {
    if (event.kind !== 'line') tally.take(event);
    else if (event.line.state !== 'PENDING') {
      const { line } = event;
      requireLine(line);
      if (line.state === 'DONE') tally.add(line);
      const { no, accountRef, intraday } = tally.open;
      const { key } = keys.keyOf(line, { channel: ports.channel, accountRef, intraday });
      if (stager.add(line, key, no) >= linesAtOnce) await stager.flush();
    }
    throwIfCancelled(ports.signal);
  }
  await stager.flush();
  if (tally.statements.length === 0) throw new StatementRefusal('EMPTY_FILE', 'The file has no statement.');
  return stager.counts;
}

/** Stores lines in short transactions. */
class Stager {
  readonly counts: LineCounts = { staged: 0, fresh: 0, known: 0 };
  private waiting: KeyedLine[] = [];
  /** Whether lines are looked up before they are stored: only once one was found that is there already. */
  private looksUp = false;

  constructor(
    private readonly database: Database,
    private readonly file: StagedFile,
    private readonly tally: FileTally,
  ) {}

  add(line: StatementLine, key: string, statementNo: number): number {
    return this.waiting.push({ line, key, statementNo, seq: BigInt(this.counts.staged + this.waiting.length + 1) });
  }

  async flush(): Promise<void> {
    const lines = this.waiting;
    if (lines.length === 0) return;
    this.waiting = [];
    const { known, changed } = await this.store(lines);
    this.counts.staged += lines.length;
    this.counts.known += known;
    this.counts.fresh += lines.length - known;
    for (const { line } of changed) {
      const message = `The line is known from an earlier file of the channel, where it says something else.`;
      this.tally.problem({ code: 'LINE_CHANGED', message, line: line.line, column: null });
    }
  }

  private async store(lines: readonly KeyedLine[]): ReturnType<typeof stageLines> {
    if (!this.looksUp) {
      try {
        return await stageLines(this.database, this.file, lines, this.counts.staged, false);
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        this.looksUp = true; // the unit was undone: this time as one that looks first
      }
    }
    return stageLines(this.database, this.file, lines, this.counts.staged, true);
  }
}
