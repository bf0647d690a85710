import type { StatementSource } from '../statement.js';
import { linesOf } from './lines.js';
import { refusal, shown, type Place } from './place.js';

/** A record with its continuations (88): bodies without code and end mark, one for each line. */
export interface Bai2Record {
  readonly code: string;
  readonly bodies: string[];
  readonly place: Place;
}

const codes = ['01', '02', '03', '16', '49', '88', '98', '99'];
const linesMax = 2000;

/** The records of a file; a record is handed out when it is whole. */
export async function* bai2RecordsOf(source: StatementSource): AsyncIterable<Bai2Record> {
  let record: Bai2Record | null = null;
  let ended = true;
  for await (const lines of linesOf(source)) {
    for (const { text, number, ended: lineEnded } of lines) {
      const line = text.trimEnd();
      if (line === '') continue;
      ended = lineEnded || line.endsWith('/');
      const place = { line: number, column: 1 };
      const code = line.slice(0, 2);
      if (!codes.includes(code) || ![',', '/', ''].includes(line.charAt(2))) {
        throw refusal('BAD_RECORD', `${shown(line)} begins no record (${codes.join(', ')}).`, place);
      }
      const body = line.slice(3).replace(/\/$/, '');
      if (code !== '88') {
        if (record !== null) yield record;
        record = { code, bodies: [body], place };
      } else if (record === null || !['02', '03', '16'].includes(record.code)) {
        throw refusal('BAD_RECORD', 'A continuation (88) has nothing to continue.', place);
      } else if (record.bodies.push(body) > linesMax) {
        throw refusal('RECORD_TOO_LONG', `A record has more than ${String(linesMax)} lines.`, record.place);
      }
    }
  }
  if (record === null) return;
  if (!ended) throw refusal('TRUNCATED', 'The last record has no end.', record.place);
  yield record;
}

/** Fields of a record that is not continued in the middle of one. */
export function fieldsOf(record: Bai2Record): string[] {
  return record.bodies.join(',').split(',');
}

export interface Bai2Summary {
  readonly type: string;
  readonly amount: string;
  readonly count: string;
}

/** Account (03): number, currency, then groups of type, amount, item count and funds type. */
export function accountOf(record: Bai2Record): { number: string; currency: string; summaries: Bai2Summary[] } {
  const reader = new FieldReader(record);
  const [number, currency] = [reader.next(0), reader.next(0)];
  const summaries: Bai2Summary[] = [];
  while (reader.more()) {
    const type = reader.next(0);
    // Four empty fields say nothing, and some banks end a line with a comma too many.
    if (type === '') continue;
    const [amount, count] = [reader.next(3), reader.next(2)];
    summaries.push({ type, amount, count });
    reader.funds(1);
  }
  return { number: number.trim(), currency: currency.trim(), summaries };
}

export interface Bai2Detail {
  readonly type: string;
  readonly amount: string;
  readonly bankReference: string;
  readonly customerReference: string;
  /** Rest of the record and of its continuations, line by line. */
  readonly texts: readonly string[];
}

/** Transaction (16): type, amount, funds type, two references, and a text that may hold commas and slashes. */
export function detailOf(record: Bai2Record): Bai2Detail {
  const reader = new FieldReader(record);
  const [type, amount] = [reader.next(5), reader.next(4)];
  reader.funds(3);
  const [bankReference, customerReference] = [reader.next(0), reader.next(0)];
  return { type, amount, bankReference, customerReference, texts: reader.rest() };
}

/** Goes over the fields of a record as if its lines were one. */
class FieldReader {
  private readonly lines: string[][];
  private line = 0;
  private field = 0;

  constructor(private readonly record: Bai2Record) {
    this.lines = record.bodies.map((body) => body.split(','));
  }

  more(): boolean {
    this.skipEnds();
    return this.line < this.lines.length;
  }

  /**
   * The next field; empty behind the end. An empty field that ends a line is one that the comma only seems to make, if
   * `missing` fields of the same group must follow.
   */
  next(missing: number): string {
    this.skipEnds();
    const fields = this.lines[this.line];
    const field = fields?.[this.field] ?? '';
    const endsLine = fields !== undefined && this.field === fields.length - 1 && this.line < this.lines.length - 1;
    this.field += 1;
    return field.trim() === '' && endsLine && missing > 0 ? this.next(missing) : field.trim();
  }

  /** The funds type with what belongs to it: S three amounts, V day and time, D a list. */
  funds(following: number): void {
    const type = this.next(following > 1 ? following - 1 : 0);
    const after = following > 1 ? 1 : 0;
    let fields: number;
    if (type === 'S') fields = 3;
    else if (type === 'V') fields = 2;
    else if (type === 'D') {
      const count = this.next(1);
      if (!/^\d{1,3}$/.test(count)) throw this.broken(`the number of its days is ${shown(count)}`);
      fields = 2 * Number(count);
    } else if (/^[012Z]?$/.test(type)) fields = 0;
    else throw this.broken(`its funds type is ${shown(type)}`);
    for (; fields > 0; fields -= 1) this.next(fields - 1 + after);
  }

  rest(): string[] {
    this.skipEnds();
    return this.lines.slice(this.line).map((fields, index) => fields.slice(index === 0 ? this.field : 0).join(','));
  }

  private skipEnds(): void {
    while (this.line < this.lines.length && this.field >= (this.lines[this.line]?.length ?? 0)) {
      this.line += 1;
      this.field = 0;
    }
  }

  private broken(what: string): Error {
    return refusal('BAD_RECORD', `Record ${this.record.code} cannot be read: ${what}.`, this.record.place);
  }
}
