import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from './support/databases.js';
import { day, everyRow, givenAccounts, givenOrders, variedDay } from './support/day.js';
import { settleInside as settle } from './support/inside.js';

describe('settle run, resume and rerun as typed', () => {
  let current: TestDatabase;
  let folder: string;
  beforeEach(async () => {
    current = await createTestDatabase('sqlite');
    folder = mkdtempSync(join(tmpdir(), 'settle-run-'));
  });
  afterEach(async () => {
    await current.drop();
    rmSync(folder, { recursive: true, force: true });
  });
  const typed = (...args: string[]) => settle(args, { url: current.url, cwd: folder });

  test('--report-dir writes the report of the day, for its owner only, into a folder that it makes', async () => {
    await givenOrders(current.database, variedDay(20));
    expect((await typed('run', '--batch-day', day, '--report-dir', 'new/reports')).code).toBe(0);
    expect(readdirSync(join(folder, 'new/reports')).sort()).toEqual(
      ['csv', 'html', 'json'].map((end) => `report-${day}.${end}`),
    );
    expect(statSync(join(folder, 'new/reports')).mode & 0o077).toBe(0);
  });

  test('a folder for reports that cannot be made is a wrong flag: exit 2 before any order moves', async () => {
    await givenOrders(current.database, variedDay(20));
    writeFileSync(join(folder, 'file'), '');
    const before = await everyRow(current.database);
    for (const dir of ['file', 'file/below', ...(existsSync('/proc/self') ? ['/proc/settle'] : [])]) {
      const { code, stderr } = await typed('run', '--batch-day', day, '--report-dir', dir);
      expect({ dir, code, stderr }).toMatchObject({
        dir,
        code: 2,
        stderr: expect.stringContaining('FILE_NOT_WRITABLE') as unknown,
      });
    }
    expect(await everyRow(current.database)).toBe(before);
  });

  test('a day without orders closes, and --detailed-exitcode tells the next run that nothing was due', async () => {
    expect(await typed('run', '--batch-day', day)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('a quiet day') as unknown,
    });
    expect((await typed('run', '--batch-day', day)).code).toBe(0);
    expect((await typed('run', '--batch-day', day, '--detailed-exitcode')).code).toBe(10);
  });

  test('--detailed-exitcode does not say that nothing was due when an earlier day was', async () => {
    await typed('run', '--batch-day', day);
    await givenOrders(current.database, [{ orderNo: 'LATE', accountNo: 'A1', minor: 5, batchDay: '2026-11-28' }]);
    const caughtUp = await typed('run', '--batch-day', day, '--detailed-exitcode');
    expect(caughtUp).toMatchObject({ code: 0, stdout: expect.stringContaining('2026-11-28 was owed') as unknown });
    const nothing = await typed('run', '--batch-day', day, '--detailed-exitcode');
    expect(nothing).toMatchObject({ code: 10, stdout: expect.not.stringContaining('2026-11-28') as unknown });
  });

  test('an answer about a closed day does not repeat what its last run caught up on', async () => {
    await givenOrders(current.database, [{ orderNo: 'LATE', accountNo: 'A1', minor: 5, batchDay: '2026-11-28' }]);
    const first = JSON.parse((await typed('run', '--batch-day', day, '--json')).stdout) as { catchUp: unknown[] };
    const second = JSON.parse((await typed('run', '--batch-day', day, '--json')).stdout) as { catchUp: unknown[] };
    expect([first.catchUp.length, second.catchUp.length]).toEqual([1, 0]);
  });

  test('without a day it settles the one whose cut-off has passed', async () => {
    const yesterday = () => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const before = yesterday();
    const ended = await typed('run', '--json');
    const { batchDay } = JSON.parse(ended.stdout) as { batchDay: string };
    expect([before, yesterday()]).toContain(batchDay); // midnight may pass meanwhile
    expect((await typed('status', '--check')).code).toBe(0);
  });

  test('a day that is not over is settled with a word about it', async () => {
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const { code, stderr } = await typed('run', '--batch-day', tomorrow);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`${tomorrow} is not over`) as unknown,
    });
  });

  test('status names the days on which orders wait, begun or not, and the command that settles them', async () => {
    await givenOrders(current.database, variedDay(10));
    await typed('run', '--batch-day', day);
    await givenOrders(current.database, [
      { orderNo: 'OLD', accountNo: 'A1', minor: 1, batchDay: '2025-10-01' },
      { orderNo: 'LATE', accountNo: 'A1', minor: 1 },
    ]);
    const { stdout } = await typed('status');
    expect(stdout).toContain(`Left: 2 orders not claimed (of 2025-10-01, ${day})`);
    expect(stdout).toContain('Next: settle run --batch-day 2025-10-01');
  });

  test('--account settles these accounts only and leaves the day open; the next run settles the rest', async () => {
    await givenOrders(current.database, variedDay(40));
    const part = await typed('run', '--batch-day', day, '--account', 'A1', 'A2', '--json');
    expect(JSON.parse(part.stdout)).toMatchObject({ exitCode: 3, closed: false, accounts: { settled: 2 } });
    expect((await typed('run', '--batch-day', day)).code).toBe(0);
  });

  test('rerun says first what is left to settle, and a dry run of it writes nothing', async () => {
    await givenOrders(current.database, variedDay(40));
    await givenAccounts(current.database, { A1: 'FROZEN' });
    await typed('run', '--batch-day', day);
    await givenOrders(current.database, [{ orderNo: 'LATE', accountNo: 'A2', minor: 5 }]);
    const before = await everyRow(current.database);
    const rerun = ['rerun', '--from-watermark', '0', '--batch-day', day, '--reason', 'a late file'];
    expect((await typed(...rerun, '--dry-run')).code).toBe(3);
    expect(await everyRow(current.database)).toBe(before);
    const { stderr } = await typed(...rerun);
    expect(stderr).toContain(`Rerun of ${day} from watermark 0: 1 orders are left to settle.`);
  });

  test.each([
    [['run', '--batch-day', '2026-02-30'], '2026-02-30'],
    [['run', '--batch-day', 'yesterday'], 'yesterday'],
    [['run', '--lanes', '0'], '--lanes'],
    [['run', '--chunk-size', '1000000'], '--chunk-size'],
    [['run', '--max-duration', '5'], '--max-duration'],
    [['rerun', '--from-watermark', 'x', '--reason', 'r'], '--from-watermark'],
    [['rerun', '--from-watermark', '9', '--until', '3', '--reason', 'r'], '--until'],
    [['rerun', '--from-watermark', '0', '--reason', ' '], '--reason'],
    [['resume', '99'], '99'],
    [['resume'], 'No run'],
  ])('settle %j is refused with exit code 2 and names what is wrong', async (args, named) => {
    const before = await everyRow(current.database);
    const { code, stderr, stdout } = await typed(...args);
    expect({ code, stdout, stderr }).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(named) as unknown,
    });
    expect(await everyRow(current.database)).toBe(before);
  });

  test('messages go to the log file too, as JSON when asked, and there alone with --quiet', async () => {
    await givenOrders(current.database, variedDay(20));
    const { code, stderr } = await typed(
      'run',
      '--batch-day',
      day,
      '--quiet',
      '--log-file',
      'run.log',
      '--log-format',
      'json',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { readFileSync } = await import('node:fs');
    const lines = readFileSync(join(folder, 'run.log'), 'utf8').trim().split('\n');
    const messages = lines.map((line) => JSON.parse(line) as { time: string; level: string; message: string });
    expect(messages.map(({ message }) => message)).toEqual(
      expect.arrayContaining([expect.stringContaining('SETTLING begins')]),
    );
    expect(statSync(join(folder, 'run.log')).mode & 0o077).toBe(0);
    expect((await typed('run', '--log-file', 'no/such/folder.log')).code).toBe(2);
  });
});
