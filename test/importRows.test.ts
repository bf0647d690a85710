import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatMinor, minorMax, scaleOf } from '../src/kernel/money.js';
import { readAccountRow } from '../src/orders/accountsRow.js';
import { shown } from '../src/kernel/printable.js';
import { differingColumns, orderColumns, readOrderRow, type OrderRow } from '../src/orders/orderRow.js';

const valid = {
  order_no: 'O-1',
  account_no: 'M1',
  batch_day: '2026-11-29',
  type: 'PAYMENT',
  amount: '12.50',
  currency: 'USD',
  channel: 'CARD',
  occurred_at: '2026-11-29T10:00:00Z',
  reversal_of: '' as string | null,
};
type Given = Partial<Record<keyof typeof valid, string | null>>;

const read = (given: Given) => {
  const row: Record<string, string | null> = { ...valid, ...given };
  return readOrderRow([...orderColumns.required, ...orderColumns.optional].map((column) => row[column] ?? null));
};
const codeOf = (given: Given) => {
  const result = read(given);
  return 'code' in result ? result.code : 'accepted';
};

describe('a row of an order file', () => {
  test('becomes an order in minor units and UTC', () => {
    expect(read({ amount: '1234.5', occurred_at: '2026-11-29T10:00:00.5+02:00', reversal_of: 'O-0' })).toEqual({
      orderNo: 'O-1',
      accountNo: 'M1',
      batchDay: '2026-11-29',
      type: 'PAYMENT',
      amountMinor: 123450n,
      currency: 'USD',
      channel: 'CARD',
      occurredAt: '2026-11-29T08:00:00.500000Z',
      reversalOf: 'O-0',
    });
  });

  test.each<[keyof typeof valid, string, string]>([
    ['order_no', '', 'BAD_ORDER_NO'],
    ['order_no', ' O-1', 'BAD_ORDER_NO'],
    ['order_no', 'O-1 ', 'BAD_ORDER_NO'],
    ['order_no', 'O\u00001', 'BAD_ORDER_NO'],
    ['order_no', 'O\u200b1', 'BAD_ORDER_NO'],
    ['order_no', 'O\n1', 'BAD_ORDER_NO'],
    ['order_no', 'x'.repeat(64), 'accepted'],
    ['order_no', 'x'.repeat(65), 'BAD_ORDER_NO'],
    ['order_no', 'é'.repeat(32), 'accepted'],
    ['order_no', 'é'.repeat(32) + 'x', 'BAD_ORDER_NO'],
    ['order_no', '=HYPERLINK("x")', 'accepted'],
    ['order_no', '0', 'accepted'],
    ['account_no', '', 'BAD_ACCOUNT_NO'],
    ['account_no', 'M1\u00a0', 'BAD_ACCOUNT_NO'],
    ['batch_day', '2026-02-29', 'BAD_BATCH_DAY'],
    ['batch_day', '2026-11-29 ', 'BAD_BATCH_DAY'],
    ['type', 'payment', 'BAD_TYPE'],
    ['type', '__proto__', 'BAD_TYPE'],
    ['currency', 'usd', 'UNKNOWN_CURRENCY'],
    ['currency', 'XXX', 'UNKNOWN_CURRENCY'],
    ['currency', 'constructor', 'UNKNOWN_CURRENCY'],
    ['amount', '', 'BAD_AMOUNT'],
    ['amount', ' ', 'BAD_AMOUNT'],
    ['amount', '1e308', 'BAD_AMOUNT'],
    ['amount', '1e3', 'BAD_AMOUNT'],
    ['amount', '0x10', 'BAD_AMOUNT'],
    ['amount', 'Infinity', 'BAD_AMOUNT'],
    ['amount', 'NaN', 'BAD_AMOUNT'],
    ['amount', '1,234.56', 'BAD_AMOUNT'],
    ['amount', '1.234,56', 'BAD_AMOUNT'],
    ['amount', '+1.00', 'BAD_AMOUNT'],
    ['amount', '01.00', 'BAD_AMOUNT'],
    ['amount', '.50', 'BAD_AMOUNT'],
    ['amount', '1.', 'BAD_AMOUNT'],
    ['amount', '１２', 'BAD_AMOUNT'],
    ['amount', '1.005', 'TOO_MANY_DECIMALS'],
    ['amount', '1.000', 'TOO_MANY_DECIMALS'],
    ['amount', '92233720368547758.07', 'accepted'],
    ['amount', '92233720368547758.08', 'AMOUNT_OUT_OF_RANGE'],
    ['amount', '-0.01', 'NEGATIVE_AMOUNT'],
    ['amount', '-0.00', 'accepted'],
    ['channel', '', 'BAD_CHANNEL'],
    ['occurred_at', '2026-11-29T10:00:00', 'BAD_OCCURRED_AT'],
    ['occurred_at', '2026-11-29', 'BAD_OCCURRED_AT'],
    ['reversal_of', 'O-1', 'BAD_REVERSAL_OF'],
    ['reversal_of', ' ', 'BAD_REVERSAL_OF'],
  ])('%s %j: %s', (column, value, code) => {
    expect(codeOf({ [column]: value })).toBe(code);
  });

  test.each([
    ['JPY', '500', 500n],
    ['JPY', '0.5', 'TOO_MANY_DECIMALS'],
    ['USD', '19.99', 1999n],
    ['USD', '1.13', 113n],
    ['KWD', '1.234', 1234n],
    ['KWD', '1.2345', 'TOO_MANY_DECIMALS'],
  ])('%s %s has the decimals of its currency: %s', (currency, amount, expected) => {
    const result = read({ currency, amount });
    expect('code' in result ? result.code : result.amountMinor).toBe(expected);
  });

  test('only an adjustment may be negative, and minus zero is zero', () => {
    expect(['PAYMENT', 'REFUND', 'FEE', 'ADJUSTMENT'].map((type) => codeOf({ type, amount: '-1.00' }))).toEqual([
      'NEGATIVE_AMOUNT',
      'NEGATIVE_AMOUNT',
      'NEGATIVE_AMOUNT',
      'accepted',
    ]);
    expect(read({ amount: '-0.00' })).toMatchObject({ amountMinor: 0n });
  });

  test('the first fault is the one that is told, in a fixed order of checks', () => {
    const wrong: Given = {};
    const codes: string[] = [];
    for (const column of [...orderColumns.required].reverse()) {
      wrong[column] = '';
      codes.unshift(codeOf(wrong));
    }
    expect(codes).toEqual([
      'BAD_ORDER_NO',
      'BAD_ACCOUNT_NO',
      'BAD_BATCH_DAY',
      'BAD_TYPE',
      'UNKNOWN_CURRENCY', // the currency comes before the amount, which it gives its decimals
      'UNKNOWN_CURRENCY',
      'BAD_CHANNEL',
      'BAD_OCCURRED_AT',
    ]);
  });

  test('any amount that is written out in full is read back, exactly', () => {
    const currency = fc.constantFrom('USD', 'JPY', 'KWD', 'CLF');
    fc.assert(
      fc.property(fc.bigInt({ min: -minorMax, max: minorMax }), currency, (minor, code) => {
        const result = read({ type: 'ADJUSTMENT', currency: code, amount: formatMinor(minor, code) });
        expect(result).toMatchObject({ amountMinor: minor });
      }),
    );
    expect(scaleOf('CLF')).toBe(4);
  });

  test('no text makes it throw or answer without a code', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 9, maxLength: 9 }), (values) => {
        const result = readOrderRow(values);
        expect('code' in result ? /^[A-Z_]+$/.test(result.code) : result.orderNo !== '').toBe(true);
      }),
    );
  });

  test('two copies differ in exactly the columns that are named', () => {
    const row = read({}) as OrderRow;
    const other = read({ account_no: 'm1', amount: '12.51', reversal_of: 'O-0' }) as OrderRow;
    expect(differingColumns(row, other)).toEqual(['account_no', 'amount', 'reversal_of']);
    const same = read({ amount: '12.5', occurred_at: '2026-11-29T12:00:00.000000+02:00' }) as OrderRow;
    expect(differingColumns(row, same)).toEqual([]);
  });
});

test('a value in a message is cut, and cannot steer the terminal', () => {
  expect(shown('plain')).toBe('"plain"');
  expect(shown('\u001b[2J\u0007')).toBe('"\\u{1b}[2J\\u{7}"');
  expect(shown('x'.repeat(5_000_000))).toBe(`"${'x'.repeat(40)}…" (5000000 characters)`);
  expect(shown('😀'.repeat(50)).startsWith(`"${'😀'.repeat(40)}…"`)).toBe(true);
});

test.each([
  ['M1', 'ACTIVE', { accountNo: 'M1', state: 'ACTIVE' }],
  ['M1', 'active', { code: 'BAD_STATUS' }],
  ['M1', '', { code: 'BAD_STATUS' }],
  [' M1', 'ACTIVE', { code: 'BAD_ACCOUNT_NO' }],
])('account row %j %j', (accountNo, status, expected) => {
  expect(readAccountRow([accountNo, status])).toMatchObject(expected);
});
