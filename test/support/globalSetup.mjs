import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeMemoryFolder } from './memoryFolder.mjs';

/** Builds the program (tests start it as a process) and starts the one private database server that all test files share. */
export default async function globalSetup() {
  const build = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
    encoding: 'utf8',
  });
  if (build.status !== 0) throw new Error(`The build fails:\n${build.stdout}${build.stderr}`);
  globalThis.settleMemoryFolder = makeMemoryFolder();
  if (globalThis.settleMemoryFolder !== null) process.env.TMPDIR = globalThis.settleMemoryFolder;
  // Nodes of chains leave their process ids here, so that none outlives the tests.
  globalThis.settleTestNodes = mkdtempSync(join(tmpdir(), 'settle-test-nodes-'));
  process.env.SETTLE_TEST_NODES = globalThis.settleTestNodes;
  const given = process.env.SETTLE_TEST_MYSQL_URL;
  if (given !== undefined && given !== '') {
    process.env.SETTLE_TEST_SERVER = given.endsWith('/') ? given : `${given}/`;
    return;
  }
  const { startServer } = await import('../../dist/test/support/server.js');
  globalThis.settleTestServer = await startServer(['--innodb-flush-log-at-trx-commit=2']);
  process.env.SETTLE_TEST_SERVER = globalThis.settleTestServer.url;
}
