import type { Readable } from 'node:stream';
import type { Database } from '../db/database.js';
import { explainFailure, failureKind } from '../db/failure.js';
import { throwIfCancelled } from '../kernel/cancellation.js';
import { instantText, type Clock } from '../kernel/clock.js';
import { SettleError } from '../kernel/errors.js';
import { printable } from '../kernel/printable.js';
import { FileRefusal, type FileRefusalCode, type RejectedRow, type RowFault } from './importProblems.js';
import { ImportSource, requireReadable } from './importSource.js';
import { ImportTally, type UnitOutcome } from './importTally.js';
import type { ColumnNames } from './fileRecord.js';
import { proveFile, readRecords } from './orderFile.js';

/** A row with the physical line on which it starts. */
export interface PlacedRow<Row> {
  line: number;
  row: Row;
}

/** What differs between kinds of files. */
export interface ImportKind<Row> {
  columns: ColumnNames;
  /**
   * All of a file or nothing: it is stored as one transaction, and refused for one refused row or an unknown column.
   * Otherwise rows are stored in units, and each is refused for itself.
   */
  whole?: boolean;
  readRow(values: readonly (string | null)[]): Row | RowFault;
  /**
   * Stores the rows as one transaction; running it again changes nothing more. `now` is RFC 3339. With `whole` it stores
   * nothing when it refuses a row.
   */
  store(database: Database, rows: readonly PlacedRow<Row>[], now: string): Promise<UnitOutcome>;
}

export interface FileOutcome {
  /** As it was typed. */
  file: string;
  accepted: number;
  updated: number;
  repeated: number;
  rejectedCount: number;
  /** In the order of lines; shorter than `rejectedCount` when there are very many. */
  rejected: readonly RejectedRow[];
  refused: { code: FileRefusalCode; message: string } | null;
}

export interface ImportSurroundings {
  database: Database;
  clock: Clock;
  standardInput: Readable;
  signal: AbortSignal;
  /** Messages for the person watching. */
  say(text: string): void;
  /** Told after each transaction how far this file is. */
  onProgress(file: string, rows: number): void;
}

/** Rows in one transaction: enough to share the cost of a durable commit, few enough to lock nobody out for long. */
const unitRows = 2_000;

/** A whole file is held in memory until it is stored. */
const wholeRowsMax = 200_000;

/**
 * Imports files one after the other, each in two passes (see `orderFile`). A file that is refused or has refused rows
 * does not stop the others. Throws before anything is stored when a file cannot be opened, and between two transactions
 * when the signal says so.
 */
export async function importFiles<Row extends object>(
  kind: ImportKind<Row>,
  files: readonly string[],
  around: ImportSurroundings,
): Promise<FileOutcome[]> {
  if (files.filter((file) => file === '-').length > 1) {
    throw new SettleError('USAGE', 'Standard input (-) can be named only once.');
  }
  for (const file of files) await requireReadable(file);
  const outcomes: FileOutcome[] = [];
  for (const file of files) outcomes.push(await importFile(kind, file, around));
  return outcomes;
}

async function importFile<Row extends object>(
  kind: ImportKind<Row>,
  file: string,
  around: ImportSurroundings,
): Promise<FileOutcome> {
  const tally = new ImportTally();
  let refused: FileOutcome['refused'] = null;
  try {
    const source = await ImportSource.open(file, around.standardInput, around.signal);
    try {
      await importSource(kind, source, tally, around);
    } finally {
      await source.close();
    }
  } catch (error) {
    refused = refusalIn(error);
    if (refused === null) throw stoppedError(error, file, tally, around);
  }
  const { accepted, updated, repeated, rejectedCount, rejected } = tally;
  return { file, accepted, updated, repeated, rejectedCount, rejected, refused };
}

async function importSource<Row extends object>(
  kind: ImportKind<Row>,
  source: ImportSource,
  tally: ImportTally,
  around: ImportSurroundings,
): Promise<void> {
  const proven = await proveFile(source, kind.columns, around.signal);
  const units = new UnitWriter(
    kind.whole === true ? wholeRowsMax + 1 : unitRows,
    async (rows: readonly PlacedRow<Row>[]) => {
      throwIfCancelled(around.signal);
      tally.add(await kind.store(around.database, rows, instantText(around.clock.now())));
      around.onProgress(source.name, tally.rows);
    },
  );
  const pages = readRecords(source, kind.columns, proven, around.signal);
  try {
    let page = await pages.next();
    for (; page.done !== true; page = await pages.next()) {
      for (const { line, values, fault } of page.value) {
        const row = fault ?? kind.readRow(values);
        if ('code' in row) tally.reject({ line, ...row });
        else if (kind.whole === true && units.isFull) throw tooManyRows();
        else await units.write({ line, row });
      }
    }
    if (kind.whole === true) refuseParts(tally, page.value);
    await units.flush();
    if (kind.whole === true) refuseParts(tally, []);
    if (page.value.length > 0) around.say(extraNote(source.name, page.value));
  } finally {
    await units.settled(); // so that the counts are those of the tables, however the reading ended
  }
}

function tooManyRows(): FileRefusal {
  const text = `The file has more than ${count(wholeRowsMax)} rows, which are stored together or not at all. Split it.`;
  return new FileRefusal('TOO_MANY_ROWS', text);
}

/** Throws when a file that is stored as a whole cannot be: a column that is not known may be one that was misspelt. */
function refuseParts({ rejectedCount }: ImportTally, extra: readonly string[]): void {
  if (rejectedCount > 0) {
    const rows = rejectedCount === 1 ? 'A row is' : `${count(rejectedCount)} rows are`;
    throw new FileRefusal('ROWS_REFUSED', `${rows} not right, and such a file is taken as a whole.`);
  }
  if (extra.length > 0) {
    throw new FileRefusal('UNKNOWN_COLUMN', `The file has columns that are not known: ${columnNames(extra)}.`);
  }
}

/** Stores rows in units, one after the other; while the database works on one, the next is read from the file. */
class UnitWriter<Row> {
  private rows: PlacedRow<Row>[] = [];
  private storing: Promise<void> = Promise.resolve();

  constructor(
    private readonly size: number,
    private readonly store: (rows: readonly PlacedRow<Row>[]) => Promise<void>,
  ) {}

  /** One more row would fill the unit. */
  get isFull(): boolean {
    return this.rows.length === this.size - 1;
  }

  async write(row: PlacedRow<Row>): Promise<void> {
    this.rows.push(row);
    if (this.rows.length === this.size) await this.begin();
  }

  async flush(): Promise<void> {
    if (this.rows.length > 0) await this.begin();
    await this.storing;
  }

  /** The unit in flight has ended; its error was thrown, or will be thrown here. */
  settled(): Promise<void> {
    return this.storing;
  }

  private async begin(): Promise<void> {
    await this.storing;
    this.storing = this.store(this.rows);
    this.storing.catch(() => undefined); // thrown by the next wait
    this.rows = [];
  }
}

function extraNote(name: string, extra: readonly string[]): string {
  return `${name}: columns that are not used: ${columnNames(extra)}`;
}

function columnNames(names: readonly string[]): string {
  const named = names.slice(0, 10).map((column) => printable(column.slice(0, 40)));
  return `${named.join(', ')}${names.length > named.length ? ', …' : ''}`;
}

/** A trouble of this file alone, such as one that went away since all of them were checked. */
function refusalIn(error: unknown): FileOutcome['refused'] {
  if (error instanceof FileRefusal) return { code: error.code, message: error.message };
  if (!(error instanceof SettleError)) return null;
  const { code, message } = error;
  return code === 'FILE_NOT_FOUND' || code === 'FILE_IS_DIRECTORY' || code === 'FILE_UNREADABLE'
    ? { code, message }
    : null;
}

/** What ended the import half-way, with what a person must know: nothing is lost, and how to go on. */
function stoppedError(error: unknown, file: string, tally: ImportTally, around: ImportSurroundings): unknown {
  const stored = `${count(tally.accepted)} rows of ${printable(file)} are stored and stay`;
  const advice = 'The same command continues: rows that are stored count as repeats.';
  if (around.signal.aborted) {
    around.say(`${stored}. ${advice}`);
    return around.signal.reason;
  }
  const known = failureKind(error) === undefined ? error : explainFailure(error, around.database.target.label);
  if (!(known instanceof SettleError)) return known;
  return new SettleError(known.code, `${known.message} ${stored}.`, {
    next: `${known.next} ${advice}`,
    details: { ...known.details, file, accepted: tally.accepted },
    cause: known,
  });
}

export function count(rows: number): string {
  return rows.toString().replace(/\B(?=(\d{3})+$)/g, ',');
}
