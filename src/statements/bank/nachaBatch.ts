import type { BatchDay } from '../../kernel/batchDay.js';
import type { StatementEvent, StatementLine } from '../statement.js';
import { minorOfDigits } from './amounts.js';
import { dayOfYear } from './days.js';
import { problem, refusal, shown, type Place } from './place.js';
import { lineKeyOf, otherReferences, referenceOf } from './references.js';

/** Characters of a record by their positions in the rules, which count from 1. */
export function columns(text: string, from: number, to: number): string {
  return text.slice(from - 1, to);
}

type Columns = readonly [from: number, to: number];

/** What control records (8, 9) repeat of the entries: their number with addenda, the sum of the banks' numbers, the money. */
export class NachaTotals {
  entries = 0n;
  hash = 0n;
  debits = 0n;
  credits = 0n;

  include(other: NachaTotals): void {
    this.entries += other.entries;
    this.hash += other.hash;
    this.debits += other.debits;
    this.credits += other.credits;
  }

  faults(
    text: string,
    entries: Columns,
    hash: Columns,
    debits: Columns,
    credits: Columns,
    name: string,
    place: Place,
  ): StatementEvent[] {
    const found: StatementEvent[] = [];
    for (const [what, [from, to], counted, code] of [
      ['records', entries, this.entries, 'COUNT_DIFFERS'],
      ['an entry hash of', hash, this.hash % 10n ** 10n, 'TOTAL_DIFFERS'],
      ['debits of', debits, this.debits, 'TOTAL_DIFFERS'],
      ['credits of', credits, this.credits, 'TOTAL_DIFFERS'],
    ] as const) {
      const at = { line: place.line, column: from };
      const stated = minorOfDigits(columns(text, from, to), `The ${name}`, at);
      if (stated === counted) continue;
      found.push(problem(code, `The ${name} says ${what} ${String(stated)}; the entries make ${String(counted)}.`, at));
    }
    return found;
  }
}

interface Entry {
  readonly place: Place;
  readonly code: string;
  readonly amountMinor: bigint;
  readonly individual: string;
  readonly trace: string;
  addenda: { reason: string; originalTrace: string } | null;
  isChange: boolean;
}

/** A batch (5 to 8) of a return file: each entry (6) is followed by why it came back (799), or by a change to note (798). */
export class NachaBatch {
  readonly totals = new NachaTotals();
  private readonly company: string;
  private readonly isInternational: boolean;
  private readonly bookedDay: BatchDay;
  private entryRead: Entry | null = null;

  constructor(header: string, place: Place, fileDay: BatchDay) {
    this.company = columns(header, 41, 50).trim();
    const kind = columns(header, 51, 53);
    this.isInternational = kind === 'IAT';
    if (kind === 'ADV')
      throw refusal('UNKNOWN_TYPE', 'A batch of automated accounting advices (ADV) is no return.', place);
    // The day of settlement is put in by the operator, as day of the year; without one, the file's own day stands.
    const settled = columns(header, 76, 78);
    this.bookedDay = /^(?:\s*|000)$/.test(settled)
      ? fileDay
      : dayOfYear(settled, fileDay, 'The settlement day of the batch (5)', { line: place.line, column: 76 });
  }

  entry(text: string, place: Place): StatementEvent[] {
    const events = this.takeEntry();
    const amountMinor = minorOfDigits(columns(text, 30, 39), 'The amount of an entry (6)', {
      line: place.line,
      column: 30,
    });
    const code = columns(text, 2, 3);
    const isCredit = isCreditCode(code, place);
    this.totals.entries += 1n;
    this.totals.hash += minorOfDigits(columns(text, 4, 11), 'The bank of an entry (6)', {
      line: place.line,
      column: 4,
    });
    if (isCredit) this.totals.credits += amountMinor;
    else this.totals.debits += amountMinor;
    this.entryRead = {
      place,
      code,
      amountMinor,
      // An international entry has the number of an account here.
      individual: this.isInternational ? '' : columns(text, 40, 54),
      trace: columns(text, 80, 94),
      addenda: null,
      isChange: false,
    };
    return events;
  }

  addenda(text: string, place: Place): StatementEvent[] {
    const { entryRead: entry } = this;
    if (entry === null) throw refusal('BAD_RECORD', 'An addenda record (7) follows no entry.', place);
    this.totals.entries += 1n;
    const type = columns(text, 2, 3);
    const reason = columns(text, 4, 6);
    if (type === '98') {
      if (!/^C\d\d$/.test(reason))
        throw refusal('UNKNOWN_TYPE', `${shown(reason)} is no code of a change.`, { ...place, column: 4 });
      entry.isChange = true;
    } else if (type === '99') {
      if (!/^R\d\d$/.test(reason))
        throw refusal('UNKNOWN_TYPE', `${shown(reason)} is no reason of a return.`, { ...place, column: 4 });
      // A return that is disputed carries the records before it: the first names our entry, the last says why.
      entry.addenda = { reason, originalTrace: entry.addenda?.originalTrace ?? columns(text, 7, 21) };
    }
    return [];
  }

  end(place: Place): StatementEvent[] {
    const events = this.takeEntry();
    if (this.totals.entries === 0n) throw refusal('BAD_RECORD', 'A batch has no entries.', place);
    return events;
  }

  private takeEntry(): StatementEvent[] {
    const { entryRead: entry } = this;
    this.entryRead = null;
    if (entry === null) return [];
    if (entry.isChange) {
      const text = 'A notice of change (798) moves no money, and yet states an amount.';
      return entry.amountMinor === 0n ? [] : [problem('TOTAL_DIFFERS', text, entry.place)];
    }
    if (entry.addenda === null) {
      throw refusal('UNKNOWN_TYPE', 'An entry has no reason of return (799): the file is no return file.', entry.place);
    }
    return [{ kind: 'line', line: this.line(entry, entry.addenda) }];
  }

  private line(entry: Entry, { reason, originalTrace }: { reason: string; originalTrace: string }): StatementLine {
    const isCredit = isCreditCode(entry.code, entry.place);
    const direction = isCredit ? 'CREDIT' : 'DEBIT';
    const { bookedDay } = this;
    const { amountMinor } = entry;
    const [ourReference, channelReference] = [referenceOf(originalTrace), referenceOf(entry.trace)];
    return {
      line: entry.place.line,
      kind: isCredit ? 'RETURN' : 'DISPUTE',
      channelType: `${entry.code}/${reason}`,
      direction,
      currency: 'USD',
      amountMinor,
      feeMinor: null,
      netMinor: isCredit ? amountMinor : -amountMinor,
      ourReference,
      channelReference,
      otherReferences: otherReferences([ourReference, channelReference], [referenceOf(entry.individual)]),
      lineKey: lineKeyOf(
        channelReference,
        { accountRef: this.company, bookedDay, direction, amountMinor },
        originalTrace.trim(),
      ),
      balanceMinor: null,
      state: 'DONE',
      occurredAt: null,
      bookedDay,
      batchCount: null,
      batchReference: null,
    };
  }
}

/** 21, 31, 41, 51: a payment of ours comes back. 26, 36, 46, 56: a collection of ours is taken back. */
function isCreditCode(code: string, place: Place): boolean {
  if (/^[2345]1$/.test(code)) return true;
  if (/^[2345]6$/.test(code)) return false;
  throw refusal('UNKNOWN_TYPE', `Transaction code ${shown(code)} is not of a return (21, 31, 26, 36).`, {
    line: place.line,
    column: 2,
  });
}
