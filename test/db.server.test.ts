import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { Database } from '../src/db/database.js';
import { failureKind } from '../src/db/failure.js';
import { migrateUp } from '../src/db/schema.js';
import type { Binding, Transaction } from '../src/db/session.js';
import { repeatable } from '../src/db/transaction.js';
import { parseDatabaseUrl } from '../src/db/url.js';
import { toBigInt, toCount, toText } from '../src/db/values.js';
import { settle } from './support/program.js';
import { startServer, type Server } from './support/server.js';

// A server with the worst defaults that are found in the wild, and that is stopped, killed and started under our feet.

let server: Server;
let url: string;

beforeAll(async () => {
  server = await startServer([
    '--sql-mode=',
    '--character-set-server=latin1',
    '--collation-server=latin1_swedish_ci',
    '--max-allowed-packet=1M',
    '--loose-innodb-snapshot-isolation=ON',
    '--transaction-isolation=SERIALIZABLE',
    '--autocommit=0',
    '--default-time-zone=-07:00',
    '--innodb-lock-wait-timeout=1000',
    '--lower-case-table-names=1',
  ]);
  const administrator = await createConnection(`${server.url}mysql`);
  await administrator.query('create database settle');
  await administrator.query('create database bare');
  await administrator.end();
  url = `${server.url}settle`;
}, 120_000);
afterAll(async () => {
  server.thaw();
  await server.stop();
}, 60_000);

async function withDatabase<T>(work: (database: Database) => Promise<T>, statementMsMax = 60_000): Promise<T> {
  const database = await Database.open(parseDatabaseUrl(url), { connections: 4, statementMsMax, connectMsMax: 2_000 });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

describe('a server with an empty sql_mode, latin1, small packets and other isolation', () => {
  beforeAll(async () => {
    await withDatabase(migrateUp);
    await withDatabase(async (database) => {
      await database.forMigrations.raw(
        'create table plain (id varchar(5) character set ascii, tiny tinyint, minor bigint, day date, note longtext character set utf8mb4)',
      );
    });
  });

  const cases: [string, string, readonly Binding[]][] = [
    ['a text that is too long', 'insert into plain (id) values (?)', ['abcdef']],
    ['a number out of range', 'insert into plain (tiny) values (?)', [999]],
    ['an amount past 64 bits', 'insert into plain (minor) values (?)', ['9223372036854775808']],
    ['text where a number belongs', 'insert into plain (minor) values (?)', ['12abc']],
    ['an empty text where a number belongs', 'insert into plain (minor) values (?)', ['']],
    ['a day that does not exist', 'insert into plain (day) values (?)', ['2026-02-30']],
    ['the zero day', 'insert into plain (day) values (?)', ['0000-00-00']],
    ['letters that the column cannot hold', 'insert into plain (id) values (?)', ['abç']],
    ['a state that is not listed', `insert into account values ('M1', '', '2026-01-01', '2026-01-01')`, []],
    ['a division by zero', 'insert into plain (minor) values (1 / 0)', []],
    ['a product past 64 bits', 'insert into plain (minor) values (9223372036854775807 * 2)', []],
  ];

  test.each(cases)('%s is refused, not cut, clipped or emptied', (_what, sql, bindings) =>
    withDatabase(async (database) => {
      const error: unknown = await database
        .transact(repeatable('insert', (trx) => trx.change(sql, bindings)))
        .catch((reason: unknown) => reason);
      expect([failureKind(error), (error as Error).message]).toEqual(['refused', expect.any(String)]);
      const [row] = await database.read((session) => session.rows('select count(*) as n from plain'));
      expect(toCount(row?.['n'])).toBe(0);
    }),
  );

  test('gives emoji and other scripts back as they were', () =>
    withDatabase(async (database) => {
      const text = '😀 商户 ß';
      const [row] = await database.transact(
        repeatable('emoji', async (trx) => {
          await trx.change('insert into plain (note) values (?)', [text]);
          const rows = await trx.rows('select note, char_length(note) as n from plain');
          await trx.change('delete from plain');
          return rows;
        }),
      );
      expect([toText(row?.['note']), toCount(row?.['n'])]).toEqual([text, [...text].length]);
    }));

  test('every table and text column says its own character set and a binary no-pad collation', () =>
    withDatabase(async (database) => {
      const columns = await database.read((session) =>
        session.rows(
          `select table_name as t, column_name as c, collation_name as collation from information_schema.columns
            where table_schema = database() and collation_name is not null
              and table_name not in ('plain', 'settle_migration', 'settle_migration_lock')`,
        ),
      );
      expect(columns.length).toBeGreaterThan(20);
      const folding = columns.filter(
        (row) => !/^(utf8mb4_nopad_bin|utf8mb4_0900_bin|ascii_bin)$/.test(toText(row['collation'])),
      );
      expect(folding).toEqual([]);
    }));

  test('account numbers that such a server would fold live side by side', () =>
    withDatabase(async (database) => {
      const ids = ['abc', 'ABC', 'abç', 'abc ', 'äbc'];
      const inserted = await database.transact(
        repeatable('accounts', (trx) =>
          trx.insertMany(
            'account',
            ['account_no', 'state', 'registered_at', 'changed_at'],
            ids.map((id) => [id, 'ACTIVE', '2026-01-01', '2026-01-01']),
          ),
        ),
      );
      expect(inserted).toBe(ids.length);
    }));

  test('takes 6 MB in one call, in statements below its packet limit', () =>
    withDatabase(async (database) => {
      expect(database.facts.packetBytesMax).toBe(1_048_576);
      const note = '😀'.repeat(1_000);
      const rows = Array.from({ length: 1_500 }, (_, at): Binding[] => [BigInt(at), note]);
      const inserted = await database.transact(
        repeatable('large', (trx) => trx.insertMany('plain', ['minor', 'note'], rows)),
      );
      expect(inserted).toBe(1_500);
      const [row] = await database.read((session) =>
        session.rows('select count(*) as n, sum(char_length(note)) as letters from plain'),
      );
      expect([toCount(row?.['n']), toBigInt(row?.['letters'])]).toEqual([1_500, 1_500_000n]);
      await database.transact(repeatable('clear', (trx) => trx.change('delete from plain')));
    }));

  test.each([
    [
      'inserted among many',
      (trx: Transaction, note: string) => trx.insertMany('plain', ['note'], [['a'], [note], ['b']]),
    ],
    [
      'bound to a statement',
      (trx: Transaction, note: string) => trx.change('insert into plain (note) values (?)', [note]),
    ],
  ])('a value larger than a packet, %s, is refused at once and costs its own unit only', (_how, insert) =>
    withDatabase(async (database) => {
      const started = Date.now();
      for (const note of ['x'.repeat(1_200_000), "'".repeat(600_000), '商'.repeat(400_000)]) {
        const error: unknown = await database
          .transact(repeatable('huge', (trx) => insert(trx, note)))
          .catch((reason: unknown) => reason);
        expect([failureKind(error), (error as Error).message]).toEqual(['refused', expect.stringContaining('1048576')]);
      }
      expect(Date.now() - started).toBeLessThan(3_000);
      const [row] = await database.read((session) => session.rows('select count(*) as n from plain'));
      expect(toCount(row?.['n'])).toBe(0);
    }),
  );

  test('a migration is there for the next process', async () => {
    expect(await settle(['migrate', 'status'], { url })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('applied'),
    });
  });

  test('is read in UTC', () =>
    withDatabase(async (database) => {
      const [row] = await database.read((session) =>
        session.rows('select timestampdiff(second, utc_timestamp(), now()) as off'),
      );
      expect(toCount(row?.['off'])).toBe(0);
    }));
});

describe('a server that falls silent', () => {
  test(
    'makes units and reads fail with TEMPFAIL within a stated time, and everything works when it is back',
    () =>
      withDatabase(async (database) => {
        await database.read((session) => session.rows('select 1 as one'));
        await server.freeze();
        const started = Date.now();
        const took = async (work: Promise<unknown>): Promise<{ error: unknown; ms: number }> => {
          const error: unknown = await work.then(() => null).catch((reason: unknown) => reason);
          return { error, ms: Date.now() - started };
        };
        try {
          const unit = repeatable('silent', (trx) => trx.change(`insert into plain (minor) values (1)`));
          const [read, written] = await Promise.all([
            took(database.read((session) => session.rows('select 1 as one'))),
            took(database.transact(unit)),
          ]);
          expect(read.error).toMatchObject({ code: 'DATABASE_UNREACHABLE', exitCode: 75 });
          expect(written.error).toMatchObject({ code: 'DATABASE_UNREACHABLE', exitCode: 75 });
          expect(read.ms).toBeLessThan(12_000);
          // Nine tries of half a second each, and about 20 s of pauses, jittered up to twice that.
          expect(written.ms).toBeLessThan(55_000);
        } finally {
          server.thaw();
        }
        await database.transact(repeatable('back', (trx) => trx.change('delete from plain')));
      }, 500),
    90_000,
  );

  test('makes a command end with exit code 75 within its connect time limit', async () => {
    await server.freeze();
    try {
      const started = Date.now();
      const ended = await settle(['migrate', 'status'], {
        url,
        env: { SETTLE_DATABASE_CONNECT_TIMEOUT: '2s', SETTLE_DATABASE_STATEMENT_TIMEOUT: '5s' },
      });
      expect(ended).toMatchObject({ code: 75, stdout: '' });
      expect(ended.stderr).toContain('DATABASE_UNREACHABLE');
      expect(Date.now() - started).toBeLessThan(10_000);
    } finally {
      server.thaw();
    }
  }, 30_000);
});

describe('a server that dies', () => {
  test(
    'and comes back while units are under way: each takes effect once',
    () =>
      withDatabase(async (database) => {
        await database.forMigrations.raw('create table mark (id int not null primary key) engine = InnoDB');
        const marks = Array.from({ length: 60 }, (_, id) => id);
        let done = 0;
        const work = (async () => {
          for (const id of marks) {
            await database.transact({
              name: 'mark',
              work: async (trx) => {
                await trx.change('insert into mark (id) values (?)', [id]);
                return true;
              },
              landed: async (session) => {
                const found = await session.rows('select id from mark where id = ?', [id]);
                return found.length === 1 ? true : undefined;
              },
            });
            done += 1;
          }
        })();
        while (done < 20) await new Promise((resolve) => setTimeout(resolve, 5));
        await server.kill();
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        await server.start();
        await work;
        const [row] = await database.read((session) => session.rows('select count(*) as n from mark'));
        expect(toCount(row?.['n'])).toBe(marks.length);
      }),
    90_000,
  );
});
