import { spawn } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { createTestDatabase, onEachDatabase } from './support/databases.js';

interface Lap {
  orders: number;
  ordersPerSecond: number;
  messages: number;
  peakBytes: number | null;
}
interface BenchDocument {
  engines: { floor: Lap[]; settle: Lap[]; oneByOne: Lap; differences: string[] }[];
}

/** The benchmark as `npm run bench` starts it; the tests' set-up has built it. */
function bench(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, ['dist/test/bench/main.js', ...args]);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  return new Promise((resolve) => {
    child.on('close', (code) => {
      resolve({ code, stdout, stderr });
    });
  });
}

const small = ['--orders', '2000', '--accounts', '100', '--sample', '100', '--json'];

onEachDatabase('benchmark', (place) => {
  test('settles the same day three ways and finds the same books', async () => {
    const empty = await createTestDatabase(place().database.target.dialect === 'sqlite' ? 'sqlite' : 'server', {
      migrate: false,
    });
    try {
      const ended = await bench('--database', empty.url, ...small);
      expect(ended).toMatchObject({ code: 0 });
      const [engine] = (JSON.parse(ended.stdout) as BenchDocument).engines;
      expect(engine?.differences).toEqual([]);
      expect(engine?.floor[0]?.orders).toBe(2_000);
      expect(engine?.settle[0]?.orders).toBe(2_000);
      expect(engine?.settle[0]?.messages).toBe(engine?.floor[0]?.messages); // one page, one range: the same nets
      expect(engine?.settle[0]?.peakBytes).toBeGreaterThan(20_000_000);
      expect(engine?.oneByOne.orders).toBe(100);
    } finally {
      await empty.drop();
    }
  });

  test('notices one order that a contender left out', async () => {
    const empty = await createTestDatabase(place().database.target.dialect === 'sqlite' ? 'sqlite' : 'server', {
      migrate: false,
    });
    try {
      const ended = await bench('--database', empty.url, ...small, '--skip-one-order');
      expect(ended.code).toBe(4);
      const [engine] = (JSON.parse(ended.stdout) as BenchDocument).engines;
      expect(engine?.differences).toContain('floor: rows order SUCCESS: expected 2000, found 1999');
      expect(engine?.differences).toContain('settle against floor: orders order SUCCESS: expected 1999, found 2000');
    } finally {
      await empty.drop();
    }
  });

  test('refuses a database that already holds accounts or orders, and leaves it as it is', async () => {
    await place().database.read((session) =>
      session.change(
        `insert into account (account_no, state, registered_at, changed_at) values ('M1', 'ACTIVE', '2026-11-29 08:00:00', '2026-11-29 08:00:00')`,
      ),
    );
    const ended = await bench('--database', place().url, ...small);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain('holds rows in account');
    const rows = await place().database.read((session) => session.rows('select account_no from account'));
    expect(rows).toEqual([{ account_no: 'M1' }]);
  });
});

test.each(['--orders 0', '--orders 1e3', '--lanes', '--unknown'])('refuses "%s" as usage', async (args) => {
  expect(await bench(...args.split(' '))).toMatchObject({ code: 2, stdout: '' });
});
