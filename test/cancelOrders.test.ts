import { beforeEach, expect, test } from '@jest/globals';
import type { Database } from '../src/db/database.js';
import { cancelOrders } from '../src/orders/cancelOrders.js';
import { reconcileDay } from '../src/reconciliation/reconcile.js';
import { verifyBooks } from '../src/reconciliation/verify.js';
import { emptyBooks } from './support/books.js';
import { onEachDatabase } from './support/databases.js';
import { plant } from './support/plants.js';
import { settleInside as settle } from './support/inside.js';
import { day, everyRow, givenAccounts, givenOrders, payables, runDay } from './support/day.js';

const decision = { by: 'alice', reason: 'captured twice', at: '2026-11-30T09:00:00.000Z' };

onEachDatabase('cancelling orders by hand', (current) => {
  const database = (): Database => current().database;
  const states = async (): Promise<string[]> =>
    (
      await database().read((session) =>
        session.tuples('select order_no, state, version, cancel_code from settlement_order order by order_no'),
      )
    ).map((row) => row.map(String).join(' '));
  const contradictions = async () => (await verifyBooks(database())).filter(({ ok }) => !ok);

  beforeEach(async () => {
    await emptyBooks(database());
    await plant(database(), 'delete from operator_action');
    await givenOrders(database(), [
      { orderNo: 'O1', accountNo: 'A', minor: 100 },
      { orderNo: 'O2', accountNo: 'A', minor: 30 },
      { orderNo: 'O3', accountNo: 'B', minor: 7 },
    ]);
  });

  test('before the run: they are not settled, the others are, and it is recorded once', async () => {
    expect(await cancelOrders(database(), ['O2'], decision)).toEqual({ cancelled: ['O2'], already: [] });
    expect(await cancelOrders(database(), ['O2'], { ...decision, at: '2026-11-30T09:05:00.000Z' })).toEqual({
      cancelled: [],
      already: ['O2'],
    });
    expect(await runDay(database())).toMatchObject({ outcome: 'OK' });
    expect(await payables(database())).toEqual({ 'A USD': '100', 'B USD': '7' });
    expect(await states()).toEqual(['O1 SUCCESS 2 null', 'O2 CANCELED 1 OPERATOR', 'O3 SUCCESS 2 null']);
    const actions = await database().read((session) => session.tuples('select action, subject from operator_action'));
    expect(actions).toEqual([['ORDER_CANCEL', 'orders O2']]);
    expect(await contradictions()).toEqual([]);
  });

  test('of an account set aside on a day that is closed: the day stays proven', async () => {
    await givenAccounts(database(), { A: 'FROZEN' });
    expect(await runDay(database())).toMatchObject({ outcome: 'PARTIAL' });
    await cancelOrders(database(), ['O1', 'O2'], decision);
    expect(await contradictions()).toEqual([]);
    expect(await reconcileDay(database(), day)).toMatchObject({ outcome: 'OK' });
    const rows = await everyRow(database());
    await runDay(database());
    expect((await everyRow(database())).split('\n').filter((row) => /^(net|outbox|ledger)/.test(row))).toEqual(
      rows.split('\n').filter((row) => /^(net|outbox|ledger)/.test(row)),
    );
  });

  test('settle order cancel says what it did, and a second time that it was done', async () => {
    const words = ['order', 'cancel', 'O2', 'O3', '--by', 'alice', '--reason', 'captured twice'];
    const first = await settle([...words, '--json'], { url: current().url });
    expect({ code: first.code, document: JSON.parse(first.stdout) as object }).toMatchObject({
      code: 0,
      document: { schema: 'settle.orderCancel', cancelled: ['O2', 'O3'], already: [] },
    });
    const second = await settle(words, { url: current().url });
    expect({ code: second.code, stdout: second.stdout }).toEqual({ code: 0, stdout: 'Cancelled before: O2, O3.\n' });
    const unknown = await settle(['order', 'cancel', 'NONE', '--by', 'a', '--reason', 'b'], { url: current().url });
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('No such order: "NONE". Nothing was cancelled.');
  });

  test('all or none: one that is settled is not cancelled, and what to do instead is said', async () => {
    await givenAccounts(database(), { A: 'FROZEN' });
    await runDay(database());
    const before = await everyRow(database());
    await expect(cancelOrders(database(), ['O1', 'O3'], decision)).rejects.toMatchObject({
      code: 'ORDER_NOT_INIT',
      exitCode: 5,
      message: 'Only an INIT order can be cancelled: "O3" is SUCCESS. Nothing was cancelled.',
    });
    await expect(cancelOrders(database(), ['O1', 'NONE'], decision)).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'No such order: "NONE". Nothing was cancelled.',
    });
    await expect(cancelOrders(database(), ['O1'], { ...decision, by: ' ' })).rejects.toMatchObject({ code: 'USAGE' });
    expect(await everyRow(database())).toBe(before);
  });
});
