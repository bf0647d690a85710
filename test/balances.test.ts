import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Database } from '../src/db/database.js';
import { repeatable } from '../src/db/transaction.js';
import { balancesThrough } from '../src/ledger/balances.js';
import { verifyBooks } from '../src/reconciliation/verify.js';
import { reconcileDay } from '../src/reconciliation/reconcile.js';
import { onEachDatabase } from './support/databases.js';
import { everyRow, givenOrders, givenVariedDay, moneyDump, runDay, type TestOrder } from './support/day.js';
import { emptyBooks } from './support/books.js';
import { writeBalances } from './support/ledgerBooks.js';

const ports = { fence: () => Promise.resolve(), signal: new AbortController().signal };
const balancesOf = async (database: Database): Promise<string[]> =>
  (await moneyDump(database)).filter((line) => /^(account|general)_balance /.test(line));
/** What plain arithmetic over all entries makes of them. */
const expected = async (database: Database): Promise<string[]> => {
  await database.transact(repeatable('balances', writeBalances));
  return balancesOf(database);
};
const contradictions = async (database: Database): Promise<unknown[]> =>
  (await verifyBooks(database)).flatMap((check) => check.contradictions);

onEachDatabase('balances', (current) => {
  beforeEach(() => emptyBooks(current().database));

  describe('of a settled day', () => {
    beforeAll(() => emptyBooks(current().database));

    test('are what its entries add up to, and a check of the run', async () => {
      const { database } = current();
      await givenVariedDay(database);
      const { checks } = await runDay(database);
      const check = checks.find(({ name }) => name === 'balances');
      expect(check).toMatchObject({ ok: true, differences: [] });
      expect(check?.expected).toMatch(/^JPY \d+; KWD [\d.]+; USD [\d.]+$/);
      const made = await balancesOf(database);
      expect(made.length).toBeGreaterThan(20);
      expect(made).toEqual(await expected(database));
      expect(await contradictions(database)).toEqual([]);
    });

    test('are made once: again they change no row', async () => {
      const { database } = current();
      await givenVariedDay(database, 40);
      await runDay(database);
      const before = await everyRow(database);
      await balancesThrough(database, '2026-11-29', ports);
      expect(await everyRow(database)).toBe(before);
    });

    test('that were made in part are made from the start', async () => {
      const { database } = current();
      await givenVariedDay(database, 40);
      await runDay(database);
      const before = await balancesOf(database);
      await database.transact(
        repeatable('cut off', async (trx) => {
          await trx.change('update ledger_period set closed_through = null');
          await trx.change('update balanced_day set entries = null');
          await trx.change(`delete from account_balance where currency = 'USD'`);
          await trx.change('delete from general_balance');
        }),
      );
      await balancesThrough(database, '2026-11-29', ports);
      expect(await balancesOf(database)).toEqual(before);
    });

    test('are undone when the fence refuses, and the day stays unbalanced', async () => {
      const { database } = current();
      await givenVariedDay(database, 40);
      await runDay(database);
      await database.transact(
        repeatable('forget', async (trx) => {
          await trx.change('update ledger_period set closed_through = null');
          await trx.change('update balanced_day set entries = null');
        }),
      );
      const before = await everyRow(database);
      const fence = (): Promise<void> => Promise.reject(new Error('taken over'));
      await expect(balancesThrough(database, '2026-11-29', { ...ports, fence })).rejects.toThrow('taken over');
      expect(await everyRow(database)).toBe(before);
    });
  });

  test('carry over days on which an account did not move, exactly beyond 64 bits', async () => {
    const { database } = current();
    const most = 9_223_372_036_854_775_807n;
    for (const [at, batchDay] of ['2026-11-27', '2026-11-28', '2026-11-29'].entries()) {
      await givenOrders(database, [
        { orderNo: `X${String(at)}`, accountNo: 'X', minor: most, batchDay },
        ...(at === 1 ? [] : [{ orderNo: `Y${String(at)}`, accountNo: 'Y', type: 'REFUND', minor: 5, batchDay }]),
      ]);
      await runDay(database, { target: batchDay });
    }
    const lines = await balancesOf(database);
    expect(lines).toContain(
      `account_balance 2026-11-29 MERCHANT_PAYABLE X USD -18446744073709551614 0 ${String(most)} -27670116110564327421`,
    );
    expect(lines).toContain('account_balance 2026-11-29 MERCHANT_PAYABLE Y USD 5 5 0 10');
    expect(lines.some((line) => line.startsWith('account_balance 2026-11-28 MERCHANT_PAYABLE Y'))).toBe(false);
    expect(lines).toEqual(await expected(database));
  });

  test('of a closed day stay as they are when an order comes late: it is booked on the open day', async () => {
    const { database } = current();
    const order = (orderNo: string, batchDay: string, minor: number, accountNo = 'A'): TestOrder => ({
      ...{ orderNo, accountNo, minor, batchDay },
    });
    for (const batchDay of ['2026-11-27', '2026-11-28', '2026-11-29']) {
      await givenOrders(database, [order(`O${batchDay}`, batchDay, 100), order(`P${batchDay}`, batchDay, 7, 'B')]);
      await runDay(database, { target: batchDay });
    }
    const closed = await balancesOf(database);
    await givenOrders(database, [order('L1', '2026-11-27', 30), order('L2', '2026-11-27', 1, 'LATE')]);
    expect(await runDay(database)).toMatchObject({ outcome: 'OK' });
    expect(await balancesOf(database)).toEqual(closed);
    expect(await contradictions(database)).toEqual([]);
    await runDay(database, { target: '2026-11-30' });
    const lines = await balancesOf(database);
    expect(lines.filter((line) => !line.includes(' 2026-11-30 '))).toEqual(closed);
    expect(lines).toContain('account_balance 2026-11-30 MERCHANT_PAYABLE A USD -300 0 30 -330');
    expect(lines).toEqual(await expected(database));
    expect(await contradictions(database)).toEqual([]);
    for (const batchDay of ['2026-11-27', '2026-11-28', '2026-11-29', '2026-11-30']) {
      expect(await reconcileDay(database, batchDay)).toMatchObject({ outcome: 'OK' });
    }
  });

  test('of a day whose first orders come after a later day was closed are those of the open day', async () => {
    const { database } = current();
    await givenOrders(database, [{ orderNo: 'O1', accountNo: 'A', type: 'FEE', minor: 1, batchDay: '2026-11-29' }]);
    await runDay(database);
    await givenOrders(database, [{ orderNo: 'O2', accountNo: 'B', minor: 1, batchDay: '2026-11-27' }]);
    expect(await runDay(database)).toMatchObject({ catchUp: [{ batchDay: '2026-11-27', outcome: 'OK' }] });
    await runDay(database, { target: '2026-12-01' });
    expect(await balancesOf(database)).toContain('account_balance 2026-11-30 MERCHANT_PAYABLE B USD 0 0 1 -1');
    expect(await balancesOf(database)).toEqual(await expected(database));
    expect(await contradictions(database)).toEqual([]);
  });

  test('of any days, in any order of coming, are those of plain arithmetic', async () => {
    const { database } = current();
    const days = ['2026-11-27', '2026-11-28', '2026-11-29'];
    const orders = fc.array(
      fc.record({
        accountNo: fc.constantFrom('A', 'B', 'Ü\u{1F600}'),
        type: fc.constantFrom('PAYMENT', 'REFUND', 'FEE'),
        minor: fc.oneof(fc.nat(50), fc.constant(9_223_372_036_854_775_807n)),
        currency: fc.constantFrom('USD', 'JPY'),
        batchDay: fc.constantFrom(...days),
      }),
      { minLength: 1, maxLength: 8 },
    );
    let made = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(orders, { minLength: 1, maxLength: 3 }), async (rounds) => {
        await emptyBooks(database);
        for (const round of rounds) {
          await givenOrders(
            database,
            round.map((order) => ({ orderNo: `O${String((made += 1))}`, ...order })),
          );
          await runDay(database);
        }
        await runDay(database, { target: '2026-11-30' });
        const lines = await balancesOf(database);
        expect(lines).toEqual(await expected(database));
        expect(await contradictions(database)).toEqual([]);
      }),
      { numRuns: current().database.target.dialect === 'sqlite' ? 15 : 5 },
    );
  }, 300_000);
});
