import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fromIdRanges, toIdRanges } from '../src/orders/idRanges.js';
import { decodePayload, encodePayload, settlementMessage } from '../src/outbox/message.js';

const ascendingIds = fc
  .uniqueArray(fc.bigInt(1n, 2n ** 63n - 1n), { minLength: 1, maxLength: 40 })
  .chain((wide) =>
    fc.uniqueArray(fc.bigInt(1n, 90n), { maxLength: 40 }).map((dense) => [...new Set([...wide, ...dense])]),
  )
  .map((ids) => ids.sort((a, b) => (a < b ? -1 : 1)));

describe('order ids as ranges', () => {
  test('runs are written as first-last', () => {
    expect(toIdRanges([5n, 6n, 7n, 9n, 12n, 13n])).toBe('5-7,9,12-13');
  });

  test('whatever the ids: they come back as they went', () => {
    fc.assert(
      fc.property(ascendingIds, (ids) => {
        expect(fromIdRanges(toIdRanges(ids), ids.length)).toEqual(ids);
      }),
    );
  });

  test.each(['', '1,', '-3', '3-1', 'a', '1-1000000000', '1;2', '1 2'])(
    '"%s" is not a list of at most 10 ids',
    (text) => {
      expect(fromIdRanges(text, 10)).toBeNull();
    },
  );
});

describe('the payload of a message', () => {
  const message = settlementMessage('S1.2.3', '2026-11-29', {
    accountNo: '<商户> "7"',
    currency: 'KWD',
    amountMinor: -(2n ** 60n),
    orderIds: [3n, 4n, 2n ** 62n],
    lines: [
      { type: 'REFUND', channel: 'BANK', orders: 2, amountMinor: 2n ** 60n + 5n },
      { type: 'ADJUSTMENT', channel: '', orders: 1, amountMinor: 5n },
    ],
  });

  test('comes back exactly, also beyond 2^53', () => {
    expect(decodePayload('S1.2.3', encodePayload(message), 3)).toEqual(message);
  });

  test.each([
    ['broken JSON', (text: string) => text.slice(0, -1)],
    ['another version', (text: string) => text.replace('"v":1', '"v":2')],
    ['an amount as a number', (text: string) => text.replace(/"netMinor":"(-?\d+)"/, '"netMinor":$1')],
    ['an unknown type', (text: string) => text.replace('REFUND', 'REBATE')],
    ['fewer orders than the row says', (text: string) => text.replace('3-4,', '')],
    ['no lines', (text: string) => text.replace(/"lines":\[.*\],/, '"lines":[],')],
    ['null', () => 'null'],
  ])('%s is not read as a message', (_name, damage) => {
    expect(decodePayload('S1.2.3', damage(encodePayload(message)), 3)).toBeNull();
  });
});
