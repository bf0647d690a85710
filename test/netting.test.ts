import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { netOrders } from '../src/netting/netOrders.js';
import type { Order } from '../src/orders/order.js';
import { orderTypes } from '../src/kernel/states.js';

function order(
  id: number,
  accountNo: string,
  type: Order['type'],
  minor: bigint,
  currency = 'USD',
  channel = 'CARD',
): Order {
  return { id: BigInt(id), accountNo, type, amountMinor: minor, currency, channel };
}

describe('netting', () => {
  test.each`
    orders                                       | net       | because
    ${[['PAYMENT', 10000n]]}                     | ${10000n} | ${'a payment is owed to the account'}
    ${[['PAYMENT', 2000n], ['REFUND', 5000n]]}   | ${-3000n} | ${'the account may end up owing us'}
    ${[['PAYMENT', 10n], ['PAYMENT', 20n]]}      | ${30n}    | ${'minor units do not drift'}
    ${[['FEE', 61n]]}                            | ${-61n}   | ${'a fee is taken from the account'}
    ${[['ADJUSTMENT', 5n], ['ADJUSTMENT', -7n]]} | ${-2n}    | ${'an adjustment carries its own sign'}
    ${[['PAYMENT', 0n]]}                         | ${0n}     | ${'a zero is settled like any amount'}
    ${[['PAYMENT', 40n], ['REFUND', 40n]]}       | ${0n}     | ${'there is no minus zero'}
  `('nets to $net: $because', (row) => {
    const { orders, net } = row as unknown as { orders: [Order['type'], bigint][]; net: bigint };
    const [only, ...others] = netOrders(orders.map(([type, minor], at) => order(at + 1, 'A', type, minor)));
    expect(others).toEqual([]);
    expect(only?.amountMinor).toBe(net);
  });

  test('accounts and currencies are never mixed, also where their names run together', () => {
    const nets = netOrders([
      order(1, 'A', 'PAYMENT', 1n),
      order(2, 'a', 'PAYMENT', 2n),
      order(3, 'A', 'PAYMENT', 4n, 'JPY'),
      order(4, 'DA', 'PAYMENT', 8n, 'USD'),
    ]);
    expect(nets.map((net) => `${net.accountNo} ${net.currency} ${net.amountMinor.toString()}`)).toEqual([
      'A USD 1',
      'a USD 2',
      'A JPY 4',
      'DA USD 8',
    ]);
  });

  test('lines tell type and channel apart, and a positive from a negative adjustment', () => {
    const [net] = netOrders([
      order(1, 'A', 'PAYMENT', 5n, 'USD', 'CARD'),
      order(2, 'A', 'PAYMENT', 6n, 'USD', 'BANK'),
      order(3, 'A', 'PAYMENT', 7n, 'USD', 'CARD'),
      order(4, 'A', 'ADJUSTMENT', 25n),
      order(5, 'A', 'ADJUSTMENT', -25n),
    ]);
    expect(net?.lines).toEqual([
      { type: 'PAYMENT', channel: 'CARD', orders: 2, amountMinor: 12n },
      { type: 'PAYMENT', channel: 'BANK', orders: 1, amountMinor: 6n },
      { type: 'ADJUSTMENT', channel: 'CARD', orders: 1, amountMinor: 25n },
      { type: 'ADJUSTMENT', channel: 'CARD', orders: 1, amountMinor: -25n },
    ]);
  });

  const anyOrder = fc
    .record({
      accountNo: fc.constantFrom('A', 'B', 'C', 'USDA'),
      type: fc.constantFrom(...orderTypes),
      minor: fc.bigInt(0n, 2n ** 53n),
      negative: fc.boolean(),
      currency: fc.constantFrom('USD', 'JPY', 'KWD'),
      channel: fc.constantFrom('CARD', 'BANK'),
    })
    .map(({ accountNo, type, minor, negative, currency, channel }) =>
      order(0, accountNo, type, type === 'ADJUSTMENT' && negative ? -minor : minor, currency, channel),
    );

  test('whatever the orders: each is in exactly one net, and nets sum to the signed sum of the orders', () => {
    fc.assert(
      fc.property(fc.array(anyOrder, { maxLength: 60 }), (list) => {
        const orders = list.map((item, at) => ({ ...item, id: BigInt(at + 1) }));
        const nets = netOrders(orders);
        const ids = nets.flatMap((net) => net.orderIds).sort((a, b) => (a < b ? -1 : 1));
        expect(ids).toEqual(orders.map(({ id }) => id));
        for (const currency of ['USD', 'JPY', 'KWD']) {
          // The reference adds up by hand what each type does to the account.
          let owed = 0n;
          for (const { type, amountMinor } of orders.filter((item) => item.currency === currency)) {
            if (type === 'PAYMENT' || type === 'ADJUSTMENT') owed += amountMinor;
            else owed -= amountMinor;
          }
          const netted = nets
            .filter((net) => net.currency === currency)
            .reduce((sum, net) => sum + net.amountMinor, 0n);
          expect(netted).toBe(owed);
        }
      }),
    );
  });

  test('whatever the orders: a line for each type, channel and sign, counted and summed; zero is not negative', () => {
    fc.assert(
      fc.property(fc.array(anyOrder, { maxLength: 60 }), (list) => {
        const own = list.map((item, at) => ({ ...item, id: BigInt(at + 1), accountNo: 'A', currency: 'USD' }));
        const expected = new Map<string, { orders: number; amountMinor: bigint }>();
        for (const { type, channel, amountMinor } of own) {
          const name = `${type} ${channel} ${amountMinor < 0n ? 'taken' : 'given'}`;
          const known = expected.get(name) ?? { orders: 0, amountMinor: 0n };
          expected.set(name, { orders: known.orders + 1, amountMinor: known.amountMinor + amountMinor });
        }
        const lines = netOrders(own).flatMap((net) => net.lines);
        expect(lines.map(({ orders, amountMinor }) => ({ orders, amountMinor }))).toEqual([...expected.values()]);
      }),
    );
  });

  test.each([
    ['zero, then five', [0n, 5n], [[2, 5n]]],
    ['five, then zero', [5n, 0n], [[2, 5n]]],
    [
      'minus five, then zero',
      [-5n, 0n],
      [
        [1, -5n],
        [1, 0n],
      ],
    ],
    ['minus five twice', [-5n, -5n], [[2, -10n]]],
  ])('adjustments of %s', (_what, amounts, lines) => {
    const [net] = netOrders(amounts.map((minor, at) => order(at + 1, 'A', 'ADJUSTMENT', minor)));
    expect(net?.lines.map(({ orders, amountMinor }) => [orders, amountMinor])).toEqual(lines);
  });

  const most = 2n ** 63n - 1n;

  test.each([
    ['PAYMENT', most],
    ['REFUND', -most],
  ] as const)('a %s of the largest amount still fits', (type, net) => {
    expect(netOrders([order(1, 'A', type, most)])[0]?.amountMinor).toBe(net);
  });

  test.each(['PAYMENT', 'REFUND'] as const)('one minor unit of %s more stops the run instead of being cut', (type) => {
    expect(() => netOrders([order(1, 'A', type, most), order(2, 'A', type, 1n)])).toThrow(
      expect.objectContaining({
        code: 'AMOUNT_OUT_OF_RANGE',
        exitCode: 4,
        message: 'The net of account A does not fit 64 bits.',
        details: { accountNo: 'A', currency: 'USD' },
      }) as unknown as Error,
    );
  });
});
