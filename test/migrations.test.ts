import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { migrations } from '../migrations/index.js';
import { vocabularies, type Engine } from '../migrations/vocabulary.js';
import { Database } from '../src/db/database.js';
import { migrateUp, requireSchema, statementsOf } from '../src/db/schema.js';
import type { Row } from '../src/db/session.js';
import { repeatable } from '../src/db/transaction.js';
import { parseDatabaseUrl } from '../src/db/url.js';
import { toText } from '../src/db/values.js';
import { cancellationCodes } from '../src/kernel/cancellation.js';
import { dayOutcomes } from '../src/kernel/dayOutcome.js';
import {
  accountStates,
  batchMoves,
  depositFindingMoves,
  depositOrderMoves,
  depositReviewMoves,
  discrepancyClasses,
  discrepancyMoves,
  messageMoves,
  orderMoves,
  orderTypes,
  payoutMoves,
  runMoves,
  statementFileMoves,
} from '../src/kernel/states.js';
import { lineKinds } from '../src/statements/statement.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from './support/databases.js';
import { settleInside } from './support/inside.js';
import { settle, type Ended } from './support/program.js';
import { startProxy } from './support/proxy.js';

const engines: Engine[] = ['sqlite', 'mariadb', 'mysql'];
const own = (name: string): boolean => !name.startsWith('settle_migration') && !name.startsWith('sqlite_');

/** "table.column" and "table:index" of everything a database has, sorted. */
async function shapeOf(database: Database): Promise<string[]> {
  const read = (sql: string): Promise<Row[]> => database.read((session) => session.rows(sql));
  const sqlite = database.target.dialect === 'sqlite';
  const columns = await read(
    sqlite
      ? `select m.name as t, c.name as c, (c."notnull" or c.pk) as required from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'`
      : `select table_name as t, column_name as c, is_nullable = 'NO' as required from information_schema.columns where table_schema = database()`,
  );
  const indexes = await read(
    sqlite
      ? `select tbl_name as t, name as c from sqlite_master where type = 'index' and sql is not null`
      : `select distinct s.table_name as t, s.index_name as c from information_schema.statistics s
          where s.table_schema = database() and s.index_name <> 'PRIMARY' and s.non_unique = 1`,
  );
  return [
    ...columns
      .filter((row) => own(toText(row['t'])))
      .map((row) => `${toText(row['t'])}.${toText(row['c'])}${String(row['required']) === '1' ? '' : '?'}`),
    ...indexes.filter((row) => own(toText(row['t']))).map((row) => `${toText(row['t'])}:${toText(row['c'])}`),
  ].sort();
}

describe('the statements', () => {
  test.each(engines)('mirror the state tables of the code in their CHECKs [%s]', (engine) => {
    const text = migrations.flatMap((migration) => statementsOf(migration, engine, 'up')).join(';\n');
    const listed = (table: string, column: string): string[] => {
      const create = new RegExp(`create table ${table} \\(([^;]*)`).exec(text)?.[1] ?? '';
      const check = new RegExp(`check \\(${column} in \\(([^)]*)\\)\\)`).exec(create)?.[1];
      if (check === undefined) throw new Error(`${table}.${column} has no CHECK that lists its values.`);
      return check.split(', ').map((word) => word.replaceAll("'", ''));
    };
    expect(listed('settlement_order', 'state')).toEqual(Object.keys(orderMoves));
    expect(listed('settlement_order', 'type')).toEqual([...orderTypes]);
    expect(listed('batch', 'state')).toEqual(Object.keys(batchMoves));
    expect(listed('run', 'state')).toEqual(Object.keys(runMoves));
    expect(listed('run', 'cancel_code')).toEqual(Object.keys(cancellationCodes));
    expect(listed('cancelled_shard', 'cancel_code')).toEqual(Object.keys(cancellationCodes));
    expect([...listed('outbox', 'state')].sort()).toEqual(Object.keys(messageMoves).sort());
    expect([...listed('delivery', 'state')].sort()).toEqual(Object.keys(messageMoves).sort());
    expect(listed('account', 'state')).toEqual([...accountStates]);
    expect(listed('notification', 'told')).toEqual([...dayOutcomes]);
    expect(listed('deposit_order', 'status')).toEqual(Object.keys(depositOrderMoves));
    expect(listed('deposit_review', 'state')).toEqual(Object.keys(depositReviewMoves));
    expect(listed('deposit_finding', 'state')).toEqual(Object.keys(depositFindingMoves));
    for (const [table, column] of [
      ['payout', 'state'],
      ['payout_move', 'from_state'],
      ['payout_move', 'to_state'],
    ] as const) {
      expect(listed(table, column).sort()).toEqual(Object.keys(payoutMoves).sort());
    }
    expect(listed('discrepancy', 'state')).toEqual(Object.keys(discrepancyMoves));
    expect(listed('discrepancy', 'class')).toEqual([...discrepancyClasses]);
    expect(listed('discrepancy_move', 'to_state')).toEqual(Object.keys(discrepancyMoves));
    expect(listed('statement_file', 'state')).toEqual(Object.keys(statementFileMoves));
    expect(listed('statement_line', 'kind')).toEqual([...lineKinds]);
  });

  test.each(engines)('name a character set and collation for every text column [%s]', (engine) => {
    if (engine === 'sqlite') return;
    const vocabulary = vocabularies[engine];
    for (const type of [vocabulary.id, vocabulary.code, vocabulary.currency, vocabulary.text, vocabulary.end]) {
      expect(type).toMatch(/character set \w+ collate \w*bin/);
    }
  });

  test('of MySQL and MariaDB differ in the names of their collations only', () => {
    const plain = (engine: Engine): string =>
      migrations
        .flatMap((migration) => statementsOf(migration, engine, 'up'))
        .join(';')
        .replaceAll(/utf8mb4_nopad_bin|utf8mb4_0900_bin/g, 'COLLATION');
    expect(plain('mysql')).toBe(plain('mariadb'));
  });
});

test('SQLite and the server end with the same tables, columns and indexes', async () => {
  const [sqlite, server] = await Promise.all([createTestDatabase('sqlite'), createTestDatabase('server')]);
  try {
    const shape = await shapeOf(sqlite.database);
    expect(shape).toEqual(await shapeOf(server.database));
    expect(shape).toEqual(
      expect.arrayContaining(['settlement_order.amount_minor', 'net.biz_no', 'settlement_order:settlement_order_day']),
    );
  } finally {
    await sqlite.drop();
    await server.drop();
  }
});

/** As the client of a server does: a statement ends at the delimiter, which `delimiter` sets. */
function statementsAsAClientReads(script: string): string[] {
  const statements: string[] = [];
  let [delimiter, statement] = [';', ''];
  for (const line of script.split('\n')) {
    const told = /^delimiter (\S+)$/.exec(line)?.[1];
    if (told !== undefined) delimiter = told;
    else if (line.endsWith(delimiter)) {
      statements.push(statement + line.slice(0, -delimiter.length));
      statement = '';
    } else statement += `${line}\n`;
  }
  return statements;
}

describe.each(databaseKinds)('settle migrate [%s]', (kind) => {
  let place: TestDatabase;
  beforeEach(async () => {
    place = await createTestDatabase(kind, { migrate: false });
  });
  afterEach(() => place.drop());

  const migrate = (...args: string[]): Promise<Ended> => settleInside(['migrate', ...args], { url: place.url });
  const names = migrations.map((migration) => migration.name);

  test('up applies, again says there is nothing, down undoes, up applies again to the same shape', async () => {
    expect(await migrate('status')).toMatchObject({
      code: 5,
      stdout: names.map((name) => `pending  ${name}\n`).join(''),
    });
    expect(await migrate('up')).toMatchObject({ code: 0, stdout: `Applied: ${names.join(', ')}\n`, stderr: '' });
    const shape = await shapeOf(place.database);
    expect(await migrate('status')).toMatchObject({
      code: 0,
      stdout: names.map((name) => `applied  ${name}\n`).join(''),
    });
    expect(await migrate('up')).toMatchObject({ code: 0, stdout: 'Nothing to migrate.\n' });
    for (const name of [...names].reverse()) {
      expect(await migrate('down', '--yes')).toMatchObject({ code: 0, stdout: `Undone: ${name}\n` });
    }
    expect(await shapeOf(place.database)).toEqual([]);
    expect(await migrate('down', '--yes')).toMatchObject({ code: 0, stdout: 'Nothing to undo.\n' });
    expect(await migrate('up')).toMatchObject({ code: 0 });
    expect(await shapeOf(place.database)).toEqual(shape);
  });

  test('down asks first, and without --yes changes nothing', async () => {
    await migrateUp(place.database);
    const shape = await shapeOf(place.database);
    const ended = await migrate('down');
    expect(ended).toMatchObject({ code: 5, stdout: '' });
    expect(ended.stderr).toContain('CONFIRMATION_NEEDED');
    expect(ended.stderr).toContain('settle migrate down --yes');
    expect(await shapeOf(place.database)).toEqual(shape);
  });

  test('sql prints the pending statements, which an administrator can run', async () => {
    const printed = await migrate('sql');
    expect(printed).toMatchObject({ code: 0, stderr: '' });
    const statements = statementsAsAClientReads(printed.stdout);
    for (const statement of statements) await place.database.forMigrations.raw(statement);
    const shape = await shapeOf(place.database);
    const other = await createTestDatabase(kind);
    try {
      expect(shape).toEqual(await shapeOf(other.database));
    } finally {
      await other.drop();
    }
  });

  test('answers in JSON when asked', async () => {
    const answer = async (...args: string[]): Promise<unknown> => JSON.parse((await migrate(...args, '--json')).stdout);
    expect(await answer('status')).toEqual({
      schema: 'settle.migrateStatus',
      schemaVersion: 1,
      applied: [],
      pending: names,
      unknown: [],
    });
    expect(await answer('sql')).toMatchObject({
      schema: 'settle.migrateSql',
      schemaVersion: 1,
      engine: place.database.engine,
    });
    expect(await answer('up')).toEqual({ schema: 'settle.migrate', schemaVersion: 1, applied: names });
    expect(await answer('down', '--yes')).toEqual({
      schema: 'settle.migrate',
      schemaVersion: 1,
      undone: names.slice(-1),
    });
  });

  test('a schema that lacks migrations is named, with the command that adds them', async () => {
    await expect(requireSchema(place.database)).rejects.toMatchObject({
      code: 'SCHEMA_PENDING',
      exitCode: 5,
      next: 'settle migrate up',
    });
  });

  test('a schema of a newer version is not touched', async () => {
    await migrateUp(place.database);
    await place.database.transact(
      repeatable('from the future', (trx) =>
        trx.change(
          `insert into settle_migration (name, batch, migration_time) values ('9999_later', 2, '2030-01-01 00:00:00')`,
        ),
      ),
    );
    await expect(requireSchema(place.database)).rejects.toMatchObject({ code: 'SCHEMA_NEWER', exitCode: 5 });
    const shape = await shapeOf(place.database);
    for (const args of [['up'], ['down', '--yes']]) {
      const ended = await migrate(...args);
      expect([args, ended.code, ended.stdout]).toEqual([args, 5, '']);
      expect(ended.stderr).toContain('SCHEMA_NEWER');
    }
    expect(await migrate('status')).toMatchObject({ code: 5, stdout: expect.stringContaining('newer    9999_later') });
    expect(await shapeOf(place.database)).toEqual(shape);
  });

  test('two at once: who does not get the lock says so, and what it names makes the schema whole', async () => {
    for (const { code, stderr } of await Promise.all([1, 2].map(() => settle(['migrate', 'up'], { url: place.url })))) {
      if (code !== 0) expect([code, stderr]).toEqual([5, expect.stringContaining('settle migrate up --unlock')]);
    }
    expect(await migrate('up', '--unlock')).toMatchObject({ code: 0 });
    await expect(requireSchema(place.database)).resolves.toBeUndefined();
  });
});

describe('a migration that is cut off on a server', () => {
  let place: TestDatabase;
  beforeEach(async () => {
    place = await createTestDatabase('server', { migrate: false });
  });
  afterEach(() => place.drop());

  async function wholeShape(): Promise<string[]> {
    const other = await createTestDatabase('server');
    try {
      return await shapeOf(other.database);
    } finally {
      await other.drop();
    }
  }

  // One table of each third of the first migration, and the two borders; and one after columns that the second adds.
  test.each(['account', 'source_total', 'net', 'journal_entry', 'terms_effect'])(
    'by a killed process at "create table %s" is finished by the next, once the lock is freed',
    async (table) => {
      const proxy = await startProxy(place.url);
      try {
        const first = settle(['migrate', 'up'], { url: proxy.url });
        proxy.onStatement(new RegExp(`^create table ${table} `), () => {
          first.kill('SIGKILL');
        });
        expect(await first).toMatchObject({ code: null, signal: 'SIGKILL' });
        await expect(requireSchema(place.database)).rejects.toMatchObject({ code: 'SCHEMA_PENDING' });
        const held = await settle(['migrate', 'up'], { url: place.url });
        expect(held).toMatchObject({ code: 5, stdout: '' });
        expect(held.stderr).toContain('settle migrate up --unlock');
        expect(await settleInside(['migrate', 'up', '--unlock'], { url: place.url })).toMatchObject({ code: 0 });
        await expect(requireSchema(place.database)).resolves.toBeUndefined();
        expect(await shapeOf(place.database)).toEqual(await wholeShape());
      } finally {
        await proxy.close();
      }
    },
  );

  test.each(['drop', 'dropAnswer'] as const)(
    'by a lost connection (%s) ends as TEMPFAIL, and is finished by running it again',
    async (fault) => {
      const proxy = await startProxy(place.url);
      try {
        proxy.next(/^create table chunk /, fault);
        const first = await settle(['migrate', 'up'], { url: proxy.url });
        expect(first).toMatchObject({ code: 75, stdout: '' });
        expect(first.stderr).toContain('DATABASE_UNREACHABLE');
        const again = await settleInside(['migrate', 'up'], { url: place.url });
        if (again.code !== 0) {
          expect(again.stderr).toContain('settle migrate up --unlock');
          expect(await settleInside(['migrate', 'up', '--unlock'], { url: place.url })).toMatchObject({ code: 0 });
        }
        expect(await shapeOf(place.database)).toEqual(await wholeShape());
      } finally {
        await proxy.close();
      }
    },
  );
});

describe('a SQLite file', () => {
  test('that is no database is refused and left as it is', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
    try {
      const path = join(folder, 'orders.csv');
      writeFileSync(path, 'order_no,account_no\n'.repeat(500));
      const before = createHash('sha256').update(readFileSync(path)).digest('hex');
      const ended = await settleInside(['migrate', 'up'], { url: `sqlite:${path}` });
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toContain('DATABASE_NOT_A_DATABASE');
      expect(createHash('sha256').update(readFileSync(path)).digest('hex')).toBe(before);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('whose migration fails half-way keeps nothing of it', async () => {
    const place = await createTestDatabase('sqlite', { migrate: false });
    try {
      // A table of somebody else with a name that a later statement of the migration needs.
      await place.database.forMigrations.raw('create view ledger_entry as select 1 as one');
      await expect(migrateUp(place.database)).rejects.toThrow();
      const tables = await place.database.read((session) =>
        session.rows(`select name from sqlite_master where name in ('account', 'net', 'batch')`),
      );
      expect(tables).toEqual([]);
      const again = await Database.open(parseDatabaseUrl(place.url));
      await again.forMigrations.raw('drop view ledger_entry');
      await expect(migrateUp(again)).resolves.toEqual(migrations.map((migration) => migration.name));
      await again.close();
    } finally {
      await place.drop();
    }
  });
});
