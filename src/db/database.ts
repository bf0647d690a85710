import { closeSync, existsSync, openSync } from 'node:fs';
import { hostname } from 'node:os';
import knexModule, { type Knex } from 'knex';
import pRetry from 'p-retry';
import type { Connection } from 'mysql2';
import type BetterSqlite3 from 'better-sqlite3';
import type { Engine } from '../../migrations/vocabulary.js';
import { SettleError } from '../kernel/errors.js';
import { invariant } from '../kernel/invariant.js';
import { explainFailure, failureKind } from './failure.js';
import { MysqlSession, SqliteSession, type Session } from './session.js';
import { beginSql, beginSnapshotSql, prepareMysql, prepareSqlite, type ServerFacts } from './settings.js';
import { runUnit, type Unit } from './transaction.js';
import type { DatabaseTarget } from './url.js';

export interface OpenOptions {
  /** Connections that may be in use at once. SQLite always has one. */
  connections?: number;
  /** Every session refuses to write: what makes a dry run dry, whatever the code above does. */
  readOnly?: boolean;
  /** Limit for one statement, from the client's side too, so that a silent server cannot hang the run. */
  statementMsMax?: number;
  /** Whether a SQLite file may be made; otherwise a file that is not there is an error, and stays not there. */
  create?: boolean;
  /** How long to go on trying to reach the database at the start. */
  connectMsMax?: number;
}

/** A pool of sessions with the settings that keep every digit and every day. See `db/settings`. */
export class Database {
  private constructor(
    private readonly knex: Knex,
    readonly target: DatabaseTarget,
    readonly facts: ServerFacts,
    readonly readOnly: boolean,
    private readonly statementMsMax: number,
    private readonly connectMsMax: number,
  ) {}

  static async open(target: DatabaseTarget, options: OpenOptions = {}): Promise<Database> {
    const statementMsMax = options.statementMsMax ?? 60_000;
    const connectMsMax = options.connectMsMax ?? 10_000;
    const readOnly = options.readOnly ?? false;
    if (target.dialect === 'sqlite' && options.create !== true && !existsSync(target.path)) {
      throw new SettleError('DATABASE_UNKNOWN', `There is no database file ${target.path}.`, {
        next: 'Make it with: settle migrate up   (or name another file in SETTLE_DATABASE_URL)',
      });
    }
    if (target.dialect === 'sqlite') makeForOwner(target.path);
    const facts: ServerFacts = { engine: 'sqlite', version: '', packetBytesMax: 0 };
    const knex = knexModule(knexConfig(target, facts, { ...options, statementMsMax, connectMsMax, readOnly }));
    const database = new Database(knex, target, facts, readOnly, statementMsMax, connectMsMax);
    try {
      await pRetry(() => database.withSession(assertExact), {
        retries: 20,
        minTimeout: 100,
        maxTimeout: 1_000,
        randomize: true,
        maxRetryTime: connectMsMax,
        shouldRetry: ({ error }) => failureKind(error) === 'lost' || failureKind(error) === 'retry',
      });
      return database;
    } catch (error) {
      await knex.destroy().catch(() => undefined);
      throw explainFailure(error, target.label);
    }
  }

  get engine(): Engine {
    return this.facts.engine;
  }

  /** Connections that lanes, reader and heartbeat may hold at the same time. */
  get connections(): number {
    return (this.knex.client as { pool: { max: number } }).pool.max;
  }

  /** The knex instance, for migrations only: everything else goes through sessions and units. */
  get forMigrations(): Knex {
    return this.knex;
  }

  /** Statements that change nothing, each seeing what is committed when it starts. Tried again when the connection is lost. */
  async read<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.retryingLost(() => this.withSession(work));
  }

  /** Several reads of one and the same state of the database. */
  async snapshot<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.retryingLost(() =>
      this.withSession(async (session) => {
        for (const sql of beginSnapshotSql(session.dialect)) await session.change(sql);
        const result = await work(session);
        await session.change('rollback');
        return result;
      }),
    );
  }

  /** Runs a unit of work as one short transaction, whole or not at all. See `db/transaction`. */
  async transact<T>(unit: Unit<T>): Promise<T> {
    invariant(!this.readOnly, 'CHECK_FAILED', `"${unit.name}" tried to write during a dry run.`);
    try {
      return await runUnit(unit, {
        withSession: (work) => this.withSession(work),
        begin: (session) => session.change(beginSql(session.dialect)),
      });
    } catch (error) {
      throw failureKind(error) === undefined || failureKind(error) === 'refused'
        ? error
        : explainFailure(error, this.target.label);
    }
  }

  async close(): Promise<void> {
    await this.knex.destroy();
  }

  private async retryingLost<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await pRetry(work, {
        retries: 6,
        minTimeout: 100,
        maxTimeout: 2_000,
        randomize: true,
        maxRetryTime: this.connectMsMax,
        shouldRetry: ({ error }) => failureKind(error) === 'lost' || failureKind(error) === 'retry',
      });
    } catch (error) {
      throw failureKind(error) === undefined ? error : explainFailure(error, this.target.label);
    }
  }

  /** Lends one connection. After any error its state is not trusted: it is closed and not given to the next borrower. */
  private async withSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const client = this.knex.client as PoolClient;
    const connection = await client.acquireConnection();
    let trusted = false;
    try {
      const result = await work(this.sessionOn(connection));
      trusted = true;
      return result;
    } finally {
      if (!trusted) discard(connection);
      await client.releaseConnection(connection);
    }
  }

  private sessionOn(connection: PooledConnection): Session {
    connection.settleSession ??=
      this.target.dialect === 'sqlite'
        ? new SqliteSession(connection as BetterSqlite3.Database)
        : new MysqlSession(connection as Connection, this.facts.packetBytesMax, this.statementMsMax);
    return connection.settleSession;
  }
}

/** SQLite would let the umask decide who reads the file, and the ones beside it take their mode from it. */
function makeForOwner(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // It is there already, or cannot be made: then SQLite says why.
  }
}

type PooledConnection = (Connection | BetterSqlite3.Database) & {
  settleSession?: Session;
  /** knex's own mark: its pool closes a connection that carries it. */
  __knex__disposed?: unknown;
};

interface PoolClient {
  acquireConnection(): Promise<PooledConnection>;
  releaseConnection(connection: PooledConnection): Promise<void>;
}

function discard(connection: PooledConnection): void {
  if ('inTransaction' in connection) {
    // A SQLite file has one connection; what it holds open ends here, and it stays usable.
    if (connection.open && connection.inTransaction) connection.exec('rollback');
    return;
  }
  connection.__knex__disposed = 'left in an unknown state';
  (connection as Connection).destroy();
}

function knexConfig(
  target: DatabaseTarget,
  facts: ServerFacts,
  options: OpenOptions & { statementMsMax: number; connectMsMax: number; readOnly: boolean },
): Knex.Config {
  const silent = { warn: () => undefined, error: () => undefined, deprecate: () => undefined, debug: () => undefined };
  const afterCreate = (prepare: (connection: never) => Promise<void> | void) => {
    return (connection: never, done: (error: Error | null, connection: unknown) => void): void => {
      void (async () => {
        try {
          await prepare(connection);
          done(null, connection);
        } catch (error) {
          done(error as Error, connection);
        }
      })();
    };
  };
  if (target.dialect === 'sqlite') {
    return {
      client: 'better-sqlite3',
      connection: { filename: target.path, options: { safeIntegers: true } },
      useNullAsDefault: true,
      log: silent,
      acquireConnectionTimeout: options.statementMsMax,
      pool: {
        min: 0,
        max: 1,
        afterCreate: afterCreate((c: BetterSqlite3.Database) => prepareSqlite(c, facts, options.readOnly)),
      },
    };
  }
  return {
    client: 'mysql2',
    connection: {
      ...(target.socketPath === null ? { host: target.host, port: target.port } : { socketPath: target.socketPath }),
      user: target.user,
      password: target.password,
      database: target.database,
      ...(target.ssl === 'off'
        ? {}
        : { ssl: { rejectUnauthorized: target.ssl === 'verify', verifyIdentity: target.ssl === 'verify' } }),
      charset: 'utf8mb4',
      // Digits and days: a BIGINT is text (never a double), a DATE is text (never a moment in somebody's zone).
      supportBigNumbers: true,
      bigNumberStrings: true,
      dateStrings: true,
      // UPDATE reports the rows its WHERE matched, on every connection, whatever the server's default.
      flags: ['+FOUND_ROWS'],
      multipleStatements: false,
      connectTimeout: Math.min(5_000, options.connectMsMax),
      enableKeepAlive: true,
      connectAttributes: { program_name: `settle@${hostname()}` },
    },
    log: silent,
    acquireConnectionTimeout: options.statementMsMax,
    pool: {
      min: 0,
      max: options.connections ?? 2,
      afterCreate: afterCreate((c: Connection) => prepareMysql(c, facts, options.statementMsMax, options.readOnly)),
    },
  };
}

/** Reads back what drivers are known to change: an integer past 2^53, and a day. One round trip, once a process. */
async function assertExact(session: Session): Promise<void> {
  const [row] = await session.rows(
    session.dialect === 'sqlite'
      ? `select 9007199254740993 as big, '2024-02-29' as day`
      : `select 9007199254740993 as big, cast('2024-02-29' as date) as day`,
  );
  const exact = String(row?.['big']) === '9007199254740993' && row?.['day'] === '2024-02-29';
  if (!exact) {
    throw new SettleError('DATABASE_CHANGES_VALUES', 'The database driver gives back other values than it was given.', {
      details: { big: String(row?.['big']), day: String(row?.['day']) },
      next: 'Install the exact versions of the lock file: npm ci',
    });
  }
}
