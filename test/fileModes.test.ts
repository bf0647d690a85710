import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import BetterSqlite3 from 'better-sqlite3';
import { header, orderLine } from './support/importing.js';
import { settleInside } from './support/inside.js';
import { settle, type Ended } from './support/program.js';

// Every file that carries account data is for its owner only, whatever the umask of cron or of a shell.

let folder: string;
let umask: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
  umask = process.umask();
});
afterEach(() => {
  process.umask(umask);
  rmSync(folder, { recursive: true, force: true });
});

const run = (...args: string[]): Promise<Ended> => settleInside(args, { cwd: folder });
const modeOf = (path: string): string => (lstatSync(join(folder, path)).mode & 0o777).toString(8);
const modesBelow = (path: string): Record<string, string> =>
  Object.fromEntries(readdirSync(join(folder, path)).map((name) => [name, modeOf(join(path, name))]));

async function givenSettledDay(): Promise<void> {
  writeFileSync(join(folder, 'orders.csv'), `${header}\n${orderLine()}\n`);
  expect(await run('import', 'orders', 'orders.csv')).toMatchObject({ code: 0 });
  expect(await run('run', '--batch-day', '2026-11-29')).toMatchObject({ code: 0 });
}

describe.each([0o000, 0o022, 0o077])('with umask %i', (mask) => {
  beforeEach(() => {
    process.umask(mask);
  });

  test('the database, and what SQLite keeps beside it, are for the owner only', async () => {
    await givenSettledDay();
    expect(modeOf('settle.db')).toBe('600');
    // While somebody has it open, there are two files more.
    const reader = new BetterSqlite3(join(folder, 'settle.db'));
    try {
      reader.prepare('update account set state = state').run();
      expect([modeOf('settle.db-wal'), modeOf('settle.db-shm')]).toEqual(['600', '600']);
    } finally {
      reader.close();
    }
  });

  test('so are one that migrate up makes under another name, the log file and reports; folders of reports too', async () => {
    const env = { SETTLE_DATABASE_URL: 'sqlite:other.db' };
    expect(await settle(['migrate', 'up'], { cwd: folder, env })).toMatchObject({ code: 0 });
    expect(modeOf('other.db')).toBe('600');
    await givenSettledDay();
    const again = await run('run', '--batch-day', '2026-11-29', '--report-dir', 'a/reports', '--log-file', 'run.log');
    expect(again).toMatchObject({ code: 0 });
    expect(await run('report', '--out', 'report.csv')).toMatchObject({ code: 0 });
    expect([modeOf('run.log'), modeOf('report.csv'), modeOf('a'), modeOf('a/reports')]).toEqual([
      '600',
      '600',
      '700',
      '700',
    ]);
    expect(modesBelow('a/reports')).toEqual({
      'report-2026-11-29.html': '600',
      'report-2026-11-29.json': '600',
      'report-2026-11-29.csv': '600',
    });
  });

  test('so is the whole folder of the demo', async () => {
    expect(await run('demo', '--orders', '50')).toMatchObject({ code: 0 });
    expect(modeOf('settle-demo')).toBe('700');
    const modes = modesBelow('settle-demo');
    expect(Object.keys(modes).length).toBeGreaterThanOrEqual(4);
    expect(new Set(Object.values(modes))).toEqual(new Set(['600']));
  });
});

describe('a report', () => {
  test('replaces an older one at once, and is for the owner only from then on', async () => {
    await givenSettledDay();
    writeFileSync(join(folder, 'report.csv'), 'older', { mode: 0o644 });
    const before = lstatSync(join(folder, 'report.csv')).ino;
    expect(await run('report', '--out', 'report.csv')).toMatchObject({ code: 0 });
    expect(lstatSync(join(folder, 'report.csv')).ino).not.toBe(before); // a new file, renamed over the old one
    expect(modeOf('report.csv')).toBe('600');
    expect(readdirSync(folder).sort()).toEqual(['orders.csv', 'report.csv', 'settle.db']);
  });

  test('under a name of our own making never goes through a link that somebody put there', async () => {
    await givenSettledDay();
    mkdirSync(join(folder, 'reports'));
    writeFileSync(join(folder, 'precious'), 'mine');
    symlinkSync('../precious', join(folder, 'reports', 'report-2026-11-29.html'));
    const ended = await run('run', '--batch-day', '2026-11-29', '--report-dir', 'reports');
    expect(ended.code).toBe(0); // the day is settled all the same
    expect(ended.stderr).toContain('FILE_NOT_WRITABLE');
    expect(ended.stderr).toContain('report-2026-11-29.html is a symbolic link');
    expect(readFileSync(join(folder, 'precious'), 'utf8')).toBe('mine');
  });

  test('goes through a link that its name was typed for', async () => {
    await givenSettledDay();
    symlinkSync('target.csv', join(folder, 'latest.csv'));
    writeFileSync(join(folder, 'target.csv'), 'older');
    expect(await run('report', '--out', 'latest.csv')).toMatchObject({ code: 0 });
    expect(lstatSync(join(folder, 'latest.csv')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(folder, 'target.csv'), 'utf8')).toContain('account_no');
  });
});

describe('the demo', () => {
  test('writes through no link in its folder', async () => {
    mkdirSync(join(folder, 'demo'));
    writeFileSync(join(folder, 'precious'), 'mine');
    expect(await run('demo', '--dir', 'demo', '--orders', '20')).toMatchObject({ code: 0 });
    rmSync(join(folder, 'demo', 'accounts.csv'));
    symlinkSync('../precious', join(folder, 'demo', 'accounts.csv'));
    expect(await run('demo', '--dir', 'demo', '--orders', '20')).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, 'precious'), 'utf8')).toBe('mine');
    expect(lstatSync(join(folder, 'demo', 'accounts.csv')).isFile()).toBe(true);
  });

  test("replaces nothing that no demo made: a folder with somebody's accounts.csv is refused", async () => {
    writeFileSync(join(folder, 'accounts.csv'), 'mine');
    const ended = await run('demo', '--dir', '.', '--orders', '20');
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('FILE_NOT_WRITABLE');
    expect(ended.stderr).toContain('accounts.csv');
    expect(readFileSync(join(folder, 'accounts.csv'), 'utf8')).toBe('mine');
    expect(existsSync(join(folder, 'demo.db'))).toBe(false);
  });
});
