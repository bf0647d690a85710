import { isBatchDay } from '../kernel/batchDay.js';
import { parseInstant } from '../kernel/instant.js';
import { minorMax, scaleOf } from '../kernel/money.js';
import { shown } from '../kernel/printable.js';
import { StatementRefusal, type StatementRefusalCode } from './refusal.js';
import {
  lineKinds,
  lineStates,
  type LineKind,
  type LineState,
  type StatementEvent,
  type StatementFormat,
  type StatementHead,
  type StatementLine,
} from './statement.js';

// Settle's own form of a statement, for files that no reader knows: one JSON object a line, documented in
// docs/reconciliation.md. Amounts are texts of minor units, so that no reader in between can round them.

const recordBytesMax = 1_000_000;
const mark = 'settle.statement';

export const plainFormat: StatementFormat = {
  name: 'settle-ndjson',
  sniff: (head) => /^\s*\{\s*"record"\s*:\s*"settle\.statement"/.test(head.subarray(0, 200).toString('utf8')),
  async *read(source) {
    const reader = new PlainReader();
    for await (const { text, line } of textLines(source.chunks())) {
      if (text.trim() !== '') yield* reader.record(text, line);
    }
    reader.end();
  },
};

/** Lines of strict UTF-8 text with their numbers. */
async function* textLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<{ text: string; line: number }> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  let line = 0;
  const decode = (chunk: Buffer | null): string => {
    try {
      return chunk === null ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch {
      throw new StatementRefusal('BAD_ENCODING', 'The file is not UTF-8.', line + 1);
    }
  };
  for await (const chunk of chunks) {
    const parts = (rest + decode(chunk)).split('\n');
    rest = parts.pop() ?? '';
    for (const text of parts) yield { text, line: (line += 1) };
    if (rest.length > recordBytesMax)
      throw new StatementRefusal('RECORD_TOO_LONG', 'The record is too long.', line + 1);
  }
  rest += decode(null);
  if (rest !== '') yield { text: rest, line: line + 1 };
}

type Fields = Record<string, unknown>;

class PlainReader {
  private isOpen = false;
  private statements = 0;
  private lines = 0;

  *record(text: string, line: number): Generator<StatementEvent> {
    const fields = new PlainRecord(parsed(text, line), line);
    const what = fields.text('record');
    if (what === mark) {
      if (this.isOpen)
        throw fields.refuse('TRUNCATED', 'A statement begins before the one above it has its end record.');
      [this.isOpen, this.lines] = [true, 0];
      this.statements += 1;
      yield { kind: 'open', statement: headOf(fields) };
      return;
    }
    if (!this.isOpen) throw fields.refuse('NOT_A_STATEMENT', `A record ${shown(what)} is outside any statement.`);
    if (what === 'balance') yield balanceOf(fields);
    else if (what === 'line') {
      this.lines += 1;
      yield { kind: 'line', line: lineOf(fields) };
    } else if (what === 'end') {
      const count = fields.count('lines');
      if (count !== this.lines) {
        throw fields.refuse('COUNT_DIFFERS', `lines is ${String(count)}, and ${String(this.lines)} came before.`);
      }
      this.isOpen = false;
      yield { kind: 'close' };
    } else throw fields.refuse('UNKNOWN_TYPE', `record is ${shown(what)}, which is not known.`);
  }

  end(): void {
    if (this.isOpen) throw new StatementRefusal('TRUNCATED', 'The file ends before the end record of its statement.');
    if (this.statements === 0) throw new StatementRefusal('EMPTY_FILE', 'The file has no statement.');
  }
}

function parsed(text: string, line: number): Fields {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  } catch {
    // Told below, as what is no object is.
  }
  throw new StatementRefusal('BAD_RECORD', 'The line is not one JSON object.', line);
}

/** Fields of a record, each read strictly; a refusal names the line and the field. */
class PlainRecord {
  constructor(
    private readonly fields: Fields,
    readonly line: number,
  ) {}

  refuse(code: StatementRefusalCode, message: string): StatementRefusal {
    return new StatementRefusal(code, message, this.line);
  }

  text(name: string): string {
    const value = this.textOrNull(name);
    if (value === null) throw this.refuse('BAD_RECORD', `${name} is missing.`);
    return value;
  }

  textOrNull(name: string): string | null {
    const value = Object.hasOwn(this.fields, name) ? this.fields[name] : null;
    if (value === null || value === undefined) return null;
    if (typeof value !== 'string' || value === '') throw this.refuse('BAD_RECORD', `${name} is not a text.`);
    return value;
  }

  texts(name: string): string[] {
    const value = Object.hasOwn(this.fields, name) ? this.fields[name] : [];
    const read = Array.isArray(value) ? (value as unknown[]) : [null];
    if (!read.every((one) => typeof one === 'string' && one !== '')) {
      throw this.refuse('BAD_RECORD', `${name} is not a list of texts.`);
    }
    return read as string[];
  }

  count(name: string): number {
    const value = this.countOrNull(name);
    if (value === null) throw this.refuse('BAD_RECORD', `${name} is missing.`);
    return value;
  }

  countOrNull(name: string): number | null {
    const value = Object.hasOwn(this.fields, name) ? this.fields[name] : null;
    if (value === null) return null;
    if (!Number.isSafeInteger(value) || (value as number) < 0)
      throw this.refuse('BAD_RECORD', `${name} is not a count.`);
    return value as number;
  }

  minorOrNull(name: string): bigint | null {
    const text = this.textOrNull(name);
    if (text === null) return null;
    if (!/^(0|-?[1-9][0-9]*)$/.test(text)) throw this.refuse('BAD_AMOUNT', `${name} is ${shown(text)}.`);
    const minor = BigInt(text);
    if (minor > minorMax || minor < -minorMax) throw this.refuse('AMOUNT_OUT_OF_RANGE', `${name} is ${shown(text)}.`);
    return minor;
  }

  minor(name: string): bigint {
    const minor = this.minorOrNull(name);
    if (minor === null) throw this.refuse('BAD_AMOUNT', `${name} is missing.`);
    return minor;
  }

  currency(): string {
    const code = this.text('currency');
    if (scaleOf(code) === undefined) throw this.refuse('UNKNOWN_CURRENCY', `currency is ${shown(code)}.`);
    return code;
  }

  dayOrNull(name: string): string | null {
    const text = this.textOrNull(name);
    if (text !== null && !isBatchDay(text)) throw this.refuse('BAD_DATE', `${name} is ${shown(text)}.`);
    return text;
  }

  day(name: string): string {
    const day = this.dayOrNull(name);
    if (day === null) throw this.refuse('BAD_DATE', `${name} is missing.`);
    return day;
  }

  instantOrNull(name: string): string | null {
    const text = this.textOrNull(name);
    const instant = text === null ? null : parseInstant(text);
    if (text !== null && instant === null) throw this.refuse('BAD_TIME', `${name} is ${shown(text)}.`);
    return instant;
  }

  oneOf<T extends string>(name: string, known: readonly T[], code: StatementRefusalCode): T {
    const text = this.text(name);
    if ((known as readonly string[]).includes(text)) return text as T;
    throw this.refuse(code, `${name} is ${shown(text)}; known are ${known.join(', ')}.`);
  }
}

function headOf(fields: PlainRecord): StatementHead {
  const number = fields.countOrNull('sequence');
  return {
    accountRef: fields.textOrNull('account'),
    sequence: number === null ? null : { number: BigInt(number), page: 1, lastPage: true },
    fromDay: fields.dayOrNull('from_day'),
    toDay: fields.dayOrNull('to_day'),
    intraday: false,
  };
}

function balanceOf(fields: PlainRecord): StatementEvent {
  const kind = fields.oneOf('kind', ['OPENING', 'CLOSING'] as const, 'UNKNOWN_TYPE');
  const balance = { kind, currency: fields.currency(), minor: fields.minor('minor'), day: fields.dayOrNull('day') };
  return { kind: 'balance', balance };
}

function lineOf(fields: PlainRecord): StatementLine {
  const kind = fields.oneOf<LineKind>('kind', lineKinds, 'UNKNOWN_TYPE');
  const amountMinor = fields.minor('amount_minor');
  if (amountMinor < 0n) throw fields.refuse('BAD_AMOUNT', 'amount_minor is negative; direction gives the sign.');
  return {
    line: fields.line,
    kind,
    channelType: fields.textOrNull('channel_type') ?? kind,
    direction: fields.oneOf('direction', ['CREDIT', 'DEBIT'] as const, 'BAD_DIRECTION'),
    currency: fields.currency(),
    amountMinor,
    feeMinor: fields.minorOrNull('fee_minor'),
    netMinor: fields.minorOrNull('net_minor'),
    ourReference: fields.textOrNull('our_reference'),
    channelReference: fields.textOrNull('channel_reference'),
    otherReferences: fields.texts('other_references'),
    lineKey: fields.textOrNull('line_key'),
    balanceMinor: fields.minorOrNull('balance_minor'),
    state: fields.textOrNull('state') === null ? 'DONE' : fields.oneOf<LineState>('state', lineStates, 'UNKNOWN_TYPE'),
    occurredAt: fields.instantOrNull('occurred_at'),
    bookedDay: fields.day('booked_day'),
    batchCount: fields.countOrNull('batch_count'),
    batchReference: fields.textOrNull('batch_reference'),
  };
}
