import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { reconcileDay } from '../../src/reconciliation/reconcile.js';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { day, givenOrders, runDay } from '../support/day.js';
import { check, lost, paid, paidUnheard, plan, refused, ScriptedChannel, submit } from '../support/payouts.js';
import { plant } from '../support/plants.js';

// Books with payouts in every state that `settle verify` agrees with, and one change at a time that it must name.

describe.each(databaseKinds)('verify of payouts [%s]', (kind) => {
  let place: TestDatabase;
  beforeEach(async () => {
    place = await createTestDatabase(kind);
    const { database } = place;
    await givenOrders(
      database,
      ['A1', 'A2', 'A3', 'A4', 'A5'].map((accountNo, at) => ({
        orderNo: `O${String(at)}`,
        accountNo,
        minor: 100 + at,
      })),
    );
    await runDay(database);
    await plan(database);
    const bank = new ScriptedChannel();
    bank.submits = [paid, refused, paidUnheard, lost, lost];
    bank.queries = [
      lost,
      (payout, book) => (book.find(payout.idempotencyKey) ? paid(payout, book) : lost(payout, book)),
    ];
    bank.rules = { ...bank.rules, checks: 1, checkAfterMs: [0], concurrency: 1 };
    await submit(database, bank);
    await check(database, bank);
  });
  afterEach(() => place.drop());

  const contradictions = async (batchDay?: string): Promise<string[]> =>
    (await verifyBooks(place.database, { batchDay })).flatMap(({ name, contradictions: found }) =>
      found.map(({ key, problem }) => `${name} ${key}: ${problem}`),
    );

  test('agrees with payouts in every state, of a day and of all days; so does reconciliation', async () => {
    const states = await place.database.read((session) => session.tuples('select state from payout order by state'));
    expect(new Set(states.flat()).size).toBeGreaterThanOrEqual(3);
    expect(await contradictions()).toEqual([]);
    expect(await contradictions(day)).toEqual([]);
    expect((await reconcileDay(place.database, day)).outcome).toBe('OK');
  });

  test('agrees after the next day was settled and paid too', async () => {
    const next = '2026-11-30';
    await givenOrders(place.database, [{ orderNo: 'N1', accountNo: 'A1', minor: 9, batchDay: next }]);
    expect((await runDay(place.database, { target: next })).outcome).toBe('OK');
    await plan(place.database);
    await submit(place.database, new ScriptedChannel(), { dueUpTo: next });
    expect(await contradictions()).toEqual([]);
  });

  const paidOne = `(select x.id from (select min(id) as id from payout where state = 'SUCCESS') x)`;
  const failedOne = `(select x.id from (select min(id) as id from payout where state = 'FAILED') x)`;
  const manualOne = `(select x.id from (select min(id) as id from payout where state = 'MANUAL') x)`;

  test.each([
    ['another amount', `update payout set amount_minor = amount_minor + 1 where id = ${paidOne}`, 'payout'],
    ['another account', `update payout set account_no = 'A9' where id = ${paidOne}`, 'payout'],
    ['another channel', `update payout set channel = 'other' where id = ${paidOne}`, 'payout'],
    [
      'a key of another day',
      `update payout set idempotency_key = '20261128-0123456789abcdef0123456789' where id = ${paidOne}`,
      'payout',
    ],
    [
      'a day of the books that is not that of the entry',
      `update payout set submitted_on = '2027-01-01' where id = ${paidOne}`,
      'payout',
    ],
    [
      'a failed one that is paid',
      `update payout set state = 'SUCCESS', returned_on = null where id = ${failedOne}`,
      'payout',
    ],
    [
      'a paid one that is on its way',
      `update payout set state = 'UNKNOWN', next_ms = 1, finished_at = null where id = ${paidOne}`,
      'payout-transit',
    ],
    ['a version that nobody made', `update payout set version = version + 1 where id = ${paidOne}`, 'payout'],
    ['a move that is gone', `delete from payout_move where event = 'submit' and payout_id = ${paidOne}`, 'payout'],
    [
      'a move that no payout may make',
      `update payout_move set from_state = 'INIT', to_state = 'SUCCESS' where event = 'confirm' and payout_id = ${paidOne}`,
      'payout',
    ],
    ['an alert that is gone', `delete from outbox where topic = 'ALERT' and biz_no like 'A%'`, 'payout'],
    ['an entry that is gone', `delete from journal_entry where biz_no like 'P%.PAID'`, 'payout'],
    [
      'an entry of a payout that nobody knows',
      `update journal_entry set biz_no = 'P999.PAID' where biz_no like 'P%.RETURNED'`,
      'payout',
    ],
    [
      'a leg one unit larger',
      `update ledger_entry set amount_minor = amount_minor + 1 where ledger_account = 'PAYOUT_IN_TRANSIT' and side = 'CREDIT'`,
      'payout',
    ],
    ['a payout that is gone', `delete from payout where id = ${manualOne}`, 'payout-transit'],
  ])('names %s', async (_what, statement, name) => {
    await plant(place.database, statement);
    expect((await contradictions()).filter((line) => line.startsWith(`${name} `))).not.toEqual([]);
  });
});
