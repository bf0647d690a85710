import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Database } from '../../src/db/database.js';
import { reverseEntry } from '../../src/ledger/reverseEntry.js';
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
            // What came late is booked on the day after.
            await runDay(database, { target: addDays(target, 1) });
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

  test('with late orders, reversals and reruns between them add up to zero after each step, and leave closed days alone', async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: made.map((order) => ({ ...order, kind: 'order' as const })) },
      { weight: 3, arbitrary: fc.constant({ kind: 'run' as const }) },
      { weight: 1, arbitrary: fc.constant({ kind: 'again' as const }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('reverse' as const), at: fc.nat(1_000) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 16 }), async (steps) => {
        const { database, drop } = await createTestDatabase(kind);
        let [target, no] = [addDays(first, -1), 0];
        let closed: string[] = [];
        try {
          await importFeePlans(database, plans);
          await importTerms(database, terms);
          for (const one of [...steps, { kind: 'run' as const }]) {
            if (one.kind === 'order') {
              const { day, accountNo, type, minor } = one;
              no += 1;
              await givenOrders(database, [
                { accountNo, type, minor, orderNo: `O${String(no)}`, batchDay: addDays(first, day) },
              ]);
            } else if (one.kind === 'reverse') await reverseSome(database, one.at);
            else {
              if (one.kind === 'run') target = addDays(target, 1);
              if (target < first) continue;
              expect(await runDay(database, { target })).toMatchObject({ outcome: 'OK', closed: true });
            }
            expect(await offBalance(database)).toEqual([]);
            expect((await verifyBooks(database)).filter(({ ok }) => !ok)).toEqual([]);
            const now = await closedBooks(database);
            expect(now.slice(0, closed.length)).toEqual(closed);
            closed = now;
          }
          expect((await reconcileDay(database, target)).outcome).toBe('OK');
        } finally {
          await drop();
        }
      }),
      { numRuns: kind === 'sqlite' ? 12 : 3 },
    );
  }, 600_000);
});

const columns = async (database: Database, sql: string): Promise<string[]> =>
  (await database.read((session) => session.tuples(sql))).map((row) => row.map(String).join(' '));

/** Currencies whose debits are not their credits. */
function offBalance(database: Database): Promise<string[]> {
  const signed = `case side when 'DEBIT' then amount_minor else -amount_minor end`;
  return columns(database, `select currency from ledger_entry group by currency having sum(${signed}) <> 0`);
}

/** Links and balances of closed days, day by day. */
async function closedBooks(database: Database): Promise<string[]> {
  const links = await columns(database, 'select booking_day, link_no, entries, head from chain_link order by link_no');
  const balances = await columns(
    database,
    `select booking_day, ledger_account, sub_account, currency, opening_minor, debit_minor, credit_minor, closing_minor
       from account_balance order by booking_day, ledger_account, sub_account, currency`,
  );
  return links.map((link) => [link, ...balances.filter((row) => row.startsWith(link.slice(0, 10)))].join('\n'));
}

/** Reverses one of the journal entries; whether it may be is told by its state. */
async function reverseSome(database: Database, at: number): Promise<void> {
  const numbers = await columns(database, 'select biz_no from journal_entry order by id');
  const bizNo = numbers[at % Math.max(1, numbers.length)];
  if (bizNo === undefined) return;
  const decision = { by: 'alice', reason: 'a test', at: '2026-12-01T00:00:00.000Z' };
  await reverseEntry(database, bizNo, decision).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'ENTRY_NOT_REVERSIBLE' });
  });
}
