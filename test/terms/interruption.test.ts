import { expect, test } from '@jest/globals';
import { addDays } from '../../src/kernel/batchDay.js';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { createTestDatabase, kindsForProcesses, type DatabaseKind, type TestDatabase } from '../support/databases.js';
import { day, givenOrders, moneyDump, runDay, variedDay } from '../support/day.js';
import { importFeePlans, importTerms } from '../support/importing.js';
import { settle } from '../support/program.js';

const before = addDays(day, -1);

/** A day under terms after another, whose reserves it releases and whose debts it recovers. */
async function givenDayUnderTerms(kind: DatabaseKind): Promise<TestDatabase> {
  const given = await createTestDatabase(kind);
  const { database } = given;
  await importFeePlans(
    database,
    'fee_plan,valid_from,type,basis_points\nP,2026-01-01,PAYMENT,137.7\nP,2026-01-01,REFUND,5\n',
  );
  await importTerms(
    database,
    'account_no,valid_from,fee_plan,reserve_basis_points,reserve_days\n*,2026-01-01,P,1000,1\nA3,2026-01-01,,,\n',
  );
  const earlier = variedDay(60).map((order) => ({ ...order, orderNo: `E${order.orderNo}`, batchDay: before }));
  await givenOrders(database, [
    ...earlier,
    { orderNo: 'D', accountNo: 'A1', type: 'REFUND', minor: 9_000, batchDay: before },
  ]);
  expect(await runDay(database, { target: before })).toMatchObject({ outcome: 'OK' });
  await givenOrders(database, variedDay(200));
  return given;
}

test.each(kindsForProcesses('sqlite'))(
  'kill -9 at any moment of a run under terms, started again until it is done: as if it had not been [%s]',
  async (kind) => {
    const undisturbed = await givenDayUnderTerms(kind);
    expect(await runDay(undisturbed.database)).toMatchObject({ outcome: 'OK' });
    const books = await moneyDump(undisturbed.database);
    await undisturbed.drop();
    expect(books.filter((line) => /RESERVE_RELEASE|DEBT_RECOVERY|FEE_ROUNDING/.test(line)).length).toBeGreaterThan(5);

    const given = await givenDayUnderTerms(kind);
    try {
      let kills = 0;
      for (let wait = 150; ; wait += 30) {
        const tuning = ['--page-size', '40', '--chunk-size', '8', '--lanes', '2'];
        const run = settle(['run', '--batch-day', day, ...tuning], { url: given.url });
        const timer = setTimeout(() => {
          run.kill('SIGKILL');
        }, wait);
        const { signal, code } = await run;
        clearTimeout(timer);
        if (signal === null) {
          expect(code).toBe(0);
          break;
        }
        kills += 1;
      }
      expect(kills).toBeGreaterThan(3);
      expect(await moneyDump(given.database)).toEqual(books);
      expect((await verifyBooks(given.database)).filter(({ ok }) => !ok)).toEqual([]);
    } finally {
      await given.drop();
    }
  },
  300_000,
);
