import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { chartOfAccounts, ledgerBalances, trialBalance, type LedgerBalance } from '../src/ledger/views.js';
import { journalEntries } from '../src/ledger/entryViews.js';
import { numbered, seedClosedDay, seedOrder } from './support/closedDay.js';
import { createTestDatabase, onEachDatabase } from './support/databases.js';
import { settleInside as settle } from './support/inside.js';
import { plant } from './support/plants.js';

onEachDatabase('The books', (db) => {
  beforeAll(async () => {
    // "CARD" is also the number of an account: it must not be mixed up with the channel.
    const first = [
      seedOrder('M1', 'PAYMENT', 10_000n),
      seedOrder('M1', 'FEE', 30n),
      seedOrder('CARD', 'REFUND', 250n),
      seedOrder('M2', 'PAYMENT', 9_223_372_036_854_775_807n, 'JPY'),
      seedOrder('M3', 'PAYMENT', 9_223_372_036_854_775_807n, 'JPY'),
    ];
    const second = [seedOrder('M1', 'PAYMENT', 5n, 'USD', 'WALLET'), seedOrder('M1', 'ADJUSTMENT', -1n)];
    await seedClosedDay(db().database, { day: '2026-11-28', orders: numbered('A', first) });
    await seedClosedDay(db().database, { day: '2026-11-29', orders: numbered('B', second) });
  });

  test('a balance stands on the natural side of its ledger account', async () => {
    const balances = await db().database.read((session) => ledgerBalances(session));
    const usd = balances.filter((row) => row.currency === 'USD');
    const told = ({
      code,
      subAccount,
      bookingDay,
      openingMinor,
      debitMinor,
      creditMinor,
      balanceMinor,
    }: LedgerBalance) => [...[code, subAccount, bookingDay, openingMinor, debitMinor, creditMinor, balanceMinor]];
    expect(usd.map(told)).toEqual([
      ['ADJUSTMENTS', null, '2026-11-29', 0n, 0n, 1n, -1n],
      ['CHANNEL_RECEIVABLE', 'CARD', '2026-11-28', 0n, 10_000n, 250n, 9_750n],
      ['CHANNEL_RECEIVABLE', 'WALLET', '2026-11-29', 0n, 5n, 0n, 5n],
      ['FEE_INCOME', null, '2026-11-28', 0n, 0n, 30n, 30n],
      ['MERCHANT_PAYABLE', 'CARD', '2026-11-28', 0n, 250n, 0n, -250n],
      ['MERCHANT_PAYABLE', 'M1', '2026-11-29', 9_970n, 1n, 5n, 9_974n],
    ]);
  });

  test('sums beyond 64 bits stay exact', async () => {
    const balances = await db().database.read((session) => ledgerBalances(session));
    expect(balances.find((row) => row.code === 'CHANNEL_RECEIVABLE' && row.currency === 'JPY')?.balanceMinor).toBe(
      18_446_744_073_709_551_614n,
    );
  });

  test('--account takes the sub-ledger of that account and no channel of the same name', async () => {
    const balances = await db().database.read((session) => ledgerBalances(session, { account: 'CARD' }));
    expect(balances.map((row) => [row.code, row.subAccount, row.balanceMinor])).toEqual([
      ['MERCHANT_PAYABLE', 'CARD', -250n],
    ]);
  });

  test('--as-of leaves out what is booked on later days', async () => {
    const asOf = await db().database.read((session) => ledgerBalances(session, { account: 'M1', asOf: '2026-11-28' }));
    expect(asOf.map((row) => row.balanceMinor)).toEqual([9_970n]);
  });

  test('--general takes whole ledger accounts, --ledger-account one of them', async () => {
    const general = await db().database.read((session) => ledgerBalances(session, { general: true }));
    expect(general.filter(({ currency }) => currency === 'USD').map((row) => [row.code, row.balanceMinor])).toEqual([
      ['ADJUSTMENTS', -1n],
      ['CHANNEL_RECEIVABLE', 9_755n],
      ['FEE_INCOME', 30n],
      ['MERCHANT_PAYABLE', 9_724n],
    ]);
    const { stdout } = await settle(
      ['ledger', 'balances', '--ledger-account', 'FEE_INCOME', '--as-of', '2026-11-29', '--json'],
      { url: db().url },
    );
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ schema: 'settle.ledgerBalances', ledgerAccount: 'FEE_INCOME', asOf: '2026-11-29', notClosed: [] },
      balances: [{ code: 'FEE_INCOME', bookingDay: '2026-11-28', openingMinor: '0', balanceMinor: '30' }],
    });
    const unknown = await settle(['ledger', 'balances', '--ledger-account', 'FEES'], { url: db().url });
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toMatch(/NOT_FOUND[^]*Ledger accounts that there are: ADJUSTMENTS, /);
  });

  test('the trial balance agrees in every currency and names each ledger account', async () => {
    const found = await db().database.read((session) => trialBalance(session));
    expect(found.balanced).toBe(true);
    expect(found.byCurrency.map((row) => [row.currency, row.debitMinor, row.creditMinor])).toEqual([
      ['JPY', 18_446_744_073_709_551_614n, 18_446_744_073_709_551_614n],
      ['USD', 10_286n, 10_286n],
    ]);
    expect(found.byCurrency[0]?.accounts.map((row) => [row.code, row.name])).toEqual([
      ['CHANNEL_RECEIVABLE', 'Channel receivable'],
      ['MERCHANT_PAYABLE', 'Merchant payable (control account)'],
    ]);
  });

  test('the newest journal entries come last, with all their legs, and it is said when older ones are cut', async () => {
    const { entries, cut } = await db().database.snapshot((session) => journalEntries(session, { limit: 2 }));
    expect(cut).toBe(true);
    expect(entries.map((entry) => [entry.batchDay, entry.bizNo])).toEqual([
      ['2026-11-28', 'S1.1.4'],
      ['2026-11-29', 'S2.1.1'],
    ]);
    expect(entries[1]?.ledgerEntries.map((leg) => [leg.ledgerAccount, leg.subAccount, leg.side])).toEqual([
      ['MERCHANT_PAYABLE', 'M1', 'CREDIT'],
      ['CHANNEL_RECEIVABLE', 'WALLET', 'DEBIT'],
      ['MERCHANT_PAYABLE', 'M1', 'DEBIT'],
      ['ADJUSTMENTS', null, 'CREDIT'],
    ]);
  });

  test('entries of one account or one day are all there', async () => {
    const numbers = async (filter: { account?: string; day?: string }) =>
      (await db().database.snapshot((session) => journalEntries(session, { ...filter, limit: 50 }))).entries.map(
        (entry) => entry.bizNo,
      );
    expect(await numbers({ account: 'M1' })).toEqual(['S1.1.1', 'S2.1.1']);
    expect(await numbers({ account: 'CARD' })).toEqual(['S1.1.2']);
    expect(await numbers({ day: '2026-11-29' })).toEqual(['S2.1.1']);
  });

  test('the chart lists every ledger account with its kind and sub-ledger', async () => {
    const chart = await db().database.read(chartOfAccounts);
    expect(chart).toContainEqual({
      code: 'MERCHANT_PAYABLE',
      name: 'Merchant payable (control account)',
      kind: 'LIABILITY',
      subLedger: 'ACCOUNT',
    });
  });

  test('settle ledger trial-balance exits 0 when balanced and 4 when a leg is missing', async () => {
    const good = await settle(['ledger', 'trial-balance', '--json'], { url: db().url });
    expect(good.code).toBe(0);
    expect(JSON.parse(good.stdout)).toMatchObject({ schema: 'settle.trialBalance', schemaVersion: 1, balanced: true });
    const { database } = db();
    await plant(database, `delete from ledger_entry where ledger_account = 'FEE_INCOME' and amount_minor = 30`);
    const bad = await settle(['ledger', 'trial-balance'], { url: db().url });
    expect(bad.code).toBe(4);
    expect(bad.stdout).toMatch(/total +DIFFERS +102\.86 +102\.56/);
  });

  test('text tables hold no control characters and no colour when piped', async () => {
    for (const view of ['balances', 'entries', 'accounts']) {
      const { stdout, code } = await settle(['ledger', view], { url: db().url });
      expect(code).toBe(0);
      expect(stdout).toMatch(/MERCHANT_PAYABLE/);
      expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    }
  });
});

describe('Balances of any day', () => {
  test('debits equal credits in every currency, and the payable control account equals the nets', async () => {
    const test = await createTestDatabase('sqlite');
    let serial = 0;
    const order = fc.record({
      accountNo: fc.constantFrom('M1', 'M2', 'M3'),
      type: fc.constantFrom('PAYMENT' as const, 'REFUND' as const, 'FEE' as const),
      amountMinor: fc.bigInt({ min: 0n, max: 2n ** 58n }),
      currency: fc.constantFrom('USD', 'JPY'),
      channel: fc.constantFrom('CARD', 'WALLET'),
    });
    const owed = new Map<string, bigint>();
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(order, { minLength: 1, maxLength: 12 }), async (orders) => {
          serial += 1;
          const day = new Date(Date.UTC(2020, 0, serial)).toISOString().slice(0, 10);
          await seedClosedDay(test.database, { day, orders: numbered(`${day}-`, orders) });
          for (const { type, amountMinor, currency } of orders) {
            owed.set(currency, (owed.get(currency) ?? 0n) + (type === 'PAYMENT' ? amountMinor : -amountMinor));
          }
          const { balanced, byCurrency } = await test.database.read((session) => trialBalance(session));
          expect(balanced).toBe(true);
          for (const { currency, accounts } of byCurrency) {
            const payable = accounts.find((row) => row.code === 'MERCHANT_PAYABLE');
            expect((payable?.creditMinor ?? 0n) - (payable?.debitMinor ?? 0n)).toBe(owed.get(currency));
          }
        }),
        { numRuns: 15 },
      );
    } finally {
      await test.drop();
    }
  });
});
