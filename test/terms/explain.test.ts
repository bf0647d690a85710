import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { givenOrders, runDay } from '../support/day.js';
import { importFeePlans, importTerms } from '../support/importing.js';
import { settleInside as settle } from '../support/inside.js';

const day = '2026-11-28';
const next = '2026-11-29';

describe.each(databaseKinds)('settle explain account [%s]', (kind) => {
  let given: TestDatabase;
  beforeEach(async () => {
    given = await createTestDatabase(kind);
    const { database } = given;
    await importFeePlans(database, 'fee_plan,valid_from,type,basis_points\nP,2026-01-01,PAYMENT,150\n');
    await importTerms(
      database,
      'account_no,valid_from,fee_plan,reserve_basis_points,reserve_days,minimum_payout,payout_delay_days\n' +
        'M1,2026-01-01,P,1000,1,USD 50.00,2\n',
    );
    await givenOrders(database, [
      { orderNo: 'A1', accountNo: 'M1', type: 'REFUND', minor: 2_000, batchDay: day },
      { orderNo: 'A2', accountNo: 'M1', minor: 1_000, batchDay: day },
      { orderNo: 'B1', accountNo: 'M1', minor: 3_000, batchDay: next },
      { orderNo: 'B2', accountNo: 'M1', minor: 3_000, batchDay: next, channel: 'BANK' },
      { orderNo: 'B3', accountNo: 'M2', minor: 100, batchDay: next },
    ]);
    for (const target of [day, next]) expect(await runDay(database, { target })).toMatchObject({ outcome: 'OK' });
  });
  afterEach(() => given.drop());

  test('shows the sum from orders to what is due, line by line', async () => {
    const { code, stdout } = await settle(['explain', 'account', 'M1'], given);
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        'Account M1 (ACTIVE), batch day 2026-11-29.',
        'Its terms from 2026-01-01 on, version 1: fee plan P; reserve of 1000 basis points of payments for 1 day; payouts T+2.',
        '',
        'USD                                                 orders  amount',
        'PAYMENT over BANK                                        1   30.00',
        'PAYMENT over CARD                                        1   30.00',
        'FEE_PLAN                                                     -0.90',
        'RESERVE_RELEASE of 2026-11-28                                 1.00',
        'RESERVE_HOLD until 2026-11-30                                -6.00',
        'DEBT_RECOVERY of 2026-11-28                                 -11.15',
        '= payable of the day                                         42.95',
        '+ payable before                                              0.00',
        '= payable                                                    42.95',
        'due for payout: below the minimum, carried forward            0.00',
        '',
        'Next: settle ledger entries --account M1 --batch-day 2026-11-29',
        '',
      ].join('\n'),
    );
  });

  test('adds up in the document too, for the day that is asked for', async () => {
    const { code, stdout } = await settle(['explain', 'account', 'M1', '--batch-day', day, '--json'], given);
    const document = JSON.parse(stdout) as {
      currencies: { steps: { amountMinor: string }[]; dayMinor: string }[];
      timeline: { amountMinor: string }[];
    };
    expect(code).toBe(0);
    expect(document).toMatchObject({
      schema: 'settle.explain',
      kind: 'account',
      id: 'M1',
      state: 'ACTIVE',
      batchDay: day,
      terms: { of: 'M1', feePlan: 'P', reserveBasisPoints: '1000', minimumPayout: 'USD 5000' },
      ordersLeft: 0,
      currencies: [{ currency: 'USD', dayMinor: '0', payableMinor: '0', debtMinor: '1115', dueMinor: '0' }],
    });
    const sum = (rows: readonly { amountMinor: string }[]): bigint =>
      rows.reduce((total, { amountMinor }) => total + BigInt(amountMinor), 0n);
    expect([sum(document.currencies[0]?.steps ?? []), sum(document.timeline)]).toEqual([0n, 0n]);
  });

  test('tells an account without terms from one that is not known', async () => {
    const plain = await settle(['explain', 'account', 'M2'], given);
    expect(plain.stdout).toContain('It has no terms: no fees, no reserve, all of its payable due at once.');
    expect(plain.stdout).toMatch(/due for payout on 2026-11-29 +1\.00\n/);
    const unknown = await settle(['explain', 'account', 'M3', '--json'], given);
    expect(unknown.code).toBe(2);
    expect(JSON.parse(unknown.stderr)).toMatchObject({
      error: { code: 'NOT_FOUND', message: 'Account M3 is not registered.' },
    });
  });
});
