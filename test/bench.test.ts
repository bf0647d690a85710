import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { EngineResult } from './bench/contest.js';
import { parseHistory } from './bench/history.js';
import { firstMarker, lastMarker } from './bench/readme.js';
import type { ScaleResult } from './bench/scale.js';
import { createTestDatabase, onEachDatabase, type TestDatabase } from './support/databases.js';

const program = resolve('dist/test/bench/main.js');

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The benchmark as `npm run bench` starts it; the tests' set-up has built it. */
function bench(args: readonly string[], cwd = process.cwd(), env = {}): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], { cwd, env: { ...process.env, ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  return new Promise((done) => {
    child.on('close', (code) => {
      done({ code, stdout, stderr });
    });
  });
}

function firstEngine<T = EngineResult>({ stdout }: Ended): T {
  const [engine] = (JSON.parse(stdout) as { engines: T[] }).engines;
  return engine as T;
}

const small = ['--orders', '2000', '--accounts', '100', '--sample', '100', '--json'];

onEachDatabase('benchmark', (place) => {
  let empty: TestDatabase;
  beforeEach(async () => {
    const kind = place().database.target.dialect === 'sqlite' ? 'sqlite' : 'server';
    empty = await createTestDatabase(kind, { migrate: false });
  });
  afterEach(() => empty.drop());

  test('settles the same day three ways and finds the same books', async () => {
    const ended = await bench(['--database', empty.url, ...small]);
    expect(ended).toMatchObject({ code: 0 });
    const engine = firstEngine(ended);
    expect(engine.differences).toEqual([]);
    expect(engine.floors).toMatchObject([{ connections: 1, laps: [{ orders: 2_000 }] }]);
    expect(engine.settle[0]?.orders).toBe(2_000);
    expect(engine.settle[0]?.messages).toBe(engine.floors[0]?.laps[0]?.messages); // one page, one range: the same nets
    expect(engine.settle[0]?.peakBytes).toBeGreaterThan(20_000_000);
    expect(engine.oneByOne.lap.orders).toBe(100);
    expect(engine).toMatchObject({ elephant: [], ratios: { elephantToEven: null } });
  });

  test('notices one order that a contender left out', async () => {
    const ended = await bench(['--database', empty.url, ...small, '--skip-one-order']);
    expect(ended.code).toBe(4);
    const { differences } = firstEngine(ended);
    expect(differences).toContain('floor: rows order SUCCESS: expected 2000, found 1999');
    expect(differences).toContain('settle against floor: orders order SUCCESS: expected 1999, found 2000');
  });

  test('refuses a database that already holds accounts or orders, and leaves it as it is', async () => {
    await place().database.read((session) =>
      session.change(
        `insert into account (account_no, state, registered_at, changed_at) values ('M1', 'ACTIVE', '2026-11-29 08:00:00', '2026-11-29 08:00:00')`,
      ),
    );
    const ended = await bench(['--database', place().url, ...small]);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain('holds rows in account');
    const rows = await place().database.read((session) => session.rows('select account_no from account'));
    expect(rows).toEqual([{ account_no: 'M1' }]);
  });

  test('measures days of several sizes one after the other', async () => {
    const ended = await bench(['--database', empty.url, '--scale', '800,300', '--accounts', '50', '--json']);
    expect(ended).toMatchObject({ code: 0 });
    const { laps, differences } = firstEngine<ScaleResult>(ended);
    expect(differences).toEqual([]);
    expect(laps).toMatchObject([
      { orders: 300, foreign: null },
      { orders: 800, foreign: null },
    ]);
    expect(laps.every(({ ms, peakBytes }) => ms > 0 && (peakBytes ?? 0) > 20_000_000)).toBe(true);
  });
});

describe('benchmark on a server of its own', () => {
  test('deals the floor out to several connections, and lets the server count what each contender sent', async () => {
    const compared = ['--floor-connections', '1,3', '--range', '150', '--elephant'];
    const ended = await bench(['--engine', 'server', ...small, ...compared]);
    expect(ended).toMatchObject({ code: 0 });
    const { floors, settle, elephant, oneByOne, ratios, differences } = firstEngine(ended);
    expect(differences).toEqual([]);
    expect(floors.map(({ connections, laps }) => [connections, laps.length])).toEqual([
      [1, 1],
      [3, 1],
    ]);
    const messages = floors.flatMap(({ laps }) => laps.map((lap) => lap.messages));
    expect(new Set(messages).size).toBe(1); // whoever takes a range makes the same of it
    expect(elephant).toHaveLength(1);
    expect(elephant[0]?.messages).not.toBe(settle[0]?.messages); // another day
    expect(ratios.settleToBestFloor).toBeLessThanOrEqual(ratios.settleToFloor);
    expect(ratios.elephantToEven).toBeGreaterThan(0);

    // Ten statements an order, two of them COMMIT, a few to connect and to read pages with.
    expect(oneByOne.lap.counts?.commits).toBe(200);
    expect(oneByOne.lap.counts?.statements).toBeGreaterThan(1_000);
    expect(oneByOne.lap.counts?.statements).toBeLessThan(1_120);
    // 14 ranges of two transactions: begin, five statements, commit; and two truncates; once the totals.
    const ofRanges = 14 * (2 + 2 * 7) + 4;
    for (const [at, connections] of [1, 3].entries()) {
      const counts = floors[at]?.laps[0]?.counts;
      expect(counts?.commits).toBe(14 * 2 + 1);
      // Over that, each connection's settings and temporary tables, and nothing of the foreign writer's.
      expect((counts?.statements ?? 0) - ofRanges).toBeGreaterThanOrEqual(3 * connections);
      expect((counts?.statements ?? 0) - ofRanges).toBeLessThanOrEqual(10 * connections);
    }
    expect(settle[0]?.counts?.statements).toBeGreaterThan(20);
    expect(settle[0]?.foreign?.statements).toBeGreaterThan(8);
  }, 300_000);

  test('fails where there is no server, and does not make do with SQLite', async () => {
    const ended = await bench(small, process.cwd(), { SETTLE_TEST_SERVER_BINARY: '/nowhere/mysqld' });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).not.toContain('SQLite');
  });
});

describe('--save', () => {
  let clone: string;
  const git = (...args: string[]): string => {
    const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false'];
    const ended = spawnSync('git', [...identity, ...args], { cwd: clone, encoding: 'utf8' });
    if (ended.status !== 0) throw new Error(ended.stderr);
    return ended.stdout.trim();
  };
  const read = (file: string): string => readFileSync(join(clone, file), 'utf8');
  const measured = (...more: string[]): Promise<Ended> =>
    bench(['--database', `sqlite:${clone}.db`, ...small, ...more], clone);
  beforeEach(() => {
    clone = mkdtempSync(join(tmpdir(), 'settle-clone-'));
    mkdirSync(join(clone, 'test', 'bench'), { recursive: true });
    writeFileSync(join(clone, 'README.md'), `Before.\n${firstMarker}\n${lastMarker}\nAfter.\n`);
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '--message', 'First');
  });
  afterEach(() => {
    rmSync(clone, { recursive: true, force: true });
    for (const end of ['', '-shm', '-wal']) rmSync(`${clone}.db${end}`, { force: true });
  });

  test('adds a line to the history for each run, and shows the newest in the README', async () => {
    expect(await measured('--save')).toMatchObject({ code: 0 });
    const [first] = parseHistory(read('test/bench/history.jsonl'));
    expect(first).toMatchObject({ measure: 'contest', commit: git('rev-parse', 'HEAD'), sizes: { orders: 2_000 } });
    expect(first).not.toHaveProperty('dirty'); // nor is it the next time, with the first figures not committed
    expect(first?.command).toContain('npm run bench -- --database sqlite:/');
    expect(read('README.md')).toContain(String(first?.command));

    writeFileSync(join(clone, 'changed.ts'), '');
    expect(await measured('--save', '--repeat', '2')).toMatchObject({ code: 0 });
    const lines = parseHistory(read('test/bench/history.jsonl'));
    expect(lines).toHaveLength(2);
    expect(lines[0]).toEqual(first);
    expect(lines[1]).toMatchObject({ dirty: true, sizes: { repeat: 2 } });
    expect(read('README.md')).toMatch(/^Before\.\n[^]*--repeat 2\n[^]*\nAfter\.\n$/);
    expect(read('README.md')).not.toContain(`${String(first?.command)}\n`);
  });

  test('saves nothing of a run whose books differ', async () => {
    const before = read('README.md');
    const ended = await measured('--save', '--skip-one-order');
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain('Not saved: the books differ.');
    expect(git('status', '--porcelain')).toBe('');
    expect(read('README.md')).toBe(before);
  });

  test.each([
    ['a README without the markers', 'README.md', 'No markers.\n', 2],
    ['a history that cannot be read', 'test/bench/history.jsonl', '{}\n', 1],
  ])('does not even begin to measure with %s', async (_what, file, text, code) => {
    writeFileSync(join(clone, file), text);
    const ended = await measured('--save');
    expect(ended).toMatchObject({ code, stdout: '' });
    expect(ended.stderr).not.toContain('orders/s');
  });

  test('does not begin outside a clone, whose commit the line would name', async () => {
    rmSync(join(clone, '.git'), { recursive: true });
    const ended = await measured('--save');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain('not a git repository');
  });
});

test.each([
  '--orders 0',
  '--orders 1e3',
  '--lanes',
  '--unknown',
  '--day odd',
  '--engine postgres',
  '--engine sqlite --database sqlite:a.db',
  '--floor-connections 2,4',
  '--floor-connections 1,1',
  '--elephant --day elephant',
  '--scale 1000',
  '--scale 1000,2000 --repeat 2',
  '--readme --json',
])('refuses "%s" as usage', async (args) => {
  expect(await bench(args.split(' '))).toMatchObject({ code: 2, stdout: '' });
});

test('--help names every flag', async () => {
  const { code, stdout } = await bench(['--help']);
  expect(code).toBe(0);
  const { flags } = await import('./bench/options.js');
  const named = [...stdout.matchAll(/^ {2}--([a-z-]+)/gm)].map((match) => match[1]);
  expect([...named, 'help'].sort()).toEqual(Object.keys(flags).sort());
});
