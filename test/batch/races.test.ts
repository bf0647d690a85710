import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { DatabaseEffects } from '../../src/batch/databaseEffects.js';
import { Database } from '../../src/db/database.js';
import { repeatable } from '../../src/db/transaction.js';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { releaseAccount } from '../../src/settlement/releaseAccount.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { day, givenAccounts, givenOrders, payables, runDay } from '../support/day.js';

type Step = 'leftover' | 'reconcile' | 'close';

describe.each(databaseKinds)('what others do while a run works [%s]', (kind) => {
  let current: TestDatabase;
  beforeEach(async () => {
    current = await createTestDatabase(kind);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await current.drop();
  });
  const change = (sql: string) => current.database.transact(repeatable('test', (trx) => trx.change(sql)));
  const column = async (sql: string): Promise<string[]> =>
    (await current.database.read((session) => session.tuples(sql))).map((row) => row.map(String).join(' '));

  const cancel = (orderNo: string): string =>
    `update settlement_order set state = 'CANCELED', cancel_code = 'TEST', version = version + 1,
            finished_at = '2026-11-30 01:00:00.000' where order_no = '${orderNo}'`;

  /** Something that another connection does right after a step of the next run has ended, once. */
  function after(step: Step, deed: () => Promise<unknown>): void {
    const original = DatabaseEffects.prototype[step] as (...given: unknown[]) => Promise<unknown>;
    const spy = jest.spyOn(DatabaseEffects.prototype, step as 'leftover');
    spy.mockImplementation(async function (this: DatabaseEffects, ...given: unknown[]) {
      const result = await original.apply(this, given);
      spy.mockRestore();
      await deed();
      return result as never;
    });
  }
  const release = (accountNo: string) =>
    releaseAccount(current.database, accountNo, undefined, {
      by: 'Ann',
      reason: 'checked',
      at: '2026-11-30T02:00:00.000Z',
    });

  test.each([
    [`account_no = 'B'`, { 'B USD': '107', 'A USD': '50' }],
    [`amount_minor = 900`, { 'A USD': '950', 'B USD': '7' }],
    [`currency = 'JPY'`, { 'A JPY': '100', 'A USD': '50', 'B USD': '7' }],
    [`type = 'REFUND'`, { 'A USD': '-50', 'B USD': '7' }],
    [`channel = 'BANK'`, { 'A USD': '150', 'B USD': '7' }],
    [`batch_day = '2026-11-28'`, { 'A USD': '50', 'B USD': '7' }],
  ])(
    'an order edited after its page was read (%s) is settled as it is now, or under its new day',
    async (edit, owed) => {
      await givenOrders(current.database, [
        { orderNo: 'O1', accountNo: 'A', minor: 100 },
        { orderNo: 'O2', accountNo: 'A', minor: 50 },
        { orderNo: 'O3', accountNo: 'B', minor: 7 },
      ]);
      const settleAsUsual = DatabaseEffects.prototype.settle;
      const spy = jest.spyOn(DatabaseEffects.prototype, 'settle');
      spy.mockImplementation(async function (this: DatabaseEffects, run, plan, signal) {
        spy.mockRestore();
        await change(`update settlement_order set ${edit} where order_no = 'O1'`);
        await settleAsUsual.call(this, run, plan, signal);
      });
      const document = await runDay(current.database);
      expect(document).toMatchObject({ outcome: 'OK', closed: true });
      expect(document.totals.posted).toEqual(document.totals.source);
      expect(await payables(current.database)).toEqual(Object.fromEntries(Object.entries(owed).sort()));
      const receivable = await column(
        `select distinct sub_account from ledger_entry where ledger_account = 'CHANNEL_RECEIVABLE' order by sub_account`,
      );
      expect(receivable).toEqual(edit.startsWith('channel') ? ['BANK', 'CARD'] : ['CARD']);
      const checks = await verifyBooks(current.database, { batchDay: day });
      expect(checks.flatMap(({ contradictions }) => contradictions)).toEqual([]);
    },
  );

  test('an order that becomes visible below the top id while the day is being closed is settled by the next run', async () => {
    await givenOrders(current.database, [
      { orderNo: 'O1', accountNo: 'A', minor: 100 },
      { orderNo: 'GAP', accountNo: 'A', minor: 1 },
      { orderNo: 'O2', accountNo: 'A', minor: 100 },
    ]);
    await change(`update settlement_order set id = 1000 where order_no = 'O2'`);
    await change(`delete from settlement_order where order_no = 'GAP'`);
    after('reconcile', async () => {
      await givenOrders(current.database, [{ orderNo: 'SLOW', accountNo: 'A', minor: 7 }]);
      await change(`update settlement_order set id = 2 where order_no = 'SLOW'`);
    });
    const first = await runDay(current.database);
    const second = await runDay(current.database);
    expect([first.exitCode, second.exitCode, second.alreadyClosed]).toEqual([0, 0, false]);
    expect(await column(`select distinct state from settlement_order`)).toEqual(['SUCCESS']);
    expect(await column('select state, orders_at_close from batch')).toEqual(['CLOSED 3']);
  });

  for (const step of ['leftover', 'reconcile'] as const) {
    test(`an account that is released after the ${step} of a run is settled by the next run`, async () => {
      await givenAccounts(current.database, { A: 'FROZEN' });
      await givenOrders(current.database, [
        { orderNo: 'O1', accountNo: 'A', minor: 100 },
        { orderNo: 'O2', accountNo: 'B', minor: 100 },
      ]);
      await runDay(current.database);
      await givenAccounts(current.database, { A: 'ACTIVE' });
      await givenOrders(current.database, [{ orderNo: 'O3', accountNo: 'B', minor: 100 }]);
      after(step, () => release('A'));
      await runDay(current.database);
      expect((await runDay(current.database)).exitCode).toBe(0);
      expect(await column(`select distinct state from settlement_order`)).toEqual(['SUCCESS']);
    });
  }

  test('a run for another account does not count as the retry of a released one', async () => {
    await givenAccounts(current.database, { A: 'FROZEN' });
    await givenOrders(current.database, [
      { orderNo: 'O1', accountNo: 'A', minor: 100 },
      { orderNo: 'O2', accountNo: 'B', minor: 100 },
    ]);
    await runDay(current.database);
    await givenAccounts(current.database, { A: 'ACTIVE' });
    await release('A');
    await runDay(current.database, { accounts: ['B'] });
    expect((await runDay(current.database)).exitCode).toBe(0);
    expect(await column(`select distinct state from settlement_order`)).toEqual(['SUCCESS']);
  });

  test('an order withdrawn in one run stays explained in the next ones, real and dry', async () => {
    await givenOrders(current.database, [
      { orderNo: 'O1', accountNo: 'A', minor: 100 },
      { orderNo: 'O2', accountNo: 'A', minor: 50 },
    ]);
    const original = DatabaseEffects.prototype.settle;
    const spy = jest.spyOn(DatabaseEffects.prototype, 'settle');
    spy.mockImplementation(async function (this: DatabaseEffects, ...given) {
      spy.mockRestore();
      await change(cancel('O2'));
      return original.apply(this, given);
    });
    const first = await runDay(current.database);
    expect(first).toMatchObject({ exitCode: 0, withdrawn: [{ orderNo: 'O2', state: 'CANCELED' }] });
    await givenOrders(current.database, [{ orderNo: 'O3', accountNo: 'A', minor: 7 }]);
    const dry = await runDay(current.database, { dryRun: true });
    const second = await runDay(current.database);
    expect([dry.outcome, second.outcome]).toEqual(['OK', 'OK']);
    expect(dry.totals).toEqual(second.totals);
  });

  test('a run that died after it closed the day is made good by the next one, which has a document', async () => {
    await givenOrders(current.database, [{ orderNo: 'O1', accountNo: 'A', minor: 100 }]);
    after('close', () => change(`update run set state = 'ABANDONED', finished_at = started_at`));
    await runDay(current.database);
    expect(await column('select state, document from run')).toEqual(['ABANDONED null']);
    const next = await runDay(current.database);
    expect(next).toMatchObject({ exitCode: 0, closed: true });
    expect(next.totals.posted).toEqual([{ currency: 'USD', orders: 1, netMinor: 100n }]);
    expect((await runDay(current.database)).alreadyClosed).toBe(true);
  });

  test('a day that is closed but whose last run found a contradiction is not called settled', async () => {
    await givenOrders(current.database, [{ orderNo: 'O1', accountNo: 'A', minor: 100 }]);
    await runDay(current.database);
    await change(`update net set amount_minor = 99`);
    const request = {
      kind: 'RERUN' as const,
      fromId: 0n,
      untilId: null,
      accounts: null,
      shard: null,
      reason: 'looking',
    };
    const found = await runDay(current.database, { request });
    const again = await runDay(current.database);
    expect([found.exitCode, again.exitCode]).toEqual([4, 4]);
  });

  test('an order of a set-aside account that is cancelled while the run posts contradicts nothing', async () => {
    await givenAccounts(current.database, { A: 'FROZEN' });
    await givenOrders(current.database, [
      { orderNo: 'O1', accountNo: 'A', minor: 100 },
      { orderNo: 'O2', accountNo: 'B', minor: 100 },
    ]);
    after('leftover', () => change(cancel('O1')));
    const document = await runDay(current.database);
    expect(document).toMatchObject({ exitCode: 3, closed: true });
    expect(document.totals.source).toEqual([{ currency: 'USD', orders: 1, netMinor: 100n }]);
    expect(document.totals.read).toEqual(document.totals.source);
    expect((await verifyBooks(current.database, { batchDay: day })).filter((check) => !check.ok)).toEqual([]);
  });

  test('a run that wakes up before it has opened its day, after another has settled it, says that it lost the lease', async () => {
    await givenOrders(current.database, [{ orderNo: 'O1', accountNo: 'A', minor: 100 }]);
    const original = DatabaseEffects.prototype.open;
    const spy = jest.spyOn(DatabaseEffects.prototype, 'open').mockImplementation(async function (
      this: DatabaseEffects,
      ...given
    ) {
      spy.mockRestore();
      // The day's input is read; while this process sleeps, another takes the lease over and settles the day.
      const read = jest.spyOn(current.database, 'snapshot');
      const snapshot = Database.prototype.snapshot;
      read.mockImplementationOnce(async function (this: Database, work) {
        const result = await snapshot.call(this, work);
        read.mockRestore();
        await change('update lease set owner = null');
        await runDay(current.database);
        return result;
      });
      return original.apply(this, given);
    });
    await expect(runDay(current.database)).rejects.toMatchObject({ code: 'LEASE_LOST', exitCode: 11 });
    expect(await column('select state from run')).toEqual(['OK']);
  });
});
