import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ledgerBalances, trialBalance } from '../../src/ledger/views.js';
import { addDays } from '../../src/kernel/batchDay.js';
import { reconcileDay } from '../../src/reconciliation/reconcile.js';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { createTestDatabase, databaseKinds } from '../support/databases.js';
import { everyRow, givenOrders, moneyDump, runDay, smallSettings } from '../support/day.js';
import { importFeePlans, importTerms } from '../support/importing.js';

// Any sequence of days, orders, late orders and reruns under terms, beside a model that keeps accounts with whole numbers.

const first = '2026-11-01';
const reserveDays = 2;

interface Made {
  day: number;
  accountNo: 'A' | 'B' | 'C';
  type: 'PAYMENT' | 'REFUND' | 'ADJUSTMENT';
  minor: bigint;
}

const made: fc.Arbitrary<Made> = fc.record({
  day: fc.integer({ min: 0, max: 4 }),
  accountNo: fc.constantFrom('A', 'B', 'C'),
  type: fc.constantFrom('PAYMENT', 'PAYMENT', 'REFUND', 'ADJUSTMENT'),
  minor: fc.bigInt({ min: 0n, max: 5_000n }),
});

/** A is charged 1.37 % and keeps a reserve of 12.5 %; B is charged 0.45 and 1 %, no more than the order; C has no terms. */
const plans =
  'fee_plan,valid_from,type,basis_points,currency,fixed,cap_at_order\n' +
  'RATE,2026-01-01,PAYMENT,137,,,\nFIXED,2026-01-01,PAYMENT,100,USD,0.45,YES\nFIXED,2026-01-01,REFUND,0,USD,0.10,YES\n';
const terms =
  'account_no,valid_from,fee_plan,reserve_basis_points,reserve_days\n' +
  `A,2026-01-01,RATE,1250,${String(reserveDays)}\nB,2026-01-01,FIXED,,\n`;

/** To the nearest whole; of two that are as near, the even one. */
function nearest(over: bigint, under: bigint): bigint {
  const [below, part] = [over / under, over % under];
  return part * 2n > under || (part * 2n === under && below % 2n === 1n) ? below + 1n : below;
}

/** In hundredths of a minor unit times a hundred: exact for rates in whole basis points. */
function exactFee({ accountNo, type, minor }: Made): bigint {
  if (accountNo === 'A') return type === 'PAYMENT' ? minor * 137n : 0n;
  if (accountNo === 'C' || type === 'ADJUSTMENT') return 0n;
  const fee = type === 'PAYMENT' ? minor * 100n + 450_000n : 100_000n;
  return fee < minor * 10_000n ? fee : minor * 10_000n;
}

interface Books {
  payable: bigint;
  reserve: bigint;
  debt: bigint;
}

/** What each account is owed after all days, what is held and what it owes; and the fees as they are taken in. */
function model(orders: readonly Made[], days: readonly number[]): { accounts: Record<string, Books>; income: bigint } {
  const accounts: Record<string, Books> = {};
  let income = 0n;
  for (const accountNo of ['A', 'B', 'C']) {
    const books: Books = { payable: 0n, reserve: 0n, debt: 0n };
    const held = new Map<number, bigint>();
    for (const day of days) {
      const own = orders.filter((order) => order.accountNo === accountNo && order.day === day);
      let position = 0n;
      let payments = 0n;
      for (const order of own) {
        position += (order.type === 'REFUND' ? -order.minor : order.minor) - nearest(exactFee(order), 10_000n);
        if (order.type === 'PAYMENT') payments += order.minor;
      }
      if (accountNo === 'A') {
        for (const [origin, minor] of held) {
          if (origin + reserveDays > day) continue;
          position += minor;
          books.reserve -= minor;
          held.delete(origin);
        }
        const share = nearest(payments * 1_250n, 10_000n);
        if (share > 0n) held.set(day, share);
        position -= share;
        books.reserve += share;
      }
      const recovered = position > 0n ? (position < books.debt ? position : books.debt) : 0n;
      if (accountNo !== 'C' && position < 0n) books.debt -= position;
      else books.payable += position - recovered;
      books.debt -= recovered;
    }
    accounts[accountNo] = books;
  }
  for (const day of days)
    income += nearest(
      orders.filter((order) => order.day === day).reduce((sum, order) => sum + exactFee(order), 0n),
      10_000n,
    );
  return { accounts, income };
}

describe.each(databaseKinds)('any days under terms [%s]', (kind) => {
  test('come to what the model says, prove themselves, and are the same in chunks of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(made, { minLength: 1, maxLength: 25 }),
        fc.integer({ min: 1, max: 6 }),
        fc.boolean(),
        async (orders, chunkSize, again) => {
          const dumps: string[][] = [];
          for (const settings of [smallSettings, { ...smallSettings, chunkSize, pageSize: chunkSize + 1 }]) {
            const { database, drop } = await createTestDatabase(kind);
            try {
              await importFeePlans(database, plans);
              await importTerms(database, terms);
              for (let at = 0; at <= 4; at += 1) {
                const target = addDays(first, at);
                await givenOrders(
                  database,
                  orders.flatMap((order, no) =>
                    order.day === at ? [{ ...order, orderNo: `O${String(no)}`, batchDay: target }] : [],
                  ),
                );
                expect(await runDay(database, { target, settings })).toMatchObject({ outcome: 'OK', closed: true });
                if (!again) continue;
                const rows = await everyRow(database);
                await runDay(database, { target, settings });
                expect(await everyRow(database)).toBe(rows);
              }
              expect((await verifyBooks(database)).filter(({ ok }) => !ok)).toEqual([]);
              expect((await reconcileDay(database, addDays(first, 4))).outcome).toBe('OK');
              expect((await database.read((session) => trialBalance(session))).balanced).toBe(true);
              const found = await database.read((session) => ledgerBalances(session));
              const balance = (code: string, account: string | null): bigint =>
                found.find((row) => row.code === code && row.subAccount === account)?.balanceMinor ?? 0n;
              const { accounts, income } = model(orders, [0, 1, 2, 3, 4]);
              for (const [accountNo, { payable, reserve, debt }] of Object.entries(accounts)) {
                const codes = ['MERCHANT_PAYABLE', 'RESERVE', 'MERCHANT_DEBT'];
                expect(codes.map((code) => balance(code, accountNo))).toEqual([payable, reserve, debt]);
              }
              expect(balance('FEE_INCOME', null)).toBe(income);
              dumps.push(await moneyDump(database));
            } finally {
              await drop();
            }
          }
          expect(dumps[1]).toEqual(dumps[0]);
        },
      ),
      { numRuns: kind === 'sqlite' ? 8 : 2 },
    );
  }, 600_000);

  test('late orders leave every account where the same orders in time would have, debts and payable together', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(made, { minLength: 1, maxLength: 15 }),
        fc.integer({ min: 0, max: 15 }),
        async (orders, split) => {
          const { database, drop } = await createTestDatabase(kind);
          try {
            await importFeePlans(database, plans);
            await importTerms(database, terms);
            const target = first;
            const ofDay = orders.map((order, no) => ({ ...order, orderNo: `O${String(no)}`, batchDay: target }));
            for (const part of [ofDay.slice(0, split), ofDay.slice(split)]) {
              await givenOrders(database, part);
              expect(await runDay(database, { target })).toMatchObject({ outcome: 'OK', closed: true });
            }
            expect((await verifyBooks(database)).filter(({ ok }) => !ok)).toEqual([]);
            const found = await database.read((session) => ledgerBalances(session));
            const { accounts, income } = model(
              orders.map((order) => ({ ...order, day: 0 })),
              [0],
            );
            for (const [accountNo, { payable, reserve, debt }] of Object.entries(accounts)) {
              const own = found.filter(({ subAccount }) => subAccount === accountNo);
              const at = (code: string): bigint => own.find((row) => row.code === code)?.balanceMinor ?? 0n;
              expect([at('MERCHANT_PAYABLE') - at('MERCHANT_DEBT'), at('RESERVE')]).toEqual([payable - debt, reserve]);
              expect(at('MERCHANT_DEBT') === 0n || at('MERCHANT_PAYABLE') === 0n).toBe(true);
            }
            expect(found.find(({ code }) => code === 'FEE_INCOME')?.balanceMinor ?? 0n).toBe(income);
          } finally {
            await drop();
          }
        },
      ),
      { numRuns: kind === 'sqlite' ? 10 : 2 },
    );
  }, 600_000);
});
