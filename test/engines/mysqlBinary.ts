import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// A MySQL server that Debian's stable releases no longer carry: taken from this machine, or from Debian unstable.

const folders = ['/usr/sbin', '/usr/local/sbin', '/usr/bin', '/usr/local/bin', '/usr/local/mysql/bin'];

/** Kept for the next time; removing it costs a minute. */
export const unstableFolder = join(tmpdir(), 'settle-mysql-of-debian-unstable');

/** Path of a program that is MySQL's server and not MariaDB's. Throws with what to type where none can be had. */
export function findOrFetchMysql(say: (text: string) => void): string {
  const chosen = process.env['SETTLE_TEST_SERVER_BINARY'];
  if (chosen !== undefined && chosen !== '') {
    if (versionOf(chosen) !== null) return chosen;
    throw new Error(`SETTLE_TEST_SERVER_BINARY=${chosen} is not MySQL's server.\n${advice}`);
  }
  const searched = [...(process.env['PATH'] ?? '').split(':'), ...folders, '/opt/homebrew/bin'];
  const found = searched.map((folder) => join(folder, 'mysqld')).find((path) => versionOf(path) !== null);
  return found ?? fetchFromDebian(say);
}

/** "9.7.4", or null when it is not there or is MariaDB, which goes by the same name. */
export function versionOf(binary: string): string | null {
  if (!existsSync(binary)) return null;
  const answer = spawnSync(binary, ['--no-defaults', '--version'], { encoding: 'utf8' }).stdout;
  return /mariadb/i.test(answer) ? null : (/Ver ([0-9]+\.[0-9]+\.[0-9]+)/.exec(answer)?.[1] ?? null);
}

const advice =
  'Install MySQL 8.0.17 or later and name its server: SETTLE_TEST_SERVER_BINARY=/path/to/mysqld npm run test:mysql\n' +
  '(macOS: brew install mysql). As root on Debian or Ubuntu it is fetched: apt-get install debootstrap, then npm run test:mysql';

/**
 * The server's package with all it needs, in a folder of its own; nothing of this machine is changed but the tool that
 * makes the folder. The program is started by the folder's own loader and libraries, so that paths mean the same to it.
 */
function fetchFromDebian(say: (text: string) => void): string {
  const program = join(unstableFolder, 'settle-mysqld');
  if (versionOf(program) !== null) return program;
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) {
    throw new Error(`There is no MySQL server here, and only root on Debian or Ubuntu can fetch one.\n${advice}`);
  }
  say(`No MySQL server found; fetching mysql-server-core of Debian unstable into ${unstableFolder} (about a minute).`);
  rmSync(unstableFolder, { recursive: true, force: true });
  mkdirSync(unstableFolder);
  if (!existsSync('/usr/sbin/debootstrap')) install('debootstrap');
  const made = spawnSync(
    '/usr/sbin/debootstrap',
    ['--variant=minbase', '--include=mysql-server-core', 'sid', unstableFolder],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  writeFileSync(program, starter());
  chmodSync(program, 0o755);
  if (made.status === 0 && versionOf(program) !== null) return program;
  rmSync(unstableFolder, { recursive: true, force: true });
  throw new Error(`MySQL could not be fetched from Debian unstable.\n${advice}`);
}

function starter(): string {
  const libraries = ['usr/lib/*-linux-gnu', 'usr/lib/mysql/private'].map((path) => `"$here"/${path}`).join(' ');
  return `#!/bin/sh
here='${unstableFolder}'
libraries=$(printf '%s:' ${libraries})
exec "$here"/usr/lib*/ld-linux-*.so.* --library-path "$libraries" "$here/usr/sbin/mysqld" "$@" --basedir="$here/usr" --secure-file-priv=NULL
`;
}

function install(name: string): void {
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  spawnSync('apt-get', ['update'], { stdio: 'ignore', env: environment });
  spawnSync('apt-get', ['install', '-y', '--no-install-recommends', name], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: environment,
  });
}
