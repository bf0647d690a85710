import { lineBytesMax, type TextBlock } from './encoding.js';
import { StatementRefusal } from './refusal.js';

/** How the fields of a record are told apart. */
export interface Dialect {
  readonly separator: ',' | ';' | '\t' | '|';
  /**
   * What a quote means: RFC 4180, where it may open a field only at its start; the same, but a quote inside an unquoted
   * field is itself; or always itself.
   */
  readonly quotes: 'strict' | 'lenient' | 'none';
}

/** One record: its fields without their quotes, and where it begins. Lines of blanks make none. */
export interface TextRecord {
  readonly line: number;
  readonly fields: readonly string[];
  /** As it stands in the file, without its line end. */
  readonly raw: string;
}

/**
 * Cuts blocks of whole lines into records, strictly. Lines end with LF or CRLF, also inside quotes. Throws BROKEN_QUOTE,
 * BAD_RECORD for a lone carriage return and RECORD_TOO_LONG, each with line and column.
 */
export class RecordReader {
  private pending: TextBlock | null = null;
  /** Whether the last record ended with a line end. */
  endedWhole = true;

  constructor(private readonly dialect: Dialect) {}

  *read(block: TextBlock): Generator<TextRecord> {
    const before = this.pending;
    this.pending = null;
    if (before === null) yield* this.cut(block.text, block.line, false);
    else yield* this.cut(before.text + block.text, before.line, false);
  }

  /** The record that was waiting for the end of its quote. */
  *end(): Generator<TextRecord> {
    if (this.pending !== null) yield* this.cut(this.pending.text, this.pending.line, true);
  }

  private recordAt(text: string, start: number, line: number): { fields: readonly string[]; end: number | null } {
    const lineEnd = endOfLine(text, start);
    const plain = text.slice(start, withoutReturn(text, start, lineEnd));
    if (this.dialect.quotes === 'none' || !plain.includes('"')) {
      return { fields: plain.split(this.dialect.separator), end: lineEnd };
    }
    const fields: string[] = [];
    const end = scan(text, start, line, this.dialect, (from, to, isQuoted) => {
      fields.push(isQuoted ? text.slice(from + 1, to - 1).replaceAll('""', '"') : text.slice(from, to));
    });
    return { fields, end };
  }

  private *cut(text: string, firstLine: number, isEnd: boolean): Generator<TextRecord> {
    let line = firstLine;
    for (let start = 0; start < text.length;) {
      const { fields, end } = this.recordAt(text, start, line);
      if (end === null) {
        if (isEnd) throw unclosed(text.slice(start), line, this.dialect);
        if (text.length - start > lineBytesMax) throw tooLong(line);
        this.pending = { text: text.slice(start), line };
        return;
      }
      if (end - start > lineBytesMax) throw tooLong(line);
      this.endedWhole = end < text.length;
      const raw = text.slice(start, withoutReturn(text, start, end));
      if (raw.trim() !== '') {
        requireNoReturn(raw, line);
        yield { line, raw, fields };
      }
      start = end + 1;
      line += 1 + (raw.includes('\n') ? raw.split('\n').length - 1 : 0);
    }
  }
}

/** Line and column at which a field of a record begins. */
export function placeOf(record: TextRecord, field: number, dialect: Dialect): [line: number, column: number] {
  const starts: number[] = [];
  scan(record.raw, 0, record.line, dialect, (start) => starts.push(start));
  return placeAt(record.raw, starts[field] ?? 0, record.line);
}

/**
 * Tells where each field of the record lies, its quotes included. Returns the offset of the line feed that ends it, or the
 * length of the text; null where the text ends inside quotes.
 */
function scan(
  text: string,
  from: number,
  line: number,
  { separator, quotes }: Dialect,
  field: (start: number, end: number, isQuoted: boolean) => void,
): number | null {
  let end = endOfLine(text, from);
  let quote = quotes === 'none' || !text.slice(from, end).includes('"') ? -1 : text.indexOf('"', from);
  for (let at = from; ;) {
    if (quote >= 0 && quote < at) quote = text.indexOf('"', at);
    if (quote !== at) {
      const next = text.indexOf(separator, at);
      const isLast = next < 0 || next > end;
      const fieldEnd = isLast ? end : next;
      if (quotes === 'strict' && quote >= 0 && quote < fieldEnd) {
        const message = 'A field has a quote inside, without being quoted as a whole.';
        throw broken(message, text, from, quote, line);
      }
      field(at, isLast ? withoutReturn(text, at, end) : fieldEnd, false);
      if (isLast) return end;
      at = fieldEnd + 1;
      continue;
    }
    const close = closingQuote(text, at + 1);
    if (close === null) return null;
    field(at, close + 1, true);
    at = close + 1;
    if (at > end) end = endOfLine(text, at);
    if (at === withoutReturn(text, at, end)) return end;
    if (text[at] !== separator) throw broken('A field has text behind its closing quote.', text, from, at, line);
    at += 1;
  }
}

function endOfLine(text: string, from: number): number {
  const lineFeed = text.indexOf('\n', from);
  return lineFeed < 0 ? text.length : lineFeed;
}

function closingQuote(text: string, from: number): number | null {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return null;
}

/** End of a line's text: a carriage return in front of the line feed belongs to the line end. */
function withoutReturn(text: string, start: number, end: number): number {
  return end > start && text[end - 1] === '\r' ? end - 1 : end;
}

function requireNoReturn(raw: string, line: number): void {
  if (!raw.includes('\r')) return;
  const lone = /\r(?!\n)/.exec(raw);
  if (lone === null) return;
  throw new StatementRefusal(
    'BAD_RECORD',
    'A carriage return stands inside a line.',
    ...placeAt(raw, lone.index, line),
  );
}

function broken(message: string, text: string, from: number, at: number, line: number): StatementRefusal {
  return new StatementRefusal('BROKEN_QUOTE', message, ...placeAt(text.slice(from), at - from, line));
}

function unclosed(text: string, line: number, dialect: Dialect): StatementRefusal {
  let last = 0;
  scan(text, 0, line, dialect, (_start, end) => (last = end + 1));
  return broken('A quote is opened and not closed.', text, 0, last, line);
}

function tooLong(line: number): StatementRefusal {
  return new StatementRefusal('RECORD_TOO_LONG', 'The record is longer than 1 MiB. Is a quote not closed?', line, 1);
}

function placeAt(text: string, offset: number, line: number): [number, number] {
  const before = text.slice(0, offset);
  const start = before.lastIndexOf('\n') + 1;
  return [line + before.split('\n').length - 1, offset - start + 1];
}
