import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fingerprint, fingerprintSql, type Netted } from '../src/orders/fingerprint.js';
import { orderTypes } from '../src/kernel/states.js';
import { toBigInt } from '../src/db/values.js';
import { onEachDatabase } from './support/databases.js';
import { day, givenOrders, type TestOrder } from './support/day.js';

const order: Netted = {
  id: 7n,
  accountNo: 'M1',
  type: 'PAYMENT',
  amountMinor: 1_250n,
  currency: 'USD',
  channel: 'CARD',
};

describe('the fingerprint of orders', () => {
  test('is the CRC-32 of what is netted, by the polynomial of the standard', () => {
    expect(fingerprint([order])).toBe(reckoned('7|M1|PAYMENT|1250|USD|CARD'));
    expect(fingerprint([])).toBe(0n);
  });

  test('is the sum over the orders, so that the database may add them up in any order', () => {
    const others = [1n, 2n, 3n].map((id) => ({ ...order, id }));
    const sum = others.reduce((total, one) => total + fingerprint([one]), 0n);
    expect(fingerprint(others)).toBe(sum);
    expect(fingerprint([...others].reverse())).toBe(sum);
  });

  test.each<[keyof Netted, Partial<Netted>]>([
    ['id', { id: 8n }],
    ['accountNo', { accountNo: 'M2' }],
    ['type', { type: 'REFUND' }],
    ['amountMinor', { amountMinor: -1_250n }],
    ['currency', { currency: 'EUR' }],
    ['channel', { channel: 'BANK' }],
  ])('is another one when %s is', (_field, edit) => {
    expect(fingerprint([{ ...order, ...edit }])).not.toBe(fingerprint([order]));
  });
});

onEachDatabase('the fingerprint that the database makes', (current) => {
  const texts = ['M1', '商户', '😀 7', "O'Brien", 'a|b', '\\'];
  const rows = fc.sample(
    fc.record({
      accountNo: fc.constantFrom(...texts),
      type: fc.constantFrom(...orderTypes),
      minor: fc.bigInt(0n, 2n ** 63n - 1n),
      negative: fc.boolean(),
      currency: fc.constantFrom('USD', 'JPY'),
      channel: fc.constantFrom(...texts),
    }),
    { seed: 1, numRuns: 40 },
  );
  const orders: TestOrder[] = rows.map(({ minor, negative, ...row }, at) => ({
    ...row,
    orderNo: `O${String(at)}`,
    minor: row.type === 'ADJUSTMENT' && negative ? -minor : minor,
  }));

  beforeAll(() => givenOrders(current().database, orders));

  test('of each order is ours, in every script and at every size', async () => {
    const found = await current().database.read((session) =>
      session.rows(
        `select id, account_no, type, amount_minor, currency, channel, ${fingerprintSql} as fingerprint
           from settlement_order where batch_day = '${day}'`,
      ),
    );
    expect(found).toHaveLength(orders.length);
    for (const row of found) {
      const read = {
        id: toBigInt(row['id']),
        accountNo: String(row['account_no']),
        type: String(row['type']) as Netted['type'],
        amountMinor: toBigInt(row['amount_minor']),
        currency: String(row['currency']),
        channel: String(row['channel']),
      };
      expect([read, toBigInt(row['fingerprint'])]).toEqual([read, fingerprint([read])]);
    }
  });
});

/** CRC-32 of ISO 3309, from its polynomial. */
function reckoned(text: string): bigint {
  let remainder = 0xffffffffn;
  for (const byte of Buffer.from(text, 'utf8')) {
    remainder ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit += 1) remainder = (remainder >> 1n) ^ ((remainder & 1n) === 1n ? 0xedb88320n : 0n);
  }
  return remainder ^ 0xffffffffn;
}
