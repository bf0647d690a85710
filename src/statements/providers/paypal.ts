import { isBatchDay } from '../../kernel/batchDay.js';
import { shown } from '../../kernel/printable.js';
import { readDecimal, scaleOrRefuse, type DecimalStyle } from '../amounts.js';
import { headText, textBlocks } from '../encoding.js';
import { placeOf, RecordReader, type Dialect, type TextRecord } from '../records.js';
import { StatementRefusal } from '../refusal.js';
import type { LineKind, StatementEvent, StatementFormat, StatementSource } from '../statement.js';
import { atOffset, isClock } from '../times.js';
import { head, moneyLine, others } from './line.js';
import { PaypalSums } from './paypalSums.js';
import { Problems, truncated } from './reading.js';
import { Columns, Row } from './table.js';

// Reports over SFTP. The first field of each record says what it is:
// RH report, FH file, SH section, CH columns, SB rows, SF totals of a currency, SC rows of the section, RF and RC the same
// of the report, FF the end of the file.

type Report = 'STL' | 'TRR';

const name = {
  transaction: 'Transaction ID',
  invoice: 'Invoice ID',
  reference: 'PayPal Reference ID',
  event: 'Transaction Event Code',
  completed: 'Transaction Completion Date',
  direction: 'Transaction Debit or Credit',
  gross: 'Gross Transaction Amount',
  currency: 'Gross Transaction Currency',
  feeDirection: 'Fee Debit or Credit',
  fee: 'Fee Amount',
  feeCurrency: 'Fee Currency',
  status: 'Transactional Status',
  custom: 'Custom Field',
} as const;

/** Unsigned whole minor units. */
const whole: DecimalStyle = { point: '.', groups: [], negative: [], symbols: [] };

/** By the first characters of the event code, the first that fits. */
const kinds: readonly (readonly [RegExp, LineKind])[] = [
  [/^T00/, 'PAYMENT'],
  [/^T01|^T1108|^T1109/, 'FEE'],
  [/^T0[234]|^T07/, 'TRANSFER'],
  [/^T1107/, 'REFUND'],
  [/^T1106|^T111[01]|^T120[12]/, 'DISPUTE'],
];

/** Reports that move money: of a status other than these nothing has moved. */
const moved = new Set(['S', 'V']);
const notMoved = new Set(['P', 'D']);

export const paypalSettlement: StatementFormat = {
  name: 'paypal-stl',
  sniff: (bytes) => reportIn(bytes) === 'STL',
  read: (source) => readReport(source, 'STL'),
};

/** Lists every transaction, also those that move no money; these are left out. */
export const paypalTransactions: StatementFormat = {
  name: 'paypal-trr',
  sniff: (bytes) => reportIn(bytes) === 'TRR',
  read: (source) => readReport(source, 'TRR'),
};

/** Which report a file is, by its columns, or without any by its footer: only a settlement report has balances. */
function reportIn(bytes: Buffer): Report | null {
  const text = headText(bytes) ?? '';
  if (!/^"?RH"?[,\t]/.test(text)) return null;
  const columns = /^"?CH"?[,\t].*$/m.exec(text)?.[0];
  if (columns !== undefined) return columns.includes(name.status) ? 'TRR' : 'STL';
  return /^"?SF"?[,\t].*[,\t]"?(CR|DR)"?[,\t]/m.test(text) ? 'STL' : 'TRR';
}

async function* readReport(source: StatementSource, report: Report): AsyncGenerator<StatementEvent> {
  let records: RecordReader | null = null;
  let reading: ReportReading | null = null;
  for await (const block of textBlocks(source, 'utf-8')) {
    if (records === null || reading === null) {
      const [, separator] = /^"?RH"?([,\t])/.exec(block.text) ?? [];
      if (separator !== ',' && separator !== '\t') {
        throw new StatementRefusal('NOT_A_STATEMENT', 'A PayPal report begins with a record RH.', 1, 1);
      }
      const dialect: Dialect = { separator, quotes: 'strict' };
      records = new RecordReader(dialect);
      reading = new ReportReading(report, dialect);
    }
    for (const record of records.read(block)) yield* reading.record(record);
  }
  if (records === null || reading === null) throw truncated('The report has no record.');
  for (const record of records.end()) yield* reading.record(record);
  yield* reading.end();
}

type Type = 'RH' | 'FH' | 'SH' | 'CH' | 'SB' | 'SF' | 'SC' | 'RF' | 'RC' | 'FF';

/** What may follow what. */
const follows: Readonly<Record<'START' | Type, readonly Type[]>> = {
  START: ['RH'],
  RH: ['FH'],
  FH: ['SH'],
  SH: ['CH', 'SF', 'SC'],
  CH: ['SB', 'SF', 'SC'],
  SB: ['SB', 'SF', 'SC'],
  SF: ['SF', 'SC'],
  SC: ['SH', 'RF', 'RC'],
  RF: ['RF', 'RC'],
  RC: ['FF'],
  FF: [],
};

class ReportReading {
  private last: 'START' | Type = 'START';
  private columns: Columns | null = null;
  private readonly problems = new Problems();
  private readonly sums: PaypalSums;
  private sectionRows = 0n;
  private rows = 0n;
  private line = 1;

  constructor(
    private readonly report: Report,
    private readonly dialect: Dialect,
  ) {
    this.sums = new PaypalSums(this.problems);
  }

  *record(record: TextRecord): Generator<StatementEvent> {
    this.line = record.line;
    const type = record.fields[0] as Type;
    if (!follows[this.last].includes(type)) {
      const message = `A record ${shown(record.fields[0] ?? '')} does not stand behind ${this.last}.`;
      throw new StatementRefusal('BAD_RECORD', message, record.line, 1);
    }
    this.last = type;
    if (type === 'SH') yield this.section(record);
    else if (type === 'CH') this.header(record);
    else if (type === 'SB' && this.columns !== null) yield* this.row(new Row(this.columns, record, this.dialect));
    else if (type === 'SF') yield* this.sums.footer(this.totals(record), record.line);
    else if (type === 'SC') {
      yield* this.counted(record, this.sectionRows, 'section');
      yield* this.sums.endOfSection(record.line);
      yield { kind: 'close' };
    } else if (type === 'RF') yield* this.sums.reportFooter(this.totals(record), record.line);
    else if (type === 'RC') yield* this.counted(record, this.rows, 'report');
    else if (type === 'FF' && record.fields.length > 1) this.count(record);
  }

  *end(): Generator<StatementEvent> {
    if (this.last !== 'FF') throw truncated('The record FF is missing, with which a report ends.', this.line);
    yield* this.problems.rest();
  }

  private section(record: TextRecord): StatementEvent {
    const [from, to] = [this.timeAt(record, 1), this.timeAt(record, 2)];
    this.sectionRows = 0n;
    this.columns = null;
    return head({ accountRef: record.fields[3] || null, fromDay: from.day, toDay: to.day });
  }

  private header(record: TextRecord): void {
    const tidy = (one: string): string => one.replaceAll(/ +/g, ' ').trim();
    this.columns = new Columns(record, this.dialect, tidy);
    const { status, custom: _custom, ...always } = name;
    this.columns.require([...Object.values(always), ...(this.report === 'TRR' ? [status] : [])], record.line);
  }

  private *row(row: Row): Generator<StatementEvent> {
    this.sectionRows += 1n;
    this.rows += 1n;
    const { code } = row.currency(name.currency);
    // PayPal has no decimals for these where ISO 4217 has two, and does not say which of both a report follows.
    if (code === 'HUF' || code === 'TWD') {
      throw row.refusal('UNKNOWN_CURRENCY', name.currency, `How reports of PayPal write ${code} is not documented.`);
    }
    const gross = this.signed(row, name.direction, name.gross);
    if (gross === null) throw row.refusal('BAD_AMOUNT', name.gross, 'There is no amount.');
    const fee = this.signed(row, name.feeDirection, name.fee) ?? 0n;
    const isMoney = this.isMoney(row);
    this.sums.add(code, gross, fee, isMoney);
    if (!isMoney) return;
    yield this.lineOf(row, code, gross, fee);
    const feeCurrency = row.text(name.feeCurrency);
    if (fee !== 0n && feeCurrency !== code) {
      const message = `The fee is in ${shown(feeCurrency)}, the amount in ${code}.`;
      yield* this.problems.add('CURRENCY_DIFFERS', message, ...row.place(name.feeCurrency));
    }
  }

  private lineOf(row: Row, currency: string, gross: bigint, fee: bigint): StatementEvent {
    const transaction = row.id(name.transaction);
    const event = row.text(name.event);
    if (!/^T[0-9]{4}$/.test(event)) throw row.refusal('UNKNOWN_TYPE', name.event, `${shown(event)} is no event code.`);
    const kind = kinds.find(([code]) => code.test(event))?.[1] ?? 'OTHER';
    const completed = this.timeOf(row.text(name.completed));
    if (completed === null)
      throw row.refusal('BAD_TIME', name.completed, `${shown(row.text(name.completed))} is no time.`);
    const ours = row.id(name.invoice) ?? row.id(name.custom);
    const further = [name.custom, name.reference, 'Payment Tracking ID', 'Bank Reference ID'].map((one) => row.id(one));
    const way = gross < 0n ? 'DR' : 'CR';
    return moneyLine(gross, {
      line: row.line,
      // What we paid to somebody has the code of a payment too.
      kind: kind === 'PAYMENT' && gross < 0n ? 'PAYOUT' : kind,
      channelType: event,
      direction: row.text(name.direction) === 'DR' ? 'DEBIT' : 'CREDIT',
      currency,
      feeMinor: -fee,
      ourReference: ours,
      channelReference: transaction,
      otherReferences: others([ours, transaction], further),
      // Hold, release, refund and both sides of a conversion may share one number.
      lineKey: transaction === null ? null : [transaction, event, currency, way, completed.instant].join('|'),
      occurredAt: completed.instant,
      bookedDay: completed.day,
    });
  }

  private isMoney(row: Row): boolean {
    if (this.report === 'STL') return true;
    const status = row.text(name.status);
    if (moved.has(status)) return true;
    if (notMoved.has(status)) return false;
    throw row.refusal('UNKNOWN_TYPE', name.status, `${shown(status)} is none of S, V, P and D.`);
  }

  /** Positive is CR. Null where neither direction nor amount is given. */
  private signed(row: Row, direction: string, amount: string): bigint | null {
    const [way, text] = [row.text(direction), row.text(amount)];
    if (text === '') return null;
    if (!/^[0-9]+$/.test(text)) throw row.refusal('BAD_AMOUNT', amount, `${shown(text)} is not whole minor units.`);
    const minor = row.requiredAmount(amount, 0, whole);
    if (way === 'CR') return minor;
    if (way === 'DR') return -minor;
    if (minor === 0n && way === '') return 0n;
    throw row.refusal('BAD_DIRECTION', direction, `${shown(way)} is neither CR nor DR.`);
  }

  private totals(record: TextRecord): { currency: string; amounts: bigint[]; balances: bigint[] } {
    const currency = record.fields[1] ?? '';
    scaleOrRefuse(currency, ...placeOf(record, 1, this.dialect));
    const amounts = [2, 3, 4, 5].map((at) => this.minorAt(record, at));
    const balances: bigint[] = [];
    for (let at = 6; at + 1 < record.fields.length; at += 2) {
      const way = record.fields[at];
      if (way !== 'CR' && way !== 'DR') break;
      const minor = this.minorAt(record, at + 1);
      balances.push(way === 'CR' ? minor : -minor);
    }
    // A settlement report has at least the available balance before and after.
    if (this.report === 'STL' && balances.length < 2) {
      throw truncated('The totals of a currency have no balances.', record.line);
    }
    return { currency, amounts, balances };
  }

  private *counted(record: TextRecord, rows: bigint, of: string): Generator<StatementEvent> {
    const stated = this.count(record);
    if (stated === rows) return;
    const message = `The ${of} counts ${String(stated)} rows, there are ${String(rows)}.`;
    yield* this.problems.add('COUNT_DIFFERS', message, ...placeOf(record, 1, this.dialect));
  }

  private count(record: TextRecord): bigint {
    return this.minorAt(record, 1);
  }

  private minorAt(record: TextRecord, at: number): bigint {
    const text = record.fields[at];
    const place = placeOf(record, at, this.dialect);
    if (text === undefined) throw truncated(`The record ${record.fields[0] ?? ''} is cut.`, record.line);
    const minor = readDecimal(text, whole, 0);
    if (typeof minor !== 'bigint' || !/^[0-9]+$/.test(text)) {
      throw new StatementRefusal('BAD_AMOUNT', `${shown(text)} is not a whole number.`, ...place);
    }
    return minor;
  }

  private timeAt(record: TextRecord, at: number): { day: string; instant: string } {
    const time = this.timeOf(record.fields[at] ?? '');
    if (time !== null) return time;
    const message = `${shown(record.fields[at] ?? '')} is no time.`;
    throw new StatementRefusal('BAD_TIME', message, ...placeOf(record, at, this.dialect));
  }

  /** "2026/11/29 10:00:00 -0800". */
  private timeOf(text: string): { day: string; instant: string } | null {
    const match = /^([0-9]{4})\/([0-9]{2})\/([0-9]{2}) ([0-9:]{8}) ([+-])([01][0-9]|2[0-3])([0-5][0-9])$/.exec(text);
    if (match === null) return null;
    const [, year = '', month = '', date = '', clock = '', sign = '', hours = '', minutes = ''] = match;
    const day = `${year}-${month}-${date}`;
    if (!isBatchDay(day) || !isClock(clock)) return null;
    return { day, instant: atOffset({ day, clock }, `${sign}${hours}:${minutes}`) };
  }
}
