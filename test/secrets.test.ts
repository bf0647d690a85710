import { readFileSync, readdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTestDatabase, onServer, type TestDatabase } from './support/databases.js';
import { header, orderLine } from './support/importing.js';
import { settle, type Ended } from './support/program.js';

// A password that works, through a whole day of work: it is printed, logged, reported and stored nowhere.

const secret = 'cAnAry7hunter2';
const user = `settle_secret_${String(process.pid)}`;
let place: TestDatabase;
let url: string;
let folder: string;

beforeAll(async () => {
  place = await createTestDatabase('server');
  folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
  const parsed = new URL(place.url);
  await onServer(`create user '${user}'@'%' identified by '${secret}'`);
  await onServer(`grant all on ${parsed.pathname.slice(1)}.* to '${user}'@'%'`);
  [parsed.username, parsed.password] = [user, secret];
  url = parsed.href;
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await onServer(`drop user '${user}'@'%'`);
  await place.drop();
});

const run = (args: readonly string[], env: Record<string, string> = { SETTLE_DATABASE_URL: url }): Promise<Ended> =>
  settle(['-v', '--log-file', 'run.log', '--log-format', 'json', ...args], {
    cwd: folder,
    env: { SETTLE_DEBUG: '1', ...env },
  });

test('is printed, logged, reported and stored nowhere', async () => {
  writeFileSync(join(folder, 'orders.csv'), `${header}\n${orderLine()}\n`);
  const told: Ended[] = [];
  for (const args of [
    ['migrate', 'status'],
    ['import', 'orders', 'orders.csv'],
    ['run', '--batch-day', '2026-11-29', '--report-dir', 'reports', '--json'],
    ['rerun', '--from-watermark', '0', '--batch-day', '2026-11-29', '--reason', 'again'],
    ['status', '--json'],
    ['runs', '--json'],
    ['lock', 'show', '--json'],
    ['verify', '--json'],
    ['report', '--out', 'report.json'],
    ['outbox', 'status'],
  ]) {
    const ended = await run(args);
    expect([args[0], ended.code, ended.stderr]).toEqual([args[0], 0, ended.stderr]);
    told.push(ended);
  }
  const wrong = new URL(url);
  wrong.password = `${secret}x`;
  const elsewhere = new URL(url);
  elsewhere.pathname = '/none';
  for (const broken of [
    wrong.href,
    elsewhere.href,
    `${url}?ssl=verify`,
    `${url}?ssl=${secret}`,
    `${url}?${secret}=1`,
  ]) {
    for (const json of [[], ['--json']]) {
      const ended = await run(['status', ...json], {
        SETTLE_DATABASE_URL: broken,
        SETTLE_DATABASE_CONNECT_TIMEOUT: '500ms',
      });
      expect([broken, ended.code]).not.toEqual([broken, 0]);
      told.push(ended);
    }
  }
  for (const { stdout, stderr } of told) expect(stdout + stderr).not.toContain(secret);
  const written = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(log|html|csv|json)$/.test(name),
  );
  expect(written.length).toBeGreaterThanOrEqual(6);
  for (const name of written) expect(readFileSync(join(folder, name), 'utf8')).not.toContain(secret);
  expect(JSON.stringify(await everyValue())).not.toContain(secret);
}, 600_000);

async function everyValue(): Promise<unknown[]> {
  const tables = await place.database.read((session) => session.tuples('show tables'));
  expect(tables.length).toBeGreaterThan(10);
  const rows = tables.map(([table]) =>
    place.database.read((session) => session.tuples(`select * from ${String(table)}`)),
  );
  return (await Promise.all(rows)).map((found) => found.map((row) => row.map(String)));
}
