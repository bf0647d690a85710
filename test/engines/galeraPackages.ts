import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const packages = ['mariadb-server', 'galera-4', 'rsync'];
const providers = [
  '/usr/lib/galera/libgalera_smm.so',
  '/usr/lib64/galera-4/libgalera_smm.so',
  '/usr/lib/libgalera_smm.so',
];

/** The library that makes a MariaDB server a node of a cluster; installed when this is root on Debian or Ubuntu, saying so. */
export function findOrInstallGalera(): string {
  const found = findProvider();
  if (found !== undefined && isThere('mariadbd') && isThere('rsync')) return found;
  if (process.getuid?.() === 0 && existsSync('/etc/debian_version')) {
    process.stderr.write(`Installing the Debian packages ${packages.join(', ')} for the tests.\n`);
    const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['update'], { stdio: 'ignore', env: environment });
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', ...packages], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: environment,
    });
    const installed = findProvider();
    if (installed !== undefined) return installed;
  }
  throw new Error(
    `The tests on a Galera cluster need ${packages.join(', ')}, for example: sudo apt-get install ${packages.join(' ')}`,
  );
}

function findProvider(): string | undefined {
  return providers.find((path) => existsSync(path));
}

function isThere(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}
