import { afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { acquireLease, releaseLease, type Lease } from '../../src/batch/lease.js';
import { repeatable } from '../../src/db/transaction.js';
import { reconcileDay } from '../../src/reconciliation/reconcile.js';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { isInShard, parseShard, shardsFrom, shardText, type Shard } from '../../src/sharding/shard.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { day, everyRow, givenOrders, givenVariedDay, moneyDump, runDay } from '../support/day.js';
import { settle, type Ended, type Started } from '../support/program.js';

// Whole processes on one day, each with small pages and chunks, so that there are many places to be stopped at.

type Process = Promise<Ended> & Started;

const orders = 240;
const startedAt = '2026-11-30T01:00:00.000Z';

// Several processes a test: on a busy machine each of them only takes a while to start.
jest.setTimeout(300_000);

describe.each(databaseKinds)('processes that share a day [%s]', (kind) => {
  let current: TestDatabase;
  let undisturbed: string[];
  let running: Process[];
  beforeAll(async () => {
    const other = await createTestDatabase(kind);
    await givenVariedDay(other.database, orders);
    await runDay(other.database);
    undisturbed = await moneyDump(other.database);
    await other.drop();
  });
  beforeEach(async () => {
    current = await createTestDatabase(kind);
    await givenVariedDay(current.database, orders);
    running = [];
  });
  afterEach(async () => {
    for (const process of running) process.kill('SIGKILL');
    await Promise.all(running);
    await current.drop();
  });

  const column = async (sql: string): Promise<string[]> =>
    (await current.database.read((session) => session.tuples(sql))).map((row) => row.map(String).join(' '));

  const change = (sql: string) => current.database.transact(repeatable('test', (trx) => trx.change(sql)));

  /** `settle run` on the day, as a process: of a shard such as "2/4", or over all accounts. */
  function start(shard: string | null, args: string[] = [], env: Record<string, string> = {}) {
    const own = shard === null ? [] : ['--shard', shard];
    const small = ['--batch-day', day, '--page-size', '40', '--chunk-size', '4', '--lanes', '2'];
    const process = settle(['run', ...small, ...own, ...args], { url: current.url, env });
    running.push(process);
    return process;
  }

  const startAll = (of: number) => Array.from({ length: of }, (_, at) => start(`${String(at + 1)}/${String(of)}`));

  /** Resolves when the process has said something that holds the text. */
  function said(process: Process, text: string): Promise<void> {
    let heard = '';
    return new Promise((resolve, reject) => {
      process.onStderr((part) => {
        heard += part;
        if (heard.includes(text)) resolve();
      });
      void process.then(({ code, stderr }) => {
        reject(new Error(`It ended with ${String(code)} and did not say "${text}": ${stderr}`));
      });
    });
  }

  /** Sends a signal to the first of these processes that settle, one after the other; gives those that got it. */
  async function whileTheySettle(processes: readonly Process[], count: number, signal: NodeJS.Signals) {
    const reached: Process[] = [];
    while (reached.length < count) {
      const left = processes.filter((process) => !reached.includes(process));
      const first = await Promise.race(left.map((process, at) => said(process, 'SETTLING begins').then(() => at)));
      left[first]?.kill(signal);
      reached.push(left[first] as Process);
    }
    return reached;
  }

  function hold(shard: string | null): Promise<Lease> {
    const options = { durationMs: 600_000, command: 'settle run (test)', startedAt };
    return acquireLease(current.database, { ...options, shard: shard === null ? null : (parseShard(shard) as Shard) });
  }
  const giveBack = (lease: Lease) =>
    current.database.transact(repeatable('release', (trx) => releaseLease(trx, lease)));

  /** The books are those of one undisturbed run, hold every check, and nothing is left running or to be done. */
  async function expectSettledOnce(expected = undisturbed): Promise<void> {
    expect(await moneyDump(current.database)).toEqual(expected);
    const checks = await verifyBooks(current.database, { batchDay: day });
    expect(checks.flatMap(({ contradictions }) => contradictions)).toEqual([]);
    expect((await reconcileDay(current.database, day)).outcome).toBe('OK');
    const before = await everyRow(current.database);
    expect(await runDay(current.database)).toMatchObject({ alreadyClosed: true, exitCode: 3 });
    expect(await everyRow(current.database)).toBe(before);
    expect(await column('select job, owner from lease')).toEqual(['batch null']);
    expect(await column(`select id from run where state = 'RUNNING'`)).toEqual([]);
  }

  const codes = (ended: readonly Ended[]) => ended.map(({ code, signal }) => code ?? signal);

  test('4 at once settle each its own accounts; one ends the day, and all tell of it alike', async () => {
    const ended = await Promise.all(startAll(4));
    expect(codes(ended)).toEqual([3, 3, 3, 3]);
    // On a busy machine one may come when the others have done all of it: it tells the same figures.
    const first = ended.map(({ stdout }) => stdout.split('\n')[0]);
    expect(first).toContain(`Batch day ${day}: PARTIAL, closed.`);
    expect(
      first.filter((line) => !/: PARTIAL, closed\.$|is already closed; nothing was changed/.test(line ?? '')),
    ).toEqual([]);
    const ran = await column('select shards, shard_no, state from run where shards is not null order by shard_no');
    expect(new Set(ran.map((row) => row.split(' ').slice(0, 2).join(' ')))).toEqual(
      new Set(['4 1', '4 2', '4 3', '4 4']),
    );
    expect(await column('select state from run where shards is null')).toEqual(['PARTIAL']);
    for (const no of [1, 2, 3, 4]) {
      const accounts = await column(
        `select distinct n.account_no from net n join run r on r.id = n.run_id where r.shard_no = ${String(no)}`,
      );
      expect(accounts.filter((accountNo) => !isInShard(accountNo, { no, of: 4 }))).toEqual([]);
    }
    await expectSettledOnce();
  });

  test.each([1, 2])('%d of 4 are killed at work: the others settle what is left', async (count) => {
    const gate = await hold('4/4'); // the day cannot end before they are dead
    const processes = startAll(4);
    const dead = await whileTheySettle(processes, count, 'SIGKILL');
    await giveBack(gate);
    expect(codes(await Promise.all(dead))).toEqual(dead.map(() => 'SIGKILL'));
    const living = processes.filter((process) => !dead.includes(process));
    expect(codes(await Promise.all(living))).toEqual(living.map(() => 3));
    await expectSettledOnce();
  });

  test('the process that ends the day is killed: another ends it', async () => {
    const lease = await hold('3/3');
    const processes = [start('1/3'), start('2/3')];
    await Promise.all(processes.map((process) => said(process, 'Waiting for shard 3/3')));
    // Orders above the top id are left to the run that ends the day, so that it can be caught at work.
    const late = Array.from({ length: 200 }, (_, at) => ({ orderNo: `L${String(at)}`, accountNo: 'LATE', minor: 1 }));
    await givenOrders(current.database, late);
    await giveBack(lease);
    let killed: Process | undefined;
    while (killed === undefined) {
      const [owner] = await column(`select owner from lease where job = 'batch' and owner is not null`);
      const [claimed] = await column(
        `select count(*) from chunk c join run r on r.id = c.run_id where r.shards is null`,
      );
      if (owner === undefined || claimed === '0') continue;
      const { pid } = JSON.parse(owner) as { pid: number };
      killed = processes.find((process) => process.pid === pid);
      killed?.kill('SIGKILL');
    }
    const other = processes.find((process) => process !== killed) as Process;
    expect((await killed).signal).toBe('SIGKILL');
    expect((await other).code).toBe(3);
    expect(await column('select state from run where shards is null order by id')).toEqual(['ABANDONED', 'PARTIAL']);
    await givenOrdersOf(late);
  });

  /** Like expectSettledOnce, against an undisturbed run over the same day with these orders more. */
  async function givenOrdersOf(more: Parameters<typeof givenOrders>[1]): Promise<void> {
    const other = await createTestDatabase(kind);
    await givenVariedDay(other.database, orders);
    await givenOrders(other.database, more);
    await runDay(other.database);
    const expected = await moneyDump(other.database);
    await other.drop();
    await expectSettledOnce(expected);
  }

  test('all are killed: settle resume finishes the day', async () => {
    await hold('4/4');
    const processes = startAll(4);
    void (await whileTheySettle(processes, 3, 'SIGKILL'));
    for (const process of processes) process.kill('SIGKILL');
    await Promise.all(processes);
    await change(`update lease set expires_ms = 1 where job = 'batch 4/4'`);
    const resumed = await settle(['resume'], { url: current.url });
    expect({ code: resumed.code, stderr: resumed.stderr }).toMatchObject({ code: 3 });
    await expectSettledOnce();
  });

  test('SIGTERM stops one with its code; the others settle its accounts', async () => {
    const [own] = shardsFrom({ no: 1, of: 3 }).filter((each) => isInShard('ELEPHANT', each)) as [Shard];
    const stopped = start(shardText(own), ['--chunk-size', '1']);
    await said(stopped, 'SETTLING begins');
    stopped.kill('SIGTERM');
    const others = shardsFrom(own)
      .slice(1)
      .map((each) => start(shardText(each)));
    expect((await stopped).code).toBe(143);
    expect((await stopped).stdout).toContain(`Batch day ${day}, shard ${shardText(own)}: stopped by SIGTERM`);
    expect(codes(await Promise.all(others))).toEqual([3, 3]);
    expect(await column(`select cancel_code from run where state = 'INTERRUPTED'`)).toEqual(['SIGTERM']);
    await expectSettledOnce();
  });

  test('two processes with the same shard do not work on it twice', async () => {
    const ended = await Promise.all([start('1/2'), start('1/2'), start('2/2')]);
    expect(codes(ended)).toEqual([3, 3, 3]);
    expect(await column('select shard_no, count(*) from run where shards = 2 group by shard_no order by 1')).toEqual([
      '1 1',
      '2 1',
    ]);
    await expectSettledOnce();
  });

  test('a process alone settles all shards, in several days, earliest first', async () => {
    await givenOrders(current.database, [{ orderNo: 'E1', accountNo: 'A1', minor: 100, batchDay: '2026-11-27' }]);
    const ended = await start('2/3', ['--json']);
    expect(ended.code).toBe(3);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      batchDay: day,
      outcome: 'PARTIAL',
      closed: true,
      alreadyClosed: false,
      shard: null,
      shardRuns: [{ shard: '2/3' }, { shard: '3/3' }, { shard: '1/3' }],
      catchUp: [{ batchDay: '2026-11-27', outcome: 'OK', orders: 1 }],
    });
    expect(await column('select batch_day, state from batch order by batch_day')).toEqual([
      '2026-11-27 CLOSED',
      `${day} CLOSED`,
    ]);
    expect((await start('1/3', ['--detailed-exitcode'])).stdout).toContain('is already closed; nothing was changed');
  });

  test('an order that becomes visible below the watermark of a shard is settled before the day is closed', async () => {
    await change(`update settlement_order set id = 100000 where order_no = 'C1'`);
    const lease = await hold('2/2');
    const process = start('1/2');
    await said(process, 'Waiting for shard 2/2');
    const accountNo = ['A0', 'A1', 'A2', 'A3', 'A4', 'A5'].find((each) => isInShard(each, { no: 1, of: 2 })) ?? '';
    const late = { orderNo: 'SLOW', accountNo, minor: 7 };
    await givenOrders(current.database, [late]);
    await change(`update settlement_order set id = 99999 where order_no = 'SLOW'`);
    expect(await column(`select min(reached_id) from run where shard_no = 1`)).toEqual(['100000']);
    await giveBack(lease);
    expect((await process).code).toBe(3);
    await givenOrdersOf([late]);
  });

  test('a process that waits is stopped at once, by a signal and by --max-duration', async () => {
    await hold('2/2');
    const [first, second] = [start('1/2'), start('2/2', ['--max-duration', '1s'])];
    await said(first, 'Waiting for shard 2/2');
    first.kill('SIGTERM');
    expect(codes(await Promise.all([first, second]))).toEqual([143, 12]);
    expect((await first).stderr).toContain('SIGTERM');
  });

  test('a division into other shards is refused with the name of its holder, and so is a run beside', async () => {
    await hold('1/3');
    const before = await everyRow(current.database);
    const [other, whole] = await Promise.all([start('1/4'), start(null)]);
    expect(codes([other, whole])).toEqual([11, 11]);
    for (const { stderr } of [other, whole]) expect(stderr).toContain('BATCH_LOCKED: settle run (test) on');
    expect(await everyRow(current.database)).toBe(before);
  });

  test('beside a run over all accounts a process waits for it', async () => {
    const lease = await hold(null);
    const process = start('1/1');
    await said(process, 'Waiting for the run over all accounts');
    await giveBack(lease);
    expect((await process).code).toBe(3);
    await expectSettledOnce();
  });

  if (kind === 'server') {
    test('a process that was stopped past its lease and wakes up writes nothing more', async () => {
      const sleeper = start('2/3', [], { SETTLE_BATCH_LEASE_DURATION: '1s' });
      await said(sleeper, 'SETTLING begins');
      await stopOutsideTransaction(sleeper);
      expect(codes(await Promise.all([start('1/3'), start('3/3')]))).toEqual([3, 3]);
      const before = await everyRow(current.database);
      sleeper.kill('SIGCONT');
      const { code, stderr } = await sleeper;
      expect({ code, stderr }).toMatchObject({ code: 11, stderr: expect.stringContaining('LEASE_LOST') as unknown });
      expect(await everyRow(current.database)).toBe(before);
      await expectSettledOnce();
    });

    /** A machine that stands still keeps its locks until the server notices; what is tested here is its lease. */
    async function stopOutsideTransaction(process: Started): Promise<void> {
      for (;;) {
        process.kill('SIGSTOP');
        await sleep(20);
        const open = await column(
          `select t.trx_id from information_schema.innodb_trx t
             join information_schema.processlist p on p.id = t.trx_mysql_thread_id
            where p.db = database() and p.id <> connection_id()`,
        );
        if (open.length === 0) return;
        process.kill('SIGCONT');
        await sleep(20);
      }
    }
  }
});
