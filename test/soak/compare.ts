import type { Facts, OrderFact } from './facts.js';
import { keyOf, signed, type Model, type ModelOrder } from './model.js';

/** Everything in which the tables differ from the model, one sentence each; none means that they agree. */
export function differences(model: Model, facts: Facts): string[] {
  const found: string[] = [...facts.wrong];
  const compare = (what: string, expected: ReadonlyMap<string, string>, actual: ReadonlyMap<string, string>): void => {
    for (const key of new Set([...expected.keys(), ...actual.keys()])) {
      const [wanted, is] = [expected.get(key) ?? 'nothing', actual.get(key) ?? 'nothing'];
      if (wanted !== is) found.push(`${what} ${key}: the model has ${wanted}, the tables ${is}`);
    }
  };
  const texts = <V>(from: ReadonlyMap<string, V>, text: (value: V) => string): Map<string, string> =>
    new Map([...from].map(([key, value]) => [key, text(value)]));

  compare('account', model.accounts, facts.accounts);
  compare('order', texts(model.orders, orderText), new Map(facts.orders.map((order) => [order.no, orderText(order)])));
  for (const order of facts.orders) found.push(...messageProblems(order, model.orders.get(order.no)));
  compare(
    'set aside',
    texts(model.setAside, ({ code, orders }) => `${code} ${String(orders)}`),
    texts(facts.setAside, ({ code, orders }) => `${code} ${String(orders)}`),
  );
  const dayText = (day: { closed: boolean; counted: number | null; unended: boolean; released: boolean }): string =>
    `${day.closed ? `closed with ${String(day.counted)}` : 'open'}${day.unended ? ', unended' : ''}${day.released ? ', released' : ''}`;
  compare('day', texts(model.days, dayText), texts(facts.days, dayText));
  const orders = [...model.orders.values()];
  compare(
    'net',
    texts(expectedNets(orders), ([count, net]) => `${count.toString()} orders ${net.toString()}`),
    texts(facts.nets, ([count, net]) => `${count.toString()} orders ${net.toString()}`),
  );
  const nonZero = (ledger: ReadonlyMap<string, bigint>): Map<string, string> =>
    texts(new Map([...ledger].filter(([, sum]) => sum !== 0n)), String);
  compare('ledger', nonZero(expectedLedger(orders)), nonZero(facts.ledger));
  found.push(...model.forgotten());
  return found;
}

function orderText(order: Omit<ModelOrder, 'parked'> | OrderFact): string {
  const { account, day, type, minor, currency, channel, state } = order;
  return [account, day, type, minor.toString(), currency, channel, state].join(' ');
}

function messageProblems({ no, state, messages }: OrderFact, order: ModelOrder | undefined): string[] {
  const claimed = state === 'PROCESSING' || state === 'SUCCESS';
  if (messages.length !== (claimed ? 1 : 0)) {
    return [`order ${no} is ${state} and has ${String(messages.length)} messages: ${messages.join(' ')}`];
  }
  if (!claimed) return [];
  const [message = ''] = messages;
  // Posted, and the mark on the message lost with the process: the next run sets it.
  const allowed = state === 'SUCCESS' ? ['SENT', 'NEW'] : [order?.parked === true ? 'PARKED' : 'NEW'];
  return allowed.includes(message) ? [] : [`order ${no} is ${state} and its message ${message}`];
}

function expectedNets(orders: readonly ModelOrder[]): Map<string, [bigint, bigint]> {
  const nets = new Map<string, [bigint, bigint]>();
  for (const order of orders) {
    if (order.state !== 'PROCESSING' && order.state !== 'SUCCESS') continue;
    const key = keyOf(order.day, order.account, order.currency);
    const [count, net] = nets.get(key) ?? [0n, 0n];
    nets.set(key, [count + 1n, net + signed(order)]);
  }
  return nets;
}

/** Debits less credits. What raises the account's payable is a credit there and a debit on the other side. */
function expectedLedger(orders: readonly ModelOrder[]): Map<string, bigint> {
  const ledger = new Map<string, bigint>();
  const add = (key: string, amount: bigint): void => {
    ledger.set(key, (ledger.get(key) ?? 0n) + amount);
  };
  for (const order of orders) {
    if (order.state !== 'SUCCESS') continue;
    const { day, account, type, currency, channel } = order;
    const effect = signed(order);
    const other =
      type === 'FEE' ? 'FEE_INCOME ' : type === 'ADJUSTMENT' ? 'ADJUSTMENTS ' : `CHANNEL_RECEIVABLE ${channel}`;
    add(`${day} MERCHANT_PAYABLE ${account} ${currency}`, -effect);
    add(`${day} ${other} ${currency}`, effect);
  }
  return ledger;
}
