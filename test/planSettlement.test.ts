import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { netOrders } from '../src/netting/netOrders.js';
import { fingerprint } from '../src/orders/fingerprint.js';
import type { Order } from '../src/orders/order.js';
import { bizNoOf, messagesOf, planSettlement } from '../src/settlement/planSettlement.js';

const day = '2026-11-29';
const chunk = { runId: 4n, chunkNo: 2, batchDay: day, lane: 3 };

function order(id: bigint, accountNo: string, amountMinor: bigint, currency = 'USD'): Order {
  return { id, accountNo, type: 'PAYMENT', amountMinor, currency, channel: 'CARD' };
}

describe('the plan of a chunk', () => {
  const orders = [order(3n, 'B', 100n), order(5n, 'A', 7n), order(9n, 'B', 20n), order(10n, 'B', 1n, 'JPY')];

  test('holds the chunk, the ids of its orders, their nets and their fingerprint', () => {
    expect(planSettlement(chunk, orders)).toEqual({
      ...chunk,
      orderIds: [3n, 5n, 9n, 10n],
      isRange: false,
      nets: netOrders(orders),
      fingerprint: fingerprint(orders),
    });
  });

  test('has a message a net, numbered from 1 in their order', () => {
    const messages = [...messagesOf(planSettlement(chunk, orders))];
    expect(messages.map(({ bizNo, accountNo, currency, netMinor }) => [bizNo, accountNo, currency, netMinor])).toEqual([
      ['S4.2.1', 'B', 'USD', 120n],
      ['S4.2.2', 'A', 'USD', 7n],
      ['S4.2.3', 'B', 'JPY', 1n],
    ]);
    expect(messages.every(({ batchDay }) => batchDay === day)).toBe(true);
    expect(messages.flatMap(({ orderIds }) => orderIds)).toEqual([3n, 9n, 5n, 10n]);
  });

  test.each([
    ['twice', [3n, 3n], 3n],
    ['twice, further on', [1n, 2n, 3n, 3n, 4n], 3n],
    ['out of order', [9n, 5n], 5n],
    ['out of order at the end', [1n, 2n, 9n, 5n], 5n],
  ])('is refused when an order is there %s', (_how, ids, named) => {
    expect(() =>
      planSettlement(
        chunk,
        ids.map((id) => order(id, 'A', 1n)),
      ),
    ).toThrow(
      expect.objectContaining({
        code: 'ORDER_TWICE_IN_CHUNK',
        exitCode: 4,
        message: `Order ${String(named)} is in its chunk twice, or out of order.`,
      }) as unknown as Error,
    );
  });

  test('whatever run, chunk and net: no two share a business number', () => {
    const place = fc.tuple(fc.bigInt(1n, 999n), fc.integer({ min: 1, max: 999 }), fc.integer({ min: 1, max: 999 }));
    fc.assert(
      fc.property(fc.uniqueArray(place, { selector: String, maxLength: 200 }), (places) => {
        expect(new Set(places.map((each) => bizNoOf(...each))).size).toBe(places.length);
      }),
    );
  });
});
