import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fromIdRanges, toIdRanges } from '../src/orders/idRanges.js';
import { decodePayload, encodePayload, ledgerTopic, settlementMessage } from '../src/outbox/message.js';

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

  test('is stored as this text, which later versions have to read too', () => {
    expect(ledgerTopic).toBe('LEDGER');
    expect(encodePayload(message)).toBe(
      `{"v":1,"batchDay":"2026-11-29","accountNo":"<商户> \\"7\\"","currency":"KWD","netMinor":"-1152921504606846976",` +
        `"lines":[{"type":"REFUND","channel":"BANK","orders":2,"amountMinor":"1152921504606846981"},` +
        `{"type":"ADJUSTMENT","channel":"","orders":1,"amountMinor":"5"}],"orderIds":"3-4,4611686018427387904"}`,
    );
  });

  type Fields = Record<string, unknown> & { lines: Record<string, unknown>[] };

  /** The payload with one field set to something else, or taken away, in the message or in its last line. */
  function damaged(where: 'message' | 'line', field: string, value: unknown): string {
    const payload = JSON.parse(encodePayload(message)) as Fields;
    const target = where === 'message' ? payload : (payload.lines[1] as Record<string, unknown>);
    if (value === undefined) Reflect.deleteProperty(target, field);
    else target[field] = value;
    return JSON.stringify(payload);
  }

  const notText = [undefined, null, 7, true, ['x'], {}];
  const notWhole = [...notText, '', '1.5', '1x', 'x1', '0x10', ' 1', '1 ', '--1'];
  const notIds = [...notText, '', '4-3', '3,4', '3-4,4611686018427387904,9', 'all'];
  const notLines = [undefined, null, 7, 'x', {}, { 0: {} }, [], [null], [undefined], [7], ['REFUND'], [[]]];
  const damages: ['message' | 'line', string, unknown[]][] = [
    ['message', 'v', [undefined, null, 0, 2, '1', true]],
    ['message', 'batchDay', notText],
    ['message', 'accountNo', notText],
    ['message', 'currency', notText],
    ['message', 'netMinor', notWhole],
    ['message', 'orderIds', notIds],
    ['message', 'lines', notLines],
    ['line', 'type', [...notText, 'REBATE', 'toString', 'refund']],
    ['line', 'channel', notText],
    ['line', 'orders', [undefined, null, '1', 1.5, 2 ** 53, true]],
    ['line', 'amountMinor', notWhole],
  ];

  test.each(damages.flatMap(([where, field, values]) => values.map((value) => ({ where, field, value }))))(
    'with $field of its $where as $value is not read as a message',
    ({ where, field, value }) => {
      expect(decodePayload('S1.2.3', damaged(where, field, value), 3)).toBeNull();
    },
  );

  test.each(['', '{', 'null', '7', '"text"', '[]', '{}', 'true', encodePayload(message).slice(0, -1)])(
    '%s is not read as a message',
    (payload) => {
      expect(decodePayload('S1.2.3', payload, 3)).toBeNull();
    },
  );

  test.each([2, 4])('of three orders is not read as one of %i', (orders) => {
    expect(decodePayload('S1.2.3', encodePayload(message), orders)).toBeNull();
  });
});
