import { spawnSync } from 'node:child_process';
import { findOrFetchMysql, versionOf } from './mysqlBinary.js';

// npm run test:mysql [-- what npm test takes]: the specification, and a shortened crash test, with MySQL's server in
// place of MariaDB's. Each test run starts the server it needs from this program, on loopback, and removes its data.

const say = (text: string): void => void process.stderr.write(`${text}\n`);
try {
  const binary = findOrFetchMysql(say);
  say(`Testing on MySQL ${versionOf(binary) ?? ''}, ${binary}`);
  const environment = { ...process.env, SETTLE_TEST_SERVER_BINARY: binary, SETTLE_TEST_MYSQL_URL: '' };
  const run = (script: string, args: readonly string[]): boolean =>
    spawnSync('npm', ['run', script, '--', ...args], { stdio: 'inherit', env: environment }).status === 0;
  const args = process.argv.slice(2);
  process.exitCode =
    run('test', args) && (args.length > 0 || run('test:crash', ['--engine', 'server', '--every', '15'])) ? 0 : 1;
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
