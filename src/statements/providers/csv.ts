import { isBatchDay } from '../../kernel/batchDay.js';
import { formatMinor, magnitude } from '../../kernel/money.js';
import { shown } from '../../kernel/printable.js';
import { scaleOrRefuse } from '../amounts.js';
import type { CsvProfile } from '../profile.js';
import type { Dialect, TextRecord } from '../records.js';
import { StatementRefusal } from '../refusal.js';
import type { LineKind, StatementEvent, StatementFormat, StatementSettings } from '../statement.js';
import { inZone, isClock } from '../times.js';
import { CsvTotals } from './csvTotals.js';
import { head, moneyLine, others } from './line.js';
import { BalanceChain, Problems, readRecords, requireLineEnd, truncated, type Reading } from './reading.js';
import { Columns, Row } from './table.js';

/** Any table of one header, read as a profile of the config says. It claims no file by itself. */
export const csvTable: StatementFormat = {
  name: 'csv',
  sniff: () => false,
  read: (source, settings) => {
    const { profile } = settings;
    if (profile === undefined || profile === null) {
      throw new StatementRefusal('UNKNOWN_FORMAT', 'A plain table needs a profile: statements.profiles in the config.');
    }
    const dialect: Dialect = { separator: profile.separator, quotes: profile.quotes };
    return readRecords(source, profile.encoding, dialect, new TableReading(profile, settings, dialect));
  },
};

class TableReading implements Reading {
  private columns: Columns | null = null;
  private header = '';
  private linesBehind: number | null = null;
  private readonly totals: CsvTotals;
  private readonly balances = new Map<string, BalanceChain>();
  private readonly problems = new Problems();
  private line = 1;

  constructor(
    private readonly profile: CsvProfile,
    private readonly settings: StatementSettings,
    private readonly dialect: Dialect,
  ) {
    this.totals = new CsvTotals(profile, this.problems);
  }

  *record(record: TextRecord): Generator<StatementEvent> {
    this.line = record.line;
    if (record.line <= this.profile.preambleLines) return;
    if (this.columns === null) {
      this.columns = new Columns(record, this.dialect, (name) => name.trim());
      this.header = record.raw;
      const { otherReferences, key, ...single } = this.profile.columns;
      const named = [...Object.values(single), ...otherReferences, ...key].filter((name) => name !== null);
      this.columns.require([...new Set(named)], record.line);
      yield head();
    } else if (this.linesBehind !== null) this.behind(record);
    else if (this.profile.footer !== null && (record.fields[0] ?? '').trim().startsWith(this.profile.footer.starts)) {
      this.linesBehind = 0;
      yield* this.totals.footer(this.columns, record, this.dialect);
    } else if (record.raw !== this.header) {
      yield* this.row(new Row(this.columns, record, this.dialect, (value) => value.trim()));
    }
  }

  *end(endedWhole: boolean): Generator<StatementEvent> {
    if (this.columns === null) throw truncated('There is no header.');
    if (this.profile.footer === null) requireLineEnd(endedWhole, this.line);
    else if (this.linesBehind === null) {
      throw truncated(`The row that begins with ${shown(this.profile.footer.starts)} is missing.`, this.line);
    }
    for (const [currency, chain] of this.balances) {
      const ends = chain.ends();
      if (ends === null) continue;
      yield { kind: 'balance', balance: { kind: 'OPENING', currency, minor: ends.opening, day: null } };
      yield { kind: 'balance', balance: { kind: 'CLOSING', currency, minor: ends.closing, day: null } };
    }
    yield* this.problems.rest();
    yield { kind: 'close' };
  }

  private behind(record: TextRecord): void {
    this.linesBehind = (this.linesBehind ?? 0) + 1;
    if (this.linesBehind > (this.profile.footer?.linesBehind ?? 0)) {
      throw new StatementRefusal('BAD_RECORD', 'There is a row behind the last one.', record.line, 1);
    }
  }

  private *row(row: Row): Generator<StatementEvent> {
    const { columns } = this.profile;
    const { code, scale } = this.currencyOf(row);
    const change = this.changeOf(row, scale);
    const stated = this.money(row, columns.fee, scale);
    const fee = stated === null ? null : this.profile.feeCost === 'positive' ? stated : -stated;
    const net = this.money(row, columns.net, scale);
    this.totals.add(row, code, (name) => this.money(row, name, scale) ?? 0n);
    if (!this.hasMoved(row)) return;
    const balance = this.money(row, columns.balance, scale);
    const isLinked = balance === null || this.chainOf(code).add(change, balance);
    const time = this.timeOf(row);
    const [ours, theirs] = [columns.ourReference, columns.channelReference].map((name) =>
      name === null ? null : row.id(name),
    ) as [string | null, string | null];
    yield moneyLine(change, {
      line: row.line,
      ...this.kindOf(row, change),
      currency: code,
      feeMinor: fee,
      netMinor: net === null ? null : this.signedNet(change, net),
      ourReference: ours,
      channelReference: theirs,
      otherReferences: others(
        [ours, theirs],
        columns.otherReferences.map((name) => row.id(name)),
      ),
      lineKey: this.keyOf(row),
      balanceMinor: balance,
      occurredAt: time.instant,
      bookedDay: time.day,
    });
    if (!isLinked && columns.balance !== null) {
      const message = `The balance ${formatMinor(balance, code)} does not follow from the rows around it.`;
      yield* this.problems.add('BALANCE_DIFFERS', message, ...row.place(columns.balance));
    }
    if (net !== null && columns.net !== null && fee !== null && this.signedNet(change, net) !== change - fee) {
      const [is, should] = [formatMinor(this.signedNet(change, net), code), formatMinor(change - fee, code)];
      const message = `The net amount is ${is}, amount - fee is ${should}.`;
      yield* this.problems.add('NET_DIFFERS', message, ...row.place(columns.net));
    }
  }

  /** Positive is money in. */
  private changeOf(row: Row, scale: number): bigint {
    const { columns, sign } = this.profile;
    if (sign.by === 'columns') {
      const [credit, debit] = [
        this.money(row, columns.credit, scale) ?? 0n,
        this.money(row, columns.debit, scale) ?? 0n,
      ];
      if ((credit !== 0n && debit !== 0n) || credit < 0n) {
        throw row.refusal('BAD_DIRECTION', columns.credit ?? '', 'A row has either a credit or a debit.');
      }
      return credit - magnitude(debit);
    }
    const amount = this.money(row, columns.amount, scale);
    if (amount === null) throw row.refusal('BAD_AMOUNT', columns.amount ?? '', 'There is no amount.');
    if (sign.by === 'sign') return sign.credit === 'positive' ? amount : -amount;
    const word = row.text(columns.direction ?? '');
    if (amount < 0n)
      throw row.refusal('BAD_DIRECTION', columns.amount ?? '', 'The way is told by words, and the amount has a sign.');
    if (sign.credit.includes(word)) return amount;
    if (sign.debit.includes(word)) return -amount;
    throw row.refusal('BAD_DIRECTION', columns.direction ?? '', `${shown(word)} is no word for a way.`);
  }

  /** Where the way is told by columns or words, a net amount has no sign of its own. */
  private signedNet(change: bigint, net: bigint): bigint {
    if (this.profile.sign.by === 'sign') return this.profile.sign.credit === 'positive' ? net : -net;
    return change < 0n ? -magnitude(net) : net;
  }

  /** Null for an empty field, and for a lone minus. */
  private money(row: Row, name: string | null, scale: number): bigint | null {
    if (name === null || row.text(name) === '-') return null;
    return row.amount(name, scale, this.profile.decimals);
  }

  private kindOf(row: Row, change: bigint): { kind: LineKind; channelType: string } {
    const { columns, types, kinds } = this.profile;
    const word = columns.type === null ? '' : row.text(columns.type);
    if (types === null) return { kind: change < 0n ? kinds.debit : kinds.credit, channelType: word };
    const kind = Object.hasOwn(types, word) ? types[word] : undefined;
    if (kind === undefined)
      throw row.refusal('UNKNOWN_TYPE', columns.type ?? '', `${shown(word)} is not in the profile.`);
    return { kind, channelType: word };
  }

  private hasMoved(row: Row): boolean {
    const { columns, statuses } = this.profile;
    if (statuses === null || columns.status === null) return true;
    const word = row.text(columns.status);
    if (statuses.done.includes(word)) return true;
    if (statuses.ignored.includes(word)) return false;
    throw row.refusal('UNKNOWN_TYPE', columns.status, `${shown(word)} is not in the profile.`);
  }

  private keyOf(row: Row): string | null {
    const parts = this.profile.columns.key.map((name) => row.id(name));
    return parts.every((part) => part === null) ? null : parts.map((part) => part ?? '').join('|');
  }

  private chainOf(currency: string): BalanceChain {
    const chain = this.balances.get(currency) ?? new BalanceChain();
    this.balances.set(currency, chain);
    return chain;
  }

  private currencyOf(row: Row): { code: string; scale: number } {
    if (this.profile.columns.currency !== null) return row.currency(this.profile.columns.currency);
    const code = this.profile.currency ?? this.settings.currency;
    if (code === null) {
      throw new StatementRefusal('UNKNOWN_CURRENCY', 'The file names no currency: name it in the profile.', row.line);
    }
    return { code, scale: scaleOrRefuse(code, row.line, null) };
  }

  private timeOf(row: Row): { day: string; instant: string | null } {
    const { columns, dates } = this.profile;
    const [, date = '', inDate = ''] = /^([^ T]+)(?:[ T](.*))?$/.exec(row.text(columns.date)) ?? [];
    const day = dayOf(date, dates);
    if (day === null)
      throw row.refusal('BAD_DATE', columns.date, `${shown(row.text(columns.date))} is no date of ${dates}.`);
    const column = columns.time ?? columns.date;
    const text = columns.time === null ? inDate : row.text(columns.time);
    if (text === '') return { day, instant: null };
    const clock = /^[0-9]{2}:[0-9]{2}$/.test(text) ? `${text}:00` : text;
    if (!isClock(clock)) throw row.refusal('BAD_TIME', column, `${shown(text)} is no time.`);
    const zone = this.profile.timeZone ?? this.settings.timeZone;
    if (zone === null) throw row.refusal('BAD_TIME', column, 'The file names no zone: name it in the profile.');
    const instant = inZone({ day, clock }, zone);
    if (instant === null) throw row.refusal('BAD_TIME', column, 'The clocks skip this time.');
    return { day, instant };
  }
}

/** A date with four digits of year, its parts apart by "-", "/" or ".", or written together year first. */
function dayOf(text: string, order: CsvProfile['dates']): string | null {
  if (order === 'YMD' && /^[0-9]{8}$/.test(text)) {
    const day = `${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6)}`;
    return isBatchDay(day) ? day : null;
  }
  const match = /^([0-9]{1,4})([-/.])([0-9]{1,2})\2([0-9]{1,4})$/.exec(text);
  if (match === null) return null;
  const [, first = '', , second = '', third = ''] = match;
  const [year, month, date] =
    order === 'YMD' ? [first, second, third] : order === 'DMY' ? [third, second, first] : [third, first, second];
  const day = `${year}-${month.padStart(2, '0')}-${date.padStart(2, '0')}`;
  return isBatchDay(day) ? day : null;
}
