import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Installs hledger when this is root on Debian or Ubuntu, saying so; otherwise says what to type. */
export function requireHledger(): void {
  if (spawnSync('hledger', ['--version']).status === 0) return;
  if (existsSync('/etc/debian_version') && process.getuid?.() === 0) {
    process.stderr.write('No hledger found; installing Debian package hledger for the tests.\n');
    const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['update'], { stdio: 'ignore', env: environment });
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'hledger'], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: environment,
    });
    if (spawnSync('hledger', ['--version']).status === 0) return;
  }
  throw new Error(
    'The tests compare our balances with those of hledger and never skip it. Install it, for example: ' +
      'sudo apt-get install hledger   (macOS: brew install hledger)',
  );
}

/** What hledger makes of a journal file: its balances as "account currency amount", as it writes them, without zeros. */
export function hledgerBalances(file: string, ...more: readonly string[]): string[] {
  const ended = spawnSync(
    'hledger',
    ['-f', file, 'balance', '--flat', '--no-total', '--layout=bare', '-O', 'csv', ...more],
    { encoding: 'utf8', env: { PATH: process.env['PATH'], LANG: 'C.UTF-8' } },
  );
  if (ended.status !== 0) throw new Error(`hledger refuses the journal: ${ended.stderr}`);
  return ended.stdout
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.slice(1, -1).split('","').join(' '))
    .sort();
}
