import { crc32 } from 'node:zlib';
import type { Connection } from 'mysql2';
import type BetterSqlite3 from 'better-sqlite3';
import type { Engine } from '../../migrations/vocabulary.js';
import { SettleError } from '../kernel/errors.js';
import { queryWithin } from './query.js';
import type { Dialect, Row } from './session.js';
import { addWideFunctions } from './wide.js';

/** What a connection found out about its server. */
export interface ServerFacts {
  engine: Engine;
  version: string;
  packetBytesMax: number;
  /** A node of a Galera cluster. */
  clustered: boolean;
}

const lockSecondsMax = 10;
/** What a statement that groups may hold in the server's memory; only such a statement takes it, and as much as it needs. */
const groupingBytesMax = 268_435_456;

/** Nothing is cut, clipped or rounded with a warning that nobody reads. */
const sqlMode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION';

/** Session settings on MySQL and MariaDB, made for every connection before its first use. */
export async function prepareMysql(
  connection: Connection,
  facts: ServerFacts,
  options: { statementMsMax: number; connectMsMax: number; readOnly: boolean; signal: AbortSignal },
): Promise<void> {
  const { statementMsMax, readOnly, signal } = options;
  // These cost a server nothing: whoever does not answer them is not connected, whatever a statement may take.
  const msMax = Math.min(statementMsMax, options.connectMsMax);
  const query = (sql: string): Promise<Row[]> =>
    queryWithin(connection, { sql }, [], msMax, [signal]) as Promise<Row[]>;
  const [row] = await query('select version() as version, @@max_allowed_packet as packet');
  facts.version = String(row?.['version']);
  facts.packetBytesMax = Number(row?.['packet']);
  facts.engine = /mariadb/i.test(facts.version) ? 'mariadb' : 'mysql';
  assertSupported(facts);
  const [galera] = await query(`show session variables like 'wsrep_on'`);
  facts.clustered = galera?.['Value'] === 'ON';

  const statementSeconds = Math.ceil(statementMsMax / 1_000);
  const settings = [
    `sql_mode = '${sqlMode}'`,
    `time_zone = '+00:00'`,
    // Outside a unit each statement stands alone, and a migration's DDL and lock are not left to a later COMMIT.
    'autocommit = 1',
    `innodb_lock_wait_timeout = ${String(lockSecondsMax)}`,
    // Sums by account are gathered in memory: the default 16 MB overflow at some 50,000 accounts, to a disk ten times slower.
    `tmp_table_size = ${String(groupingBytesMax)}`,
    `max_heap_table_size = ${String(groupingBytesMax)}`,
    // A peer that vanished without a FIN must not keep locks for the default of eight hours.
    'wait_timeout = 600',
    ...(facts.engine === 'mariadb'
      ? [
          `max_statement_time = ${String(statementSeconds)}`,
          'idle_write_transaction_timeout = 60',
          // Long id lists are looked up as ranges; as a derived table each statement would build and join one.
          'in_predicate_conversion_threshold = 0',
        ]
      : [`max_execution_time = ${String(statementMsMax)}`, 'range_optimizer_max_mem_size = 67108864']),
    // A transaction or a read begins when this node has applied what any node had committed before.
    ...(facts.clustered ? ['wsrep_sync_wait = 1'] : []),
  ];
  await query(`set session ${settings.join(', ')}`);
  // A decision is made on what is committed now, and a gap nobody works on is not locked.
  await query(`set session transaction isolation level read committed${readOnly ? ', read only' : ''}`);
}

function assertSupported(facts: ServerFacts): void {
  if (/tidb/i.test(facts.version)) {
    throw new SettleError(
      'DATABASE_UNSUPPORTED',
      `The server is TiDB (${facts.version}). It carries out neither read-only transactions nor locking reads for sharing, which Settle uses.`,
      {
        next: 'Name a MariaDB or MySQL server in SETTLE_DATABASE_URL; settle doctor and docs/engines.md tell what TiDB would need.',
      },
    );
  }
  const [major = 0, minor = 0, patch = 0] = facts.version.split('.').map((part) => parseInt(part, 10));
  // MySQL enforces CHECK from 8.0.16 on, and has a binary collation that counts trailing blanks from 8.0.17 on.
  const oldest = facts.engine === 'mariadb' ? ([10, 6, 0] as const) : ([8, 0, 17] as const);
  if ((major - oldest[0] || minor - oldest[1] || patch - oldest[2]) < 0) {
    throw new SettleError(
      'DATABASE_UNSUPPORTED',
      `The server is ${facts.engine} ${facts.version}; Settle needs MariaDB 10.6 or MySQL 8.0.17, or later.`,
      { next: 'Name another server in SETTLE_DATABASE_URL.' },
    );
  }
}

/** Pragmas of the SQLite file. WAL lets `settle status` read while a run writes; FULL makes each commit durable. */
export function prepareSqlite(connection: BetterSqlite3.Database, facts: ServerFacts, readOnly: boolean): void {
  connection.defaultSafeIntegers(true);
  // Servers have it: the checksum of a text's UTF-8 bytes.
  connection.function('crc32', { deterministic: true }, (text: unknown) => BigInt(crc32(String(text))));
  addWideFunctions(connection);
  connection.pragma('busy_timeout = 5000');
  if (!readOnly) connection.pragma('journal_mode = WAL');
  connection.pragma('synchronous = FULL');
  // 64 MB of log between checkpoints: a chunk dirties most pages that hold its day, and each checkpoint writes them all again.
  connection.pragma('wal_autocheckpoint = 16384');
  connection.pragma('foreign_keys = ON');
  connection.pragma('cache_size = -8192');
  if (readOnly) connection.pragma('query_only = ON');
  const row = connection.prepare('select sqlite_version() as version').get() as { version: string };
  facts.version = row.version;
  facts.engine = 'sqlite';
}

/** A writer begins as a writer: SQLite answers BUSY without waiting when a reader wants to become one. */
export function beginSql(dialect: Dialect): string {
  return dialect === 'sqlite' ? 'begin immediate' : 'start transaction';
}

export function beginSnapshotSql(dialect: Dialect): string[] {
  return dialect === 'sqlite'
    ? ['begin']
    : ['set transaction isolation level repeatable read', 'start transaction with consistent snapshot, read only'];
}
