import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase, databaseKinds, onServer, serverUrl } from './support/databases.js';
import { settleInside } from './support/inside.js';
import { settle, settleBin, type Ended } from './support/program.js';
import { script } from './support/script.js';
import { freePort } from './support/server.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const run = (args: readonly string[], options: Parameters<typeof settle>[1] = {}): Promise<Ended> =>
  settle(args, { cwd: folder, ...options });
/** The same inside this process, where only the answer counts. */
const answer = (args: readonly string[]): Promise<Ended> => settleInside(args, { cwd: folder });
const errorIn = ({
  stderr,
}: Ended): { code: string; message: string; details: Record<string, unknown>; exitCode: number } =>
  (JSON.parse(stderr) as { error: ReturnType<typeof errorIn> }).error;

describe('help', () => {
  const commands = [
    [],
    ['migrate'],
    ['migrate', 'up'],
    ['migrate', 'down'],
    ['migrate', 'status'],
    ['migrate', 'sql'],
    ['import'],
    ['import', 'orders'],
    ['import', 'accounts'],
    ['import', 'fee-plans'],
    ['import', 'terms'],
    ['import', 'beneficiaries'],
    ['run'],
    ['resume'],
    ['rerun'],
    ['status'],
    ['runs'],
    ['report'],
    ['verify'],
    ['reconcile'],
    ['explain'],
    ['explain', 'account'],
    ['explain', 'order'],
    ['explain', 'payout'],
    ['explain', 'deposit'],
    ['explain', 'discrepancy'],
    ['ledger'],
    ['ledger', 'balances'],
    ['ledger', 'entries'],
    ['ledger', 'trial-balance'],
    ['ledger', 'export'],
    ['ledger', 'reverse'],
    ['ledger', 'accounts'],
    ['outbox'],
    ['outbox', 'status'],
    ['outbox', 'relay'],
    ['outbox', 'requeue'],
    ['outbox', 'purge'],
    ['payout'],
    ['payout', 'run'],
    ['payout', 'check'],
    ['payout', 'list'],
    ['payout', 'carried'],
    ['payout', 'show'],
    ['payout', 'review'],
    ['payout', 'answers'],
    ['deposit'],
    ['deposit', 'import'],
    ['deposit', 'create'],
    ['deposit', 'plan'],
    ['deposit', 'settle'],
    ['deposit', 'auto'],
    ['deposit', 'deliver'],
    ['deposit', 'list'],
    ['deposit', 'show'],
    ['deposit', 'reasons'],
    ['deposit', 'review'],
    ['deposit', 'review', 'list'],
    ['deposit', 'review', 'open'],
    ['deposit', 'review', 'approve'],
    ['deposit', 'review', 'reject'],
    ['deposit', 'audit'],
    ['deposit', 'recheck'],
    ['deposit', 'compensation'],
    ['deposit', 'compensation', 'candidates'],
    ['deposit', 'compensation', 'plan'],
    ['deposit', 'mark'],
    ['statement'],
    ['statement', 'import'],
    ['statement', 'list'],
    ['discrepancy'],
    ['discrepancy', 'list'],
    ['discrepancy', 'show'],
    ['discrepancy', 'assign'],
    ['discrepancy', 'retry'],
    ['discrepancy', 'resolve'],
    ['discrepancy', 'ignore'],
    ['order'],
    ['order', 'cancel'],
    ['quarantine'],
    ['quarantine', 'list'],
    ['quarantine', 'release'],
    ['lock'],
    ['lock', 'show'],
    ['lock', 'release'],
    ['init'],
    ['purge'],
    ['calendar'],
    ['calendar', 'show'],
    ['config'],
    ['config', 'show'],
    ['config', 'check'],
    ['config', 'init'],
    ['config', 'schema'],
    ['completion'],
    ['channel'],
    ['channel', 'simulate'],
    ['demo'],
    ['doctor'],
    ['metrics'],
    ['notify'],
    ['notify', 'test'],
    ['notify', 'send'],
    ['source'],
    ['source', 'check'],
  ];

  test.each(commands.map((words) => [['settle', ...words, '--help'].join(' '), words]))(
    '%s has examples and exit codes, and touches nothing',
    async (_title, words) => {
      const ended = await answer([...(words as string[]), '--help']);
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      expect(ended.stdout).toMatch(/^Examples:\n {2}settle /);
      expect(ended.stdout).toContain(['Usage: settle', ...(words as string[])].join(' '));
      expect(ended.stdout).toContain('Exit codes:');
      expect(ended.stdout).toContain('75 TEMPFAIL');
      expect(ended.stdout).toContain('--json');
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  test('no command is missing from the list above', async () => {
    const listed = async (words: string[]): Promise<string[]> =>
      [
        ...((await answer([...words, '--help'])).stdout.split('\nCommands:\n')[1]?.split('\n\n')[0] ?? '').matchAll(
          /^ {2}([a-z-]+)/gm,
        ),
      ]
        .map(([, name = '']) => name)
        .filter((name) => name !== 'help');
    const top = await listed([]);
    const known = (words: string[]): string[] =>
      commands
        .filter((command) => command.length === words.length + 1 && words.every((word, at) => command[at] === word))
        .map((command) => command[words.length] ?? '');
    expect([...top].sort()).toEqual(known([]).sort());
    for (const group of top)
      expect([group, ...(await listed([group]))].sort()).toEqual([group, ...known([group])].sort());
  });

  test('settle alone prints it and ends well', async () => {
    const [alone, asked] = [await run([]), await run(['--help'])];
    expect(alone).toMatchObject({ code: 0, stderr: '', stdout: asked.stdout });
  });

  test('a group alone prints its help where errors go, and is a usage error', async () => {
    const ended = await run(['migrate']);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain('Usage: settle migrate');
  });

  test('--version says the version of the package', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
  });
});

test('the program starts about as fast as Node itself', () => {
  const timed = (args: string[]): number => {
    const started = performance.now();
    const { status } = spawnSync(process.execPath, args);
    expect(status).toBe(0);
    return performance.now() - started;
  };
  // Turn by turn, so that what else the machine does meets both alike; the quickest of each is the least disturbed.
  const quickest = { bare: Infinity, settle: Infinity };
  const within = (): boolean => quickest.settle <= 1.5 * quickest.bare + 80;
  for (let round = 0; round < 7 || (!within() && round < 30); round += 1) {
    quickest.bare = Math.min(quickest.bare, timed(['-e', '0']));
    quickest.settle = Math.min(quickest.settle, timed([settleBin, '--help']));
  }
  process.stderr.write(`settle --help ${quickest.settle.toFixed(0)} ms, bare node ${quickest.bare.toFixed(0)} ms\n`);
  expect(within()).toBe(true);
});

describe('what cannot be understood', () => {
  const mistakes: [string[], string, string | null][] = [
    [['migrat', 'up'], "unknown command 'migrat'", 'migrate'],
    [['rnu'], "unknown command 'rnu'", 'run'],
    [['migrate', 'upp'], "unknown command 'upp'", 'up'],
    [['run', '--batch-dya', '2026-11-29'], "unknown option '--batch-dya'", '--batch-day'],
    [['run', '--dryrun'], "unknown option '--dryrun'", '--dry-run'],
    [['run', '--lanes', 'many'], '"many" is not a whole number', null],
    [['run', '--lanes', '1e3'], '"1e3" is not a whole number', null],
    [['run', '--lanes', '-1'], '"-1" is not a whole number', null],
    [['run', '--batch-day'], "option '--batch-day <day>' argument missing", null],
    [['run', 'now'], 'too many arguments', null],
    [['migrate', 'up', 'please'], 'too many arguments', null],
    [['rerun', '--from-watermark', '0'], "required option '--reason <text>' not specified", null],
    [['quarantine', 'release', 'M1', '--by', 'alice'], "required option '--reason <text>' not specified", null],
    [['report', '--format', 'pdf'], "argument 'pdf' is invalid", null],
    [['import', 'orders'], "missing required argument 'file'", null],
    [['--password', 'x', 'run'], "unknown option '--password'", null],
  ];

  test.each(mistakes)('settle %j: exit code 2, one message, and what was meant', async (args, message, meant) => {
    const ended = await run(args);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain(message);
    if (meant !== null) expect(ended.stderr).toContain(`Did you mean ${meant}?`);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each(mistakes)('settle %j --json: the same as one JSON document on stderr', async (args, message, meant) => {
    const ended = await answer(['--json', ...args]);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    const error = errorIn(ended);
    expect(error).toMatchObject({ code: 'USAGE', exitCode: 2, details: {} });
    expect(error.message).toContain(message);
    if (meant !== null) expect(error.message).toContain(meant);
  });

  test.each([[['--output=json']], [['-ojson']], [['-o', 'json']], [['--output', 'json']], [['-o', 'jsonl']]])(
    '%j asks for JSON like --json',
    async (flags) => {
      expect(errorIn(await answer(['migrate', 'upp', ...flags])).code).toBe('USAGE');
    },
  );
});

describe('a database that cannot be used', () => {
  const status = (url: string, env: Record<string, string> = {}, ...args: string[]): Promise<Ended> =>
    run(['migrate', 'up', '--json', ...args], { url, env: { SETTLE_DATABASE_CONNECT_TIMEOUT: '2s', ...env } });

  test('a URL of another kind: exit code 2 and the forms that work', async () => {
    const ended = await status('postgres://u:p@h/d');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(errorIn(ended)).toMatchObject({ code: 'DATABASE_URL_INVALID', exitCode: 2 });
    expect(errorIn(ended).details['next']).toContain('mysql://USER:PASSWORD@HOST:PORT/DATABASE');
  });

  test('a server that is down: exit code 75 at about the connect time limit', async () => {
    const started = Date.now();
    const ended = await status(`mysql://u:p@127.0.0.1:${String(await freePort())}/d`);
    expect(ended).toMatchObject({ code: 75, stdout: '' });
    expect(errorIn(ended)).toMatchObject({ code: 'DATABASE_UNREACHABLE', exitCode: 75 });
    const ms = Date.now() - started;
    expect(ms).toBeGreaterThan(800);
    expect(ms).toBeLessThan(8_000);
  });

  test('a Unix socket that is not there: exit code 75', async () => {
    const ended = await status(`mysql://u@h/d?socket=${encodeURIComponent(join(folder, 's.sock'))}`);
    expect(errorIn(ended)).toMatchObject({ code: 'DATABASE_UNREACHABLE', exitCode: 75 });
  });

  test('a wrong password: exit code 2, at once', async () => {
    const started = Date.now();
    const url = new URL(serverUrl());
    url.username = 'nobody';
    url.password = 'wrong';
    const ended = await status(`${url.href}d`);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(errorIn(ended)).toMatchObject({ code: 'DATABASE_ACCESS_DENIED', exitCode: 2 });
    expect(ended.stderr).not.toContain('wrong');
    expect(Date.now() - started).toBeLessThan(2_000 + 2_000);
  });

  test('a database that is not there: exit code 2, and it is not made', async () => {
    const ended = await status(`${serverUrl()}settle_test_never_made`);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(errorIn(ended)).toMatchObject({ code: 'DATABASE_UNKNOWN', exitCode: 2 });
    await expect(onServer('use settle_test_never_made')).rejects.toThrow();
  });

  test.each([
    ['in a folder that is not there', () => join(folder, 'none', 'settle.db')],
    ['below a file', () => (writeFileSync(join(folder, 'file'), 'x'), join(folder, 'file', 'settle.db'))],
    ['that is a folder', () => (mkdirSync(join(folder, 'dir')), join(folder, 'dir'))],
  ])('a SQLite file %s: exit code 2, nothing made', async (_where, path) => {
    const file = path();
    const before = readdirSync(folder, { recursive: true });
    const ended = await status(`sqlite:${file}`);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(errorIn(ended)).toMatchObject({ code: 'DATABASE_NOT_WRITABLE', exitCode: 2 });
    expect(errorIn(ended).details['next']).toContain('folder');
    expect(readdirSync(folder, { recursive: true })).toEqual(before);
  });

  test('a file that is no database: exit code 2, and it is left as it was, with nothing beside it', async () => {
    const path = join(folder, 'orders.csv');
    writeFileSync(path, 'order_no,account_no,batch_day,type,amount,currency,channel,occurred_at\n'.repeat(200));
    const sum = (): string => createHash('sha256').update(readFileSync(path)).digest('hex');
    const before = sum();
    const ended = await status(`sqlite:${path}`);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(errorIn(ended)).toMatchObject({ code: 'DATABASE_NOT_A_DATABASE', exitCode: 2 });
    expect([sum(), readdirSync(folder)]).toEqual([before, ['orders.csv']]);
  });

  test('the same in words for people: code, sentence, next step', async () => {
    const ended = await run(['migrate', 'up'], { url: `sqlite:${join(folder, 'none', 'settle.db')}` });
    expect(ended.stderr).toMatch(/^settle: DATABASE_NOT_WRITABLE: .+\n {2}next: .+\n$/);
  });
});

describe.each(databaseKinds)('a schema that is not there [%s]', (kind) => {
  test('is told with exit code 5 and the command that makes it', async () => {
    const place = await createTestDatabase(kind, { migrate: false });
    try {
      // A file that only looks like the embedded default is not migrated behind one's back.
      const ended = await script(
        `
        import { withDatabase } from 'settle:commands/context.js';
        import { loadConfig } from 'settle:config.js';
        const config = loadConfig({ environment: { SETTLE_DATABASE_URL: process.argv[1] } });
        try { await withDatabase({ config }, async () => { console.log('worked'); }); }
        catch (error) { console.log(error.code, error.exitCode, error.next); }`,
        { args: [place.url] },
      ).ended;
      expect(ended).toMatchObject({ code: 0, stdout: 'SCHEMA_PENDING 5 settle migrate up\n' });
    } finally {
      await place.drop();
    }
  });
});

describe('what is written', () => {
  const write = (lines: number): string => `
    import { lineWriter } from 'settle:commands/context.js';
    const write = lineWriter(process.stdout);
    let done = 0;
    for (let line = 0; line < ${String(lines)}; line += 1) { await write(String(line).padStart(1023, '.')); done += 1; }
    process.stderr.write('all ' + String(done) + ' written');
    process.exitCode = 3;`;

  test('arrives whole through a pipe, however slow its reader is, and the exit code stays', async () => {
    const { child, ended } = script(write(2_048));
    child.stdout?.pause();
    setTimeout(() => child.stdout?.resume(), 300);
    const { code, stdout } = await ended;
    expect([code, stdout.length, stdout.split('\n').length]).toEqual([3, 2_048 * 1_024, 2_049]);
    expect(stdout.endsWith(`${'2047'.padStart(1023, '.')}\n`)).toBe(true);
  });

  test('into a pipe that was closed is dropped in silence; the work goes on to its end', async () => {
    const { child, ended } = script(write(2_048));
    child.stdout?.once('data', () => child.stdout?.destroy());
    expect(await ended).toMatchObject({ code: 3, signal: null, stderr: 'all 2048 written' });
  });

  test.each([
    ['the first line of the help', '--help', 0],
    ['the first line of the statements', 'migrate sql', 0],
  ])('%s can be read by head', async (_what, args, code) => {
    await run(['migrate', 'up'], { url: `sqlite:${join(folder, 'pipe.db')}` });
    await run(['migrate', 'down', '--yes'], { url: `sqlite:${join(folder, 'pipe.db')}` });
    const shell = `set -o pipefail; "${process.execPath}" "${settleBin}" ${args} | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const ended = spawnSync('bash', ['-c', shell], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'] ?? '', SETTLE_DATABASE_URL: `sqlite:${join(folder, 'pipe.db')}` },
    });
    expect(ended.stderr).toBe('');
    expect(ended.stdout.trim().split('\n').at(-1)).toBe(String(code));
  });

  test('holds no control characters where there is no terminal, unless --color asks for colour', async () => {
    const url = `sqlite:${join(folder, 'plain.db')}`;
    for (const args of [['--help'], ['migrate', 'status'], ['migrate', 'up'], ['migrate', 'sql'], ['rnu']]) {
      const { stdout, stderr } = await run(args, { url, env: { FORCE_COLOR: '', TERM: 'xterm-256color' } });
      expect(stdout + stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/);
    }
  });
});

describe('a signal', () => {
  /** A command that works on until it is stopped, inside the real command line. */
  const started = async (): Promise<{
    child: ReturnType<typeof script>['child'];
    ended: ReturnType<typeof script>['ended'];
  }> => {
    let reached: () => void = () => undefined;
    const isReached = new Promise<void>((resolve) => (reached = resolve));
    const silent = createServer((socket) => {
      socket.on('error', () => undefined);
      reached();
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const child = spawn(process.execPath, [settleBin, 'migrate', 'status'], {
      cwd: folder,
      // A server that takes the connection and never says a word keeps the command waiting.
      env: { SETTLE_DATABASE_URL: `mysql://u:p@127.0.0.1:${String(port)}/d`, SETTLE_DATABASE_CONNECT_TIMEOUT: '20s' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
    child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
    const ended = new Promise<Ended>((resolve) => {
      child.on('close', (code, signal) => {
        silent.close();
        resolve({ code, signal, stdout, stderr });
      });
    });
    await isReached;
    return { child, ended };
  };

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s asks to stop and says so; a second one stops at once with exit code %i', async (name, exitCode) => {
    const { child, ended } = await started();
    child.kill(name);
    await new Promise((resolve) => child.stderr?.once('data', resolve));
    const since = Date.now();
    child.kill(name);
    const { code, stderr, stdout } = await ended;
    expect([code, stdout]).toEqual([exitCode, '']);
    expect(stderr).toBe(`${name}: finishing what is in flight; a second one stops at once.\n`);
    expect(Date.now() - since).toBeLessThan(10_000);
  });
});

test('a run of the tests leaves nothing in the working directory', () => {
  expect(existsSync('settle.db')).toBe(false);
});
