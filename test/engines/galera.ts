import { spawnSync } from 'node:child_process';
import { findOrInstallGalera } from './galeraPackages.js';

// npm run test:galera [-- what Jest takes]: the specification of a cluster of three nodes, which each test file starts
// for itself on loopback and removes.

try {
  findOrInstallGalera();
  const run = spawnSync(
    'npm',
    ['run', 'test', '--', '--config', 'test/galera/jest.config.js', '--runInBand', ...process.argv.slice(2)],
    { stdio: 'inherit' },
  );
  process.exitCode = run.status ?? 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
