import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { settleInside as settle } from './support/inside.js';
import type { Ended } from './support/program.js';

// What `npm run fuzz` found once, kept as plain examples.

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const run = (...args: string[]): Promise<Ended> => settle(args, { cwd: folder });

test.each([
  [['run', '--lanse', '2'], 'settle run --help'],
  [['ledger', 'entries', '--limit', 'x'], 'settle ledger entries --help'],
  [['rnu'], 'settle --help'],
])('settle %j: an error has its code and says what to type next, as text and as a document', async (args, next) => {
  const text = await run(...args);
  expect(text.code).toBe(2);
  expect(text.stderr).toMatch(/^settle: USAGE: .+\n {2}next: /);
  expect(text.stderr).toContain(`next: ${next}\n`);
  const { error } = JSON.parse((await run('--json', ...args)).stderr) as { error: { details: { next: string } } };
  expect(error.details.next).toBe(next);
});

test('a group alone with --json says that a command is missing', async () => {
  expect(JSON.parse((await run('--json', 'ledger')).stderr)).toMatchObject({
    error: { code: 'USAGE', message: 'A command is missing.', details: { next: 'settle ledger --help' }, exitCode: 2 },
  });
});

test('a watermark that no database holds is a usage error', async () => {
  const ended = await run('rerun', '--from-watermark', '9999999999999999999', '--reason', 'x', '--json');
  expect(JSON.parse(ended.stderr)).toMatchObject({ error: { code: 'USAGE', exitCode: 2 } });
});

test('a demo larger than any disk is refused before anything is written', async () => {
  expect(await run('demo', '--orders', '999999999999999')).toMatchObject({ code: 2 });
  expect(readdirSync(folder)).toEqual([]);
});

test('a log file on a full disk is told, and changes nothing of how the command ends', async () => {
  const ended = await run('lock', 'show', '--log-file', '/dev/full');
  expect(ended.code).toBe(0);
  expect(ended.stderr).toContain('The log file /dev/full takes no more');
});
