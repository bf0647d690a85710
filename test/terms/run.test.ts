import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Database } from '../../src/db/database.js';
import { trialBalance } from '../../src/ledger/views.js';
import { reconcileDay } from '../../src/reconciliation/reconcile.js';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { releaseAccount } from '../../src/settlement/releaseAccount.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { everyRow, givenOrders, runDay, smallSettings, type TestOrder } from '../support/day.js';
import { header, importFeePlans, importOrders, importTerms, orderLine } from '../support/importing.js';

const planHeader =
  'fee_plan,valid_from,type,basis_points,channel,currency,from_amount,fixed,minimum,maximum,tiers,cap_at_order';
const termsHeader =
  'account_no,valid_from,fee_plan,reserve_basis_points,reserve_days,minimum_payout,payout_hold,payout_delay_days';

async function givenPlans(database: Database, ...lines: string[]): Promise<void> {
  const outcome = await importFeePlans(database, [planHeader, ...lines].join('\n'));
  expect(outcome).toMatchObject({ refused: null, rejectedCount: 0 });
}

async function givenTerms(database: Database, ...lines: string[]): Promise<void> {
  expect(await importTerms(database, [termsHeader, ...lines].join('\n'))).toMatchObject({
    refused: null,
    rejected: [],
  });
}

/** Settles a day with these orders; each is "ACCOUNT type amount". */
async function settleDay(database: Database, day: string, ...orders: string[]): Promise<void> {
  await givenOrders(
    database,
    orders.map((text, at): TestOrder => {
      const [accountNo = '', type = '', minor = '', channel = 'CARD'] = text.split(' ');
      return { orderNo: `${day}-${String(at)}-${text}`, accountNo, type, minor: BigInt(minor), batchDay: day, channel };
    }),
  );
  expect(await runDay(database, { target: day })).toMatchObject({ outcome: 'OK', closed: true });
  await expectSound(database, day);
}

/** Every proof that there is of a day and of all books; and a further run changes nothing. */
async function expectSound(database: Database, day: string): Promise<void> {
  expect((await verifyBooks(database)).filter(({ ok }) => !ok)).toEqual([]);
  expect((await reconcileDay(database, day)).checks.filter(({ ok }) => !ok)).toEqual([]);
  expect((await database.read((session) => trialBalance(session))).balanced).toBe(true);
  const rows = await everyRow(database);
  await runDay(database, { target: day });
  expect(await everyRow(database)).toBe(rows);
}

/** "CODE/ACCOUNT" and what its entries come to, on its natural side and without what is zero. */
async function balances(database: Database): Promise<Record<string, string>> {
  const rows = await database.read((session) =>
    session.tuples(
      `select e.ledger_account, e.sub_account,
              sum(case when (a.kind in ('ASSET', 'EXPENSE')) = (e.side = 'DEBIT') then e.amount_minor else -e.amount_minor end)
         from ledger_entry e join ledger_account a on a.code = e.ledger_account
        group by e.ledger_account, e.sub_account`,
    ),
  );
  return Object.fromEntries(
    rows
      .map((row) => row.map(String) as [string, string, string])
      .filter(([, , sum]) => sum !== '0')
      .map(([code, subAccount, sum]) => [subAccount === '' ? code : `${code}/${subAccount}`, sum]),
  );
}

describe.each(databaseKinds)('a run under terms [%s]', (kind) => {
  let given: TestDatabase;
  beforeEach(async () => {
    given = await createTestDatabase(kind);
  });
  afterEach(() => given.drop());
  const database = () => given.database;

  test('takes each order’s fee from what its account is owed, and the income is the exact total', async () => {
    // 1.5 % of 1.00 is 1.5 cents, rounded to 2; of three orders the exact total is 4.5, rounded to 4.
    await givenPlans(database(), 'P,2026-01-01,PAYMENT,150,,,,,,,,', 'P,2026-01-01,REFUND,0,,USD,,0.10,,,,YES');
    await givenTerms(database(), 'M1,2026-01-01,P,,,,,');
    await settleDay(database(), '2026-11-28', 'M1 PAYMENT 100', 'M1 PAYMENT 100', 'M1 PAYMENT 100', 'M1 REFUND 40');
    expect(await balances(database())).toEqual({
      'CHANNEL_RECEIVABLE/CARD': '260',
      'MERCHANT_PAYABLE/M1': '244',
      FEE_INCOME: '14',
      ROUNDING: '-2',
    });
  });

  test('leaves accounts without terms alone, and the day of later terms too', async () => {
    await givenPlans(database(), 'P,2026-01-01,PAYMENT,1000,,,,,,,,');
    await givenTerms(database(), 'M1,2026-11-29,P,,,,,');
    await settleDay(database(), '2026-11-28', 'M1 PAYMENT 1000', 'M2 PAYMENT 1000');
    await settleDay(database(), '2026-11-29', 'M1 PAYMENT 1000', 'M2 PAYMENT 1000', 'M2 REFUND 3000');
    expect(await balances(database())).toMatchObject({
      'MERCHANT_PAYABLE/M1': '1900',
      'MERCHANT_PAYABLE/M2': '-1000',
      FEE_INCOME: '100',
    });
  });

  test('holds a reserve of the day’s payments and gives it back on its day, once', async () => {
    await givenTerms(database(), '*,2026-01-01,,1250,2,,,');
    await settleDay(database(), '2026-11-26', 'M1 PAYMENT 700', 'M1 PAYMENT 300', 'M1 REFUND 100');
    expect(await balances(database())).toMatchObject({ 'MERCHANT_PAYABLE/M1': '775', 'RESERVE/M1': '125' });
    await settleDay(database(), '2026-11-27', 'M1 PAYMENT 12', 'M2 PAYMENT 8');
    expect(await balances(database())).toMatchObject({ 'RESERVE/M1': '127', 'RESERVE/M2': '1' });
    // Nothing of M1 on this day, and still it is released.
    await settleDay(database(), '2026-11-28', 'M3 PAYMENT 80');
    expect(await balances(database())).toMatchObject({ 'MERCHANT_PAYABLE/M1': '910', 'RESERVE/M1': '2' });
    await settleDay(database(), '2026-11-30', 'M9 PAYMENT 1');
    expect(await balances(database())).toEqual({
      'CHANNEL_RECEIVABLE/CARD': '1001',
      'MERCHANT_PAYABLE/M1': '912',
      'MERCHANT_PAYABLE/M2': '8',
      'MERCHANT_PAYABLE/M3': '80',
      'MERCHANT_PAYABLE/M9': '1',
    });
  });

  test('carries a negative position as debt, which later ones pay back, the oldest first', async () => {
    await givenTerms(database(), 'M1,2026-01-01,,,,,,');
    await settleDay(database(), '2026-11-25', 'M1 REFUND 100');
    await settleDay(database(), '2026-11-26', 'M1 REFUND 50');
    expect(await balances(database())).toEqual({ 'CHANNEL_RECEIVABLE/CARD': '-150', 'MERCHANT_DEBT/M1': '150' });
    await settleDay(database(), '2026-11-27', 'M1 PAYMENT 120');
    const open = await database().read((session) =>
      session.tuples(`select origin_day, open_minor from terms_effect where reason = 'DEBT' order by origin_day`),
    );
    expect(open.map((row) => row.map(String))).toEqual([
      ['2026-11-25', '0'],
      ['2026-11-26', '30'],
    ]);
    await settleDay(database(), '2026-11-28', 'M1 PAYMENT 120');
    expect(await balances(database())).toEqual({ 'CHANNEL_RECEIVABLE/CARD': '90', 'MERCHANT_PAYABLE/M1': '90' });
    // The day ends once more, for an order of somebody else: what M1 has paid back is not taken for a debt.
    await settleDay(database(), '2026-11-28', 'M2 PAYMENT 5');
    expect(await balances(database())).toMatchObject({ 'MERCHANT_PAYABLE/M1': '90', 'MERCHANT_PAYABLE/M2': '5' });
  });

  test('books the difference that late orders make to the end of their day', async () => {
    await givenPlans(database(), 'P,2026-01-01,PAYMENT,150,,,,,,,,');
    await givenTerms(database(), 'M1,2026-01-01,P,1000,30,,,');
    await settleDay(database(), '2026-11-28', 'M1 PAYMENT 100', 'M1 REFUND 200');
    expect(await balances(database())).toMatchObject({ 'MERCHANT_DEBT/M1': '112', 'RESERVE/M1': '10' });
    await settleDay(database(), '2026-11-28', 'M1 PAYMENT 300');
    expect(await balances(database())).toEqual({
      'CHANNEL_RECEIVABLE/CARD': '200',
      'MERCHANT_PAYABLE/M1': '154',
      'RESERVE/M1': '40',
      FEE_INCOME: '6',
    });
  });

  test('of late orders is foretold by a dry run, which knows what of the day is settled already', async () => {
    await givenPlans(database(), 'P,2026-01-01,PAYMENT,137,,,,,,,,');
    await givenTerms(database(), 'M1,2026-01-01,P,1000,30,,,', 'M2,2026-01-01,,,,,,');
    await settleDay(database(), '2026-11-29', 'M1 PAYMENT 1015', 'M2 PAYMENT 300');
    const late = (orderNo: string, accountNo: string, type: string, minor: number): TestOrder => ({
      ...{ orderNo, accountNo, type, minor },
    });
    await givenOrders(database(), [late('L1', 'M1', 'PAYMENT', 515), late('L2', 'M2', 'REFUND', 800)]);
    const dry = await runDay(database(), { dryRun: true });
    expect(dry.terms).toMatchObject([
      { reason: 'DEBT', currency: 'USD', effects: 1, amountMinor: 500n },
      { reason: 'RESERVE_HOLD', currency: 'USD', effects: 1, amountMinor: 51n },
    ]);
    expect((await runDay(database())).terms).toEqual(dry.terms);
    await expectSound(database(), '2026-11-29');
  });

  test('charges nothing for a reversal, and gives back neither fee nor reserve of what it reverses', async () => {
    await givenPlans(database(), 'P,2026-01-01,PAYMENT,1000,,,,,,,,');
    await givenTerms(database(), 'M1,2026-01-01,P,1000,30,,,');
    await settleDay(database(), '2026-11-28', 'M1 PAYMENT 1000', 'M1 PAYMENT 500');
    const reversal = {
      order_no: 'R1',
      account_no: 'M1',
      batch_day: '2026-11-29',
      amount: '10.00',
      reversal_of: '2026-11-28-0-M1 PAYMENT 1000',
    };
    const outcome = await importOrders(database(), `${header},reversal_of\n${orderLine(reversal)}\n`);
    expect(outcome).toMatchObject({ accepted: 1, rejected: [] });
    await settleDay(database(), '2026-11-29', 'M1 PAYMENT 100');
    expect(await balances(database())).toEqual({
      'CHANNEL_RECEIVABLE/CARD': '600',
      'MERCHANT_DEBT/M1': '920',
      'MERCHANT_PAYABLE/M1': '1200',
      'RESERVE/M1': '160',
      FEE_INCOME: '160',
    });
  });

  test('sets an account aside whose plan does not tell what an order costs, and settles it once it does', async () => {
    const plan = 'P,2026-01-01,PAYMENT,1000,CARD,,,,,,,';
    await givenPlans(database(), plan);
    await givenTerms(database(), '*,2026-01-01,P,,,,,');
    const day = '2026-11-29';
    await givenOrders(database(), [
      ...Array.from({ length: 30 }, (_, at) => ({ orderNo: `O${String(at)}`, accountNo: 'M1', minor: 100 })),
      { orderNo: 'X', accountNo: 'M2', minor: 100 },
      { orderNo: 'Y', accountNo: 'M2', minor: 100, channel: 'BANK' },
    ]);
    expect(await runDay(database())).toMatchObject({ outcome: 'PARTIAL', closed: true, accounts: { quarantined: 1 } });
    const aside = await database().read((session) => session.tuples('select account_no, code, detail from quarantine'));
    expect(aside).toEqual([['M2', 'TERMS_NOT_APPLICABLE', 'Its fee plan has no rule for a PAYMENT over BANK in USD.']]);
    expect((await verifyBooks(database())).filter(({ ok }) => !ok)).toEqual([]);
    await givenPlans(database(), plan, 'P,2026-01-01,PAYMENT,2000,BANK,,,,,,,');
    const decision = { by: 'alice', reason: 'rule added', at: '2026-11-30T02:00:00.000Z' };
    await releaseAccount(database(), 'M2', day, decision);
    expect(await runDay(database())).toMatchObject({ outcome: 'OK' });
    await expectSound(database(), day);
    expect(await balances(database())).toMatchObject({ 'MERCHANT_PAYABLE/M1': '2700', 'MERCHANT_PAYABLE/M2': '170' });
  });

  test('comes to the same books in pages and chunks of any size, and in a dry run writes nothing', async () => {
    const lines: string[] = [];
    for (let at = 0; at < 90; at += 1) {
      const type = at % 5 === 4 ? 'REFUND' : 'PAYMENT';
      lines.push(`${at % 3 === 0 ? 'BIG' : `M${String(at % 7)}`} ${type} ${String(((at * 7919) % 997) + 1)}`);
    }
    const dumps: string[] = [];
    for (const settings of [
      smallSettings,
      { ...smallSettings, pageSize: 7, chunkSize: 3, lanes: 2 },
      { ...smallSettings, chunkSize: 1_000, pageSize: 1_000 },
    ]) {
      const own = await createTestDatabase(kind);
      try {
        await givenPlans(own.database, 'P,2026-01-01,PAYMENT,137.77,,,,,,,,', 'P,2026-01-01,REFUND,33.3,,,,,,,,');
        await givenTerms(own.database, '*,2026-01-01,P,777,1,,,', 'M3,2026-01-01,,,,,,');
        const orders = lines.map((text, at): TestOrder => {
          const [accountNo = '', type = '', minor = ''] = text.split(' ');
          return { orderNo: `O${String(at)}`, accountNo, type, minor: BigInt(minor) };
        });
        await givenOrders(own.database, orders);
        const before = await everyRow(own.database);
        const dry = await runDay(own.database, { settings, dryRun: true });
        expect(dry).toMatchObject({ outcome: 'OK' });
        expect(await everyRow(own.database)).toBe(before);
        expect(await runDay(own.database, { settings })).toMatchObject({
          outcome: 'OK',
          closed: true,
          terms: dry.terms,
        });
        expect(dry.terms.map(({ reason }) => reason)).toEqual(['FEE_ROUNDING', 'RESERVE_HOLD']);
        await expectSound(own.database, '2026-11-29');
        dumps.push(JSON.stringify(await balances(own.database)));
      } finally {
        await own.drop();
      }
    }
    expect(new Set(dumps).size).toBe(1);
  });
});
