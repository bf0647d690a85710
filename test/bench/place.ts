import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import type { Engine } from '../../migrations/vocabulary.js';
import { Database, type OpenOptions } from '../../src/db/database.js';
import { migrateDown, migrateUp, schemaStatus } from '../../src/db/schema.js';
import { SettleError } from '../../src/kernel/errors.js';
import { parseDatabaseUrl, type DatabaseTarget } from '../../src/db/url.js';
import { toText } from '../../src/db/values.js';
import { startServer } from '../support/server.js';
import { loadDay, type Day } from './data.js';
import { BenchRefused } from './refused.js';

/** A database that the benchmark may empty and fill as it likes. */
export interface Place {
  url: string;
  target: DatabaseTarget;
  /** Nobody else uses its server, whose counters then tell of the benchmark alone. */
  alone: boolean;
  remove(): Promise<void>;
}

const durable = [
  '--innodb-flush-log-at-trx-commit=1',
  '--log-bin=bench',
  '--sync-binlog=1',
  '--innodb-buffer-pool-size=1G',
  '--loose-innodb-log-file-size=512M',
];

/** A server of our own whose commits survive a power cut, as a payment company's do. */
export async function privateServerPlace(): Promise<Place> {
  const server = await startServer(durable);
  const { hostname, port } = new URL(server.url);
  const connection = await createConnection({ host: hostname, port: Number(port), user: 'root' });
  await connection.query('create database settle_bench');
  await connection.end();
  const url = `${server.url}settle_bench`;
  return { url, target: parseDatabaseUrl(url), alone: true, remove: () => server.stop() };
}

export function privateFilePlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'settle-bench-'));
  const url = `sqlite:${join(folder, 'bench.db')}`;
  return {
    url,
    target: parseDatabaseUrl(url),
    alone: true,
    remove: () => {
      rmSync(folder, { recursive: true, force: true });
      return Promise.resolve();
    },
  };
}

/** The database named by the user: refused unless it is empty, for the benchmark drops Settle's tables in it. */
export async function givenPlace(url: string): Promise<Place> {
  const target = parseDatabaseUrl(url);
  await withDatabase(target, {}, async (database) => {
    if ((await schemaStatus(database)).applied.length === 0) return;
    for (const table of ['settlement_order', 'account', 'batch']) {
      const [row] = await database.read((session) => session.rows(`select 1 from ${table} limit 1`));
      if (row !== undefined) {
        throw new BenchRefused(
          `${target.label} holds rows in ${table}. The benchmark drops Settle's tables between its parts, so it only works in an empty database: name a new one.`,
        );
      }
    }
  });
  return { url, target, alone: false, remove: () => withDatabase(target, {}, emptyOut) };
}

/** Empties the place and fills it with the day: every contender finds the same rows, in tables just as new. */
export async function freshDay(place: Place, day: Day): Promise<void> {
  await withDatabase(place.target, {}, async (database) => {
    await emptyOut(database);
    await migrateUp(database);
    await loadDay(database, day);
    await writeOut(database);
  });
}

/** What the load left to write must not be written during the measured part. */
async function writeOut(database: Database): Promise<void> {
  if (database.target.dialect === 'sqlite') {
    await database.read((session) => session.rows('pragma wal_checkpoint(truncate)'));
    return;
  }
  try {
    // The lock that this takes ends with the connection.
    await database.read((session) => session.change('flush tables settlement_order, account for export'));
  } catch (error) {
    // A user without RELOAD cannot; both contenders then start alike all the same.
    if (!(error instanceof SettleError && error.code === 'DATABASE_ACCESS_DENIED')) throw error;
  }
}

async function emptyOut(database: Database): Promise<void> {
  while ((await schemaStatus(database)).applied.length > 0) await migrateDown(database);
}

export async function withDatabase<T>(
  target: DatabaseTarget,
  options: OpenOptions,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(target, options);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

export function openDatabase(target: DatabaseTarget, options: OpenOptions): Promise<Database> {
  return Database.open(target, { statementMsMax: 600_000, create: true, ...options });
}

/** Version and durability, so that a figure can be read years later. */
export async function describeServer(database: Database): Promise<{ engine: Engine; server: string }> {
  const { engine } = database;
  if (engine === 'sqlite') {
    return { engine, server: `SQLite ${database.facts.version}, WAL, synchronous = FULL` };
  }
  const [row] = await database.read((session) =>
    session.rows(`select concat('innodb_flush_log_at_trx_commit = ', @@innodb_flush_log_at_trx_commit,
        ', log_bin = ', @@log_bin, ', sync_binlog = ', @@sync_binlog) as durability`),
  );
  const name = engine === 'mariadb' ? 'MariaDB' : 'MySQL';
  return { engine, server: `${name} ${database.facts.version}, ${toText(row?.['durability'])}` };
}
