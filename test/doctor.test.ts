import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import type { ServerValues } from '../src/db/serverValues.js';
import { migrateDown } from '../src/db/schema.js';
import type { Finding } from '../src/kernel/finding.js';
import { serverFindings } from '../src/doctor/serverFindings.js';
import { everyRow, givenVariedDay, runDay } from './support/day.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from './support/databases.js';
import { settleInside as settle } from './support/inside.js';
import type { Ended } from './support/program.js';
import { freePort, startServer, type Server } from './support/server.js';

interface Document {
  schema: string;
  schemaVersion: number;
  ok: boolean;
  findings: Finding[];
}

const documentOf = ({ stdout }: Ended): Document => JSON.parse(stdout) as Document;
const named = ({ findings }: Document, name: string): Finding | undefined =>
  findings.find((finding) => finding.name === name);

describe.each(databaseKinds)('settle doctor [%s]', (kind) => {
  let current: TestDatabase;
  beforeEach(async () => {
    current = await createTestDatabase(kind);
  });
  afterEach(() => current.drop());

  test('tells in one document what it looked at, exits 0 where nothing fails, and writes nothing', async () => {
    await givenVariedDay(current.database, 40);
    await runDay(current.database);
    const before = await everyRow(current.database);
    const ended = await settle(['doctor', '--json'], { url: current.url });
    const document = documentOf(ended);
    // The test server itself may be set for speed; what is judged here is the rest.
    const failed = document.findings.filter(({ name, status }) => status === 'fail' && name !== 'durability');
    expect(failed).toEqual([]);
    expect({ ...document, findings: [] }).toEqual({
      schema: 'settle.doctor',
      schemaVersion: 1,
      ok: ended.code === 0,
      findings: [],
    });
    const common = [
      'node',
      'driver',
      'connection',
      'engine',
      'durability',
      'clock',
      'schema',
      'append-only',
      'batching',
      'calendar',
    ];
    const own = {
      sqlite: ['journal', 'disk:database.url'],
      server: ['sql-mode', 'isolation', 'time-zone', 'max-packet', 'connections', 'grants', 'redo-log'],
    };
    expect(document.findings.map(({ name }) => name)).toEqual(expect.arrayContaining([...common, ...own[kind]]));
    for (const { status, found, fix } of document.findings) {
      expect(found).not.toMatch(/undefined|NaN|null/);
      expect(fix === null).toBe(status === 'ok');
    }
    expect(named(document, 'batching')?.found).toMatch(/^the last run settled \d+ orders in \d+ transactions/);
    expect(await everyRow(current.database)).toBe(before);
  });

  test('says it in lines for a person, with what to type', async () => {
    await migrateDown(current.database);
    const { code, stdout } = await settle(['doctor'], { url: current.url });
    expect(code).toBe(5);
    expect(stdout).toMatch(/^ok +node +Node \d+\.\d+/m);
    expect(stdout).toMatch(/^FAIL +schema +pending: \d{4}_\w+\n +fix: settle migrate up$/m);
    expect(stdout).toMatch(/^\d+ findings: [12] failed, \d+ to look at\.$/m);
  });
});

describe('a database that is not there', () => {
  test('a server that does not answer is no finding: exit code 75', async () => {
    const url = `mysql://root@127.0.0.1:${String(await freePort())}/settle`;
    const ended = await settle(['doctor', '--json'], { url, env: { SETTLE_DATABASE_CONNECT_TIMEOUT: '500ms' } });
    expect({ code: ended.code, error: JSON.parse(ended.stderr).error.code }).toEqual({
      code: 75,
      error: 'DATABASE_UNREACHABLE',
    });
  });

  test('a file that is not there, or is something else, is one, and stays as it is', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'settle-doctor-'));
    try {
      writeFileSync(join(folder, 'letter.db'), 'Dear reader, this is no database at all. '.repeat(40));
      for (const file of ['missing.db', 'letter.db']) {
        const ended = await settle(['doctor', '--json'], { url: `sqlite:${join(folder, file)}` });
        expect(ended.code).toBe(5);
        expect(named(documentOf(ended), 'connection')).toMatchObject({ status: 'fail', fix: expect.any(String) });
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a server that is set for speed', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer([
      '--innodb-flush-log-at-trx-commit=0',
      '--log-bin=binary',
      '--server-id=1',
      '--sync-binlog=0',
      '--max-allowed-packet=1M',
      '--max-connections=10',
      '--sql-mode=',
      '--default-time-zone=-07:00',
    ]);
    const administrator = await createConnection(server.url);
    await administrator.query('create database settle');
    await administrator.query(`create user weak@'127.0.0.1' identified by 'pass'`);
    await administrator.end();
    await settle(['migrate', 'up'], { url: `${server.url}settle` });
  }, 120_000);
  afterAll(() => server.stop());

  test('fails for what may lose money, warns of the rest, and is content with what Settle sets by itself', async () => {
    const url = `${server.url}settle`;
    const ended = await settle(['doctor', '--json'], { url, env: { SETTLE_BATCH_LANES: '5' } });
    const document = documentOf(ended);
    const statuses = Object.fromEntries(document.findings.map(({ name, status }) => [name, status]));
    expect(ended.code).toBe(5);
    expect(statuses).toMatchObject({
      durability: 'fail',
      'binary-log': 'warn',
      grants: 'ok',
      'redo-log': 'warn',
      doublewrite: 'ok',
      'max-packet': 'warn',
      connections: 'warn',
      'sql-mode': 'ok',
      isolation: 'ok',
      'time-zone': 'ok',
      schema: 'ok',
    });
    expect(named(document, 'durability')).toMatchObject({
      found: expect.stringContaining('innodb_flush_log_at_trx_commit = 0'),
      fix: expect.stringContaining('set global innodb_flush_log_at_trx_commit = 1'),
    });
  });

  test('asked for more lanes than it takes connections, it says that a run cannot work', async () => {
    const url = `${server.url}settle`;
    const ended = await settle(['doctor', '--json'], { url, env: { SETTLE_BATCH_LANES: '32' } });
    expect(named(documentOf(ended), 'connections')).toMatchObject({ status: 'fail' });
  });

  test('a user that is not let in, or a database that is not there, is a finding with the way out', async () => {
    const weak = new URL(server.url);
    [weak.username, weak.password] = ['weak', 'wrong'];
    for (const url of [`${weak.href}settle`, `${server.url}nowhere`]) {
      const ended = await settle(['doctor', '--json'], { url });
      expect(ended.code).toBe(5);
      expect(named(documentOf(ended), 'connection')).toMatchObject({ status: 'fail', fix: expect.any(String) });
      expect(ended.stdout).not.toContain('wrong');
    }
  });
});

describe('what a server says of itself', () => {
  const values = (version: string, settings: Record<string, string>, status = {}): ServerValues => ({
    version,
    settings: new Map(
      Object.entries({
        innodb_flush_log_at_trx_commit: '1',
        max_allowed_packet: '16777216',
        max_connections: '151',
        ...settings,
      }),
    ),
    status: new Map(Object.entries({ threads_connected: '3', ...status })),
    grants: [],
  });
  const statusesOf = (server: ServerValues): Record<string, string> =>
    Object.fromEntries(serverFindings(server, 9).map(({ name, status }) => [name, status]));

  const node = { wsrep_ready: 'ON', wsrep_cluster_size: '3', wsrep_local_state_comment: 'Synced' };
  const cases: [string, ServerValues, Record<string, string>][] = [
    ['nothing to say of a plain one', values('10.11.6-MariaDB', {}), { durability: 'ok', connections: 'ok' }],
    [
      'a healthy node of three',
      values('10.11.6-MariaDB', { wsrep_on: 'ON' }, { ...node, wsrep_cluster_status: 'Primary' }),
      { 'galera-member': 'ok', 'galera-writer': 'ok' },
    ],
    [
      'a node that lost its majority',
      values(
        '10.11.6-MariaDB',
        { wsrep_on: 'ON' },
        { ...node, wsrep_cluster_status: 'non-Primary', wsrep_ready: 'OFF' },
      ),
      { 'galera-member': 'fail' },
    ],
    [
      'a node of two, and one that leaves the disk to its peers',
      values(
        '10.11.6-MariaDB',
        { wsrep_on: 'ON', innodb_flush_log_at_trx_commit: '2' },
        { ...node, wsrep_cluster_status: 'Primary', wsrep_cluster_size: '2' },
      ),
      { 'galera-member': 'warn', durability: 'warn' },
    ],
    [
      'TiDB that decides at COMMIT',
      values('8.0.11-TiDB-v8.5.1', { tidb_txn_mode: 'optimistic' }),
      { 'tidb-transactions': 'fail' },
    ],
    ['TiDB that locks', values('8.0.11-TiDB-v8.5.1', { tidb_txn_mode: 'pessimistic' }), { 'tidb-transactions': 'ok' }],
    ['Vitess', values('8.0.40-Vitess', {}), { 'vitess-sharding': 'warn' }],
  ];
  test.each(cases)('%s', (_what, server, expected) => {
    expect(statusesOf(server)).toMatchObject(expected);
    const distributed = Object.keys(statusesOf(server)).filter((name) => /^(galera|tidb|vitess)/.test(name));
    expect(distributed.filter((name) => !(name in expected) && name !== 'galera-writer')).toEqual([]);
  });
});
