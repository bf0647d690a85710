import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { reconcileDay } from '../../src/reconciliation/reconcile.js';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { givenOrders, runDay } from '../support/day.js';
import { importFeePlans, importTerms } from '../support/importing.js';
import { plant as planted } from '../support/plants.js';

// Books under terms that are right, and one change at a time that makes them wrong: each is named by the check of terms.

const day = '2026-11-28';
const next = '2026-11-29';

describe.each(databaseKinds)('a planted change of terms [%s]', (kind) => {
  let given: TestDatabase;
  beforeAll(async () => {
    given = await createTestDatabase(kind);
    const { database } = given;
    await importFeePlans(
      database,
      'fee_plan,valid_from,type,basis_points,channel,currency,from_amount,tiers\n' +
        'P,2026-01-01,PAYMENT,150,CARD,USD,,\nP,2026-01-01,PAYMENT,100,CARD,USD,50.00,\n',
    );
    await importTerms(
      database,
      'account_no,valid_from,fee_plan,reserve_basis_points,reserve_days\n*,2026-01-01,P,1000,1\nBARE,2026-01-01,,,\n',
    );
    await givenOrders(database, [
      ...[100, 100, 100, 7_000].map((minor, at) => ({
        orderNo: `A${String(at)}`,
        accountNo: 'M1',
        minor,
        batchDay: day,
      })),
      { orderNo: 'B1', accountNo: 'M2', type: 'REFUND', minor: 500, batchDay: day },
      { orderNo: 'B2', accountNo: 'BARE', minor: 500, batchDay: day },
      { orderNo: 'C1', accountNo: 'M2', minor: 200, batchDay: next },
    ]);
    for (const target of [day, next]) expect(await runDay(database, { target })).toMatchObject({ outcome: 'OK' });
  });
  afterAll(() => given.drop());

  const wrong = async (): Promise<string[]> => {
    const checks = await verifyBooks(given.database);
    return checks.filter(({ ok }) => !ok).map(({ name }) => name);
  };
  beforeEach(async () => {
    expect(await wrong()).toEqual([]);
  });

  const change = async (sql: string): Promise<number> => {
    let rows = 0;
    await planted(given.database, async (trx) => {
      rows = await trx.change(sql);
    });
    return rows;
  };

  test.each`
    what                                          | plant                                                                                                               | mended
    ${'a fee that is a cent off'}                 | ${`update net set fee_minor = fee_minor + 1 where fee_minor > 0`}                                                   | ${`update net set fee_minor = fee_minor - 1 where fee_minor > 0`}
    ${'another rest of rounding'}                 | ${`update net set fee_rest = fee_rest + 1 where fee_rest <> 0`}                                                     | ${`update net set fee_rest = fee_rest - 1 where fee_rest <> 0`}
    ${'other payments'}                           | ${`update net set payment_minor = payment_minor + 1 where account_no = 'M1'`}                                       | ${`update net set payment_minor = payment_minor - 1 where account_no = 'M1'`}
    ${'a net without its terms'}                  | ${`update net set terms_id = terms_id + 100 where account_no = 'M1'`}                                               | ${`update net set terms_id = terms_id - 100 where account_no = 'M1'`}
    ${'another rate of the plan'}                 | ${`update fee_plan_tier set rate = rate + 100000 where tier_no = 1`}                                                | ${`update fee_plan_tier set rate = rate - 100000 where tier_no = 1`}
    ${'another start of a tier'}                  | ${`update fee_plan_tier set from_minor = 7001 where tier_no = 2`}                                                   | ${`update fee_plan_tier set from_minor = 5000 where tier_no = 2`}
    ${'another reserve rate'}                     | ${`update account_terms set reserve_rate = 2000000 where account_no = '*'`}                                         | ${`update account_terms set reserve_rate = 10000000 where account_no = '*'`}
    ${'a reserve that is a cent less'}            | ${`update terms_effect set amount_minor = 729, open_minor = 0 where reason = 'RESERVE_HOLD' and account_no = 'M1'`} | ${`update terms_effect set amount_minor = 730 where reason = 'RESERVE_HOLD' and account_no = 'M1'`}
    ${'a debt that is smaller'}                   | ${`update terms_effect set amount_minor = 499, open_minor = open_minor - 1 where reason = 'DEBT'`}                  | ${`update terms_effect set amount_minor = 500, open_minor = open_minor + 1 where reason = 'DEBT'`}
    ${'a debt that is open by more than is left'} | ${`update terms_effect set open_minor = open_minor + 1 where reason = 'DEBT'`}                                      | ${`update terms_effect set open_minor = open_minor - 1 where reason = 'DEBT'`}
    ${'a release that came too early'}            | ${`update terms_effect set due_day = '2026-12-29' where reason = 'RESERVE_HOLD' and account_no = 'M1'`}             | ${`update terms_effect set due_day = '2026-11-29' where reason = 'RESERVE_HOLD' and account_no = 'M1'`}
    ${'a recovery of another account'}            | ${`update terms_effect set account_no = 'M1' where reason = 'DEBT_RECOVERY'`}                                       | ${`update terms_effect set account_no = 'M2' where reason = 'DEBT_RECOVERY'`}
    ${'a rounding that was not booked'}           | ${`update terms_effect set biz_no = 'T9.9' where reason = 'FEE_ROUNDING'`}                                          | ${null}
  `('$what is found', async ({ plant, mended }) => {
    const [before] = await given.database.read((session) =>
      session.tuples(`select biz_no from terms_effect where reason = 'FEE_ROUNDING'`),
    );
    expect(await change(plant as string)).toBeGreaterThan(0);
    expect(await wrong()).toContain('terms');
    await change(mended ?? `update terms_effect set biz_no = '${String(before?.[0])}' where biz_no = 'T9.9'`);
  });

  test.each([
    ['FEE_PLAN', 'FEE_PLAN USD'],
    ['RESERVE_HOLD', 'RESERVE_HOLD USD'],
    ['DEBT', 'DEBT USD'],
    ['FEE_ROUNDING', 'FEE_ROUNDING USD'],
  ])(
    'a ledger entry for %s that was moved by a cent is found by the reconciliation of the day too',
    async (reason, key) => {
      const where = `where reason = '${reason}' and journal_entry_id = (select id from (
      select min(journal_entry_id) as id from ledger_entry where reason = '${reason}') first)`;
      expect(await change(`update ledger_entry set amount_minor = amount_minor + 1 ${where}`)).toBe(2);
      const { checks } = await reconcileDay(given.database, day);
      const differences = checks.find(({ name }) => name === 'terms')?.differences;
      expect(differences?.map((difference) => `${difference.what} ${difference.key}`)).toEqual([key]);
      await change(`update ledger_entry set amount_minor = amount_minor - 1 ${where}`);
    },
  );
});
