import { formatMinor, magnitude } from '../../kernel/money.js';
import { plainStyle, readDecimal } from '../amounts.js';
import type { LineKind, StatementEvent, StatementFormat } from '../statement.js';
import { alipayDialect, AlipayReading, alipayTime, alipayTitle, type AlipayBill } from './alipay.js';
import { moneyLine, others } from './line.js';
import { BalanceChain, Problems, readRecords } from './reading.js';
import type { Row } from './table.js';

const name = {
  flow: '账务流水号',
  business: '业务流水号',
  ourOrder: '商户订单号',
  time: '发生时间',
  income: '收入金额(+元)',
  spending: '支出金额(-元)',
  balance: '账户余额(元)',
  type: '业务类型',
} as const;

const title = '#支付宝账务明细查询';

/** By a word in the type, the first that fits. */
const kinds: readonly (readonly [RegExp, LineKind])[] = [
  [/退票|退回/, 'RETURN'],
  [/收费|服务费|手续费/, 'FEE'],
  [/退款|交易退/, 'REFUND'],
  [/提现|充值/, 'TRANSFER'],
  [/转账|红包|代发/, 'PAYOUT'],
  [/交易|在线支付|付款|收款/, 'PAYMENT'],
];

interface Sums {
  count: bigint;
  amount: bigint;
}

/** The account bill of Alipay (bill type "signcustomer"): every movement with the balance after it, the newest first. */
export const alipayAccount: StatementFormat = {
  name: 'alipay-account',
  sniff: (bytes) => alipayTitle(bytes) === title,
  read: (source) => {
    const problems = new Problems();
    return readRecords(source, 'gb18030', alipayDialect, new AlipayReading(new AccountBill(problems), problems));
  },
};

class AccountBill implements AlipayBill {
  readonly title = title;
  readonly list = '账务明细列表';
  readonly required = Object.values(name);
  private readonly balances = new BalanceChain();
  private readonly found = { 收入: none(), 支出: none() };
  private readonly stated: { 收入: Sums | null; 支出: Sums | null } = { 收入: null, 支出: null };

  constructor(private readonly problems: Problems) {}

  *row(row: Row): Generator<StatementEvent> {
    const [income, spending] = [row.amount(name.income, 2) ?? 0n, row.amount(name.spending, 2) ?? 0n];
    if (income < 0n || (income === 0n) === (spending === 0n)) {
      throw row.refusal('BAD_DIRECTION', name.income, 'A row has either an income or a spending.');
    }
    const balance = row.requiredAmount(name.balance, 2);
    // Newer bills write what was spent with a minus, older ones without.
    const change = income - magnitude(spending);
    const sums = this.found[change > 0n ? '收入' : '支出'];
    sums.count += 1n;
    sums.amount += magnitude(change);
    const isLinked = this.balances.add(change, balance);
    const [flow, business, order] = [row.id(name.flow), row.id(name.business), row.id(name.ourOrder)];
    if (flow === null) throw row.refusal('BAD_RECORD', name.flow, 'There is no number.');
    const type = row.text(name.type);
    const kind = kinds.find(([word]) => word.test(type))?.[1] ?? 'OTHER';
    const time = alipayTime(row, name.time);
    yield moneyLine(change, {
      line: row.line,
      // Money that somebody sends us is not a payout.
      kind: kind === 'PAYOUT' && change > 0n ? 'OTHER' : kind,
      channelType: type,
      currency: 'CNY',
      ourReference: order,
      channelReference: business ?? flow,
      otherReferences: others([order, business], [flow, row.id('业务基础订单号'), row.id('业务订单号')]),
      lineKey: flow,
      balanceMinor: balance,
      occurredAt: time.instant,
      bookedDay: time.day,
    });
    if (!isLinked) {
      const message = `The balance ${formatMinor(balance, 'CNY')} does not follow from the rows around it.`;
      yield* this.problems.add('BALANCE_DIFFERS', message, ...row.place(name.balance));
    }
  }

  total(text: string): boolean {
    const [, type, count = '', amount = ''] = /^#(支出|收入)合计：([0-9]+)笔，共(-?[0-9.]+)元$/.exec(text) ?? [];
    const minor = readDecimal(amount, plainStyle, 2);
    if ((type !== '收入' && type !== '支出') || typeof minor !== 'bigint' || this.stated[type] !== null) return false;
    this.stated[type] = { count: BigInt(count), amount: magnitude(minor) };
    return true;
  }

  missing(): string | null {
    if (this.stated.收入 === null) return '收入合计';
    return this.stated.支出 === null ? '支出合计' : null;
  }

  *prove(): Generator<StatementEvent> {
    const ends = this.balances.ends();
    if (ends !== null) {
      yield { kind: 'balance', balance: { kind: 'OPENING', currency: 'CNY', minor: ends.opening, day: null } };
      yield { kind: 'balance', balance: { kind: 'CLOSING', currency: 'CNY', minor: ends.closing, day: null } };
    }
    for (const type of ['收入', '支出'] as const) {
      const [stated, found] = [this.stated[type] ?? none(), this.found[type]];
      if (stated.count !== found.count) {
        const message = `The bill counts ${String(stated.count)} rows of ${type}, there are ${String(found.count)}.`;
        yield* this.problems.add('COUNT_DIFFERS', message, null);
      }
      if (stated.amount !== found.amount) {
        const [total, sum] = [formatMinor(stated.amount, 'CNY'), formatMinor(found.amount, 'CNY')];
        yield* this.problems.add('TOTAL_DIFFERS', `${type} is ${total}, the rows add up to ${sum}.`, null);
      }
    }
  }
}

function none(): Sums {
  return { count: 0n, amount: 0n };
}
