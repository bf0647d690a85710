import type { BatchDay } from '../../kernel/batchDay.js';
import type { StatementEvent, StatementHead, StatementSource } from '../statement.js';
import {
  mtBalanceOf,
  mtEntryOf,
  mtFloorCurrencyOf,
  mtReportDayOf,
  mtSequenceOf,
  mtSumOf,
  type MtBalance,
  type MtEntry,
  type MtField,
  type MtSequence,
} from './mtFields.js';
import { mtLineOf } from './mtLines.js';
import { mtPartsOf } from './mtParts.js';
import { MtSums } from './mtSums.js';
import { problem, refusal, type Place } from './place.js';
import { BalanceProof } from './proof.js';

export type MtKind = 'mt940' | 'mt942';

/**
 * Reads customer statements (MT940) or interim reports (MT942). Each page of a statement is one of the events' statements,
 * with opening and closing balance of its own. Only the last line of a page tells whether another follows and of which day
 * it is, which its head must say: the file is gone through twice.
 */
export async function* readMt(kind: MtKind, source: StatementSource): AsyncIterable<StatementEvent> {
  const closings: string[] = [];
  for await (const part of mtPartsOf(source)) {
    if (part.kind === 'field' && /^62[FM]$/.test(part.field.tag)) {
      closings.push(part.field.tag + (part.field.lines[0] ?? '').slice(0, 7));
    }
  }
  const reader = new MtReader(kind, closings);
  for await (const part of mtPartsOf(source)) {
    yield* part.kind === 'field' ? reader.field(part.field) : reader.end();
  }
  if (reader.isEmpty) throw refusal('NOT_A_STATEMENT', 'The file holds no message.', null);
}

interface Message {
  readonly place: Place;
  accountRef: string;
  sequence: MtSequence | null;
  opening: (MtBalance & { isPage: boolean; place: Place }) | null;
  closing: (MtBalance & { isPage: boolean }) | null;
  reportDay: BatchDay | null;
  currency: string | null;
  proof: BalanceProof;
  sums: MtSums;
  isOpen: boolean;
}

class MtReader {
  private message: Message | null = null;
  private previous: Message | null = null;
  private entry: { readonly entry: MtEntry; readonly line: number; readonly details: string[] } | null = null;
  private messages = 0;

  constructor(
    private readonly kind: MtKind,
    private readonly closings: readonly string[],
  ) {}

  get isEmpty(): boolean {
    return this.messages === 0;
  }

  field(field: MtField): StatementEvent[] {
    if (field.tag === '20') {
      this.message = noMessage(field.place);
      this.messages += 1;
      return [];
    }
    const { message } = this;
    if (message === null) throw refusal('BAD_RECORD', `:${field.tag}: stands outside of a message.`, field.place);
    if (field.tag === '86' && this.entry !== null && message.closing === null) {
      this.entry.details.push(...field.lines);
      return [];
    }
    if (field.tag === 'NS') return [];
    return [...this.takeLine(message), ...this.known(message, field)];
  }

  end(): StatementEvent[] {
    const { message } = this;
    if (message === null) return [];
    const events = [...this.takeLine(message), ...this.open(message)];
    this.message = null;
    if (this.kind === 'mt940') {
      if (message.closing === null) throw refusal('TRUNCATED', 'The message has no closing balance.', message.place);
      events.push(...message.proof.faults(true, message.place));
    } else events.push(...message.sums.faults());
    this.previous = message;
    return [...events, { kind: 'close' }];
  }

  private known(message: Message, field: MtField): StatementEvent[] {
    const { tag } = field;
    if (tag === '25' || tag === '25P') message.accountRef = field.lines[0]?.trim() ?? '';
    else if (tag === '28' || tag === '28C') message.sequence = mtSequenceOf(field);
    else if (tag === '13D' || tag === '13') message.reportDay = mtReportDayOf(field);
    else if (tag === '34F') this.floor(message, field);
    else if (tag === '60F' || tag === '60M') return this.opening(message, field);
    else if (tag === '61') return this.transaction(message, field);
    else if (tag === '62F' || tag === '62M') return this.closing(message, field);
    else if (tag === '90D' || tag === '90C') {
      this.requireKind('mt942', field);
      const sum = mtSumOf(field);
      if (sum.currency !== message.currency) {
        throw refusal(
          'BAD_RECORD',
          `:${tag}: is in ${sum.currency}, and the report in ${String(message.currency)}.`,
          field.place,
        );
      }
      message.sums.state(tag === '90C', sum, field.place);
    }
    return [];
  }

  private floor(message: Message, field: MtField): void {
    this.requireKind('mt942', field);
    message.currency = mtFloorCurrencyOf(field);
  }

  private opening(message: Message, field: MtField): StatementEvent[] {
    this.requireKind('mt940', field);
    const balance = mtBalanceOf(field);
    message.opening = { ...balance, isPage: field.tag === '60M', place: field.place };
    message.currency = balance.currency;
    message.proof.state({ kind: 'OPENING', ...balance }, field.place);
    return [
      ...this.open(message),
      { kind: 'balance', balance: { kind: 'OPENING', ...balance } },
      ...this.joinFaults(message, field.place),
    ];
  }

  private transaction(message: Message, field: MtField): StatementEvent[] {
    const currency = this.currencyOf(message, field.place);
    const entry = mtEntryOf(field, currency);
    const signed = entry.isCredit ? entry.amountMinor : -entry.amountMinor;
    message.sums.add(entry);
    if (!entry.isExpected) message.proof.move(currency, signed, entry.isReversal);
    this.entry = { entry, line: field.place.line, details: [] };
    return this.open(message);
  }

  private closing(message: Message, field: MtField): StatementEvent[] {
    const balance = mtBalanceOf(field);
    message.closing = { ...balance, isPage: field.tag === '62M' };
    message.proof.state({ kind: 'CLOSING', ...balance }, field.place);
    return [{ kind: 'balance', balance: { kind: 'CLOSING', ...balance } }];
  }

  private currencyOf(message: Message, place: Place): string {
    if (message.currency === null)
      throw refusal('BAD_RECORD', 'The message names no currency before its lines.', place);
    return message.currency;
  }

  private open(message: Message): StatementEvent[] {
    if (message.isOpen) return [];
    if (message.accountRef === '') throw refusal('BAD_RECORD', 'The message names no account (:25:).', message.place);
    if (this.kind === 'mt942' && message.currency === null) {
      throw refusal('BAD_RECORD', 'The report names no floor limit (:34F:), and so no currency.', message.place);
    }
    message.isOpen = true;
    return [{ kind: 'open', statement: this.headOf(message) }];
  }

  private headOf(message: Message): StatementHead {
    const { accountRef, sequence, opening, reportDay } = message;
    const closing = this.kind === 'mt940' ? (this.closings[this.messages - 1] ?? '') : '';
    const closed = closing.slice(4);
    const century = closed >= '80' ? '19' : '20';
    const closingDay = /^\d{6}$/.test(closed)
      ? `${century}${closed.slice(0, 2)}-${closed.slice(2, 4)}-${closed.slice(4)}`
      : null;
    return {
      accountRef,
      sequence: sequence === null ? null : { ...sequence, lastPage: !closing.startsWith('62M') },
      fromDay: opening?.day ?? null,
      toDay: this.kind === 'mt940' ? closingDay : reportDay,
      intraday: this.kind === 'mt942',
    };
  }

  private takeLine(message: Message): StatementEvent[] {
    const taken = this.entry;
    this.entry = null;
    if (taken === null || taken.entry.isExpected) return [];
    const of = { accountRef: message.accountRef, currency: message.currency ?? '', line: taken.line };
    return [{ kind: 'line', line: mtLineOf(taken.entry, taken.details, of) }];
  }

  /** A page goes on where the one before it in the file stopped. */
  private joinFaults(message: Message, place: Place): StatementEvent[] {
    const { previous } = this;
    const last = previous?.closing;
    if (previous === null || last?.isPage !== true || previous.accountRef !== message.accountRef) return [];
    const { opening, sequence } = message;
    const faults: StatementEvent[] = [];
    if (opening !== null && (opening.minor !== last.minor || opening.currency !== last.currency || !opening.isPage)) {
      faults.push(problem('BALANCE_DIFFERS', `:60M: is not the balance of :62M: on the page before.`, place));
    }
    const [number, page] = [sequence?.number, sequence?.page];
    if (number !== previous.sequence?.number || (page !== undefined && page !== (previous.sequence?.page ?? 0) + 1)) {
      faults.push(problem('SEQUENCE_DIFFERS', 'The page does not follow the page before it.', place));
    }
    return faults;
  }

  private requireKind(kind: MtKind, field: MtField): void {
    if (this.kind === kind) return;
    const text = `:${field.tag}: is of a message ${kind.toUpperCase()}, and the file is read as ${this.kind.toUpperCase()}.`;
    throw refusal('NOT_A_STATEMENT', text, field.place);
  }
}

function noMessage(place: Place): Message {
  return {
    place,
    accountRef: '',
    sequence: null,
    opening: null,
    closing: null,
    reportDay: null,
    currency: null,
    proof: new BalanceProof(),
    sums: new MtSums(),
    isOpen: false,
  };
}
