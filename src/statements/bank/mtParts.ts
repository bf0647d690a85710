import type { StatementSource } from '../statement.js';
import { linesOf, type TextLine } from './lines.js';
import type { MtField } from './mtFields.js';
import { refusal, shown } from './place.js';

/** Fields of a statement in the order of a file; `end` where a message ends by its own mark. */
export type MtPart = { readonly kind: 'field'; readonly field: MtField } | { readonly kind: 'end' };

const tags = {
  outside: ['20'],
  before: ['20', '21', '25', '25P', '28', '28C', 'NS', '34F', '13D', '13', '60F', '60M', '61', '90D', '90C'],
  within: ['61', '86', 'NS', '62F', '62M', '90D', '90C', '60F', '60M', '34F'],
  after: ['20', '64', '65', '86', 'NS', '90D', '90C'],
};
// A line that opens a message on the wire or in a file of a bank: {1:F01…}{2:O940…}{4:, "940", ":940:", "ABNANL2A".
const header = /^(?:\{[1-5S]:.*|[A-Z0-9 ]{1,40}|:94[02]:|\$)$/;
const endMark = /^-(?:\}.*|\$|XXX)?$/;
const fieldLinesMax = 500;

/**
 * Splits a file into fields. Only a tag that may stand at this place opens one: a wrapped text may start with ":26:" or
 * "- ". Throws NOT_A_STATEMENT for lines that belong to none, TRUNCATED where the file ends within a message.
 */
export async function* mtPartsOf(source: StatementSource): AsyncIterable<MtPart> {
  const scanner = new MtScanner();
  let last: TextLine | null = null;
  for await (const lines of linesOf(source)) {
    for (const line of lines) {
      const parts = scanner.next(line);
      if (parts !== null) yield* parts;
      last = line;
    }
  }
  yield* scanner.end(last);
}

class MtScanner {
  private field: MtField | null = null;
  private place: keyof typeof tags = 'outside';
  /** An interim report (MT942): it has no balances, and may have no sums that say where it ends. */
  private isReport = false;
  private enveloped = false;
  private marked = false;

  next({ text, number }: TextLine): MtPart[] | null {
    const tag = this.tagOf(text);
    if (tag !== null) return this.opens(tag, text, number);
    const trimmed = text.trimEnd();
    if ((this.place === 'after' || (this.isReport && this.place !== 'outside')) && endMark.test(trimmed)) {
      return this.closes(trimmed);
    }
    if (trimmed === '') return null;
    if (this.place === 'outside') this.outside(trimmed, number);
    else this.goesOn(text);
    return null;
  }

  end(last: TextLine | null): MtPart[] {
    if (this.place === 'outside') return [];
    if (this.place !== 'after' || this.enveloped || this.marked || last?.ended === false) {
      throw refusal('TRUNCATED', 'The file ends within a message.', { line: last?.number ?? 1, column: null });
    }
    return [...this.flush(), { kind: 'end' }];
  }

  private tagOf(text: string): string | null {
    const tag = /^:(\d\d[A-Z]?|NS):/.exec(text)?.[1];
    if (tag === undefined || !tags[this.place].includes(tag)) return null;
    // Where a text may run on, what opens another message is that by its shape alone.
    const isText = this.place === 'within' && ['60F', '60M', '34F'].includes(tag);
    return isText && !/^:(?:60[FM]:[CD]\d{6}[A-Z]{3}|34F:[A-Z]{3})/.test(text) ? null : tag;
  }

  private opens(tag: string, text: string, number: number): MtPart[] {
    const place = { line: number, column: 1 };
    const [isOpening, isClosing] = [['60F', '60M'].includes(tag), ['62F', '62M', '90D', '90C'].includes(tag)];
    const begins = tag === '20' && this.place === 'before';
    if (begins || (this.place === 'within' && (isOpening || tag === '34F'))) {
      throw refusal('TRUNCATED', 'A message begins within another: the one before has no end.', place);
    }
    if (this.place === 'before' && !this.isReport && (tag === '61' || isClosing)) {
      throw refusal('BAD_RECORD', `:${tag}: stands before the opening balance.`, place);
    }
    const parts = this.flush();
    if (tag === '20') {
      if (this.place === 'after') parts.push({ kind: 'end' });
      this.place = 'before';
      this.isReport = false;
    }
    if (tag === '34F') this.isReport = true;
    if (isOpening || tag === '61') this.place = 'within';
    if (isClosing) this.place = 'after';
    const start = tag.length + 2;
    this.field = { tag, lines: [text.slice(start)], place: { line: number, column: start + 1 } };
    return parts;
  }

  private outside(text: string, line: number): void {
    if (!header.test(text)) {
      throw refusal('NOT_A_STATEMENT', `${shown(text)} is no part of a statement.`, { line, column: 1 });
    }
    this.enveloped ||= text.includes('{4:');
  }

  private goesOn(text: string): void {
    const { field } = this;
    if (field === null) return;
    if (field.lines.length >= fieldLinesMax) {
      throw refusal('RECORD_TOO_LONG', `:${field.tag}: has more than ${String(fieldLinesMax)} lines.`, field.place);
    }
    field.lines.push(text);
  }

  private closes(text: string): MtPart[] {
    this.place = 'outside';
    this.marked = true;
    this.enveloped = text.includes('{4:');
    return [...this.flush(), { kind: 'end' }];
  }

  private flush(): MtPart[] {
    const { field } = this;
    this.field = null;
    return field === null ? [] : [{ kind: 'field', field }];
  }
}
