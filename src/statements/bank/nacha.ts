import type { BatchDay } from '../../kernel/batchDay.js';
import type { StatementEvent, StatementSource } from '../statement.js';
import { dayOfSixDigits } from './days.js';
import { linesOf, type TextLine } from './lines.js';
import { columns, NachaBatch, NachaTotals } from './nachaBatch.js';
import { problem, refusal, shown, type Place } from './place.js';

const width = 94;
const blockLines = 10;
const filler = '9'.repeat(width);

/**
 * Reads an ACH return file (NACHA): what came back of payments and collections of ours. Throws BAD_FIELD_COUNT for records
 * that are not 94 characters, TRUNCATED for a file without its control record (9); totals, counts and hashes that differ
 * are problems of the file.
 */
export async function* readNacha(source: StatementSource): AsyncIterable<StatementEvent> {
  const reader = new NachaReader();
  let last: TextLine | null = null;
  for await (const lines of linesOf(source)) {
    for (const line of lines) {
      yield* reader.line(line);
      last = line;
    }
  }
  reader.end(last);
}

class NachaReader {
  private header: { readonly day: BatchDay } | null = null;
  private batch: NachaBatch | null = null;
  private readonly totals = new NachaTotals();
  private batches = 0n;
  private records = 0;
  private ended = false;
  private fillers = 0;

  line({ text, number }: TextLine): StatementEvent[] {
    if (text.trim() === '') return [];
    const place = { line: number, column: 1 };
    if (text.length !== width) {
      const column = Math.min(text.length, width) + 1;
      const code = this.header === null ? 'NOT_A_STATEMENT' : 'BAD_FIELD_COUNT';
      throw refusal(code, `A record has ${String(text.length)} characters, and must have ${String(width)}.`, {
        line: number,
        column,
      });
    }
    if (this.ended) return this.filler(text, place);
    this.records += 1;
    const code = text.charAt(0);
    if (this.header === null) return this.begin(text, place);
    if (code === '5') return this.beginBatch(text, place);
    if (code === '8') return this.endBatch(text, place);
    if (code === '9') return this.endFile(text, place);
    if (code !== '6' && code !== '7') throw refusal('BAD_RECORD', `Record type ${shown(code)} is none.`, place);
    if (this.batch === null) throw refusal('BAD_RECORD', `Record type ${code} stands outside of a batch.`, place);
    return code === '6' ? this.batch.entry(text, place) : this.batch.addenda(text, place);
  }

  end(last: TextLine | null): void {
    if (this.header === null) throw refusal('NOT_A_STATEMENT', 'The file has no file header (1).', null);
    if (!this.ended) {
      throw refusal('TRUNCATED', 'The file control record (9) is missing.', { line: last?.number ?? 1, column: null });
    }
    // Programs that copy such files drop the filler, all of it.
    if (this.fillers > 0 && (this.records + this.fillers) % blockLines !== 0) {
      throw refusal('TRUNCATED', 'The file does not fill its last block of 10 records.', {
        line: last?.number ?? 1,
        column: null,
      });
    }
  }

  private begin(text: string, place: Place): StatementEvent[] {
    if (columns(text, 1, 3) !== '101' || columns(text, 35, 39) !== '09410') {
      throw refusal('NOT_A_STATEMENT', 'The file does not begin with a file header of NACHA (101 … 09410).', place);
    }
    const day = dayOfSixDigits(columns(text, 24, 29), 'The day of the file header (1)', place);
    this.header = { day };
    const accountRef = columns(text, 4, 13).trim();
    if (accountRef === '') throw refusal('BAD_RECORD', 'The file header (1) names no destination.', place);
    return [{ kind: 'open', statement: { accountRef, sequence: null, fromDay: null, toDay: day, intraday: false } }];
  }

  private beginBatch(text: string, place: Place): StatementEvent[] {
    if (this.batch !== null) {
      throw refusal('TRUNCATED', 'A batch begins within another: its control record (8) is missing.', place);
    }
    this.batch = new NachaBatch(text, place, this.header?.day ?? '');
    return [];
  }

  private endBatch(text: string, place: Place): StatementEvent[] {
    const { batch } = this;
    if (batch === null) throw refusal('BAD_RECORD', 'A batch control record (8) stands outside of a batch.', place);
    this.batch = null;
    this.batches += 1n;
    this.totals.include(batch.totals);
    return [
      ...batch.end(place),
      ...batch.totals.faults(text, [5, 10], [11, 20], [21, 32], [33, 44], 'batch control (8)', place),
    ];
  }

  private endFile(text: string, place: Place): StatementEvent[] {
    if (this.batch !== null) throw refusal('TRUNCATED', 'The control record (8) of a batch is missing.', place);
    this.ended = true;
    const events = this.totals.faults(text, [14, 21], [22, 31], [32, 43], [44, 55], 'file control (9)', place);
    const blocks = BigInt(Math.ceil(this.records / blockLines));
    for (const [name, from, to, found] of [
      ['batches', 2, 7, this.batches],
      ['blocks', 8, 13, blocks],
    ] as const) {
      const stated = numberAt(text, from, to, `The number of ${name}`, place);
      if (stated === found) continue;
      const says = `The file control (9) counts ${String(stated)} ${name}; there are ${String(found)}.`;
      events.push(problem('COUNT_DIFFERS', says, place));
    }
    return [...events, { kind: 'close' }];
  }

  private filler(text: string, place: Place): StatementEvent[] {
    if (text !== filler) throw refusal('BAD_RECORD', 'Something follows the file control record (9).', place);
    this.fillers += 1;
    if (this.fillers >= blockLines) throw refusal('BAD_RECORD', 'The file has more filler than a block.', place);
    return [];
  }
}

function numberAt(text: string, from: number, to: number, field: string, place: Place): bigint {
  const digits = columns(text, from, to);
  if (!/^\d+$/.test(digits)) throw refusal('BAD_RECORD', `${field} is ${shown(digits)}.`, { ...place, column: from });
  return BigInt(digits);
}
