import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { repeatable } from '../src/db/transaction.js';
import type { Database } from '../src/db/database.js';
import { fromInstant } from '../src/db/values.js';
import { freeLeases } from '../src/batch/freeLease.js';
import { heldLeaseViews, leaseView } from '../src/reports/lease.js';
import { checkDueDay, collectStatus } from '../src/reports/status.js';
import { statusText } from '../src/reports/statusText.js';
import { numbered, seedClosedDay, seedOrder } from './support/closedDay.js';
import { createTestDatabase, onEachDatabase, type TestDatabase } from './support/databases.js';
import { settleInside as settle } from './support/inside.js';
import { settleBin } from './support/program.js';

const owner = JSON.stringify({
  host: 'db1\u001b[31m',
  pid: 4711,
  startedAt: '2026-11-30T00:00:01.000Z',
  command: 'settle run',
});

function change(database: Database, sql: string, bindings: (string | number)[] = []): Promise<number> {
  return database.transact(repeatable('prepare a test', (trx) => trx.change(sql, bindings)));
}

/** A run at work: 400 of 1,000 orders claimed in 20 s, its lease good until a moment from now by the given margin. */
async function seedRunning(database: Database, marginMs: number): Promise<void> {
  const at = (time: string): string =>
    fromInstant(database.engine === 'sqlite' ? 'sqlite' : 'mysql', `2026-11-30T00:00:${time}.000Z`);
  await change(
    database,
    `insert into batch (batch_day, state, cut_off, top_id, opened_at) values ('2026-11-29', 'SETTLING', ?, 1000, ?)`,
    [at('00'), at('01')],
  );
  await change(
    database,
    `insert into run (batch_day, kind, state, fencing_no, owner, from_id, reached_id, top_id, stage,
       orders_total, orders_read, orders_claimed, started_at, heartbeat_at)
     values ('2026-11-29', 'RUN', 'RUNNING', 5, ?, 0, 390, 1000, 'SETTLING', 1000, 500, 400, ?, ?)`,
    [owner, at('01'), at('21')],
  );
  await change(
    database,
    `update lease set fencing_no = 5, owner = ?, acquired_ms = ?, heartbeat_ms = ?, expires_ms = ? where job = 'batch'`,
    [owner, Date.now() - 20_000, Date.now() - 1_000, Date.now() + marginMs],
  );
}

onEachDatabase('The status before any run', (db) => {
  test('says that there is none and what to type, and exits 0', async () => {
    const { code, stdout } = await settle(['status'], { url: db().url });
    expect(code).toBe(0);
    expect(stdout).toContain('No run yet.');
    expect(stdout).toContain('Next: settle run');
    expect((await settle(['runs'], { url: db().url })).stdout).toContain('No run yet.');
    expect((await settle(['lock', 'show'], { url: db().url })).stdout).toContain('free');
  });

  test('--check exits 3 and names the day that is due', async () => {
    const { code, stdout } = await settle(['status', '--check', '--json'], { url: db().url });
    expect(code).toBe(3);
    const { check } = JSON.parse(stdout) as { check: { dueDay: string; closed: boolean; missing: string[] } };
    expect(check).toEqual({
      dueDay: check.dueDay,
      closed: false,
      missing: [`No run has settled ${check.dueDay} yet.`],
    });
    expect(check.dueDay).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  });

  test('a run that does not exist, and one that is no number, are refused', async () => {
    await expect(collectStatus(db().database, '2026-12-31', 99n)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await settle(['status', 'x'], { url: db().url })).code).toBe(2);
  });
});

onEachDatabase('The status of a run at work', (db) => {
  beforeAll(() => seedRunning(db().database, 29_000));

  test('has rate and ETA from what is stored, not from this process', async () => {
    const status = await collectStatus(db().database, '2026-12-31');
    expect(status.run).toMatchObject({
      batchDay: '2026-11-29',
      state: 'RUNNING',
      stage: 'SETTLING',
      orders: 400,
      ordersTotal: 1_000,
      ordersPerSecond: 20,
      etaMs: 30_000,
      watermark: { from: 0n, reached: 390n, top: 1_000n },
    });
    expect(status).toMatchObject({ openDays: ['2026-11-29'], next: null });
  });

  test('names the holder of the lease and the age of its heartbeat by the clock of the database', async () => {
    const { lease } = await collectStatus(db().database, '2026-12-31');
    expect(lease).toMatchObject({
      held: true,
      expired: false,
      fencingNo: '5',
      holder: { pid: '4711', command: 'settle run' },
    });
    expect(lease.heartbeatAgeMs).toBeGreaterThanOrEqual(1_000);
    expect(lease.heartbeatAgeMs).toBeLessThan(20_000);
  });

  test('prints no control character, whatever the holder calls itself', async () => {
    const text = statusText(await collectStatus(db().database, '2026-12-31'));
    expect(text).toContain('process 4711 on db1\\u{1b}[31m (settle run)');
    expect(text).toContain('20 orders/s, ready in about 30 s');
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  test('--check says what stands between the due day and its close', async () => {
    expect(await checkDueDay(db().database, '2026-11-29')).toEqual({
      dueDay: '2026-11-29',
      closed: false,
      missing: ['The batch of 2026-11-29 is SETTLING.'],
    });
  });

  test('lock release asks for --yes, then frees the lease, keeps the fencing number and records who did it', async () => {
    const args = ['lock', 'release', '--by', 'alice', '--reason', 'host burnt down'];
    const asked = await settle(args, { url: db().url });
    expect([asked.code, asked.stdout]).toEqual([5, '']);
    expect(asked.stderr).toContain('CONFIRMATION_NEEDED');
    expect(asked.stderr).toContain('--yes');
    expect((await db().database.read(leaseView)).held).toBe(true);

    const done = await settle([...args, '--yes'], { url: db().url });
    expect(done.code).toBe(0);
    expect(await db().database.read(leaseView)).toMatchObject({ held: false, fencingNo: '5' });
    const actions = await db().database.read((session) => session.rows('select action, by_name from operator_action'));
    expect(actions).toEqual([{ action: 'LOCK_RELEASE', by_name: 'alice' }]);
    const [row] = await db().database.read((session) => session.rows('select expires_ms from lease'));
    expect(Number(row?.['expires_ms'])).toBe(0);
  });

  test('afterwards nothing is held, a second release says so, and the next command is resume', async () => {
    expect(await freeLeases(db().database, { by: 'a', reason: 'b', at: '2026-11-30T08:00:00.000Z' })).toEqual([]);
    const again = await settle(['lock', 'release', '--by', 'alice', '--reason', 'again'], { url: db().url });
    expect(again).toMatchObject({ code: 0, stdout: 'The lease is free; nothing to release.\n' });
    expect((await collectStatus(db().database, '2026-12-31')).next).toBe('settle resume');
  });
});

onEachDatabase('The status of processes that share a day', (db) => {
  beforeAll(async () => {
    await seedRunning(db().database, -1_000);
    for (const no of [1, 2]) {
      await change(
        db().database,
        `insert into run (batch_day, kind, state, shard_no, shards, fencing_no, owner, from_id, reached_id, top_id, stage,
           orders_total, orders_claimed, started_at, heartbeat_at)
         select batch_day, kind, state, ${String(no)}, 4, ${String(no + 5)}, owner, 0, 0, 1000, stage, 250, 100, started_at,
                heartbeat_at
           from run where id = 1`,
      );
      await change(
        db().database,
        `insert into lease (job, fencing_no, owner, acquired_ms, heartbeat_ms, expires_ms) values (?, ?, ?, ?, ?, ?)`,
        [`batch ${String(no)}/4`, no + 5, owner, Date.now(), Date.now(), Date.now() + 60_000],
      );
    }
    await change(db().database, `update run set state = 'ABANDONED', finished_at = started_at where id = 1`);
    await change(db().database, `update lease set owner = null, expires_ms = 0 where job = 'batch'`);
  });

  test('shows every lease and every run at work, and has nothing to type', async () => {
    const status = await collectStatus(db().database, '2026-12-31');
    expect(status.lease.held).toBe(false);
    expect(status.leases.map(({ shard, expired }) => [shard, expired])).toEqual([
      ['1/4', false],
      ['2/4', false],
    ]);
    expect(status.running.map(({ shard, ordersTotal }) => [shard, ordersTotal])).toEqual([
      ['1/4', 250],
      ['2/4', 250],
    ]);
    expect(status.next).toBeNull();
    const text = statusText(status);
    for (const line of [
      /^Lease of shard 1\/4: held by process 4711 .* fencing number 6$/m,
      /^Lease of shard 2\/4: held by process 4711 .* fencing number 7$/m,
      /^Run \d+: RUN 1\/4 of 2026-11-29, RUNNING, stage SETTLING$/m,
      /^Run \d+: RUN 2\/4 of 2026-11-29, RUNNING, stage SETTLING$/m,
    ]) {
      expect(text).toMatch(line);
    }
    expect((await settle(['runs'], { url: db().url })).stdout).toMatch(/ RUN 2\/4 /);
  });

  test('lock show lists them; lock release frees the one of a shard, then all that are left', async () => {
    const shown = await settle(['lock', 'show', '--json'], { url: db().url });
    expect(JSON.parse(shown.stdout)).toMatchObject({ held: false, leases: [{ shard: '1/4' }, { shard: '2/4' }] });
    const args = ['lock', 'release', '--by', 'alice', '--reason', 'host burnt down'];
    const asked = await settle([...args, '--shard', '2/4'], { url: db().url });
    expect(asked.code).toBe(5);
    expect(asked.stderr).toContain('The lease is of shard 2/4 held by process 4711');
    const one = await settle([...args, '--shard', '2/4', '--yes'], { url: db().url });
    expect(one.stdout).toBe(
      'Released the lease of shard 2/4 of process 4711 on db1\\u{1b}[31m.\nNext: settle resume\n',
    );
    expect((await db().database.read(heldLeaseViews)).map(({ shard }) => shard)).toEqual(['1/4']);
    const rest = await settle([...args, '--yes', '--json'], { url: db().url });
    expect(JSON.parse(rest.stdout)).toMatchObject({ released: true, leases: [{ shard: '1/4' }] });
    expect(await db().database.read(heldLeaseViews)).toEqual([]);
    const actions = await db().database.read((session) =>
      session.rows('select subject from operator_action order by id'),
    );
    expect(actions.map(({ subject }) => String(subject).split(', held by')[0])).toEqual([
      'lease batch 2/4, fencing number 7',
      'lease batch 1/4, fencing number 6',
    ]);
    expect((await collectStatus(db().database, '2026-12-31')).next).toBe('settle resume');
  });
});

onEachDatabase('The status of a dead run', (db) => {
  test('shows the lease as expired and names resume', async () => {
    await seedRunning(db().database, -1_000);
    const status = await collectStatus(db().database, '2026-12-31');
    expect(status.lease).toMatchObject({ held: true, expired: true });
    expect(status.next).toBe('settle resume');
    expect(statusText(status)).toContain('EXPIRED');
  });

  test('an interrupted run keeps its reason, made printable, in status and history', async () => {
    await change(
      db().database,
      `update run set state = 'INTERRUPTED', finished_at = heartbeat_at, exit_code = 143, cancel_code = 'SIGTERM',
         cancel_detail = 'killed\u0007by\nscheduler', cancel_stage = 'SETTLING'`,
    );
    const { stdout } = await settle(['runs'], { url: db().url });
    expect(stdout).toMatch(/INTERRUPTED +143 +400 .* SIGTERM in SETTLING: killed\\u\{7\}by scheduler/);
    const json = JSON.parse((await settle(['runs', '--json'], { url: db().url })).stdout) as { runs: object[] };
    expect(json.runs[0]).toMatchObject({ exitCode: 143, cancellation: { code: 'SIGTERM', stage: 'SETTLING' } });
  });
});

onEachDatabase('The status of a closed day', (db) => {
  const orders = numbered('O', [
    seedOrder('M1', 'PAYMENT', 1_000n),
    seedOrder('M2', 'PAYMENT', 1_000n),
    seedOrder('M3', 'PAYMENT', 5n),
  ]);
  beforeAll(() => seedClosedDay(db().database, { day: '2026-11-29', orders, setAside: { M3: 'ACCOUNT_FROZEN' } }));

  test('is closed for --check', async () => {
    expect(await checkDueDay(db().database, '2026-11-29')).toEqual({ dueDay: '2026-11-29', closed: true, missing: [] });
  });

  test('sends a person to the quarantine that is left', async () => {
    const status = await collectStatus(db().database, '2026-12-31');
    expect(status).toMatchObject({
      openDays: [],
      left: { orders: 0, processing: 0, quarantinedAccounts: 1 },
      next: 'settle quarantine list',
    });
  });

  test('an open day counts what is waiting and claimed, without the accounts set aside', async () => {
    await change(
      db().database,
      `update batch set state = 'SETTLING', closed_at = null, orders_at_close = null where batch_day = '2026-11-29'`,
    );
    await change(
      db().database,
      `update settlement_order set state = 'PROCESSING', finished_at = null where order_no = 'O1'`,
    );
    await change(
      db().database,
      `update settlement_order set state = 'INIT', finished_at = null, run_id = null, chunk_no = null where order_no = 'O2'`,
    );
    expect((await collectStatus(db().database, '2026-12-31')).left).toMatchObject({
      orders: 1,
      processing: 1,
      quarantinedAccounts: 1,
    });
    expect((await checkDueDay(db().database, '2026-11-29')).missing).toEqual([
      'The batch of 2026-11-29 is SETTLING.',
      '1 order not claimed.',
      '1 order claimed and not posted.',
    ]);
  });
});

describe('Reports as a process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'settle-report-'));
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase('sqlite');
    const orders = Array.from({ length: 3_000 }, (_, at) => seedOrder(`M${String(at)}<&">`, 'PAYMENT', BigInt(at)));
    await seedClosedDay(db.database, { day: '2026-11-29', orders: numbered('O', orders) });
  });
  afterAll(async () => {
    await db.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('3,000 accounts as JSON arrive whole through a pipe, twice the same', async () => {
    const [first, second] = [await settle(['report', '--json'], db), await settle(['report', '--json'], db)];
    expect(first.code).toBe(0);
    expect(first.stdout.length).toBeGreaterThan(65_536);
    expect((JSON.parse(first.stdout) as { netPositions: object[] }).netPositions).toHaveLength(3_000);
    expect(second.stdout).toBe(first.stdout);
  });

  test('a reader that goes away after one line is no error', async () => {
    const script = `"${process.execPath}" "${settleBin}" report --json | head -1; echo "\${PIPESTATUS[0]}"`;
    const child = spawn('bash', ['--norc', '-c', script], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'] ?? '', SETTLE_DATABASE_URL: db.url },
    });
    let [output, errors] = ['', ''];
    child.stdout.on('data', (text: Buffer) => (output += text.toString()));
    child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
    await new Promise((resolve) => child.on('close', resolve));
    expect([output, errors]).toEqual(['{\n0\n', '']);
  });

  test.each([
    ['report.html', '<!doctype html>'],
    ['report.csv', '\u{feff}batch_day,'],
    ['report.json', '{'],
    ['report.txt', 'Settlement report of 2026-11-29'],
    ['report', 'Settlement report of 2026-11-29'],
  ])('--out %s takes its form from the name, and is readable by the owner only', async (name, start) => {
    const file = join(folder, name);
    const { code, stdout } = await settle(['report', '--out', file], db);
    expect([code, stdout]).toEqual([0, '']);
    expect(readFileSync(file, 'utf8').startsWith(start)).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['a folder', folder, 'FILE_IS_DIRECTORY'],
    ['a folder that is not there', join(folder, 'no', 'report.html'), 'FILE_NOT_WRITABLE'],
  ])('--out with %s is refused with exit code 2', async (_, file, problem) => {
    const before = readdirSync(folder);
    const { code, stderr } = await settle(['report', '--out', file], db);
    expect(code).toBe(2);
    expect(stderr).toContain(problem);
    expect(readdirSync(folder)).toEqual(before);
  });

  test.each([
    [['report', '--batch-day', '2026-11-28'], 'NOT_FOUND', '2026-11-29'],
    [['report', '--batch-day', '2026-02-30'], 'USAGE', '2026-02-30'],
    [['report', '--json', '--format', 'csv'], 'USAGE', '--format csv'],
    [['runs', '--limit', '0'], 'USAGE', '--limit'],
    [['ledger', 'balances', '--as-of', 'today'], 'USAGE', '--as-of'],
  ])('settle %p is refused as %s naming %s', async (args, problem, named) => {
    const { code, stdout, stderr } = await settle(args, db);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(problem);
    expect(stderr).toContain(named);
  });
});
