import type { BatchDay } from '../../kernel/batchDay.js';
import { addDays } from '../../kernel/batchDay.js';
import type { StatementEvent, StatementHead } from '../statement.js';
import { EntryDetails, entryOf } from './camtEntry.js';
import { amountAt, dateAt, directionAt, flagAt, wholeAt } from './camtNodes.js';
import { CamtTotals } from './camtTotals.js';
import { timeOfXml } from './days.js';
import { problem, refusal, type Place } from './place.js';
import { BalanceProof } from './proof.js';
import { at, textAt, type XmlNode } from './xml.js';

export interface CamtPage {
  readonly number: number;
  readonly isLast: boolean;
}

interface Balance {
  readonly code: string;
  readonly currency: string;
  readonly minor: bigint;
  readonly day: BatchDay;
  readonly place: Place;
}

const balancesMax = 1000;
const pageNames = ['StmtPgntn', 'RptPgntn', 'NtfctnPgntn'];

/** One Stmt, Rpt or Ntfctn, told of its elements in the order of the file. */
export class CamtStatement {
  private head: StatementHead | null = null;
  private accountRef: string | null = null;
  private sequence: bigint | undefined;
  private days: { from: BatchDay; to: BatchDay } | null = null;
  private summary: XmlNode | null = null;
  private readonly balances: Balance[] = [];
  private readonly totals = new CamtTotals();
  private readonly proof = new BalanceProof();
  private details = new EntryDetails();

  constructor(
    private readonly intraday: boolean,
    private readonly hasBalances: boolean,
    private page: CamtPage | null,
    private readonly timeZone: string | null,
  ) {}

  /** A transaction of the entry that is being read. */
  transaction(node: XmlNode, entry: XmlNode): void {
    this.details.add(node, entry);
  }

  endBatch(node: XmlNode): void {
    this.details.endBatch(node);
  }

  /** An element right below the statement, whole; of an entry without its transactions. */
  child(node: XmlNode): StatementEvent[] {
    if (node.name === 'Ntry') return this.entry(node);
    if (node.name === 'Bal') this.balance(node);
    else if (node.name === 'Acct')
      this.accountRef = textAt(node, 'Id', 'IBAN') ?? textAt(node, 'Id', 'Othr', 'Id') ?? null;
    else if (node.name === 'ElctrncSeqNb') this.sequence = wholeAt(node);
    else if (node.name === 'FrToDt') this.days = daysOf(node);
    else if (node.name === 'TxsSummry') this.summary = node;
    else if (pageNames.includes(node.name)) this.page = pageOf(node);
    return [];
  }

  end(place: Place): StatementEvent[] {
    const opened = this.open();
    const faults = this.resolveBalances();
    const whole = this.page === null || (this.page.number === 1 && this.page.isLast);
    const balances = [...this.proof.of('OPENING'), ...this.proof.of('CLOSING')];
    return [
      ...opened,
      ...balances.map((balance): StatementEvent => ({ kind: 'balance', balance })),
      ...faults,
      ...this.proof.faults(this.hasBalances && !this.intraday, place),
      // The summary of a statement on several pages is of all of them.
      ...(this.summary === null || !whole ? [] : this.totals.faults(this.summary)),
      { kind: 'close' },
    ];
  }

  private entry(node: XmlNode): StatementEvent[] {
    const opened = this.open();
    const entry = entryOf(node, this.details, this.accountRef, this.timeZone);
    this.details = new EntryDetails();
    this.totals.add(entry, directionAt(node));
    if (entry.isBooked) this.proof.move(entry.currency, entry.signedMinor, entry.isReversal);
    return [...opened, ...entry.events];
  }

  /** The statement is opened by its first entry: what stands before says all of it. */
  private open(): StatementEvent[] {
    if (this.head !== null) return [];
    const dayOf = (...codes: string[]): BatchDay | null =>
      this.balances.find(({ code }) => codes.includes(code))?.day ?? null;
    this.head = {
      accountRef: this.accountRef,
      sequence:
        this.sequence === undefined
          ? null
          : { number: this.sequence, page: this.page?.number ?? 1, lastPage: this.page?.isLast ?? true },
      fromDay: this.days?.from ?? dayOf('OPBD'),
      toDay: this.days?.to ?? dayOf('CLBD', 'ITBD'),
      intraday: this.intraday,
    };
    return [{ kind: 'open', statement: this.head }];
  }

  private balance(node: XmlNode): void {
    const { minor, currency } = amountAt(node, 'Amt');
    const signed = directionAt(node) ? minor : -minor;
    const code = textAt(node, 'Tp', 'CdOrPrtry', 'Cd');
    const date = dateAt(node, 'Dt', null);
    if (date === null) throw refusal('BAD_DATE', 'A balance states no day: Bal/Dt is missing.', node);
    // Others, and the bank's own, tell of what is available or to come.
    if (code === undefined || !['OPBD', 'PRCD', 'ITBD', 'CLBD'].includes(code)) return;
    if (this.balances.length >= balancesMax)
      throw refusal('RECORD_TOO_LONG', 'A statement has too many balances.', node);
    this.balances.push({ code, currency, minor: signed, day: date.day, place: node });
  }

  /**
   * Opening: OPBD, or PRCD, which is the same money the evening before. Closing: CLBD. An interim balance (ITBD) closes what
   * is not the end of a statement, and opens what is not its beginning.
   */
  private resolveBalances(): StatementEvent[] {
    const faults: StatementEvent[] = [];
    const interim = this.balances.filter(({ code }) => code === 'ITBD');
    const state = (kind: 'OPENING' | 'CLOSING', { currency, minor, day, place }: Balance): void => {
      if (!this.proof.state({ kind, currency, minor, day }, place)) {
        const text = `The statement has another ${kind.toLowerCase()} balance in ${currency} before this one.`;
        faults.push(problem('BALANCE_DIFFERS', text, place));
      }
    };
    for (const code of ['OPBD', 'PRCD']) {
      for (const balance of this.balances.filter((one) => one.code === code)) state('OPENING', balance);
    }
    for (const balance of this.balances.filter(({ code }) => code === 'CLBD')) state('CLOSING', balance);
    if (!this.intraday && this.page === null) return faults;
    for (const currency of new Set(interim.map((one) => one.currency))) {
      const own = interim.filter((one) => one.currency === currency);
      const [first, last] = [own[0], own[own.length - 1]];
      const has = (kind: 'OPENING' | 'CLOSING'): boolean =>
        this.proof.of(kind).some((one) => one.currency === currency);
      if (first !== undefined && !has('OPENING') && (own.length > 1 || has('CLOSING'))) state('OPENING', first);
      if (last !== undefined && !has('CLOSING')) state('CLOSING', last);
    }
    return faults;
  }
}

export function pageOf(node: XmlNode): CamtPage {
  return { number: Number(wholeAt(node, 'PgNb') ?? 1n), isLast: flagAt(node, 'LastPgInd') ?? true };
}

/** A period that ends at midnight ends with the day before. */
function daysOf(node: XmlNode): { from: BatchDay; to: BatchDay } | null {
  const [from, to] = [at(node, 'FrDtTm'), at(node, 'ToDtTm')];
  if (from === undefined || to === undefined) return null;
  const start = timeOfXml(from.text.trim(), 'FrToDt/FrDtTm', from);
  const end = timeOfXml(to.text.trim(), 'FrToDt/ToDtTm', to);
  const endsBefore = /^00:00:00/.test(end.time) && end.day > start.day;
  return { from: start.day, to: endsBefore ? addDays(end.day, -1) : end.day };
}
