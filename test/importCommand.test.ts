import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase, databaseKinds, type TestDatabase } from './support/databases.js';
import { header, orderLine, storedOrders } from './support/importing.js';
import { settleInside } from './support/inside.js';
import { settle, settleBin } from './support/program.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'settle-import-test-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function fileOf(name: string, ...lines: (string | string[])[]): string {
  const path = join(folder, name);
  writeFileSync(path, `${[header, ...lines.flat()].join('\n')}\n`);
  return path;
}

const rows = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    orderLine({ order_no: `O-${String(at)}`, account_no: `M${String(at % 50)}` }),
  );

describe.each(databaseKinds)('settle import [%s]', (kind) => {
  let given: TestDatabase;
  beforeEach(async () => {
    given = await createTestDatabase(kind);
  });
  afterEach(() => given.drop());

  test('the document has every file in the order named, and the exit code of the worst', async () => {
    const files = [
      fileOf('good.csv', orderLine()),
      fileOf('rows.csv', orderLine(), orderLine({ order_no: 'O-2', amount: '1.005' })),
      fileOf('broken.csv', orderLine({ order_no: 'O-3' }), '"'),
      fileOf('after.csv', orderLine({ order_no: 'O-4' })),
    ];
    const { code, stdout, stderr } = await settleInside(['import', 'orders', ...files, '--json'], given);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({
      schema: 'settle.import',
      schemaVersion: 1,
      files: [
        { file: files[0], accepted: 1, repeated: 0, rejected: [], refused: null },
        {
          file: files[1],
          accepted: 0,
          repeated: 1,
          rejected: [
            { line: 3, code: 'TOO_MANY_DECIMALS', message: 'amount "1.005" has more decimals than the 2 of USD.' },
          ],
          refused: null,
        },
        {
          file: files[2],
          accepted: 0,
          repeated: 0,
          rejected: [],
          refused: { code: 'BROKEN_QUOTE', message: 'The quote opened in line 3, column 1 is not closed.' },
        },
        { file: files[3], accepted: 1, repeated: 0, rejected: [], refused: null },
      ],
    });
    expect(code).toBe(2);
    expect((await storedOrders(given.database)).length).toBe(2);
    expect((await settleInside(['import', 'orders', files[1] as string], given)).code).toBe(3);
    expect((await settleInside(['import', 'orders', files[0] as string], given)).code).toBe(0);
  });

  test('two programs that import the same file at once both end well, with each row once', async () => {
    const file = fileOf('day.csv', rows(20_000));
    const ends = await Promise.all([1, 2].map(() => settle(['import', 'orders', file, '--json'], given)));
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    const counts = ends.map(
      ({ stdout }) => (JSON.parse(stdout) as { files: { accepted: number; repeated: number }[] }).files[0],
    );
    expect(counts.map((count) => (count?.accepted ?? 0) + (count?.repeated ?? 0))).toEqual([20_000, 20_000]);
    expect(counts.reduce((sum, count) => sum + (count?.accepted ?? 0), 0)).toBe(20_000);
    expect((await storedOrders(given.database)).length).toBe(20_000);
  });

  test('the zone of the machine moves neither days nor instants', async () => {
    const lines = [
      orderLine({ batch_day: '2026-03-08', occurred_at: '2026-03-08T02:30:00-08:00' }),
      orderLine({ order_no: 'O-2', batch_day: '2024-02-29', occurred_at: '2024-02-29T23:59:59.999999Z' }),
    ];
    const file = fileOf('day.csv', ...lines);
    for (const zone of ['Asia/Tokyo', 'America/Los_Angeles', 'UTC']) {
      const { code, stdout } = await settle(['import', 'orders', file, '--json'], { ...given, env: { TZ: zone } });
      expect([zone, code]).toEqual([zone, 0]);
      const first = zone === 'Asia/Tokyo';
      expect(JSON.parse(stdout)).toMatchObject({ files: [{ accepted: first ? 2 : 0, repeated: first ? 0 : 2 }] });
    }
    expect(
      (await storedOrders(given.database)).map((row) => row.split('|').filter((_, at) => at === 2 || at === 7)),
    ).toEqual([
      ['2026-03-08', '2026-03-08T10:30:00.000000Z'],
      ['2024-02-29', '2024-02-29T23:59:59.999999Z'],
    ]);
  });

  test('a SIGTERM ends it with 143 and what is stored; typed again, the same command completes it', async () => {
    const file = fileOf('day.csv', rows(60_000));
    const running = settle(['import', 'orders', file], given);
    while ((await ordersStored()) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    running.kill('SIGTERM');
    const { code, stderr } = await running;
    expect(code).toBe(143);
    const stored = await ordersStored();
    expect(stderr).toContain(`${stored.toLocaleString('en-US')} rows of ${file} are stored and stay`);
    expect(stored % 2_000).toBe(0);
    expect(stored).toBeLessThan(60_000);
    const again = await settleInside(['import', 'orders', file, '--json'], given);
    expect(JSON.parse(again.stdout)).toMatchObject({ files: [{ accepted: 60_000 - stored, repeated: stored }] });
    expect(again.code).toBe(0);
  });

  test('autoRegister: false leaves accounts to account files', async () => {
    const file = fileOf('day.csv', orderLine());
    await settleInside(['import', 'orders', file], { ...given, env: { SETTLE_ACCOUNTS_AUTO_REGISTER: 'false' } });
    expect(await given.database.read((session) => session.tuples('select account_no from account'))).toEqual([]);
    const accounts = join(folder, 'accounts.csv');
    writeFileSync(accounts, 'account_no,status\nM1,CLOSED\n');
    const { stdout, code } = await settleInside(['import', 'accounts', accounts, '--json'], given);
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      { schema: 'settle.import', files: [{ accepted: 1, updated: 0 }] },
    ]);
    expect((await settleInside(['import', 'accounts', accounts], given)).stdout).toBe(
      `${accounts}: 0 accepted (0 changed), 1 repeated, 0 rejected\n`,
    );
  });

  async function ordersStored(): Promise<number> {
    const [tuple] = await given.database.read((session) => session.tuples('select count(*) from settlement_order'));
    return Number(tuple?.[0]);
  }
});

describe('what a person reads', () => {
  test('a line for each file, the first twenty refused rows, and how to see the rest', async () => {
    const file = fileOf(
      'day.csv',
      orderLine(),
      rows(25).map((row) => row.replace('USD', 'usd')),
    );
    const { stdout, code } = await settleInside(['import', 'orders', file], { cwd: folder });
    const lines = stdout.trimEnd().split('\n');
    expect(code).toBe(3);
    expect(lines[0]).toBe(`${file}: 1 accepted, 0 repeated, 25 rejected`);
    expect(lines[1]).toBe('  line 3: UNKNOWN_CURRENCY: currency "usd" is not a code of ISO 4217, in capitals.');
    expect(lines.length).toBe(22);
    expect(lines[21]).toBe('  ... and 5 more; --json lists them');
  });

  test('a refused file says that nothing of it is stored', async () => {
    const file = fileOf('day.csv', orderLine(), '"');
    const { stdout, code } = await settleInside(['import', 'orders', file], { cwd: folder });
    expect([code, stdout]).toEqual([
      2,
      `${file}: refused, nothing of it is stored: BROKEN_QUOTE: The quote opened in line 3, column 1 is not closed.\n`,
    ]);
  });
});

describe('where the bytes come from', () => {
  test('standard input is copied to a private file that leaves no trace', async () => {
    const tmp = join(folder, 'tmp');
    mkdirSync(tmp);
    const stdin = `${header}\n${rows(100).join('\n')}\n`;
    const { stdout, code } = await settleInside(['import', 'orders', '-', '--json'], {
      cwd: folder,
      stdin,
      env: { TMPDIR: tmp },
    });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { files: [{ file: '-', accepted: 100, refused: null }] }]);
    expect(readdirSync(tmp)).toEqual([]);
  });

  test('a pipe can be named like a file', () => {
    const file = fileOf('day.csv', rows(100));
    const { stdout, status } = spawnSync(
      'bash',
      ['-c', `"${process.execPath}" "${settleBin}" import orders <(cat "${file}") --json`],
      { cwd: folder, encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: folder } },
    );
    expect([status, JSON.parse(stdout)]).toMatchObject([0, { files: [{ accepted: 100 }] }]);
  });

  test('a stop while standard input is silent is obeyed', async () => {
    const child = spawn(process.execPath, [settleBin, 'import', 'orders', '-'], {
      cwd: folder,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    child.stdin.write(header);
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    while (!existsSync(join(folder, 'settle.db'))) await new Promise((resolve) => setTimeout(resolve, 20));
    await new Promise((resolve) => setTimeout(resolve, 300));
    child.kill('SIGINT');
    expect(await ended).toBe(130);
  });

  test.each([
    ['missing.csv', 'FILE_NOT_FOUND'],
    ['.', 'FILE_IS_DIRECTORY'],
    ['good.csv/x', 'FILE_NOT_FOUND'],
  ])('with %s among the files nothing at all is stored: %s', async (bad, error) => {
    const good = fileOf('good.csv', orderLine());
    const { code, stderr, stdout } = await settleInside(['import', 'orders', good, join(folder, bad), '--json'], {
      cwd: folder,
    });
    expect([code, stdout]).toEqual([2, '']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: error, exitCode: 2 } });
    const after = await settleInside(['import', 'orders', good, '--json'], { cwd: folder });
    expect(JSON.parse(after.stdout)).toMatchObject({ files: [{ accepted: 1, repeated: 0 }] });
  });

  test('a long file needs no more memory than a short one', async () => {
    const file = fileOf('day.csv', rows(150_000));
    const { code, stdout } = await settle(['import', 'orders', file, '--json'], {
      cwd: folder,
      env: { NODE_OPTIONS: '--max-old-space-size=40' },
    });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { files: [{ accepted: 150_000 }] }]);
  });

  test('standard input named twice is a mistake', async () => {
    const { code, stderr } = await settleInside(['import', 'orders', '-', '-'], { cwd: folder, stdin: '' });
    expect([code, stderr]).toEqual([2, expect.stringContaining('only once')]);
  });

  test('standard input that cannot be copied is refused', async () => {
    const { code, stdout } = await settle(['import', 'orders', '-'], {
      cwd: folder,
      stdin: `${header}\n`,
      env: { TMPDIR: join(folder, 'not-there') },
    });
    expect([code, stdout]).toEqual([
      2,
      expect.stringMatching(/standard input: refused, .*FILE_UNREADABLE: .*not-there/),
    ]);
  });
});
