import { invariant } from '../kernel/invariant.js';
import { minorMax } from '../kernel/money.js';
import type { OrderType } from '../kernel/states.js';
import { signedAmount, type Order } from '../orders/order.js';
import { noTerms, type TermsLookup } from '../terms/appliedTerms.js';
import { OpenNetTerms, type NetTerms } from '../terms/netTerms.js';

/** Orders of one type and channel within a net; negative amounts (adjustments, reversals) are lines of their own. */
export interface NetLine {
  readonly type: OrderType;
  readonly channel: string;
  readonly orders: number;
  /** Sum of the orders' amounts; negative for adjustments that take away, and for reversals. */
  readonly amountMinor: bigint;
}

/** The net position of one account in one currency over a set of orders: positive = we owe the account. */
export interface Net {
  readonly accountNo: string;
  readonly currency: string;
  readonly amountMinor: bigint;
  readonly orderIds: readonly bigint[];
  readonly lines: readonly NetLine[];
  /** What the account's terms take from it; absent where the account has none. */
  readonly terms?: NetTerms;
}

interface OpenLine {
  type: OrderType;
  channel: string;
  orders: number;
  amountMinor: bigint;
}

interface OpenNet {
  accountNo: string;
  currency: string;
  amountMinor: bigint;
  orderIds: bigint[];
  lines: OpenLine[];
  terms?: OpenNetTerms;
}

/**
 * Position netting: one net per account and currency, in the order in which they first occur. Pure and exact; orders
 * are given once each, ids ascending. Currencies are never added to one another. `terms` are those of the day.
 */
export function netOrders(orders: Iterable<Order>, terms: TermsLookup = noTerms): Net[] {
  const nets = new Map<string, OpenNet>();
  for (const order of orders) {
    const key = `${order.currency}${order.accountNo}`; // a currency has three letters, so the key is unambiguous
    let net = nets.get(key);
    if (net === undefined) {
      net = { accountNo: order.accountNo, currency: order.currency, amountMinor: 0n, orderIds: [], lines: [] };
      const applied = terms(order.accountNo);
      if (applied !== null) net.terms = new OpenNetTerms(applied, order.currency);
      nets.set(key, net);
    }
    net.amountMinor += signedAmount(order);
    net.orderIds.push(order.id);
    addToLine(net.lines, order);
    net.terms?.add(order.type, order.channel, order.amountMinor);
  }
  const list = [...nets.values()];
  for (const net of list) assertExact(net);
  return list;
}

function addToLine(lines: OpenLine[], { type, channel, amountMinor }: Order): void {
  const line = lines.find(
    (known) => known.type === type && known.channel === channel && known.amountMinor < 0n === amountMinor < 0n,
  );
  if (line === undefined) lines.push({ type, channel, orders: 1, amountMinor });
  else {
    line.orders += 1;
    line.amountMinor += amountMinor;
  }
}

/** The net is added up twice, by order and by line; both ways must agree, and fit the columns they are stored in. */
function assertExact(net: OpenNet): void {
  const byLine = net.lines.reduce((sum, line) => sum + signedAmount(line), 0n);
  const counted = net.lines.reduce((sum, line) => sum + line.orders, 0);
  invariant(
    byLine === net.amountMinor && counted === net.orderIds.length,
    'NET_DIFFERS_FROM_ORDERS',
    `The net of account ${net.accountNo} differs from its orders.`,
    { accountNo: net.accountNo, currency: net.currency, byOrder: net.amountMinor, byLine },
  );
  invariant(
    net.amountMinor <= minorMax && net.amountMinor >= -minorMax,
    'AMOUNT_OUT_OF_RANGE',
    `The net of account ${net.accountNo} does not fit 64 bits.`,
    { accountNo: net.accountNo, currency: net.currency },
  );
}
