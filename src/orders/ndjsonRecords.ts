import { recordBytesMax } from './csvStructure.js';
import { lineFeed } from './importSource.js';
import { shown } from '../kernel/printable.js';
import { FileRefusal, type RowFault } from './importProblems.js';
import type { ColumnNames, FileRecord, RecordReader } from './fileRecord.js';

const extraNamesMax = 20;

export interface NdjsonLine {
  line: number;
  bytes: Buffer;
}

/** Cuts chunks into lines. Throws RECORD_TOO_LONG with the line's number. */
export class NdjsonLines {
  private line = 0;
  private carried: Buffer[] = [];
  private carriedBytes = 0;

  *take(chunk: Buffer): Generator<NdjsonLine> {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      yield this.whole(chunk.subarray(start, end));
      start = end + 1;
    }
    this.carry(chunk.subarray(start));
  }

  /** Only proves that no line is too long. */
  measure(chunk: Buffer): void {
    const lines = this.take(chunk);
    while (lines.next().done !== true);
  }

  *end(): Generator<NdjsonLine> {
    if (this.carriedBytes > 0) yield this.whole(Buffer.alloc(0));
  }

  private whole(last: Buffer): NdjsonLine {
    this.carry(last);
    const bytes = this.carried.length === 1 ? last : Buffer.concat(this.carried);
    this.carried = [];
    this.carriedBytes = 0;
    this.line += 1;
    return { line: this.line, bytes };
  }

  private carry(bytes: Buffer): void {
    this.carried.push(bytes);
    this.carriedBytes += bytes.length;
    if (this.carriedBytes > recordBytesMax) {
      throw new FileRefusal('RECORD_TOO_LONG', `Line ${String(this.line + 1)} is longer than 1 MiB.`);
    }
  }
}

/** Makes records of the lines of an NDJSON file. Keys that are not ours are noted in `extra`. */
export class NdjsonReader implements RecordReader {
  readonly extra = new Set<string>();
  private readonly lines = new NdjsonLines();
  private readonly wanted: readonly string[];

  constructor(private readonly columns: ColumnNames) {
    this.wanted = [...columns.required, ...columns.optional];
  }

  read(chunk: Buffer): Promise<FileRecord[]> {
    return Promise.resolve(this.records(this.lines.take(chunk)));
  }

  end(): Promise<FileRecord[]> {
    return Promise.resolve(this.records(this.lines.end()));
  }

  private records(lines: Iterable<NdjsonLine>): FileRecord[] {
    const records: FileRecord[] = [];
    for (const { line, bytes } of lines) {
      const text = bytes.toString();
      if (text.trim() === '') continue;
      const values = this.values(text);
      records.push('code' in values ? { line, fault: values } : { line, values });
    }
    return records;
  }

  private values(text: string): (string | null)[] | RowFault {
    const row = objectIn(text);
    if (row === null) return { code: 'BAD_JSON', message: `${shown(text)} is not a JSON object.` };
    const doubled = doubledKeys(text).find((key) => this.wanted.includes(key));
    if (doubled !== undefined) {
      return { code: 'DUPLICATE_KEY', message: `The line names "${doubled}" more than once.` };
    }
    for (const key of Object.keys(row)) {
      if (!this.wanted.includes(key) && this.extra.size < extraNamesMax) this.extra.add(key);
    }
    const values: (string | null)[] = [];
    for (const key of this.wanted) {
      const value = Object.hasOwn(row, key) ? row[key] : undefined;
      const isOptional = this.columns.optional.includes(key);
      if (typeof value === 'string') values.push(value);
      else if (isOptional && (value === undefined || value === null)) values.push(null);
      else if (value === undefined) return { code: 'BAD_FIELD_COUNT', message: `The line has no "${key}".` };
      else return notText(key, value);
    }
    return values;
  }
}

function notText(key: string, value: unknown): RowFault {
  const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a JSON ${typeof value}`;
  return {
    code: 'NOT_TEXT',
    message: `${key} is ${kind}; every value is a JSON string, since a JSON number may lose digits.`,
  };
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

const token = /"(?:[^"\\]|\\.)*"|[{}[\]:]/g;

/** Keys of the outermost object that valid JSON text names twice; JSON.parse keeps the last one and says nothing. */
function doubledKeys(text: string): string[] {
  const seen = new Set<string>();
  const doubled: string[] = [];
  let depth = 0;
  let lastString = '';
  for (const [found] of text.matchAll(token)) {
    if (found === '{' || found === '[') depth += 1;
    else if (found === '}' || found === ']') depth -= 1;
    else if (found !== ':') lastString = found;
    else if (depth === 1) {
      const key = JSON.parse(lastString) as string;
      if (seen.has(key)) doubled.push(key);
      seen.add(key);
    }
  }
  return doubled;
}
