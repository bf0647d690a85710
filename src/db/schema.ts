import type { Knex } from 'knex';
import { migrations, type Migration } from '../../migrations/index.js';
import { vocabularies, type Engine } from '../../migrations/vocabulary.js';
import { SettleError } from '../kernel/errors.js';
import type { Database } from './database.js';
import { explainFailure } from './failure.js';

const table = 'settle_migration';

/** Statements of a migration for an engine, as `settle migrate sql` prints them. */
export function statementsOf(migration: Migration, engine: Engine, direction: 'up' | 'down'): string[] {
  return migration[direction](vocabularies[engine]);
}

/** A statement as the engine's own client takes it; the one for servers must be told where a trigger's body ends. */
export function asScript(engine: Engine, sql: string): string {
  return engine === 'sqlite' || !sql.includes(';') ? `${sql};` : `delimiter //\n${sql}//\ndelimiter ;`;
}

function migrateConfig(engine: Engine): Knex.MigratorConfig {
  return {
    tableName: table,
    // DDL on servers commits by itself; pretending otherwise would only hide it.
    disableTransactions: engine !== 'sqlite',
    migrationSource: {
      getMigrations: () => Promise.resolve([...migrations]),
      getMigrationName: (migration: Migration) => migration.name,
      getMigration: (migration: Migration) =>
        Promise.resolve({
          up: (knex: Knex) => runAll(knex, statementsOf(migration, engine, 'up')),
          down: (knex: Knex) => runAll(knex, statementsOf(migration, engine, 'down')),
        }),
    },
  };
}

function isAlreadyThere(error: unknown): boolean {
  const { errno } = error as { errno?: number };
  return [1050, 1060, 1061, 1062, 1359].includes(errno ?? 0); // table, column, index, row, trigger
}

function isAlreadyGone(error: unknown): boolean {
  return (error as { errno?: number }).errno === 1091; // a column that an earlier try dropped
}

/** True when two began on an empty database: both make the tables of the lock, and the slower one finds them there. */
function lockTablesAreThere(error: unknown): boolean {
  return (
    isAlreadyThere(error) || (error instanceof Error && /settle_migration\w*`? already exists/.test(error.message))
  );
}

/** A migration that was cut in the middle on a server is run again from its start: what is done already stays. */
async function runAll(knex: Knex, statements: string[]): Promise<void> {
  for (const sql of statements) {
    try {
      await knex.raw(sql);
    } catch (error) {
      if (!isAlreadyThere(error) && !isAlreadyGone(error)) throw error;
    }
  }
}

export interface SchemaStatus {
  applied: string[];
  pending: string[];
  /** Recorded in the database but unknown to this version: a newer Settle has been here. */
  unknown: string[];
}

/** Which migrations the database has. Reads only; an empty database has none. */
export async function schemaStatus(database: Database): Promise<SchemaStatus> {
  const known = migrations.map((migration) => migration.name);
  const applied = await database.read(async (session) => {
    const exists = await session.rows(
      session.dialect === 'sqlite'
        ? `select name from sqlite_master where type = 'table' and name = '${table}'`
        : `select table_name as name from information_schema.tables where table_schema = database() and table_name = '${table}'`,
    );
    if (exists.length === 0) return [];
    return (await session.rows(`select name from ${table} order by id`)).map((row) => String(row['name']));
  });
  return {
    applied,
    pending: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  };
}

/** Refuses to go on unless the schema is the one this version was written for. */
export async function requireSchema(database: Database): Promise<void> {
  const status = await schemaStatus(database);
  if (status.unknown.length > 0) {
    throw new SettleError(
      'SCHEMA_NEWER',
      `${database.target.label} was migrated by a newer Settle (${status.unknown.join(', ')}); this version must not write to it.`,
      { next: 'Install the version that migrated it.' },
    );
  }
  if (status.pending.length > 0) {
    throw new SettleError(
      'SCHEMA_PENDING',
      `${database.target.label} lacks ${String(status.pending.length)} migration(s): ${status.pending.join(', ')}.`,
      { next: 'settle migrate up' },
    );
  }
}

/** Applies what is pending; returns the names applied. */
export async function migrateUp(database: Database, unlock = false): Promise<string[]> {
  return migrating(database, async (knex, config) => {
    if (unlock) await knex.migrate.forceFreeMigrationsLock(config);
    const [, names] = (await knex.migrate.latest(config)) as [number, string[]];
    return names;
  });
}

/** Undoes the newest migration; returns its name, or nothing when none was applied. Its tables' rows are gone. */
export async function migrateDown(database: Database): Promise<string[]> {
  return migrating(database, async (knex, config) => {
    const [, names] = (await knex.migrate.down(config)) as [number, string[]];
    return names;
  });
}

async function migrating(
  database: Database,
  work: (knex: Knex, config: Knex.MigratorConfig) => Promise<string[]>,
): Promise<string[]> {
  const config = migrateConfig(database.engine);
  try {
    // Two tables, and another migration may be ahead at each.
    for (let left = 2; ; left -= 1) {
      try {
        return await work(database.forMigrations, config);
      } catch (error) {
        if (left === 0 || !lockTablesAreThere(error)) throw error;
      }
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'MigrationLocked') {
      throw new SettleError(
        'MIGRATION_INTERRUPTED',
        'Another migration is running, or one was killed and left its lock behind.',
        { cause: error, next: 'If no other migration is running: settle migrate up --unlock' },
      );
    }
    throw explainFailure(error, database.target.label);
  }
}
