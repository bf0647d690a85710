import { setMaxListeners } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import knexModule, { type Knex } from 'knex';
import pRetry from 'p-retry';
import type { Connection } from 'mysql2';
import type BetterSqlite3 from 'better-sqlite3';
import type { Engine } from '../../migrations/vocabulary.js';
import { SettleError } from '../kernel/errors.js';
import { invariant } from '../kernel/invariant.js';
import { ownOrders, type OrderSource } from '../kernel/orderSource.js';
import { explainFailure, failureKind } from './failure.js';
import { cut, socketOf } from './query.js';
import { MysqlSession, SqliteSession, type LentSession, type Session } from './session.js';
import { knexConfig } from './pool.js';
import { beginSql, beginSnapshotSql, type ServerFacts } from './settings.js';
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
  private orderSource: OrderSource = ownOrders;

  private constructor(
    private readonly knex: Knex,
    readonly target: DatabaseTarget,
    readonly facts: ServerFacts,
    readonly readOnly: boolean,
    private readonly statementMsMax: number,
    private readonly connectMsMax: number,
    private readonly abandonment: AbortController,
    /** Connections to a server that are not closed yet. */
    private readonly live: ReadonlySet<Connection>,
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
    const facts: ServerFacts = { engine: 'sqlite', version: '', packetBytesMax: 0, clustered: false };
    const abandonment = new AbortController();
    setMaxListeners(0, abandonment.signal);
    const live = new Set<Connection>();
    const { signal } = abandonment;
    const knex = knexModule(
      knexConfig(target, facts, { ...options, statementMsMax, connectMsMax, readOnly, signal, live }),
    );
    const database = new Database(knex, target, facts, readOnly, statementMsMax, connectMsMax, abandonment, live);
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
      await database.close().catch(() => undefined);
      throw explainFailure(error, target.label);
    }
  }

  get engine(): Engine {
    return this.facts.engine;
  }

  /** Which table holds the orders: the one that Settle made, until another is named. */
  get source(): OrderSource {
    return this.orderSource;
  }

  /** Before the first statement about orders: from here on every session means this table by them. */
  useSource(source: OrderSource): void {
    this.orderSource = source;
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

  /** Runs a unit of work as one short transaction, whole or not at all; an abort of `signal` undoes it. See `db/transaction`. */
  async transact<T>(unit: Unit<T>, signal: AbortSignal | null = null): Promise<T> {
    invariant(!this.readOnly, 'CHECK_FAILED', `"${unit.name}" tried to write during a dry run.`);
    try {
      const connections = {
        withSession: <R>(work: (session: LentSession) => Promise<R>) => this.withSession(work),
        begin: (session: Session) => session.change(beginSql(session.dialect)),
        signal: this.abandonment.signal,
      };
      return await runUnit(unit, connections, signal);
    } catch (error) {
      throw failureKind(error) === undefined || failureKind(error) === 'refused'
        ? error
        : explainFailure(error, this.target.label);
    }
  }

  /**
   * Gives the database up for good: every wait for it ends now, and whatever is asked of it from here on is refused, both
   * with this reason. For a run that may no longer go on, so that a silent server does not hold it for a statement limit.
   */
  abandon(reason: Error): void {
    this.abandonment.abort(reason);
  }

  async close(): Promise<void> {
    await this.knex.destroy();
    // A server that is silent does not answer a farewell either, and an open socket keeps the process alive.
    for (const connection of this.live) {
      const timer = setTimeout(() => {
        cut(connection);
      }, farewellMsMax);
      socketOf(connection).once('close', () => {
        clearTimeout(timer);
      });
    }
  }

  private async retryingLost<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await pRetry(work, {
        retries: 6,
        minTimeout: 100,
        maxTimeout: 2_000,
        randomize: true,
        maxRetryTime: this.connectMsMax,
        signal: this.abandonment.signal,
        shouldRetry: ({ error }) => failureKind(error) === 'lost' || failureKind(error) === 'retry',
      });
    } catch (error) {
      throw failureKind(error) === undefined ? error : explainFailure(error, this.target.label);
    }
  }

  /** Lends one connection. After any error its state is not trusted: it is closed and not given to the next borrower. */
  private async withSession<T>(work: (session: LentSession) => Promise<T>): Promise<T> {
    const client = this.knex.client as PoolClient;
    this.abandonment.signal.throwIfAborted();
    const connection = await client.acquireConnection();
    let trusted = false;
    try {
      this.abandonment.signal.throwIfAborted();
      const session = this.sessionOn(connection);
      session.obey(null);
      const result = await work(session);
      trusted = true;
      return result;
    } finally {
      if (!trusted) discard(connection);
      await client.releaseConnection(connection);
    }
  }

  private sessionOn(connection: PooledConnection): LentSession {
    connection.settleSession ??=
      this.target.dialect === 'sqlite'
        ? new SqliteSession(connection as BetterSqlite3.Database, this)
        : new MysqlSession(connection as Connection, this.facts, this.statementMsMax, this.abandonment.signal, this);
    return connection.settleSession;
  }
}

/** How long a server may take to close a connection that was ended. */
const farewellMsMax = 1_000;

/** SQLite would let the umask decide who reads the file, and the ones beside it take their mode from it. */
function makeForOwner(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // It is there already, or cannot be made: then SQLite says why.
  }
}

type PooledConnection = (Connection | BetterSqlite3.Database) & {
  settleSession?: LentSession;
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
  cut(connection);
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
