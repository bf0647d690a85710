import { beforeEach, afterEach, describe, expect, test } from '@jest/globals';
import { repeatable } from '../../src/db/transaction.js';
import { Cancellation } from '../../src/kernel/cancellation.js';
import { releaseAccount } from '../../src/settlement/releaseAccount.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import {
  day,
  everyRow,
  givenAccounts,
  givenOrders,
  givenVariedDay,
  moneyDump,
  payables,
  quiet,
  runDay,
  smallSettings,
  variedDay,
} from '../support/day.js';

describe.each(databaseKinds)('settling a day [%s]', (kind) => {
  let current: TestDatabase;
  beforeEach(async () => {
    current = await createTestDatabase(kind);
  });
  afterEach(async () => {
    await current.drop();
  });
  const change = (sql: string) => current.database.transact(repeatable('test', (trx) => trx.change(sql)));
  const column = async (sql: string): Promise<string[]> =>
    (await current.database.read((session) => session.tuples(sql))).map((row) => row.map(String).join(' '));

  test('every account is owed the signed sum of its orders, in each currency, and the day is closed', async () => {
    await givenOrders(current.database, [
      { orderNo: 'O1', accountNo: 'A', minor: 10_000 },
      { orderNo: 'O2', accountNo: 'A', type: 'REFUND', minor: 2_500 },
      { orderNo: 'O3', accountNo: 'A', type: 'FEE', minor: 75 },
      { orderNo: 'O4', accountNo: 'A', type: 'ADJUSTMENT', minor: -5 },
      { orderNo: 'O5', accountNo: 'A', minor: 500, currency: 'JPY' },
      { orderNo: 'O6', accountNo: 'B', type: 'REFUND', minor: 280 },
    ]);
    const document = await runDay(current.database);
    expect(document).toMatchObject({ outcome: 'OK', exitCode: 0, closed: true });
    expect(await payables(current.database)).toEqual({ 'A USD': '7420', 'A JPY': '500', 'B USD': '-280' });
    expect(await column('select distinct state from settlement_order')).toEqual(['SUCCESS']);
    expect(await column('select state, orders_at_close from batch')).toEqual(['CLOSED 6']);
    expect(document.accounts).toEqual({ settled: 2, quarantined: 0, carriedForward: 1 });
  });

  test('source, read, claimed, outbox and posted agree, in the document as in the tables', async () => {
    await givenOrders(current.database, variedDay(200));
    const { totals, checks, watermark } = await runDay(current.database);
    for (const stage of ['read', 'claimed', 'outbox', 'posted'] as const) expect(totals[stage]).toEqual(totals.source);
    expect(totals.source.reduce((sum, total) => sum + total.orders, 0)).toBe(207);
    expect(checks.map(({ name, ok }) => `${name} ${String(ok)}`)).toEqual(
      expect.arrayContaining([
        'read-totals true',
        'batch-totals true',
        'orders-left true',
        'sub-ledger true',
        'trial-balance true',
      ]),
    );
    expect(watermark).toEqual({ from: '0', reached: '207', top: '207' });
  });

  test('a day without an order closes as OK', async () => {
    const document = await runDay(current.database);
    expect(document).toMatchObject({ outcome: 'OK', exitCode: 0, closed: true, totals: { source: [], posted: [] } });
    expect(await column('select state, orders_at_close from batch')).toEqual(['CLOSED 0']);
  });

  test('the books are the same whatever the page size, the chunk size and the number of lanes', async () => {
    const dumps: string[][] = [];
    for (const [pageSize, chunkSize, lanes] of [
      [1, 1, 1],
      [7, 3, 2],
      [999, 500, 8],
    ] as const) {
      const other = await createTestDatabase(kind);
      try {
        await givenVariedDay(other.database);
        const settings = { ...smallSettings, lanes, pageSize, chunkSize };
        await runDay(other.database, { settings });
        dumps.push(await moneyDump(other.database));
      } finally {
        await other.drop();
      }
    }
    expect(dumps[1]).toEqual(dumps[0]);
    expect(dumps[2]).toEqual(dumps[0]);
  });

  test('a second run of a closed day writes nothing, says so and shows the former figures', async () => {
    await givenOrders(current.database, variedDay());
    const first = await runDay(current.database);
    const before = await everyRow(current.database);
    const second = await runDay(current.database);
    expect(second).toMatchObject({
      alreadyClosed: true,
      closed: true,
      outcome: 'OK',
      exitCode: 0,
      totals: first.totals,
    });
    expect(await everyRow(current.database)).toBe(before);
  });

  test('a dry run writes no row and announces what the real run then does', async () => {
    await givenVariedDay(current.database);
    const before = await everyRow(current.database);
    const dry = await runDay(current.database, { dryRun: true });
    expect(await everyRow(current.database)).toBe(before);
    const real = await runDay(current.database);
    expect(dry.dryRun).toBe(true);
    for (const part of ['outcome', 'exitCode', 'totals', 'accounts', 'watermark', 'closed'] as const) {
      expect({ [part]: dry[part] }).toEqual({ [part]: real[part] });
    }
  });

  test('orders of frozen, closed and unknown accounts are set aside with their reason; the rest settles', async () => {
    await givenVariedDay(current.database);
    await givenOrders(current.database, [{ orderNo: 'U1', accountNo: 'NOBODY', minor: 5 }], false);
    const document = await runDay(current.database);
    expect(document).toMatchObject({ outcome: 'PARTIAL', exitCode: 3, closed: true, accounts: { quarantined: 3 } });
    expect(await column('select account_no, code, orders, active from quarantine order by account_no')).toEqual([
      'CLOSED ACCOUNT_CLOSED 1 1',
      'FROZEN ACCOUNT_FROZEN 2 1',
      'NOBODY ACCOUNT_UNKNOWN 1 1',
    ]);
    expect(await column(`select order_no from settlement_order where state = 'INIT' order by order_no`)).toEqual([
      'C1',
      'F1',
      'F2',
      'U1',
    ]);
    expect(await payables(current.database)).not.toHaveProperty('FROZEN USD');
  });

  test('a released account is settled by the next run under its own day', async () => {
    await givenVariedDay(current.database);
    await runDay(current.database);
    await givenAccounts(current.database, { FROZEN: 'ACTIVE' });
    await change(
      `update quarantine set active = null, released_at = '2026-11-30 02:00:00.000' where account_no = 'FROZEN'`,
    );
    const document = await runDay(current.database);
    expect(document).toMatchObject({
      closed: true,
      exitCode: 3,
      late: [{ batchDay: day, totals: [{ currency: 'USD', orders: 2, netMinor: 891n }] }],
    });
    expect((await payables(current.database))['FROZEN USD']).toBe('891');
    expect((await runDay(current.database)).alreadyClosed).toBe(true);
  });

  test('a dry run of a closed day with a released account and a late order announces what the real run then does', async () => {
    await givenVariedDay(current.database);
    await runDay(current.database);
    await givenAccounts(current.database, { FROZEN: 'ACTIVE' });
    await change(
      `update quarantine set active = null, released_at = '2026-11-30 02:00:00.000' where account_no = 'FROZEN'`,
    );
    await givenOrders(current.database, [{ orderNo: 'LATE', accountNo: 'A1', minor: 700 }]);
    const dry = await runDay(current.database, { dryRun: true });
    const real = await runDay(current.database);
    for (const part of ['outcome', 'exitCode', 'totals', 'settledNow', 'late', 'closed', 'leftOrders'] as const) {
      expect({ [part]: dry[part] }).toEqual({ [part]: real[part] });
    }
  });

  test('a rerun of a part of a closed day says that the day is closed, and how many orders are left', async () => {
    await givenOrders(current.database, variedDay(30));
    await runDay(current.database);
    await givenOrders(current.database, [{ orderNo: 'LATE', accountNo: 'A1', minor: 5 }]);
    const request = {
      kind: 'RERUN',
      fromId: 60_000n,
      untilId: null,
      accounts: null,
      shard: null,
      reason: 'test',
    } as const;
    expect(await runDay(current.database, { request })).toMatchObject({
      closed: true,
      outcome: 'PARTIAL',
      leftOrders: 1,
      settledNow: [],
    });
    expect(await runDay(current.database)).toMatchObject({ closed: true, outcome: 'OK', leftOrders: 0 });
  });

  test('a run for one account settles its released orders too, which lie below the watermark', async () => {
    await givenVariedDay(current.database);
    await runDay(current.database);
    await givenAccounts(current.database, { FROZEN: 'ACTIVE' });
    await releaseAccount(current.database, 'FROZEN', day, {
      by: 'alice',
      reason: 'test',
      at: '2026-11-30T02:00:00.000Z',
    });
    const dry = await runDay(current.database, { accounts: ['FROZEN'], dryRun: true });
    const document = await runDay(current.database, { accounts: ['FROZEN'] });
    const settledNow = [{ currency: 'USD', orders: 2, netMinor: 891n }];
    expect(document).toMatchObject({ settledNow, leftOrders: 0, closed: true });
    expect(dry).toMatchObject({ settledNow, leftOrders: 0 });
  });

  test('an account whose rows the database refuses stands alone in quarantine', async () => {
    await givenOrders(current.database, variedDay(60));
    await change(
      kind === 'sqlite'
        ? `create trigger refuse before insert on net when new.account_no = 'A4' begin select raise(abort, 'no net for A4'); end`
        : `create trigger refuse before insert on net for each row
             if new.account_no = 'A4' then signal sqlstate '45000' set message_text = 'no net for A4'; end if`,
    );
    const document = await runDay(current.database);
    expect(document).toMatchObject({ outcome: 'PARTIAL', exitCode: 3, closed: true, accounts: { quarantined: 1 } });
    expect(await column('select account_no, code, detail from quarantine')).toEqual([
      'A4 DATABASE_REFUSED no net for A4',
    ]);
    expect(await column(`select distinct account_no from settlement_order where state <> 'SUCCESS'`)).toEqual(['A4']);
  });

  test('orders that come after the day was closed are settled by the next run under their own day, and reported as late', async () => {
    await givenOrders(current.database, variedDay(30));
    await runDay(current.database);
    await givenOrders(current.database, [{ orderNo: 'L1', accountNo: 'A1', minor: 77 }]);
    await givenOrders(current.database, [{ orderNo: 'NEXT', accountNo: 'A1', minor: 1, batchDay: '2026-11-30' }]);
    const next = await runDay(current.database, { target: '2026-11-30' });
    expect(next).toMatchObject({
      batchDay: '2026-11-30',
      outcome: 'OK',
      late: [{ batchDay: day, totals: [{ currency: 'USD', orders: 1, netMinor: 77n }] }],
      catchUp: [{ batchDay: day, outcome: 'OK' }],
    });
    expect(await column('select batch_day, state, orders_at_close from batch order by batch_day')).toEqual([
      '2026-11-29 CLOSED 38',
      '2026-11-30 CLOSED 1',
    ]);
    expect(
      await column(
        `select j.batch_day from journal_entry j join outbox o on o.id = j.id where o.payload like '%"netMinor":"77"%'`,
      ),
    ).toEqual([day]);
  });

  test('an order that becomes visible below the watermark while the run goes on is settled by the same run', async () => {
    await givenOrders(current.database, variedDay(100));
    await change('update settlement_order set id = id + 1000');
    let slipped = false;
    const progress = {
      ...quiet,
      advance: (what: string) => {
        if (what !== 'claimed' || slipped) return;
        slipped = true;
      },
    };
    const running = runDay(current.database, { progress });
    await change(
      `insert into settlement_order (id, order_no, account_no, batch_day, type, amount_minor, currency, channel, occurred_at)
       values (5, 'SLOW', 'A1', '${day}', 'PAYMENT', 31, 'USD', 'CARD', '2026-11-29 10:00:00.000000')`,
    );
    const document = await running;
    expect(document).toMatchObject({ outcome: 'OK', closed: true });
    expect(await column(`select state from settlement_order where order_no = 'SLOW'`)).toEqual(['SUCCESS']);
    expect(document.totals.posted).toEqual(document.totals.source);
  });

  test('days that were missed are settled first and in order', async () => {
    await givenOrders(current.database, [
      { orderNo: 'B', accountNo: 'A', minor: 2, batchDay: '2026-11-27' },
      { orderNo: 'A', accountNo: 'A', minor: 1, batchDay: '2026-11-20' },
      { orderNo: 'C', accountNo: 'A', minor: 4 },
      { orderNo: 'OLD', accountNo: 'A', minor: 8, batchDay: '2026-01-01' },
    ]);
    const document = await runDay(current.database);
    expect(document.catchUp.map(({ batchDay }) => batchDay)).toEqual(['2026-11-20', '2026-11-27']);
    expect(await column('select batch_day, state from batch order by batch_day')).toEqual([
      '2026-11-20 CLOSED',
      '2026-11-27 CLOSED',
      '2026-11-29 CLOSED',
    ]);
  });

  test('a day left open before the look-back is not forgotten', async () => {
    await givenOrders(current.database, [{ orderNo: 'O', accountNo: 'A', minor: 1, batchDay: '2026-01-01' }]);
    await change(
      `insert into batch (batch_day, state, cut_off, top_id, opened_at) values ('2026-01-01', 'SETTLING', '2026-01-02 00:00:00.000', 1, '2026-01-02 00:00:00.000')`,
    );
    await expect(runDay(current.database)).rejects.toMatchObject({ code: 'EARLIER_DAY_OPEN', exitCode: 5 });
  });

  test('a stop takes no new chunk, keeps what is committed, and stores its reason; resume finishes with the same books', async () => {
    const undisturbed = await createTestDatabase(kind);
    await givenVariedDay(undisturbed.database);
    await runDay(undisturbed.database);
    await givenVariedDay(current.database);
    const stop = new AbortController();
    const progress = {
      ...quiet,
      advance: (what: string) => {
        if (what === 'claimed') stop.abort(new Cancellation('SIGTERM', 'test'));
      },
    };
    const stopped = await runDay(current.database, { signal: stop.signal, progress });
    expect(stopped).toMatchObject({
      outcome: 'INTERRUPTED',
      exitCode: 143,
      closed: false,
      cancellation: { code: 'SIGTERM', detail: 'test', stage: 'SETTLING' },
    });
    expect(await column('select state, cancel_code, cancel_stage, exit_code from run')).toEqual([
      'INTERRUPTED SIGTERM SETTLING 143',
    ]);
    expect(await column(`select count(*) from settlement_order where state = 'INIT'`)).not.toEqual(['0']);
    await runDay(current.database, { kind: 'RESUME' });
    expect(await moneyDump(current.database)).toEqual(await moneyDump(undisturbed.database));
    await undisturbed.drop();
  });

  test('orders that somebody cancels between reading and claiming are left alone and listed', async () => {
    await givenOrders(current.database, variedDay(100));
    let cancelled = false;
    const progress = {
      ...quiet,
      advance: (what: string) => {
        if (what === 'read') cancelled = true;
      },
    };
    const waiting = current.database;
    const run = runDay(waiting, {
      progress,
      settings: { ...smallSettings, lanes: 1, elephantLanes: 1, pageSize: 500, chunkSize: 5 },
    });
    while (!cancelled) await new Promise((resolve) => setImmediate(resolve));
    await change(
      `update settlement_order set state = 'CANCELED', cancel_code = 'ORDER_GONE', finished_at = '2026-11-30 00:30:00.000', version = version + 1 where order_no = 'V0099' and state = 'INIT'`,
    );
    const document = await run;
    expect(document.outcome).toBe('OK');
    expect(await column('select order_no, found_state from withdrawn_order')).toEqual(['V0099 CANCELED']);
    expect(document.withdrawn).toEqual([{ orderNo: 'V0099', state: 'CANCELED' }]);
  });

  test('a message that the ledger refuses is parked with its reason; the others flow and the day stays open', async () => {
    await givenOrders(current.database, variedDay(40));
    await change(
      kind === 'sqlite'
        ? `create trigger refuse before insert on ledger_entry when new.sub_account = 'A4' begin select raise(abort, 'no entry for A4'); end`
        : `create trigger refuse before insert on ledger_entry for each row
             if new.sub_account = 'A4' then signal sqlstate '45000' set message_text = 'no entry for A4'; end if`,
    );
    const document = await runDay(current.database);
    expect(document).toMatchObject({ outcome: 'PARTIAL', exitCode: 3, closed: false });
    expect(document.unsentMessages).toBeGreaterThan(0);
    expect(await column(`select distinct account_no, attempts, last_error from outbox where state = 'PARKED'`)).toEqual(
      ['A4 2 no entry for A4'],
    );
    expect(await column(`select distinct account_no from settlement_order where state = 'PROCESSING'`)).toEqual(['A4']);
    await change('drop trigger refuse');
    const dry = await runDay(current.database, { dryRun: true });
    const real = await runDay(current.database);
    expect(dry).toMatchObject({ outcome: 'PARTIAL', closed: false, unsentMessages: real.unsentMessages });
    expect(dry.totals).toEqual(real.totals);
    await change(`update outbox set state = 'NEW', attempts = 0 where state = 'PARKED'`);
    expect(await runDay(current.database)).toMatchObject({ outcome: 'OK', closed: true });
  });

  test('a rerun from a watermark settles what is left there, on a half-done and on a closed day', async () => {
    await givenOrders(current.database, variedDay(90));
    const request = { kind: 'RERUN', fromId: 20n, untilId: 60n, accounts: null, shard: null, reason: 'test' } as const;
    const part = await runDay(current.database, { request });
    expect(part).toMatchObject({ outcome: 'PARTIAL', closed: false, kind: 'RERUN', reason: 'test' });
    expect(await column(`select min(id), max(id), count(*) from settlement_order where state = 'SUCCESS'`)).toEqual([
      '21 60 40',
    ]);
    const whole = await runDay(current.database, { request: { ...request, fromId: 0n, untilId: null } });
    expect(whole).toMatchObject({ outcome: 'OK', closed: true });
    const before = await moneyDump(current.database);
    const again = await runDay(current.database, { request: { ...request, fromId: 0n, untilId: null } });
    expect(again).toMatchObject({ outcome: 'OK', closed: true, totals: whole.totals });
    expect(await moneyDump(current.database)).toEqual(before);
  });

  test('amounts whose sum is beyond 64 bits are booked to the last unit', async () => {
    const most = 2n ** 63n - 1n;
    await givenOrders(current.database, [
      { orderNo: 'H1', accountNo: 'RICH', minor: most },
      { orderNo: 'H2', accountNo: 'RICH', minor: most },
      { orderNo: 'H3', accountNo: 'RICH', type: 'ADJUSTMENT', minor: -most },
      { orderNo: 'H4', accountNo: 'RICH', minor: 9_007_199_254_740_993n },
      { orderNo: 'H5', accountNo: 'RICH', minor: most },
    ]);
    const document = await runDay(current.database);
    expect(document).toMatchObject({ outcome: 'OK', closed: true });
    expect((await payables(current.database))['RICH USD']).toBe((2n * most + 9_007_199_254_740_993n).toString());
  });
});

test('both databases come to the same books', async () => {
  const dumps: string[][] = [];
  for (const kind of databaseKinds) {
    const current = await createTestDatabase(kind);
    await givenVariedDay(current.database, 300);
    await runDay(current.database);
    dumps.push(await moneyDump(current.database));
    await current.drop();
  }
  expect(dumps[0]).toEqual(dumps[1]);
});
