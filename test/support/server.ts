import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A private MariaDB or MySQL server: own data folder, own port on loopback, gone when it is stopped. */
export interface Server {
  /** URL without a database name, ending in "/". */
  url: string;
  /** Kills it without a word, as a power cut would. */
  kill(): Promise<void>;
  /** Starts it again on the same data. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Stops it without closing anything, as a machine that hangs would; comes back once every thread stands still. */
  freeze(): Promise<void>;
  thaw(): void;
}

const binaryNames = ['mariadbd', 'mysqld'];
const folders = [
  '/usr/sbin',
  '/usr/local/sbin',
  '/usr/bin',
  '/usr/local/bin',
  '/usr/local/mysql/bin',
  '/opt/homebrew/bin',
  '/usr/libexec',
];

/** SETTLE_TEST_SERVER_BINARY=/path/to/mysqld chooses one; otherwise MariaDB goes first where both are installed. */
export function findServerBinary(): string | null {
  const chosen = process.env['SETTLE_TEST_SERVER_BINARY'];
  if (chosen !== undefined && chosen !== '') return chosen;
  const searched = [...(process.env['PATH'] ?? '').split(':'), ...folders];
  for (const name of binaryNames) {
    const found = searched.map((folder) => join(folder, name)).find((path) => existsSync(path));
    if (found !== undefined) return found;
  }
  return null;
}

/** Installs the server package when this is root on Debian or Ubuntu, saying so; otherwise says what to type. */
export function findOrInstallServerBinary(): string {
  const found = findServerBinary();
  if (found !== null) return found;
  const isDebian = existsSync('/etc/debian_version') && process.getuid?.() === 0;
  if (isDebian) {
    process.stderr.write('No MariaDB or MySQL server found; installing Debian package mariadb-server for the tests.\n');
    const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['update'], { stdio: 'ignore', env: environment });
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'mariadb-server'], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: environment,
    });
    const installed = findServerBinary();
    if (installed !== null) return installed;
  }
  throw new Error(
    'The tests need a MariaDB or MySQL server and never skip it. Either set SETTLE_TEST_MYSQL_URL=mysql://USER:PASSWORD@HOST:PORT/ ' +
      'for a server where databases named settle_test_… may be created, or install one, for example: ' +
      'sudo apt-get install mariadb-server   (macOS: brew install mariadb)',
  );
}

/** MySQL takes this when the data folder is made, and refuses to start on it with another value. */
const setForGood = '--lower-case-table-names';

/** `within`: where its data folder is made. */
export async function startServer(extraArguments: readonly string[] = [], within = tmpdir()): Promise<Server> {
  const binary = findOrInstallServerBinary();
  const folder = mkdtempSync(join(within, 'settle-db-'));
  const data = join(folder, 'data');
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary);
  const port = await freePort();
  const asUser = process.getuid?.() === 0 ? ['--user=root'] : [];
  initialise(binary, data, [...asUser, ...extraArguments.filter((text) => text.startsWith(setForGood))]);
  const serverArguments = [
    '--no-defaults',
    ...asUser,
    `--datadir=${data}`,
    // A server that starts deletes what it takes for its own temporary tables, those of its neighbours in /tmp too.
    `--tmpdir=${temporary}`,
    `--socket=${join(folder, 's.sock')}`,
    `--port=${String(port)}`,
    '--bind-address=127.0.0.1',
    `--pid-file=${join(folder, 'pid')}`,
    '--innodb-buffer-pool-size=256M',
    '--loose-mysqlx=OFF',
    ...extraArguments,
  ];
  let child: ChildProcess;
  const start = async (): Promise<void> => {
    child = spawn(binary, serverArguments, { stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    child.stderr?.on('data', (text: Buffer) => (log = (log + text.toString()).slice(-4_000)));
    await waitUntilReady(port, child, () => log);
  };
  const end = (signal: NodeJS.Signals): Promise<void> =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) {
        resolve();
        return;
      }
      child.once('exit', () => {
        resolve();
      });
      child.kill(signal);
    });
  await start();
  return {
    url: `mysql://root@127.0.0.1:${String(port)}/`,
    kill: () => end('SIGKILL'),
    start,
    stop: async () => {
      await end('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
    freeze: async () => {
      child.kill('SIGSTOP');
      await standsStill(child.pid as number);
    },
    thaw: () => {
      child.kill('SIGCONT');
    },
  };
}

/** A signal is only sent by kill(): until it has reached each thread, the process may still answer one more request. */
async function standsStill(pid: number): Promise<void> {
  const threads = `/proc/${String(pid)}/task`;
  const stopped = (): boolean =>
    readdirSync(threads).every((thread) => /^State:\s+T/m.test(readFileSync(join(threads, thread, 'status'), 'utf8')));
  if (!existsSync(threads)) {
    await sleep(1_000); // not Linux: nothing tells, and a second is plenty
    return;
  }
  const end = Date.now() + 10_000;
  while (!stopped()) {
    if (Date.now() > end) throw new Error('The test server did not stop within 10 s.');
    await sleep(5);
  }
}

function initialise(binary: string, data: string, more: readonly string[]): void {
  const isMariaDb = binary.endsWith('mariadbd') || /mariadb/i.test(spawnSync(binary, ['--version']).stdout.toString());
  const result = isMariaDb
    ? spawnSync(
        'mariadb-install-db',
        ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal', '--skip-test-db', ...more],
        { encoding: 'utf8' },
      )
    : spawnSync(binary, ['--no-defaults', '--initialize-insecure', `--datadir=${data}`, ...more], {
        encoding: 'utf8',
      });
  if (result.status !== 0)
    throw new Error(`The test server's data folder cannot be made: ${result.stderr}${result.stdout}`);
}

async function waitUntilReady(port: number, child: ChildProcess, log: () => string): Promise<void> {
  const { createConnection } = await import('mysql2/promise');
  const end = Date.now() + 60_000;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`The test server ended at once:\n${log()}`);
    try {
      const connection = await createConnection({ host: '127.0.0.1', port, user: 'root' });
      await connection.end();
      return;
    } catch (error) {
      if (Date.now() > end) throw new Error(`The test server does not answer:\n${log()}`, { cause: error });
      await sleep(100);
    }
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => {
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  });
}
