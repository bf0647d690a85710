import { textBlocks, type Encoding } from '../encoding.js';
import { RecordReader, type Dialect, type TextRecord } from '../records.js';
import { StatementRefusal } from '../refusal.js';
import type { StatementEvent, StatementProblem, StatementSource } from '../statement.js';

/** What a format makes of its records, one after the other. */
export interface Reading {
  record(record: TextRecord): Iterable<StatementEvent>;
  /** Proves the file and closes it. `endedWhole`: the last record had a line end. */
  end(endedWhole: boolean): Iterable<StatementEvent>;
}

export async function* readRecords(
  source: StatementSource,
  encoding: Encoding,
  dialect: Dialect,
  reading: Reading,
): AsyncGenerator<StatementEvent> {
  const records = new RecordReader(dialect);
  let isFirst = true;
  for await (const block of textBlocks(source, encoding)) {
    if (isFirst) refuseErrorPage(block.text);
    isFirst = false;
    for (const record of records.read(block)) yield* reading.record(record);
  }
  for (const record of records.end()) yield* reading.record(record);
  yield* reading.end(records.endedWhole);
}

const errorPage = /^\s*(<\?xml|<!doctype|<[a-z][a-z0-9:]*[\s>/]|\{\s*"|\[\s*[{"\]])/i;

/** What a server sends in place of a file: HTML, XML or JSON. Throws NOT_A_STATEMENT. */
function refuseErrorPage(text: string): void {
  if (!errorPage.test(text)) return;
  const start = text.trim().slice(0, 200).replaceAll(/\s+/g, ' ');
  throw new StatementRefusal('NOT_A_STATEMENT', `The channel sent a message in place of a table: ${start}`, 1, 1);
}

export function truncated(message: string, line: number | null = null): StatementRefusal {
  return new StatementRefusal('TRUNCATED', message, line);
}

/** A table without a footer shows only by its last line end that its last row is whole. Throws TRUNCATED. */
export function requireLineEnd(endedWhole: boolean, line: number): void {
  if (endedWhole) return;
  throw truncated('The last line has no line end, so it may be cut. If it is whole, add one.', line);
}

const problemsMax = 100;

/** Contradictions of a file with itself. After a hundred of a kind they are only counted. */
export class Problems {
  private readonly counts = new Map<string, number>();

  *add(code: string, message: string, line: number | null, column: number | null = null): Generator<StatementEvent> {
    const count = (this.counts.get(code) ?? 0) + 1;
    this.counts.set(code, count);
    if (count <= problemsMax) yield problem({ code, message, line, column });
  }

  /** Tells how many were only counted. */
  *rest(): Generator<StatementEvent> {
    for (const [code, count] of this.counts) {
      const more = count - problemsMax;
      if (more > 0) yield problem({ code, message: `${String(more)} more of the same.`, line: null, column: null });
    }
  }
}

function problem(found: StatementProblem): StatementEvent {
  return { kind: 'problem', problem: found };
}

/**
 * Holds the balances after each line against the lines. A file lists them oldest or newest first; the first lines tell
 * which.
 */
export class BalanceChain {
  private first: Link | null = null;
  private last: Link | null = null;
  private order: 'UNKNOWN' | 'OLDEST_FIRST' | 'NEWEST_FIRST' = 'UNKNOWN';
  isWhole = true;

  /** `change` is signed. Returns false where the balance does not follow from the line before. */
  add(change: bigint, balance: bigint): boolean {
    const link = { before: balance - change, after: balance };
    const previous = this.last;
    this.last = link;
    this.first ??= link;
    if (previous === null) return true;
    const follows = previous.after === link.before;
    const precedes = previous.before === link.after;
    if (this.order === 'UNKNOWN' && follows !== precedes) this.order = follows ? 'OLDEST_FIRST' : 'NEWEST_FIRST';
    const isLinked =
      this.order === 'NEWEST_FIRST' ? precedes : this.order === 'OLDEST_FIRST' ? follows : follows || precedes;
    this.isWhole &&= isLinked;
    return isLinked;
  }

  /** Null without lines, where the chain is broken, and where either direction would tell another story. */
  ends(): { opening: bigint; closing: bigint } | null {
    if (this.first === null || this.last === null || !this.isWhole) return null;
    const oldestFirst = { opening: this.first.before, closing: this.last.after };
    const newestFirst = { opening: this.last.before, closing: this.first.after };
    if (this.order === 'NEWEST_FIRST') return newestFirst;
    const isSame = oldestFirst.opening === newestFirst.opening && oldestFirst.closing === newestFirst.closing;
    return this.order === 'OLDEST_FIRST' || isSame ? oldestFirst : null;
  }
}

interface Link {
  readonly before: bigint;
  readonly after: bigint;
}
