import { isBatchDay } from '../../kernel/batchDay.js';
import { formatMinor } from '../../kernel/money.js';
import { shown } from '../../kernel/printable.js';
import { scaleOrRefuse, type DecimalStyle } from '../amounts.js';
import { headText } from '../encoding.js';
import type { Dialect, TextRecord } from '../records.js';
import type { LineKind, StatementEvent, StatementFormat, StatementSettings } from '../statement.js';
import { inZone, isClock, type LocalTime } from '../times.js';
import { head, moneyLine, others } from './line.js';
import { Problems, readRecords, requireLineEnd, truncated, type Reading } from './reading.js';
import { Columns, Row } from './table.js';
import { isAmerican, zoneOf } from './zones.js';

const dialect: Dialect = { separator: ',', quotes: 'strict' };

const name = {
  date: 'Date',
  time: 'Time',
  zone: 'Time Zone',
  collected: 'Total Collected',
  card: 'Card',
  cash: 'Cash',
  giftCard: 'Square Gift Card',
  otherTender: 'Other Tender',
  fees: 'Fees',
  net: 'Net Total',
  transaction: 'Transaction ID',
  payment: 'Payment ID',
  type: 'Event Type',
} as const;

const [status, cashApp] = ['Transaction Status', 'Cash App'] as const;
/** Columns that decide over money and that older exports do not have. */
const optional = [status, cashApp];

/** Signs of currencies that stand for one currency each; "$" is of many. */
const symbols: Readonly<Record<string, string>> = { '£': 'GBP', '€': 'EUR', '¥': 'JPY' };

const money: DecimalStyle = {
  point: '.',
  groups: [','],
  negative: ['leading'],
  symbols: ['$', ...Object.keys(symbols)],
};

const kinds: ReadonlyMap<string, LineKind> = new Map([
  ['Payment', 'PAYMENT'],
  ['Refund', 'REFUND'],
  ['Chargeback', 'DISPUTE'],
  ['Dispute', 'DISPUTE'],
]);

const done = new Set(['', 'Complete', 'Completed']);
const notMoved = new Set(['Pending', 'Failed', 'Canceled', 'Cancelled', 'Voided']);

/**
 * Square's export of transactions, of any age: columns are found by name. What was paid in cash, by gift card or outside
 * never reaches the account and is no line; of a mixed payment the line is what the card paid.
 */
export const squareTransactions: StatementFormat = {
  name: 'square-transactions',
  sniff: (bytes) => {
    const names = (headText(bytes)?.split(/\r?\n/, 1)[0] ?? '').split(',').map((one) => one.replaceAll('"', ''));
    return Object.values(name).every((one) => names.includes(one));
  },
  read: (source, settings) => readRecords(source, 'utf-8', dialect, new SquareReading(settings)),
};

class SquareReading implements Reading {
  private columns: Columns | null = null;
  private readonly problems = new Problems();
  private line = 1;

  constructor(private readonly settings: StatementSettings) {}

  *record(record: TextRecord): Generator<StatementEvent> {
    this.line = record.line;
    if (this.columns !== null) {
      yield* this.row(new Row(this.columns, record, dialect));
      return;
    }
    this.columns = new Columns(record, dialect);
    this.columns.require(Object.values(name), record.line);
    for (const column of optional) this.columns.hasOptional(column, record.line);
    yield head();
  }

  *end(endedWhole: boolean): Generator<StatementEvent> {
    if (this.columns === null) throw truncated('There is no header.');
    requireLineEnd(endedWhole, this.line);
    yield* this.problems.rest();
    yield { kind: 'close' };
  }

  private *row(row: Row): Generator<StatementEvent> {
    const { code, scale } = this.currencyOf(row);
    const of = (column: string): bigint => row.amount(column, scale, money) ?? 0n;
    const collected = row.requiredAmount(name.collected, scale, money);
    const [fees, net] = [row.requiredAmount(name.fees, scale, money), row.requiredAmount(name.net, scale, money)];
    const elsewhere = of(name.cash) + of(name.giftCard) + of(name.otherTender);
    const here = collected - elsewhere;
    const state = row.text(status);
    if (!done.has(state) && !notMoved.has(state)) {
      throw row.refusal('UNKNOWN_TYPE', status, `${shown(state)} is not known.`);
    }
    if (done.has(state) && (here !== 0n || fees !== 0n)) yield this.lineOf(row, code, here, fees);
    if (net !== collected + fees) {
      const message = `The net total is ${formatMinor(net, code)}, collected and fees make ${formatMinor(collected + fees, code)}.`;
      yield* this.problems.add('NET_DIFFERS', message, ...row.place(name.net));
    }
    const tenders = of(name.card) + of(cashApp) + elsewhere;
    if (tenders !== collected) {
      const message = `Card, cash and other tenders make ${formatMinor(tenders, code)}, collected is ${formatMinor(collected, code)}.`;
      yield* this.problems.add('TOTAL_DIFFERS', message, ...row.place(name.collected));
    }
  }

  private lineOf(row: Row, currency: string, amount: bigint, fees: bigint): StatementEvent {
    const type = row.text(name.type);
    if (type === '') throw row.refusal('UNKNOWN_TYPE', name.type, 'There is no event type.');
    const [transaction, payment] = [row.id(name.transaction), row.id(name.payment)];
    if (transaction === null) throw row.refusal('BAD_RECORD', name.transaction, 'There is no number.');
    const ours = row.id('Order Reference ID');
    const theirs = payment ?? transaction;
    const time = this.timeOf(row);
    return moneyLine(amount === 0n ? fees : amount, {
      line: row.line,
      kind: kinds.get(type) ?? 'OTHER',
      channelType: type,
      currency,
      amountMinor: amount < 0n ? -amount : amount,
      // Fees are written with a minus.
      feeMinor: -fees,
      netMinor: amount + fees,
      ourReference: ours,
      channelReference: theirs,
      otherReferences: others([ours, theirs], [transaction]),
      lineKey: `${transaction}|${payment ?? ''}|${type}`,
      batchReference: row.id('Deposit ID'),
      occurredAt: time.instant,
      bookedDay: time.day,
    });
  }

  private currencyOf(row: Row): { code: string; scale: number } {
    const text = row.text(name.collected);
    const symbol = Object.keys(symbols).find((one) => text.includes(one));
    const code = symbol === undefined ? this.settings.currency : (symbols[symbol] ?? null);
    if (code === null) {
      throw row.refusal('UNKNOWN_CURRENCY', name.collected, 'The file names no currency: name it in the settings.');
    }
    return { code, scale: scaleOrRefuse(code, ...row.place(name.collected)) };
  }

  private timeOf(row: Row): LocalTime & { instant: string } {
    const zoneName = row.text(name.zone);
    const zone = zoneOf(zoneName) ?? this.settings.timeZone;
    if (zone === null) {
      throw row.refusal('BAD_TIME', name.zone, `${shown(zoneName)} is not known: name a zone in the settings.`);
    }
    const day = dayOf(row.text(name.date), isAmerican(zoneName));
    if (day === null)
      throw row.refusal('BAD_DATE', name.date, `${shown(row.text(name.date))} is no date that is clear.`);
    const clock = clockOf(row.text(name.time));
    if (clock === null) throw row.refusal('BAD_TIME', name.time, `${shown(row.text(name.time))} is no time.`);
    const instant = inZone({ day, clock }, zone);
    if (instant === null) throw row.refusal('BAD_TIME', name.time, 'The clocks skip this time.');
    return { day, clock, instant };
  }
}

/** "2026-11-29", and "11/29/2026" where the zone says that the month comes first. */
function dayOf(text: string, isMonthFirst: boolean): string | null {
  const [, month = '', date = '', year = ''] = /^([0-9]{1,2})\/([0-9]{1,2})\/([0-9]{4})$/.exec(text) ?? [];
  const day = year === '' || !isMonthFirst ? text : `${year}-${month.padStart(2, '0')}-${date.padStart(2, '0')}`;
  return isBatchDay(day) ? day : null;
}

/** "14:30:00" or "2:30:00 PM". */
function clockOf(text: string): string | null {
  const match = /^(1[0-2]|0?[1-9]):([0-5][0-9]:[0-5][0-9]) (AM|PM)$/.exec(text);
  if (match === null) return isClock(text) ? text : null;
  const [, hour = '', rest = '', half = ''] = match;
  const hours = (Number(hour) % 12) + (half === 'PM' ? 12 : 0);
  return `${String(hours).padStart(2, '0')}:${rest}`;
}
