import { formatMinor } from '../../kernel/money.js';
import { shown } from '../../kernel/printable.js';
import type { TextRecord } from '../records.js';
import type { LineKind, StatementEvent, StatementFormat } from '../statement.js';
import { head, moneyLine, others } from './line.js';
import { BalanceChain, Problems, readRecords, truncated, type Reading } from './reading.js';
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
  time: '记账时间',
  business: '微信支付业务单号',
  flow: '资金流水单号',
  businessName: '业务名称',
  type: '业务类型',
  direction: '收支类型',
  amount: '收支金额(元)',
  balance: '账户结余(元)',
  voucher: '业务凭证号',
} as const;

const summaryNames = ['资金流水总笔数', '收入笔数', '收入金额', '支出笔数', '支出金额'] as const;

/** By a word in the type, the first that fits; a fee of a refund is a fee. */
const kinds: readonly (readonly [RegExp, LineKind])[] = [
  [/手续费|服务费/, 'FEE'],
  [/退款/, 'REFUND'],
  [/交易/, 'PAYMENT'],
  [/提现|充值/, 'TRANSFER'],
  [/付款|商家转账/, 'PAYOUT'],
];

/** The fund bill of WeChat Pay: every movement of an account with the balance after it. Fees are rows of their own. */
export const wechatFund: StatementFormat = {
  name: 'wechat-fund',
  sniff: (bytes) => (wechatHeader(bytes) ?? '').startsWith('记账时间,微信支付业务单号,资金流水单号,'),
  read: (source) => readRecords(source, 'utf-8', wechatDialect, new FundReading()),
};

class FundReading implements Reading {
  private part: Part = 'HEADER';
  private columns: Columns | null = null;
  private summary: Columns | null = null;
  private readonly counts = { 收入: 0n, 支出: 0n };
  private readonly amounts = { 收入: 0n, 支出: 0n };
  private readonly balances = new BalanceChain();
  private readonly problems = new Problems();
  private line = 1;

  *record(record: TextRecord): Generator<StatementEvent> {
    this.line = record.line;
    if (this.part === 'BEHIND') throw behindSummary(record);
    if (this.part === 'HEADER') {
      this.columns = new Columns(record, wechatDialect, wechatName);
      this.columns.require(Object.values(name), record.line);
      this.part = 'ROWS';
      yield head();
    } else if (this.part === 'SUMMARY') yield* this.totals(record);
    else if (record.raw.startsWith('资金流水总笔数')) {
      this.summary = new Columns(record, wechatDialect, wechatName);
      this.summary.require(summaryNames, record.line);
      this.part = 'SUMMARY';
    } else if (this.columns !== null) yield* this.row(wechatRow(this.columns, record));
  }

  *end(): Generator<StatementEvent> {
    if (this.part !== 'BEHIND') throw truncated('The summary is missing, with which every bill ends.', this.line);
    const ends = this.balances.ends();
    if (ends !== null) {
      yield { kind: 'balance', balance: { kind: 'OPENING', currency: 'CNY', minor: ends.opening, day: null } };
      yield { kind: 'balance', balance: { kind: 'CLOSING', currency: 'CNY', minor: ends.closing, day: null } };
    }
    yield* this.problems.rest();
    yield { kind: 'close' };
  }

  private *row(row: Row): Generator<StatementEvent> {
    const direction = row.text(name.direction);
    if (direction !== '收入' && direction !== '支出') {
      throw row.refusal('BAD_DIRECTION', name.direction, `${shown(direction)} is neither 收入 nor 支出.`);
    }
    const amount = row.requiredAmount(name.amount, 2);
    if (amount < 0n) throw row.refusal('BAD_AMOUNT', name.amount, 'Amounts of a fund bill have no sign.');
    const balance = row.requiredAmount(name.balance, 2);
    const [business, flow, voucher] = [row.id(name.business), row.id(name.flow), row.id(name.voucher, ['0'])];
    if (flow === null) throw row.refusal('BAD_RECORD', name.flow, 'There is no number.');
    this.counts[direction] += 1n;
    this.amounts[direction] += amount;
    const change = direction === '收入' ? amount : -amount;
    const isLinked = this.balances.add(change, balance);
    const type = row.text(name.type);
    const words = `${type} ${row.text(name.businessName)}`;
    const time = wechatTime(row, name.time);
    yield moneyLine(change, {
      line: row.line,
      kind: kinds.find(([word]) => word.test(type))?.[1] ?? kinds.find(([word]) => word.test(words))?.[1] ?? 'OTHER',
      channelType: type,
      direction: direction === '收入' ? 'CREDIT' : 'DEBIT',
      currency: 'CNY',
      ourReference: voucher,
      channelReference: business,
      otherReferences: others([voucher, business], [flow]),
      // A fee has the numbers of its payment, so that they alone do not tell them apart.
      lineKey: `${flow}|${business ?? ''}|${type}|${direction}`,
      balanceMinor: balance,
      occurredAt: time.instant,
      bookedDay: time.day,
    });
    if (!isLinked) {
      const message = `The balance ${formatMinor(balance, 'CNY')} does not follow from the row before and this amount.`;
      yield* this.problems.add('BALANCE_DIFFERS', message, ...row.place(name.balance));
    }
  }

  private *totals(record: TextRecord): Generator<StatementEvent> {
    if (this.summary === null) return;
    const row = wechatRow(this.summary, record);
    this.part = 'BEHIND';
    const counts = {
      资金流水总笔数: this.counts.收入 + this.counts.支出,
      收入笔数: this.counts.收入,
      支出笔数: this.counts.支出,
    };
    for (const [column, count] of Object.entries(counts)) {
      const stated = wechatCount(row, column);
      if (stated === count) continue;
      const message = `${column} is ${String(stated)}, there are ${String(count)}.`;
      yield* this.problems.add('COUNT_DIFFERS', message, ...row.place(column));
    }
    for (const [column, sum] of [['收入金额', this.amounts.收入] as const, ['支出金额', this.amounts.支出] as const]) {
      const total = row.requiredAmount(column, 2);
      if (total === sum) continue;
      const message = `${column} is ${formatMinor(total, 'CNY')}, the rows add up to ${formatMinor(sum, 'CNY')}.`;
      yield* this.problems.add('TOTAL_DIFFERS', message, ...row.place(column));
    }
  }
}
