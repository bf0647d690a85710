import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { checksummed } from '../../src/deposits/address.js';
import { depositColumns, readDepositRow, type DepositRow } from '../../src/deposits/depositRow.js';
import { storeDeposits } from '../../src/deposits/importDeposits.js';
import { depositOrders } from '../../src/deposits/queries.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { emptyDeposits, filled, receiver, token } from '../support/deposits.js';
import { withoutTriggers } from '../support/plants.js';

const good: Record<string, string> = {
  ...{ out_trade_no: 'R-1', chain_name: 'base', token, receiver, amount_raw: '25000000', scene: 'recharge' },
  ...{ created_at: '2026-11-29T10:00:00+08:00', account_no: 'M1' },
};
const read = (change: Record<string, string> = {}): ReturnType<typeof readDepositRow> =>
  readDepositRow(
    [...depositColumns.required, ...depositColumns.optional].map((name) => ({ ...good, ...change })[name] ?? null),
  );

describe('a row of a file of deposit orders', () => {
  test('is read exactly, addresses and hashes in lower case, instants in UTC', () => {
    expect(read({ token: checksummed(token), transaction_hash: filled('A', 32), log_index: '7' })).toEqual({
      ...{ outTradeNo: 'R-1', provider: 'web3', chainName: 'base', token, receiver, amountRaw: '25000000' },
      ...{ requiredConfirmations: null, scene: 'recharge', accountNo: 'M1', expiresAt: null, logIndex: 7 },
      ...{ createdAt: '2026-11-29T02:00:00.000000Z', transactionHash: filled('a', 32) },
    });
  });

  test('with any uint256 keeps every digit', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 2n ** 256n - 1n), (amount) => {
        expect(read({ amount_raw: String(amount) })).toMatchObject({ amountRaw: String(amount) });
      }),
    );
  });

  test.each([
    ['out_trade_no', ' R', 'BAD_ORDER_NO'],
    ['chain_name', 'base/1', 'chain-not-configured'],
    ['token', '0x12', 'order-invalid'],
    ['token', filled('0', 20), 'order-invalid'],
    ['receiver', `0xAb${'a'.repeat(38)}`, 'address-checksum-invalid'],
    ['amount_raw', '0', 'amount-raw-invalid'],
    ['amount_raw', '1.5', 'amount-raw-invalid'],
    ['amount_raw', String(2n ** 256n), 'amount-raw-invalid'],
    ['created_at', '2026-11-29', 'BAD_INSTANT'],
    ['expires_at', '2026-11-29T01:00:00Z', 'order-invalid'],
    ['scene', '', 'order-invalid'],
    ['required_confirmations', '0', 'order-invalid'],
    ['transaction_hash', '0x1', 'transaction-hash-invalid'],
    ['log_index', '-1', 'order-invalid'],
  ])('with %s "%s" is refused as %s', (column, value, code) => {
    expect(read({ [column]: value })).toMatchObject({ code });
  });
});

describe.each(databaseKinds)('storing deposit orders [%s]', (kind) => {
  let place: TestDatabase;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    await withoutTriggers(place.database);
  });
  beforeEach(() => emptyDeposits(place.database));
  afterAll(() => place.drop());
  const store = (...changes: Record<string, string>[]) =>
    storeDeposits(
      place.database,
      changes.map((change, at) => ({ line: at + 2, row: read(change) as DepositRow })),
      '2026-11-29T10:00:00.000Z',
    );

  test('a repeat changes nothing, a conflict keeps the first copy, in one file and in two', async () => {
    expect(await store({}, {}, { amount_raw: '1' })).toMatchObject({
      accepted: 1,
      repeated: 1,
      rejected: [{ line: 4 }],
    });
    expect(await store({}, { out_trade_no: 'R-2' })).toMatchObject({ accepted: 1, repeated: 1, rejected: [] });
    const conflict = await store({ receiver: token });
    expect(conflict.rejected).toMatchObject([{ code: 'DUPLICATE_CONFLICT' }]);
    expect(conflict.rejected[0]?.message).toContain('receiver');
  });

  test('many at once store each order once, and 2^256 - 1 comes back as it went in', async () => {
    const huge = String(2n ** 256n - 1n);
    const rows = Array.from({ length: 40 }, (_, at) => ({ out_trade_no: `R-${String(at)}`, amount_raw: huge }));
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => store(...rows)));
    expect(outcomes.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(40);
    const found = await place.database.read((session) => depositOrders(session, ['R-39']));
    expect(found.get('R-39')).toMatchObject({
      amountRaw: huge,
      status: 'pending',
      createdAt: '2026-11-29T02:00:00.000000Z',
    });
  });
});
