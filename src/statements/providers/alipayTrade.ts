import { formatMinor } from '../../kernel/money.js';
import { shown } from '../../kernel/printable.js';
import { plainStyle, readDecimal } from '../amounts.js';
import type { StatementEvent, StatementFormat } from '../statement.js';
import { alipayDialect, AlipayReading, alipayTime, alipayTitle, type AlipayBill } from './alipay.js';
import { moneyLine, others } from './line.js';
import { Problems, readRecords } from './reading.js';
import type { Row } from './table.js';

const name = {
  trade: '支付宝交易号',
  ourOrder: '商户订单号',
  type: '业务类型',
  created: '创建时间',
  done: '完成时间',
  received: '商家实收(元)',
  refund: '退款批次号/请求号',
  fee: '服务费(元)',
  discount: '商家优惠(元)',
} as const;

const title = '#支付宝业务明细查询';

interface Sums {
  count: bigint;
  received: bigint;
  discount: bigint;
}

/** The business bill of Alipay (bill type "trade"): payments and refunds with their service fee. */
export const alipayTrade: StatementFormat = {
  name: 'alipay-trade',
  sniff: (bytes) => alipayTitle(bytes) === title,
  read: (source) => {
    const problems = new Problems();
    return readRecords(source, 'gb18030', alipayDialect, new AlipayReading(new TradeBill(problems), problems));
  },
};

class TradeBill implements AlipayBill {
  readonly title = title;
  readonly list = '业务明细列表';
  readonly required = Object.values(name).filter((one) => one !== name.discount);
  private readonly found = { 交易: none(), 退款: none() };
  private readonly stated: { 交易: Sums | null; 退款: Sums | null } = { 交易: null, 退款: null };

  constructor(private readonly problems: Problems) {}

  *row(row: Row): Generator<StatementEvent> {
    const type = row.text(name.type);
    if (type !== '交易' && type !== '退款') {
      throw row.refusal('UNKNOWN_TYPE', name.type, `${shown(type)} is neither 交易 nor 退款.`);
    }
    const received = row.requiredAmount(name.received, 2);
    if (type === '交易' ? received < 0n : received > 0n) {
      throw row.refusal(
        'BAD_DIRECTION',
        name.received,
        `The sign of ${shown(row.text(name.received))} is not that of ${type}.`,
      );
    }
    const sums = this.found[type];
    sums.count += 1n;
    sums.received += received;
    sums.discount += row.amount(name.discount, 2) ?? 0n;
    const trade = row.id(name.trade);
    if (trade === null) throw row.refusal('BAD_RECORD', name.trade, 'There is no number.');
    const time = alipayTime(row, row.text(name.done) === '' ? name.created : name.done);
    const [refund, order] = [row.id(name.refund), row.id(name.ourOrder)];
    const ours = type === '交易' ? order : (refund ?? order);
    yield moneyLine(received, {
      line: row.line,
      kind: type === '交易' ? 'PAYMENT' : 'REFUND',
      channelType: type,
      direction: type === '交易' ? 'CREDIT' : 'DEBIT',
      currency: 'CNY',
      // A cost is written with a minus.
      feeMinor: -row.requiredAmount(name.fee, 2),
      ourReference: ours,
      channelReference: trade,
      otherReferences: others([ours, trade], [order]),
      // A trade may be given back in parts: without a number of the refund its time tells them apart.
      lineKey: `${trade}|${type}|${type === '交易' ? '' : (refund ?? time.instant)}`,
      occurredAt: time.instant,
      bookedDay: time.day,
    });
  }

  total(text: string): boolean {
    const match =
      /^#(?:(交易)合计：([0-9]+)笔，商家实收共(-?[0-9.]+)元，商家优惠共(-?[0-9.]+)元|(退款)合计：([0-9]+)笔，商家实收退款共(-?[0-9.]+)元，商家优惠退款共(-?[0-9.]+)元)$/.exec(
        text,
      );
    if (match === null) return false;
    const type = match[1] === undefined ? '退款' : '交易';
    const [count = '', received = '', discount = ''] = type === '交易' ? match.slice(2, 5) : match.slice(6, 9);
    const [receivedMinor, discountMinor] = [readDecimal(received, plainStyle, 2), readDecimal(discount, plainStyle, 2)];
    if (typeof receivedMinor !== 'bigint' || typeof discountMinor !== 'bigint' || this.stated[type] !== null)
      return false;
    this.stated[type] = { count: BigInt(count), received: receivedMinor, discount: discountMinor };
    return true;
  }

  missing(): string | null {
    if (this.stated.交易 === null) return '交易合计';
    return this.stated.退款 === null ? '退款合计' : null;
  }

  *prove(): Generator<StatementEvent> {
    for (const type of ['交易', '退款'] as const) {
      const [stated, found] = [this.stated[type] ?? none(), this.found[type]];
      if (stated.count !== found.count) {
        const message = `The bill counts ${String(stated.count)} rows of ${type}, there are ${String(found.count)}.`;
        yield* this.problems.add('COUNT_DIFFERS', message, null);
      }
      for (const [what, total, sum] of [
        ['商家实收', stated.received, found.received] as const,
        ['商家优惠', stated.discount, found.discount] as const,
      ]) {
        if (total === sum) continue;
        const message = `${what} of ${type} is ${formatMinor(total, 'CNY')}, the rows add up to ${formatMinor(sum, 'CNY')}.`;
        yield* this.problems.add('TOTAL_DIFFERS', message, null);
      }
    }
  }
}

function none(): Sums {
  return { count: 0n, received: 0n, discount: 0n };
}
