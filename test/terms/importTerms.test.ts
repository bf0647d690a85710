import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Database } from '../../src/db/database.js';
import { ruleFor } from '../../src/terms/feePlan.js';
import { plansOn } from '../../src/terms/feePlanQueries.js';
import { termsOn } from '../../src/terms/termsQueries.js';
import { createTestDatabase, onEachDatabase } from '../support/databases.js';
import { day, givenOrders, runDay } from '../support/day.js';
import { importFeePlans, importTerms } from '../support/importing.js';
import { settleInside as settle } from '../support/inside.js';

const planHeader =
  'fee_plan,valid_from,type,basis_points,channel,currency,from_amount,fixed,minimum,maximum,tiers,cap_at_order';
const plans = (...lines: string[]): string => `${[planHeader, ...lines].join('\n')}\n`;
const standard = 'STANDARD,2026-01-01,PAYMENT,290,,USD,,0.30,,,,YES';

const termsHeader =
  'account_no,valid_from,fee_plan,reserve_basis_points,reserve_days,minimum_payout,payout_hold,payout_delay_days';
const terms = (...lines: string[]): string => `${[termsHeader, ...lines].join('\n')}\n`;

async function forget(database: Database): Promise<void> {
  for (const table of ['fee_plan_tier', 'account_terms']) {
    await database.read((session) => session.change(`delete from ${table}`));
  }
}

async function counted(database: Database): Promise<string> {
  const [row] = await database.read((session) =>
    session.tuples('select (select count(*) from fee_plan_tier), (select count(*) from account_terms)'),
  );
  return (row ?? []).map(String).join(' ');
}

onEachDatabase('importing fee plans', (given) => {
  const database = () => given().database;
  beforeEach(() => forget(database()));

  test('a plan arrives as it was written, tier by tier, and charges by it', async () => {
    const file = plans(
      'P,2026-01-01,PAYMENT,140.25,CARD,USD,1000.00,,,20.00,,YES',
      'P,2026-01-01,PAYMENT,290,CARD,USD,,0.30,0.50,,,YES',
      'P,2026-01-01,REFUND,0,,KWD,,0.100,,,,YES',
    );
    expect(await importFeePlans(database(), file)).toMatchObject({ accepted: 3, rejected: [], refused: null });
    const plan = (await database().read((session) => plansOn(session, day))).get('P');
    expect(plan).toMatchObject({ validFrom: '2026-01-01', version: 1 });
    if (plan === undefined) throw new Error('The plan is not there.');
    expect(ruleFor(plan, 'PAYMENT', 'CARD', 'USD')).toEqual({
      type: 'PAYMENT',
      channel: 'CARD',
      currency: 'USD',
      mode: 'SLAB',
      capAtOrder: true,
      tiers: [
        { fromMinor: 0n, rate: 2_900_000n, fixedMinor: 30n, minimumMinor: 50n, maximumMinor: null },
        { fromMinor: 100_000n, rate: 1_402_500n, fixedMinor: 0n, minimumMinor: 0n, maximumMinor: 2_000n },
      ],
    });
    expect(ruleFor(plan, 'REFUND', 'BANK', 'KWD')).toMatchObject({ tiers: [{ fixedMinor: 100n }] });
  });

  test('the same file again changes nothing, in whatever order its rows stand', async () => {
    const rows = [standard, 'STANDARD,2026-01-01,REFUND,0,,,,,,,,', 'OTHER,2026-01-01,PAYMENT,100,,,,,,,,'];
    await importFeePlans(database(), plans(...rows));
    expect(await importFeePlans(database(), plans(...rows.reverse()))).toMatchObject({ accepted: 0, repeated: 3 });
    expect(await counted(database())).toBe('3 0');
  });

  test('the plan of a day is its newest version of the last first day up to it', async () => {
    await importFeePlans(database(), plans(standard, standard.replace('290', '250').replace('01-01', '12-01')));
    expect(await importFeePlans(database(), plans(standard.replace('290', '300')))).toMatchObject({
      accepted: 1,
      updated: 1,
    });
    const rateOn = async (on: string): Promise<unknown> =>
      (await database().read((session) => plansOn(session, on))).get('STANDARD')?.rules[0]?.tiers[0]?.rate;
    expect(await rateOn('2025-12-31')).toBeUndefined();
    expect(await rateOn('2026-11-30')).toBe(3_000_000n);
    expect(await rateOn('2026-12-01')).toBe(2_500_000n);
  });

  test.each`
    row                                                              | code
    ${' P,2026-01-01,PAYMENT,1,,,,,,,,'}                             | ${'BAD_FEE_PLAN'}
    ${'P,2026-02-30,PAYMENT,1,,,,,,,,'}                              | ${'BAD_VALID_FROM'}
    ${'P,2026-01-01,FEE,1,,,,,,,,'}                                  | ${'BAD_TYPE'}
    ${'P,2026-01-01,PAYMENT,-1,,,,,,,,'}                             | ${'BAD_BASIS_POINTS'}
    ${'P,2026-01-01,PAYMENT,1.00001,,,,,,,,'}                        | ${'BAD_BASIS_POINTS'}
    ${'P,2026-01-01,PAYMENT,10000.0001,,,,,,,,'}                     | ${'OVER_100_PERCENT'}
    ${'P,2026-01-01,PAYMENT,1,,US,,,,,,'}                            | ${'UNKNOWN_CURRENCY'}
    ${'P,2026-01-01,PAYMENT,1,,,,0.30,,,,YES'}                       | ${'AMOUNT_NEEDS_CURRENCY'}
    ${'P,2026-01-01,PAYMENT,1,,USD,,-0.30,,,,YES'}                   | ${'NEGATIVE_AMOUNT'}
    ${'P,2026-01-01,PAYMENT,1,,USD,,0.305,,,,YES'}                   | ${'TOO_MANY_DECIMALS'}
    ${'P,2026-01-01,PAYMENT,1,,USD,,,2.00,1.99,,YES'}                | ${'MAXIMUM_BELOW_MINIMUM'}
    ${'P,2026-01-01,PAYMENT,1,,,,,,,STEPS,'}                         | ${'BAD_TIERS'}
    ${'P,2026-01-01,PAYMENT,1,,,,,,,,Y'}                             | ${'BAD_YES_NO'}
    ${'P,2026-01-01,PAYMENT,1,,USD,5.00,,,,,'}                       | ${'BAD_TIERS'}
    ${'P,2026-01-01,PAYMENT,290,,USD,,0.30,,,,'}                     | ${'FEE_COULD_EXCEED_ORDER'}
    ${'P,2026-01-01,PAYMENT,0,,USD,,,0.01,,,NO'}                     | ${'FEE_COULD_EXCEED_ORDER'}
    ${standard}                                                      | ${'RULE_TWICE'}
    ${standard.replace(',,0.30', ',5.00,0.30').replace('YES', 'NO')} | ${'BAD_TIERS'}
  `('$code refuses the whole file, with its line: $row', async ({ row, code }) => {
    const outcome = await importFeePlans(database(), plans(standard, row as string));
    expect(outcome).toMatchObject({ accepted: 0, rejected: [{ line: 3, code: code as string }] });
    expect(outcome.refused).toMatchObject({ code: 'ROWS_REFUSED' });
    expect(await counted(database())).toBe('0 0');
  });

  test('fixed amounts belong to the first of MARGINAL tiers', async () => {
    const tiers = [
      'P,2026-01-01,PAYMENT,2,,USD,,1.00,,,MARGINAL,YES',
      'P,2026-01-01,PAYMENT,1,,USD,9.00,1.00,,,MARGINAL,YES',
    ];
    expect((await importFeePlans(database(), plans(...tiers))).rejected).toMatchObject([
      { line: 3, code: 'BAD_TIERS' },
    ]);
  });

  test('a column that is misspelt is not passed over', async () => {
    const file =
      'fee_plan,valid_from,type,basis_points,currency,fixd,cap_at_order\nP,2026-01-01,PAYMENT,1,USD,0.30,YES\n';
    const { refused } = await importFeePlans(database(), file);
    expect(refused).toEqual({ code: 'UNKNOWN_COLUMN', message: 'The file has columns that are not known: fixd.' });
    expect(await counted(database())).toBe('0 0');
  });
});

onEachDatabase('importing terms', (given) => {
  const database = () => given().database;
  beforeEach(async () => {
    await forget(database());
    await importFeePlans(database(), plans(standard));
  });

  test('terms hold from their day until the next of the account', async () => {
    const file = terms(
      'M1,2026-01-01,STANDARD,500,180,"EUR 20.00; JPY 500",YES,2',
      'M1,2026-06-01,,,,,,',
      '*,2026-01-01,STANDARD,,,,NO,',
    );
    expect(await importTerms(database(), file)).toMatchObject({ accepted: 3, refused: null });
    const on = (on: string) => database().read((session) => termsOn(session, on, ['M1', '*', 'M2']));
    expect([...(await on('2025-12-31')).keys()]).toEqual([]);
    expect((await on('2026-05-31')).get('M1')).toMatchObject({
      feePlan: 'STANDARD',
      reserveRate: 5_000_000n,
      reserveDays: 180,
      minimumPayout: new Map([
        ['EUR', 2_000n],
        ['JPY', 500n],
      ]),
      payoutHold: true,
      payoutDelayDays: 2,
      version: 1,
    });
    expect((await on('2026-06-01')).get('M1')).toMatchObject({ feePlan: null, reserveRate: 0n, payoutHold: false });
    expect((await on('2026-06-01')).get('*')).toMatchObject({ feePlan: 'STANDARD', payoutDelayDays: 0 });
    expect(await importTerms(database(), file)).toMatchObject({ accepted: 0, repeated: 3 });
  });

  test('what nothing is settled by yet can be said anew, and both versions are kept', async () => {
    await importTerms(database(), terms('M1,2026-01-01,STANDARD,,,,,'));
    const again = await importTerms(database(), terms('M1,2026-01-01,STANDARD,,,USD 10.00,,'));
    expect(again).toMatchObject({ accepted: 1, updated: 1 });
    const [own] = (await database().read((session) => termsOn(session, day, ['M1']))).values();
    expect(own).toMatchObject({ version: 2, minimumPayout: new Map([['USD', 1_000n]]) });
    expect(await counted(database())).toBe('1 2');
  });

  test.each`
    row                                        | code
    ${'M\u200b1,2026-01-01,,,,,,'}             | ${'BAD_ACCOUNT_NO'}
    ${'M1,2026-1-1,,,,,,'}                     | ${'BAD_VALID_FROM'}
    ${'M1,2026-01-01,NONE,,,,,'}               | ${'UNKNOWN_FEE_PLAN'}
    ${'M1,2025-12-31,STANDARD,,,,,'}           | ${'UNKNOWN_FEE_PLAN'}
    ${'M1,2026-01-01,,10000.5,30,,,'}          | ${'OVER_100_PERCENT'}
    ${'M1,2026-01-01,,-5,30,,,'}               | ${'BAD_BASIS_POINTS'}
    ${'M1,2026-01-01,,500,,,,'}                | ${'BAD_RESERVE'}
    ${'M1,2026-01-01,,,30,,,'}                 | ${'BAD_RESERVE'}
    ${'M1,2026-01-01,,500,-1,,,'}              | ${'BAD_DAYS'}
    ${'M1,2026-01-01,,500,99999,,,'}           | ${'BAD_DAYS'}
    ${'M1,2026-01-01,,,,25.00,,'}              | ${'BAD_MINIMUM_PAYOUT'}
    ${'M1,2026-01-01,,,,USD 1.00; USD 2.00,,'} | ${'BAD_MINIMUM_PAYOUT'}
    ${'M1,2026-01-01,,,,USD -1.00,,'}          | ${'NEGATIVE_AMOUNT'}
    ${'M1,2026-01-01,,,,,yes,'}                | ${'BAD_YES_NO'}
    ${'M1,2026-01-01,,,,,,T+1'}                | ${'BAD_DAYS'}
    ${'M0,2026-01-01,STANDARD,100,1,,,'}       | ${'TERMS_OVERLAP'}
  `('$code refuses the whole file, with its line: $row', async ({ row, code }) => {
    const outcome = await importTerms(database(), terms('M0,2026-01-01,,,,,,', row as string));
    expect(outcome).toMatchObject({ accepted: 0, repeated: 0, rejected: [{ line: 3, code: code as string }] });
    expect(outcome.refused).toMatchObject({ code: 'ROWS_REFUSED' });
    expect(await counted(database())).toBe('1 0');
  });
});

onEachDatabase('a settled day', (given) => {
  const database = () => given().database;

  test('keeps its terms: those of its accounts, the default ones, and the plans', async () => {
    await importFeePlans(database(), plans(standard));
    await givenOrders(database(), [{ orderNo: 'O1', accountNo: 'M1', minor: 100 }]);
    expect(await runDay(database())).toMatchObject({ outcome: 'OK' });
    const refused = async (row: string) => (await importTerms(database(), terms(row))).rejected.map(({ code }) => code);
    expect(await refused(`M1,${day},STANDARD,,,,,`)).toEqual(['TERMS_IN_USE']);
    expect(await refused(`M1,2026-01-01,STANDARD,,,,,`)).toEqual(['TERMS_IN_USE']);
    expect(await refused(`*,${day},STANDARD,,,,,`)).toEqual(['TERMS_IN_USE']);
    expect(await refused(`M2,${day},STANDARD,,,,,`)).toEqual([]);
    expect(await refused(`M1,2026-11-30,STANDARD,,,,,`)).toEqual([]);
    expect(await refused(`*,2026-11-30,STANDARD,,,,,`)).toEqual([]);

    const plan = async (...rows: string[]) => (await importFeePlans(database(), plans(...rows))).rejected;
    expect(await plan(standard.replace('290', '300'))).toMatchObject([{ line: 2, code: 'TERMS_IN_USE' }]);
    expect(await plan(standard.replace('2026-01-01', day))).toMatchObject([{ code: 'TERMS_IN_USE' }]);
    expect(await plan(standard.replace('2026-01-01', '2026-11-30'))).toEqual([]);
    expect(await plan(standard.replace('STANDARD', 'NEW'))).toEqual([]);
  });

  test('lets its plans say what they had left open, and nothing else', async () => {
    const plan = async (...rows: string[]) =>
      (await importFeePlans(database(), plans(standard, ...rows))).rejected.map(({ code }) => code);
    expect(await plan('STANDARD,2026-01-01,REFUND,10,,,,,,,,')).toEqual(['TERMS_IN_USE']);
    expect(await plan('STANDARD,2026-01-01,PAYMENT,10,CARD,,,,,,,')).toEqual(['TERMS_IN_USE']);
    expect(await plan('STANDARD,2026-01-01,PAYMENT,10,,EUR,,,,,,')).toEqual([]);
    expect(await plan()).toEqual(['TERMS_IN_USE']);
  });
});

describe('settle import fee-plans and terms', () => {
  test('say what is wrong and that nothing is stored, and exit 2; put right, they exit 0', async () => {
    const given = await createTestDatabase('sqlite');
    const folder = mkdtempSync(join(tmpdir(), 'settle-terms-test-'));
    try {
      const file = join(folder, 'plans.csv');
      writeFileSync(file, plans(standard, 'P,2026-01-01,PAYMENT,290,,USD,,0.30,,,,'));
      const wrong = await settle(['import', 'fee-plans', file], given);
      expect(wrong).toMatchObject({ code: 2 });
      expect(wrong.stdout).toBe(
        `${file}: refused, nothing of it is stored: ROWS_REFUSED: A row is not right, and such a file is taken as a whole.\n` +
          '  line 3: FEE_COULD_EXCEED_ORDER: Of an order of USD 0.00 the rule of "P" would take more than all of it. ' +
          'Write YES in cap_at_order, or begin the tier at an amount that can pay it.\n',
      );
      writeFileSync(file, plans(standard));
      expect(await settle(['import', 'fee-plans', file], given)).toMatchObject({
        code: 0,
        stdout: `${file}: 1 accepted (0 changed), 0 repeated, 0 rejected\n`,
      });
      const own = join(folder, 'terms.ndjson');
      writeFileSync(own, '{"account_no":"M1","valid_from":"2026-01-01","fee_plan":"STANDARD"}\n');
      const { code, stdout } = await settle(['import', 'terms', own, '--json'], given);
      expect([code, JSON.parse(stdout)]).toMatchObject([0, { files: [{ accepted: 1, updated: 0, refused: null }] }]);
    } finally {
      rmSync(folder, { recursive: true });
      await given.drop();
    }
  });
});
