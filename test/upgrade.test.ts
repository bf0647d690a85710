import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { migrations } from '../migrations/index.js';
import { Database } from '../src/db/database.js';
import { missingTriggers } from '../src/db/appendOnly.js';
import { migrateDown, migrateUp, requireSchema, schemaStatus } from '../src/db/schema.js';
import { parseDatabaseUrl } from '../src/db/url.js';
import { toBigInt, toCount, toText } from '../src/db/values.js';
import { verifyBooks } from '../src/reconciliation/verify.js';
import { smallDays, writeBooks } from './support/books.js';
import { createTestDatabase, databaseKinds, type DatabaseKind, type TestDatabase } from './support/databases.js';
import { givenAccounts, givenOrders, moneyDump, quiet, runDay, smallSettings, variedDay } from './support/day.js';
import type { RunDaysOptions } from '../src/batch/runDays.js';
import type { RunDocument } from '../src/batch/document.js';

// The way from an old version to this one: a database as the version of migration 0003 left it, with a closed day and one
// that is open, is migrated; what was proven before is proven after, and what was begun before is ended after.

const oldest = '0003_books';

async function oldDatabase(kind: DatabaseKind): Promise<TestDatabase> {
  const place = await createTestDatabase(kind);
  while ((await schemaStatus(place.database)).applied.at(-1) !== oldest) await migrateDown(place.database);
  return place;
}

/** The day after the closed ones. */
const openDay = '2026-11-30';

/** Two closed days by plain SQL, with the columns of that time; nothing of them is left to be settled. */
function givenClosedDays(database: Database): Promise<void> {
  const done = smallDays.map((day) => ({ ...day, orders: day.orders.filter(({ fate }) => fate !== 'LEFT') }));
  return writeBooks(database, done);
}

async function givenOpenDay(database: Database, size: number): Promise<void> {
  await givenAccounts(database, { FROZEN: 'FROZEN', CLOSED: 'CLOSED' });
  await givenOrders(
    database,
    variedDay(size).map((order) => ({ ...order, batchDay: openDay })),
  );
}

function runOpenDay(database: Database, more: Partial<RunDaysOptions> = {}): Promise<RunDocument> {
  const clock = { now: () => new Date('2026-12-01T01:00:00.000Z') };
  return runDay(database, { target: openDay, clock, ...more });
}

async function contradictions(database: Database): Promise<unknown[]> {
  return (await verifyBooks(database)).flatMap((check) => check.contradictions);
}

/** Every row of the old tables, in the columns that they had. */
async function oldRows(database: Database, columns: ReadonlyMap<string, string>): Promise<string[]> {
  const lines: string[] = [];
  for (const [table, list] of columns) {
    const rows = await database.read((session) => session.tuples(`select ${list} from ${table}`));
    lines.push(...rows.map((row) => `${table} ${row.map(String).join('|')}`));
  }
  return lines.sort();
}

async function columnsOf(database: Database): Promise<Map<string, string>> {
  const sql =
    database.target.dialect === 'sqlite'
      ? `select m.name as t, c.name as c from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'`
      : 'select table_name as t, column_name as c from information_schema.columns where table_schema = database()';
  const columns = new Map<string, string>();
  for (const [table, column] of await database.read((session) => session.tuples(sql))) {
    const name = String(table);
    if (/^(sqlite_|settle_migration)/.test(name)) continue;
    columns.set(name, [...(columns.get(name)?.split(', ') ?? []), String(column)].join(', '));
  }
  return columns;
}

describe.each(databaseKinds)('an upgrade [%s]', (kind) => {
  test('keeps every row of closed days and an open one, proves the books, and settles the open day', async () => {
    const [place, fresh] = [await oldDatabase(kind), await createTestDatabase('sqlite')];
    try {
      const { database } = place;
      await givenClosedDays(database);
      await givenOpenDay(database, 60);
      await expect(requireSchema(database)).rejects.toMatchObject({
        code: 'SCHEMA_PENDING',
        next: 'settle migrate up',
      });
      const columns = await columnsOf(database);
      expect([...columns.keys()]).not.toContain('payout');
      const before = await oldRows(database, columns);
      expect(before.length).toBeGreaterThan(100);

      const later = migrations.map(({ name }) => name).filter((name) => name > oldest);
      expect(await migrateUp(database)).toEqual(later);
      expect(await oldRows(database, columns)).toEqual(before);
      expect(await contradictions(database)).toEqual([]);
      expect(await database.read(missingTriggers)).toEqual([]);

      expect(await runOpenDay(database)).toMatchObject({ batchDay: openDay, outcome: 'PARTIAL' });
      expect(await contradictions(database)).toEqual([]);
      // As if this version had been there from the beginning.
      await givenClosedDays(fresh.database);
      await givenOpenDay(fresh.database, 60);
      await runOpenDay(fresh.database);
      expect(await moneyDump(database)).toEqual(await moneyDump(fresh.database));
    } finally {
      await place.drop();
      await fresh.drop();
    }
  });

  test('a run that began on the old schema, and died in the middle, is ended by this version with the same books', async () => {
    const [place, fresh] = [await oldDatabase(kind), await createTestDatabase('sqlite')];
    try {
      await givenClosedDays(place.database);
      await givenOpenDay(place.database, 200);
      const left = await dieInTheMiddle(place);
      expect(left).toMatchObject({ state: 'RUNNING' });
      expect(left.claimed).toBeGreaterThan(0);
      expect(left.waiting).toBeGreaterThan(0);

      await migrateUp(place.database);
      expect(await runOpenDay(place.database, { kind: 'RESUME' })).toMatchObject({ batchDay: openDay });
      expect(await contradictions(place.database)).toEqual([]);
      const dead = await place.database.read((session) =>
        session.rows('select state from run where id = ?', [left.id]),
      );
      expect(dead).toMatchObject([{ state: 'ABANDONED' }]);

      await givenClosedDays(fresh.database);
      await givenOpenDay(fresh.database, 200);
      await runOpenDay(fresh.database);
      expect(await moneyDump(place.database)).toEqual(await moneyDump(fresh.database));
    } finally {
      await place.drop();
      await fresh.drop();
    }
  });
});

/** Runs on the old schema until some chunks are committed, and then loses its database, as a killed process does. */
async function dieInTheMiddle(
  place: TestDatabase,
): Promise<{ id: bigint; state: string; claimed: number; waiting: number }> {
  const own = await Database.open(parseDatabaseUrl(place.url), { connections: 8 });
  let chunks = 0;
  const progress = {
    ...quiet,
    advance: (what: string): void => {
      if (what === 'claimed' && (chunks += 1) === 6) own.abandon(new Error('killed'));
    },
  };
  const settings = { ...smallSettings, leaseMs: 1_000 };
  await expect(runOpenDay(own, { settings, progress })).rejects.toThrow();
  await own.close();
  await sleep(1_200); // its lease is over
  return place.database.read(async (session) => {
    const [run] = await session.rows('select id, state from run order by id desc limit 1');
    const count = async (condition: string): Promise<number> => {
      const sql = `select count(*) as orders from settlement_order where batch_day = ? and ${condition}`;
      const [row] = await session.rows(sql, [openDay]);
      return toCount(row?.['orders']);
    };
    return {
      id: toBigInt(run?.['id']),
      state: toText(run?.['state']),
      claimed: await count(`state = 'PROCESSING'`),
      waiting: await count(`state = 'INIT'`),
    };
  });
}
