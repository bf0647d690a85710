import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { DatabaseEffects } from '../../src/batch/databaseEffects.js';
import type { RunDocument } from '../../src/batch/document.js';
import { repeatable } from '../../src/db/transaction.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { day, givenOrders, moneyDump, runDay, smallSettings, type TestOrder } from '../support/day.js';
import { settleInside } from '../support/inside.js';
import { settle } from '../support/program.js';

const settings = { ...smallSettings, lanes: 4, elephantLanes: 1, chunkSize: 4 };
const impatient = { ...settings, shardMs: 3_000 };

const orders: TestOrder[] = ['SLOW', 'B', 'C', 'D', 'E', 'F'].flatMap((accountNo) => [
  { orderNo: `${accountNo}1`, accountNo, minor: 100 },
  { orderNo: `${accountNo}2`, accountNo, minor: 7 },
]);

describe.each(databaseKinds)('a shard that takes longer than its time [%s]', (kind) => {
  let current: TestDatabase;
  let undisturbed: string[];
  beforeEach(async () => {
    const other = await createTestDatabase(kind);
    await givenOrders(other.database, orders);
    await runDay(other.database, { settings });
    undisturbed = await moneyDump(other.database);
    await other.drop();
    current = await createTestDatabase(kind);
    await givenOrders(current.database, orders);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await current.drop();
  });
  const column = async (sql: string): Promise<string[]> =>
    (await current.database.read((session) => session.tuples(sql))).map((row) => row.map(String).join(' '));

  /** Makes the chunks of an account wait until their time is over; then they go on as always. */
  function delay(accountNo: string): void {
    const usual = DatabaseEffects.prototype.settle;
    jest.spyOn(DatabaseEffects.prototype, 'settle').mockImplementation(async function (
      this: DatabaseEffects,
      run,
      plan,
      signal,
    ) {
      if (plan.nets.some((net) => net.accountNo === accountNo)) {
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve, { once: true });
        });
      }
      await usual.call(this, run, plan, signal);
    });
  }

  async function expectFinishedByTheNextRun(): Promise<void> {
    jest.restoreAllMocks();
    expect(await runDay(current.database, { settings })).toMatchObject({ outcome: 'OK', closed: true });
    expect(await moneyDump(current.database)).toEqual(undisturbed);
  }

  test('is recorded with its reason and left to the next run; the others go on', async () => {
    delay('SLOW');
    const said: string[] = [];
    const document = await runDay(current.database, { settings: impatient, say: (text) => said.push(text) });
    expect(document).toMatchObject({ outcome: 'PARTIAL', exitCode: 3, closed: false, cancellation: null });
    expect(document.cancelledShards).toEqual([
      expect.objectContaining({
        stage: 'SETTLING',
        code: 'SHARD_TIMEOUT',
        detail: 'Not done within 3 s.',
        mayRetry: true,
      }),
    ]);
    const orderCount = document.cancelledShards[0]?.orders ?? 0;
    expect(document.leftOrders).toBe(orderCount);
    expect(await column(`select distinct account_no from settlement_order where state = 'INIT'`)).toContain('SLOW');
    expect(await column(`select count(*) from settlement_order where state = 'SUCCESS'`)).toEqual([
      String(12 - orderCount),
    ]);
    expect(await column('select stage, cancel_code, cancel_detail, orders from cancelled_shard')).toEqual([
      `SETTLING SHARD_TIMEOUT Not done within 3 s. ${String(orderCount)}`,
    ]);
    expect(said.filter((text) => text.startsWith('SHARD_TIMEOUT: account '))).toHaveLength(1);
    await expectFinishedByTheNextRun();
    expect(await column('select state, cancel_code from run order by id')).toEqual(['PARTIAL null', 'OK null']);
  });

  test('is not tried again by later passes and pages of the same run', async () => {
    delay('SLOW');
    const small = { ...impatient, pageSize: 3, chunkSize: 2, pagesAhead: 0, lanes: 1 };
    const document = await runDay(current.database, { settings: small });
    expect(document.cancelledShards.filter(({ firstAccountNo }) => firstAccountNo === 'SLOW')).toHaveLength(1);
    await expectFinishedByTheNextRun();
  });

  test('the watermark does not pass it', async () => {
    delay('SLOW');
    const document = await runDay(current.database, { settings: { ...impatient, pageSize: 4 } });
    expect(document.watermark.reached).toBe('0');
    await expectFinishedByTheNextRun();
  });
});

describe('on a server, where another system holds the lock of an order', () => {
  let current: TestDatabase;
  beforeEach(async () => {
    current = await createTestDatabase('server');
    await givenOrders(current.database, orders);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await current.drop();
  });

  /** Locks the orders of an account until the returned function is called. */
  async function lock(accountNo: string): Promise<() => Promise<void>> {
    let release: () => void = () => undefined;
    let locked: () => void = () => undefined;
    const isLocked = new Promise<void>((resolve) => (locked = resolve));
    const held = current.database.transact(
      repeatable('blocker', async (trx) => {
        await trx.rows('select id from settlement_order where account_no = ? for update', [accountNo]);
        locked();
        await new Promise<void>((resolve) => (release = resolve));
      }),
    );
    await isLocked;
    return async () => {
      release();
      await held;
    };
  }

  test('the shard that waits for it is cancelled in the middle of a statement, while settling and while posting', async () => {
    const releaseSettling = await lock('SLOW');
    const first: RunDocument = await runDay(current.database, { settings: impatient });
    expect(first.cancelledShards).toMatchObject([{ stage: 'SETTLING', code: 'SHARD_TIMEOUT' }]);
    expect(first).toMatchObject({ outcome: 'PARTIAL', closed: false });
    await releaseSettling();

    let releasePosting: () => Promise<void> = () => Promise.resolve();
    const leftover = DatabaseEffects.prototype.leftover;
    jest.spyOn(DatabaseEffects.prototype, 'leftover').mockImplementationOnce(async function (
      this: DatabaseEffects,
      run,
    ) {
      const found = await leftover.call(this, run);
      releasePosting = await lock('SLOW');
      return found;
    });
    const second: RunDocument = await runDay(current.database, { settings: impatient });
    expect(second.cancelledShards).toMatchObject([{ stage: 'POSTING', code: 'SHARD_TIMEOUT', firstAccountNo: 'SLOW' }]);
    expect(second).toMatchObject({ outcome: 'PARTIAL', exitCode: 3, closed: false, unsentMessages: 1 });
    await releasePosting();

    expect(await runDay(current.database, { settings })).toMatchObject({ outcome: 'OK', closed: true });
    expect(await runDay(current.database, { settings })).toMatchObject({ alreadyClosed: true, exitCode: 0 });
  });

  test('settle run --shard-timeout exits 3, says which shard, and the next run closes the day', async () => {
    const release = await lock('SLOW');
    const args = ['run', '--batch-day', day, '--lanes', '4', '--chunk-size', '4'];
    const ended = await settle([...args, '--shard-timeout', '4s'], { url: current.url });
    await release();
    expect(ended.stdout).toMatch(/shard cancelled by SHARD_TIMEOUT while settling, lane [0-3]: account /);
    expect(ended.stderr).toMatch(/SHARD_TIMEOUT: account .* left to the next run\. Not done within 4 s\./);
    expect(ended.code).toBe(3);
    expect((await settleInside(args, { url: current.url })).code).toBe(0);
  });
});

describe.each(databaseKinds)('a lease that a person frees while its run works [%s]', (kind) => {
  test('stops the run with OPERATOR, who did it and why; the same reason is in its row and its document', async () => {
    const current = await createTestDatabase(kind);
    try {
      const many = Array.from({ length: 600 }, (_, at) => ({
        orderNo: `M${String(at)}`,
        accountNo: `A${String(at % 97)}`,
        minor: 5,
      }));
      await givenOrders(current.database, many);
      const slowly = ['--batch-day', day, '--page-size', '5', '--chunk-size', '1', '--lanes', '1'];
      const run = settle(['run', ...slowly, '--json'], {
        url: current.url,
        env: { SETTLE_BATCH_LEASE_DURATION: '300ms' },
      });
      const released = new Promise<number | null>((resolve) => {
        run.onStderr((text) => {
          if (!text.includes('SETTLING begins')) return;
          const why = ['--by', 'Ann', '--reason', 'wrong file'];
          void settle(['lock', 'release', '--yes', ...why], { url: current.url }).then(({ code }) => {
            resolve(code);
          });
        });
      });
      const ended = await run;
      expect(await released).toBe(0);
      expect(ended.code).toBe(3);
      const detail = 'Ann released the lease: wrong file';
      expect(JSON.parse(ended.stdout)).toMatchObject({ cancellation: { code: 'OPERATOR', detail, mayRetry: false } });
      const rows = await current.database.read((session) =>
        session.tuples('select state, cancel_code, cancel_detail from run'),
      );
      expect(rows).toEqual([['INTERRUPTED', 'OPERATOR', detail]]);
    } finally {
      await current.drop();
    }
  });
});
