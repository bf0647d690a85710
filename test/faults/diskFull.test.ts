import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { Database } from '../../src/db/database.js';
import { migrateUp } from '../../src/db/schema.js';
import { parseDatabaseUrl } from '../../src/db/url.js';
import { day, givenOrders, givenVariedDay, moneyDump, runDay } from '../support/day.js';
import { mountDisk, type Disk } from '../support/disk.js';
import { strikeEverywhere } from '../support/faults.js';
import { soundAfter } from '../support/oracle.js';
import { settleInside } from '../support/inside.js';
import { settle, settleBin, type Ended } from '../support/program.js';
import { script } from '../support/script.js';
import { startServer } from '../support/server.js';

// A disk that is full, wherever the program or its database writes: it says so, exits with 75, leaves nothing half-written,
// and goes on from what was committed once there is space again.

const tuning = ['--batch-day', day, '--page-size', '40', '--chunk-size', '10', '--json'];
const size = 300;

let folder: string;
let template: string;
let undisturbed: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'settle-full-'));
  template = join(folder, 'template.db');
  const database = await Database.open(parseDatabaseUrl(`sqlite:${template}`), { create: true });
  await migrateUp(database);
  await givenVariedDay(database, size);
  await database.close();
  const other = await Database.open(parseDatabaseUrl(`sqlite:${copyOf(join(folder, 'other.db'))}`));
  await runDay(other);
  undisturbed = await moneyDump(other);
  await other.close();
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function copyOf(file: string): string {
  copyFileSync(template, file);
  return file;
}

/** The run has ended early for its true reason: in its exit code, its document or error, and what to do next. */
function saysDiskFull({ code, stdout, stderr }: Ended): void {
  expect({ code, stderr }).toMatchObject({ code: 75 });
  if (stdout === '') {
    const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { error: unknown };
    expect(error).toMatchObject({
      code: 'DISK_FULL',
      exitCode: 75,
      details: { next: expect.stringContaining('space') },
    });
  } else {
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'INTERRUPTED',
      exitCode: 75,
      cancellation: { code: 'DISK_FULL' },
      error: { code: 'DISK_FULL' },
    });
  }
}

async function nextStartFinishes(file: string): Promise<void> {
  const url = `sqlite:${file}`;
  expect((await settle(['run', ...tuning], { url })).code).toBe(3);
  const database = await Database.open(parseDatabaseUrl(url));
  try {
    await soundAfter(database, undisturbed);
  } finally {
    await database.close();
  }
}

/** Runs the program under a limit on the size of any file, in KiB: a write beyond it fails, as on a full disk. */
function runLimited(args: readonly string[], kibibytes: number, url: string): Promise<Ended> {
  const text = `import { spawnSync } from 'node:child_process';
    const { status, stdout, stderr, signal } = spawnSync('bash', ['-c', 'ulimit -f ${String(kibibytes)}; exec "$@"', 'bash',
      process.execPath, ${JSON.stringify(settleBin)}, ...${JSON.stringify(args)}], { encoding: 'utf8' });
    process.stdout.write(JSON.stringify({ code: status, signal, stdout, stderr }));`;
  return script(text, { env: { SETTLE_DATABASE_URL: url } }).ended.then(({ stdout }) => JSON.parse(stdout) as Ended);
}

describe('a SQLite database', () => {
  test('whose log may not grow any more (a limit on file sizes)', async () => {
    let failed = 0;
    for (const kibibytes of strikeEverywhere ? [8, 40, 100, 200, 300, 400, 600, 800] : [40, 300]) {
      const file = copyOf(join(folder, `limited-${String(kibibytes)}.db`));
      const ended = await runLimited(['run', ...tuning], kibibytes, `sqlite:${file}`);
      if (ended.code !== 3) {
        failed += 1;
        saysDiskFull(ended);
      }
      await nextStartFinishes(file);
    }
    expect(failed).toBeGreaterThan(0);
  }, 120_000);

  test('on a disk that is full', async () => {
    const disk = mountDisk(16);
    if (disk === undefined) return; // said aloud; the limit above stands in
    try {
      let failed = 0;
      for (const left of strikeEverywhere ? [0, 20, 60, 120, 200, 300, 400, 600, 900] : [0, 200]) {
        const file = copyOf(join(disk.path, 'full.db'));
        disk.fill(left * 1024);
        const ended = await settle(['run', ...tuning], { url: `sqlite:${file}` });
        if (ended.code !== 3) {
          failed += 1;
          saysDiskFull(ended);
        }
        disk.free();
        await nextStartFinishes(file);
        for (const name of readdirSync(disk.path)) rmSync(join(disk.path, name));
      }
      expect(failed).toBeGreaterThan(1);
    } finally {
      disk.remove();
    }
  }, 120_000);
});

describe('a folder for reports', () => {
  test('that may take no file of this size: the day is settled, the trouble is told, no half report is left', async () => {
    const file = copyOf(join(folder, 'reported.db'));
    const url = `sqlite:${file}`;
    expect((await settleInside(['run', ...tuning], { url })).code).toBe(3);
    const out = join(folder, 'out');
    mkdirSync(out);
    const ended = await runLimited(['report', '--batch-day', day, '--out', join(out, 'day.html'), '--json'], 2, url);
    expect(ended).toMatchObject({ code: 75, stdout: '', stderr: expect.stringContaining('DISK_FULL') });
    expect(readdirSync(out)).toEqual([]);
  }, 60_000);

  test('on a disk that is full: likewise, and with the same run afterwards the report is there', async () => {
    const disk = mountDisk(4);
    if (disk === undefined) return;
    try {
      const url = `sqlite:${copyOf(join(folder, 'reporting.db'))}`;
      disk.fill(0);
      const ended = await settle(['run', ...tuning.slice(0, -1), '--report-dir', disk.path], { url });
      expect(ended).toMatchObject({ code: 3, stderr: expect.stringContaining('DISK_FULL') });
      expect(readdirSync(disk.path)).toEqual(['filler']);
      disk.free();
      expect((await settleInside(['run', ...tuning, '--report-dir', disk.path], { url })).code).toBe(3);
      expect(readdirSync(disk.path).sort()).toEqual(['csv', 'html', 'json'].map((kind) => `report-${day}.${kind}`));
    } finally {
      disk.remove();
    }
  }, 60_000);
});

describe('a server', () => {
  const onDisk = async (disk: Disk): Promise<void> => {
    const server = await startServer(['--innodb-log-file-size=8M', '--innodb-flush-log-at-trx-commit=1'], disk.path);
    try {
      const administrator = await createConnection({ uri: `${server.url}mysql` });
      await administrator.query('create database settle');
      await administrator.end();
      const url = `${server.url}settle`;
      const database = await Database.open(parseDatabaseUrl(url));
      try {
        await migrateUp(database);
        // More rows than the first pages of each table hold, so that the tables must grow.
        const orders = Array.from({ length: 12_000 }, (_, at) => ({
          orderNo: `O${String(at)}`,
          accountNo: `A${String(at)}`,
          minor: at + 1,
        }));
        await givenOrders(database, orders);
        disk.fill(0);
        const ended = await settle(['run', '--batch-day', day, '--chunk-size', '500', '--json'], { url });
        saysDiskFull(ended);
        disk.free();
        expect((await settleInside(['run', '--batch-day', day, '--json'], { url })).code).toBe(0);
        await soundAfter(database, null);
      } finally {
        await database.close();
      }
    } finally {
      await server.stop();
    }
  };

  test('whose disk is full', async () => {
    const disk = mountDisk(256);
    if (disk === undefined) return;
    await onDisk(disk).finally(() => {
      disk.remove();
    });
  }, 180_000);
});
