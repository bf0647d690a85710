import { formatMinor } from '../../kernel/money.js';
import { shown } from '../../kernel/printable.js';
import type { TextRecord } from '../records.js';
import type { LineState, StatementEvent, StatementFormat } from '../statement.js';
import { head, moneyLine, others } from './line.js';
import { Problems, readRecords, truncated, type Reading } from './reading.js';
import { Columns, type Row } from './table.js';
import {
  behindSummary,
  wechatCount,
  wechatDialect,
  wechatHeader,
  wechatName,
  wechatRow,
  wechatTime,
} from './wechat.js';
import type { Part } from './wechat.js';

const name = {
  time: '交易时间',
  merchant: '商户号',
  order: '微信订单号',
  ourOrder: '商户订单号',
  state: '交易状态',
  currency: '货币种类',
  refund: '微信退款单号',
  ourRefund: '商户退款单号',
  refunded: '退款金额',
  refundState: '退款状态',
  fee: '手续费',
} as const;

/** Columns that only some layouts have: their sum in the summary, by the names of either layout. */
const sums = [
  { columns: ['应结订单金额', '总金额'], totals: ['应结订单总金额', '总交易额'] },
  { columns: ['退款金额'], totals: ['退款总金额', '总退款金额'] },
  {
    columns: ['充值券退款金额', '代金券或立减优惠退款金额', '企业红包退款金额'],
    totals: ['充值券退款总金额', '总代金券或立减优惠退款金额', '总企业红包退款金额'],
  },
  { columns: ['手续费'], totals: ['手续费总金额'] },
  { columns: ['订单金额'], totals: ['订单总金额'] },
  { columns: ['申请退款金额'], totals: ['申请退款总金额'] },
] as const;

const refundStates: ReadonlyMap<string, LineState> = new Map([
  ['', 'DONE'],
  ['SUCCESS', 'DONE'],
  ['PROCESSING', 'PENDING'],
  ['CHANGE', 'PENDING'],
  ['FAIL', 'FAILED'],
]);

/**
 * The trade bill of WeChat Pay in its layouts ALL, SUCCESS, REFUND and the older one with 24 columns; columns are found by
 * name. A payment counts with what is settled of it, not with the order's amount, from which coupons of the merchant are off.
 */
export const wechatTrade: StatementFormat = {
  name: 'wechat-trade',
  sniff: (bytes) => /^交易时间,公众账号ID,商户号,.*微信订单号/.test(wechatHeader(bytes) ?? ''),
  read: (source) => readRecords(source, 'utf-8', wechatDialect, new TradeReading()),
};

class TradeReading implements Reading {
  private part: Part = 'HEADER';
  private columns: Columns | null = null;
  private summary: Columns | null = null;
  private currency = 'CNY';
  private account: string | null = null;
  private count = 0n;
  private readonly added = sums.map(() => 0n);
  private readonly problems = new Problems();
  private line = 1;

  *record(record: TextRecord): Generator<StatementEvent> {
    this.line = record.line;
    if (this.part === 'BEHIND') throw behindSummary(record);
    if (this.part === 'HEADER') this.header(record);
    else if (this.part === 'SUMMARY') yield* this.totals(record);
    else if (record.raw.startsWith('总')) {
      if (this.count === 0n) yield head();
      this.summary = new Columns(record, wechatDialect, wechatName);
      this.part = 'SUMMARY';
    } else if (this.columns !== null) yield* this.row(wechatRow(this.columns, record));
  }

  *end(): Generator<StatementEvent> {
    if (this.part !== 'BEHIND') throw truncated('The summary is missing, with which every bill ends.', this.line);
    yield* this.problems.rest();
    yield { kind: 'close' };
  }

  private header(record: TextRecord): void {
    const columns = new Columns(record, wechatDialect, wechatName);
    columns.require(
      [name.time, name.merchant, name.order, name.ourOrder, name.state, name.currency, name.fee],
      record.line,
    );
    if (!columns.has('总金额')) columns.require(['应结订单金额'], record.line);
    this.columns = columns;
    this.part = 'ROWS';
  }

  private *row(row: Row): Generator<StatementEvent> {
    const { code, scale } = row.currency(name.currency);
    const account = row.id(name.merchant);
    if (this.count === 0n) {
      this.currency = code;
      this.account = account;
      yield head({ accountRef: account });
    }
    this.count += 1n;
    if (code !== this.currency) throw row.refusal('UNKNOWN_CURRENCY', name.currency, 'A bill has one currency.');
    if (account !== this.account) {
      yield* this.problems.add(
        'ACCOUNT_DIFFERS',
        'The row is of another merchant number.',
        ...row.place(name.merchant),
      );
    }
    for (const [at, { columns }] of sums.entries()) {
      const column = columns.find((one) => this.columns?.has(one) === true);
      if (column !== undefined) this.added[at] = (this.added[at] ?? 0n) + (row.amount(column, scale) ?? 0n);
    }
    yield row.text(name.state) === 'SUCCESS' ? this.payment(row, scale) : this.refund(row, scale);
  }

  private payment(row: Row, scale: number): StatementEvent {
    const amount = row.requiredAmount(this.columns?.has('应结订单金额') === true ? '应结订单金额' : '总金额', scale);
    if (amount < 0n) throw row.refusal('BAD_DIRECTION', name.state, 'A payment has a negative amount.');
    const time = wechatTime(row, name.time);
    const order = this.orderOf(row);
    return moneyLine(amount, {
      line: row.line,
      kind: 'PAYMENT',
      channelType: 'SUCCESS',
      currency: this.currency,
      feeMinor: row.requiredAmount(name.fee, scale),
      ourReference: row.id(name.ourOrder),
      channelReference: order,
      lineKey: `${order}|0|SUCCESS`,
      occurredAt: time.instant,
      bookedDay: time.day,
    });
  }

  private refund(row: Row, scale: number): StatementEvent {
    const state = row.text(name.state);
    if (state !== 'REFUND' && state !== 'REVOKED') {
      throw row.refusal('UNKNOWN_TYPE', name.state, `${shown(state)} is none of SUCCESS, REFUND and REVOKED.`);
    }
    const amount = row.requiredAmount(name.refunded, scale);
    if (amount < 0n) throw row.refusal('BAD_DIRECTION', name.refunded, 'A refund is written without a sign.');
    const refundState = refundStates.get(row.text(name.refundState));
    if (refundState === undefined) {
      throw row.refusal('UNKNOWN_TYPE', name.refundState, `${shown(row.text(name.refundState))} is not known.`);
    }
    const time = wechatTime(row, name.time);
    const order = this.orderOf(row);
    const [refund, ourRefund] = [row.id(name.refund, ['0']), row.id(name.ourRefund, ['0'])];
    const [ours, theirs] = [ourRefund ?? row.id(name.ourOrder), refund ?? order];
    return {
      ...moneyLine(-amount, {
        line: row.line,
        kind: 'REFUND',
        channelType: state,
        direction: 'DEBIT',
        currency: this.currency,
        feeMinor: row.requiredAmount(name.fee, scale),
        ourReference: ours,
        channelReference: theirs,
        otherReferences: others([ours, theirs], [row.id(name.ourOrder), order]),
        lineKey: `${order}|${refund ?? '0'}|${state}`,
        state: refundState,
        occurredAt: time.instant,
        bookedDay: time.day,
      }),
    };
  }

  private orderOf(row: Row): string {
    const order = row.id(name.order);
    if (order === null) throw row.refusal('BAD_RECORD', name.order, 'There is no number.');
    return order;
  }

  private *totals(record: TextRecord): Generator<StatementEvent> {
    if (this.summary === null) return;
    const row = wechatRow(this.summary, record);
    this.summary.require(['总交易单数', '手续费总金额'], record.line);
    this.part = 'BEHIND';
    const stated = wechatCount(row, '总交易单数');
    if (stated !== this.count) {
      const message = `The summary counts ${String(stated)} rows, there are ${String(this.count)}.`;
      yield* this.problems.add('COUNT_DIFFERS', message, ...row.place('总交易单数'));
    }
    for (const [at, { totals }] of sums.entries()) {
      const column = totals.find((one) => this.summary?.has(one) === true);
      if (column === undefined) continue;
      const [total, sum] = [row.requiredAmount(column, 2), this.added[at] ?? 0n];
      if (total === sum) continue;
      const message = `${column} is ${formatMinor(total, 'CNY')}, the rows add up to ${formatMinor(sum, 'CNY')}.`;
      yield* this.problems.add('TOTAL_DIFFERS', message, ...row.place(column));
    }
  }
}
