import Sqlite from 'better-sqlite3';
import { createConnection, type Connection } from 'mysql2/promise';
import { setTimeout as sleep } from 'node:timers/promises';

/** The database under test, spoken to past the program: everything comes back as text, null as null. */
export interface Store {
  readonly engine: 'sqlite' | 'server';
  rows(sql: string): Promise<(string | null)[][]>;
  /** One statement in a transaction of its own; gives the rows it changed. */
  change(sql: string): Promise<number>;
  /** Holds what the statements lock until the work is over, then takes back or keeps what they changed. */
  holding(statements: readonly string[], end: 'rollback' | 'commit', work: () => Promise<void>): Promise<void>;
  /** Waits until no other session is left that could still change something. */
  alone(): Promise<void>;
  /** Cuts one session of somebody else, if there is one. */
  killSession(): Promise<boolean>;
}

export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

export function sqliteStore(path: string): Store {
  const on = <T>(work: (database: Sqlite.Database) => T): T => {
    const database = new Sqlite(path, { timeout: 20_000 });
    try {
      return work(database);
    } finally {
      database.close();
    }
  };
  return {
    engine: 'sqlite',
    rows: (sql) =>
      Promise.resolve(
        on((database) => {
          const statement = database.prepare(sql).safeIntegers().raw();
          return (statement.all() as unknown[][]).map((row) => row.map(asText));
        }),
      ),
    change: (sql) =>
      Promise.resolve(
        on((database) => {
          const statement = database.prepare(sql);
          return statement.run().changes;
        }),
      ),
    holding: async (statements, end, work) => {
      const database = new Sqlite(path, { timeout: 20_000 });
      try {
        database.exec('begin immediate');
        for (const sql of statements) database.exec(sql);
        await work();
        database.exec(end);
      } finally {
        database.close();
      }
    },
    alone: () => Promise.resolve(),
    killSession: () => Promise.resolve(false),
  };
}

/** `url` names the database, and the server is not behind any proxy. */
export function serverStore(url: string): Store {
  const name = new URL(url).pathname.slice(1);
  const on = async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = await connected(url);
    try {
      return await work(connection);
    } finally {
      connection.destroy();
    }
  };
  const others = async (connection: Connection): Promise<string[]> => {
    const [found] = await connection.query<never[]>({
      sql: `select id from information_schema.processlist where db = ${quoted(name)} and id <> connection_id()`,
      rowsAsArray: true,
    });
    return (found as unknown[][]).map((row) => String(row[0]));
  };
  return {
    engine: 'server',
    rows: (sql) =>
      on(async (connection) => {
        const [found] = await connection.query<never[]>({ sql, rowsAsArray: true });
        return (found as unknown[][]).map((row) => row.map(asText));
      }),
    change: (sql) =>
      on(async (connection) => {
        const [result] = await connection.query(sql);
        return (result as { affectedRows?: number }).affectedRows ?? 0;
      }),
    holding: (statements, end, work) =>
      on(async (connection) => {
        await connection.query('start transaction');
        for (const sql of statements) await connection.query(sql);
        await work();
        await connection.query(end);
      }),
    alone: () =>
      on(async (connection) => {
        const end = Date.now() + 90_000;
        while ((await others(connection)).length > 0) {
          if (Date.now() > end) throw new Error('Sessions of ended processes are still open after 90 s.');
          await sleep(20);
        }
      }),
    killSession: () =>
      on(async (connection) => {
        const [id] = await others(connection);
        if (id === undefined) return false;
        return connection.query(`kill connection ${id}`).then(
          () => true,
          () => false, // gone by itself
        );
      }),
  };
}

async function connected(url: string): Promise<Connection> {
  const end = Date.now() + 60_000;
  for (;;) {
    try {
      const connection = await createConnection({
        uri: url,
        supportBigNumbers: true,
        bigNumberStrings: true,
        dateStrings: true,
        charset: 'utf8mb4',
      });
      connection.on('error', () => undefined);
      return connection;
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(100);
    }
  }
}

function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint' || typeof value === 'number') return value.toString();
  return typeof value === 'string' ? value : JSON.stringify(value);
}
