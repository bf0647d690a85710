import type { TransformOptions } from 'node:stream';
import { parse, type Options, type Parser } from 'csv-parse';
import { parse as parseAll } from 'csv-parse/sync';
import { CsvStructure, recordBytesMax } from './csvStructure.js';
import { shown } from '../kernel/printable.js';
import { FileRefusal } from './importProblems.js';
import type { ColumnNames, FileRecord, RecordReader } from './fileRecord.js';

// Three kinds of line end, since a file is refused or read but never has two rows run into one.
const dialect: Options = { record_delimiter: ['\r\n', '\n', '\r'], relax_column_count: true, skip_empty_lines: true };

/** Where the wanted columns are in each record. */
export interface CsvHeader {
  width: number;
  /** Position of each required and optional column, in the order of `ColumnNames`; -1 for an absent optional one. */
  positions: readonly number[];
  extra: readonly string[];
}

/** Reads the first record of a file by name. Throws MISSING_COLUMN or DUPLICATE_COLUMN; NOT_UTF8 for what has NULs in it. */
export function readCsvHeader(bytes: Buffer, columns: ColumnNames): CsvHeader {
  if (bytes.includes(0)) throw new FileRefusal('NOT_UTF8', 'The header has NUL bytes in it. Is the file UTF-16?');
  const [names = []] = parseAll(bytes, { ...dialect, to: 1 });
  const doubled = names.find((name, at) => names.indexOf(name) !== at);
  if (doubled !== undefined) {
    throw new FileRefusal('DUPLICATE_COLUMN', `The header names the column ${shown(doubled)} more than once.`);
  }
  const missing = columns.required.filter((name) => !names.includes(name));
  if (missing.length > 0) {
    throw new FileRefusal(
      'MISSING_COLUMN',
      `The header has no column ${missing.join(', ')}; it has ${names.slice(0, 12).map(shown).join(', ')}. ` +
        'A header line with comma-separated names comes first.',
    );
  }
  const wanted = [...columns.required, ...columns.optional];
  return {
    width: names.length,
    positions: wanted.map((name) => names.indexOf(name)),
    extra: names.filter((name) => !wanted.includes(name)),
  };
}

/** Makes records of the chunks of a proven CSV file; each has the line on which it starts. The header is left out. */
export class CsvReader implements RecordReader {
  private readonly structure = new CsvStructure();
  private readonly parser: Parser;
  private lines: number[] = [];
  private taken = 0;
  private isHeader = true;

  constructor(private readonly header: CsvHeader) {
    // Room for all records of a chunk, which are then taken at once: one event a record would cost as much as reading it.
    const roomy: Options & Pick<TransformOptions, 'readableHighWaterMark'> = {
      ...dialect,
      readableHighWaterMark: recordBytesMax,
    };
    this.parser = parse(roomy);
    this.parser.on('error', () => undefined); // each write reports it to its caller
  }

  async read(chunk: Buffer): Promise<FileRecord[]> {
    this.structure.scan(chunk);
    await this.told((done) => this.parser.write(chunk, done));
    return this.takeRecords();
  }

  async end(): Promise<FileRecord[]> {
    this.structure.end();
    await this.told((done) => this.parser.end(done));
    return this.takeRecords();
  }

  private told(tell: (done: (error?: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      tell((error) => {
        if (error) reject(refusalOf(error));
        else resolve();
      });
    });
  }

  private takeRecords(): FileRecord[] {
    const records: FileRecord[] = [];
    for (let values = this.next(); values !== null; values = this.next()) {
      const record = this.placed(values);
      if (record !== null) records.push(record);
    }
    return records;
  }

  private next(): readonly string[] | null {
    return this.parser.read() as string[] | null;
  }

  private placed(record: readonly string[]): FileRecord | null {
    if (this.taken === this.lines.length) {
      this.lines = this.structure.takeStartLines();
      this.taken = 0;
    }
    const line = this.lines[this.taken];
    if (line === undefined) throw new Error('The CSV library found a record where the structure has none.');
    this.taken += 1;
    if (this.isHeader) {
      this.isHeader = false;
      return null;
    }
    if (record.length === this.header.width) {
      return { line, values: this.header.positions.map((position) => record[position] ?? null) };
    }
    if (record.length === 1 && (record[0] ?? '').trim() === '') return null; // a line of blanks
    const message = `The row has ${String(record.length)} fields, the header ${String(this.header.width)}.`;
    return { line, fault: { code: 'BAD_FIELD_COUNT', message } };
  }
}

function refusalOf(error: Error): Error {
  const isQuote = 'code' in error && /QUOTE/.test(String(error.code));
  return isQuote ? new FileRefusal('BROKEN_QUOTE', error.message) : error;
}
