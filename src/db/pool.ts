import type { Knex } from 'knex';
import type { Connection } from 'mysql2';
import type BetterSqlite3 from 'better-sqlite3';
import { connectionOptions } from './connect.js';
import { socketOf } from './query.js';
import { prepareMysql, prepareSqlite, type ServerFacts } from './settings.js';
import type { DatabaseTarget } from './url.js';

export interface PoolOptions {
  connections?: number;
  statementMsMax: number;
  connectMsMax: number;
  readOnly: boolean;
  /** Aborted when nobody waits for the database any more. */
  signal: AbortSignal;
  /** Given each connection to a server for as long as its socket is open. */
  live: Set<Connection>;
}

/** The pool of connections to a database, each with its session settings made. */
export function knexConfig(target: DatabaseTarget, facts: ServerFacts, options: PoolOptions): Knex.Config {
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
    // Else knex asks the server itself, without a limit, and lets every connection wait for that one answer.
    version: 'latest',
    connection: connectionOptions(target, options.connectMsMax),
    log: silent,
    // A connection may be waited for while another statement ends, or while it is being made.
    acquireConnectionTimeout: Math.max(options.statementMsMax, options.connectMsMax),
    pool: {
      min: 0,
      max: options.connections ?? 2,
      afterCreate: afterCreate((c: Connection) => {
        options.live.add(c);
        socketOf(c).once('close', () => options.live.delete(c));
        return prepareMysql(c, facts, options);
      }),
    },
  };
}
