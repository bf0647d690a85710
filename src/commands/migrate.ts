import { migrations } from '../../migrations/index.js';
import type { Database } from '../db/database.js';
import { asScript, migrateDown, migrateUp, schemaStatus, statementsOf } from '../db/schema.js';
import { SettleError, exitCodes } from '../kernel/errors.js';
import { followChart } from '../ledger/chart.js';
import { withDatabase, type Command } from './context.js';

/** `settle migrate up`: applies what is pending; says so when nothing is. */
export const up: Command<{ unlock?: boolean }> = (context, { unlock }) =>
  withDatabase(
    context,
    async (database) => {
      await refuseNewer(database);
      const applied = await migrateUp(database, unlock);
      const { chart } = context.config.ledger;
      if (chart !== undefined) await followChart(database, chart);
      if (context.output === 'text') {
        await context.print(applied.length === 0 ? 'Nothing to migrate.' : `Applied: ${applied.join(', ')}`);
      } else await context.document({ schema: 'settle.migrate', applied });
      return exitCodes.OK;
    },
    { schema: 'none', create: true },
  );

/** `settle migrate down`: undoes the newest migration, whose tables' rows are lost; asks for --yes. */
export const down: Command<object> = (context) =>
  withDatabase(
    context,
    async (database) => {
      if (!context.assumeYes) {
        throw new SettleError(
          'CONFIRMATION_NEEDED',
          `Undoing a migration drops its tables with all rows in ${database.target.label}.`,
          { next: 'settle migrate down --yes' },
        );
      }
      await refuseNewer(database);
      const undone = await migrateDown(database);
      if (context.output === 'text') {
        await context.print(undone.length === 0 ? 'Nothing to undo.' : `Undone: ${undone.join(', ')}`);
      } else await context.document({ schema: 'settle.migrate', undone });
      return exitCodes.OK;
    },
    { schema: 'none' },
  );

/** `settle migrate status`: what is applied and what is pending; exit code 5 while something is. */
export const status: Command<object> = (context) =>
  withDatabase(
    context,
    async (database) => {
      const found = await schemaStatus(database);
      if (context.output === 'text') {
        for (const name of found.applied) await context.print(`applied  ${name}`);
        for (const name of found.pending) await context.print(`pending  ${name}`);
        for (const name of found.unknown) await context.print(`newer    ${name}`);
      } else await context.document({ schema: 'settle.migrateStatus', ...found });
      return found.pending.length > 0 || found.unknown.length > 0 ? exitCodes.PRECONDITION : exitCodes.OK;
    },
    { schema: 'none' },
  );

/** `settle migrate sql`: the statements that `up` would run, for a database administrator to read or run. */
export const sql: Command<object> = (context) =>
  withDatabase(
    context,
    async (database) => {
      const { pending } = await schemaStatus(database);
      const statements = migrations
        .filter((migration) => pending.includes(migration.name))
        .flatMap((migration) => statementsOf(migration, database.engine, 'up'));
      if (context.output === 'text') {
        for (const statement of statements) await context.print(`${asScript(database.engine, statement)}\n`);
      } else await context.document({ schema: 'settle.migrateSql', engine: database.engine, statements });
      return exitCodes.OK;
    },
    { schema: 'none' },
  );

/** This version knows neither what a newer one added nor how to undo it. */
async function refuseNewer(database: Database): Promise<void> {
  const { unknown } = await schemaStatus(database);
  if (unknown.length === 0) return;
  throw new SettleError('SCHEMA_NEWER', `The database has migrations of a newer Settle: ${unknown.join(', ')}.`, {
    next: 'Install the version that made them.',
  });
}
