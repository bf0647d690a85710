import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { Database, type OpenOptions } from '../../src/db/database.js';
import { migrateUp } from '../../src/db/schema.js';
import { parseDatabaseUrl } from '../../src/db/url.js';

/** An empty, migrated database of its own for one test file or one test. */
export interface TestDatabase {
  url: string;
  database: Database;
  drop(): Promise<void>;
}

export const databaseKinds = ['sqlite', 'server'] as const;
export type DatabaseKind = (typeof databaseKinds)[number];

/** Where whole processes are tried for minutes: on one database usually, and on every one with SETTLE_TEST_FAULTS=every. */
export function kindsForProcesses(usual: DatabaseKind): readonly DatabaseKind[] {
  return process.env['SETTLE_TEST_FAULTS'] === 'every' ? databaseKinds : [usual];
}

export async function createTestDatabase(
  kind: DatabaseKind,
  options: OpenOptions & { migrate?: boolean } = {},
): Promise<TestDatabase> {
  const place = kind === 'sqlite' ? sqlitePlace() : await serverPlace();
  const database = await Database.open(parseDatabaseUrl(place.url), { connections: 8, create: true, ...options });
  if (options.migrate !== false) await migrateUp(database);
  return {
    url: place.url,
    database,
    drop: async () => {
      await database.close();
      await place.remove();
    },
  };
}

function sqlitePlace(): { url: string; remove: () => Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
  return {
    url: `sqlite:${join(folder, 'test.db')}`,
    remove: () => {
      rmSync(folder, { recursive: true, force: true });
      return Promise.resolve();
    },
  };
}

async function serverPlace(): Promise<{ url: string; remove: () => Promise<void> }> {
  const name = `settle_test_${randomBytes(6).toString('hex')}`;
  await onServer(`create database ${name}`);
  return { url: `${serverUrl()}${name}`, remove: () => onServer(`drop database ${name}`) };
}

export function serverUrl(): string {
  const url = process.env['SETTLE_TEST_SERVER'];
  if (url === undefined) throw new Error('The test server was not started: run the tests through npm test.');
  return url;
}

/** A statement as the server's administrator, outside any database. */
export async function onServer(sql: string): Promise<void> {
  const target = parseDatabaseUrl(`${serverUrl()}mysql`);
  if (target.dialect !== 'mysql') throw new Error('SETTLE_TEST_MYSQL_URL must start with mysql://');
  const connection = await createConnection({
    ...(target.socketPath === null ? { host: target.host, port: target.port } : { socketPath: target.socketPath }),
    user: target.user,
    password: target.password,
  });
  try {
    await connection.query(sql);
  } finally {
    await connection.end();
  }
}

/** The same specification on SQLite and on the server, each with an empty, migrated database of its own. */
export function onEachDatabase(title: string, specification: (test: () => TestDatabase) => void): void {
  describe.each(databaseKinds)(`${title} [%s]`, (kind) => {
    let current: TestDatabase | undefined;
    beforeAll(async () => {
      current = await createTestDatabase(kind);
    });
    afterAll(async () => {
      await current?.drop();
    });
    specification(() => {
      if (current === undefined) throw new Error('No database outside a test.');
      return current;
    });
  });
}
