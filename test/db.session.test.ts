import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { vocabularies } from '../migrations/vocabulary.js';
import { Database } from '../src/db/database.js';
import { failureKind } from '../src/db/failure.js';
import type { Binding, Row } from '../src/db/session.js';
import { repeatable } from '../src/db/transaction.js';
import { parseDatabaseUrl } from '../src/db/url.js';
import {
  exactSum,
  fromInstant,
  oneOfIds,
  placeholders,
  sumIn,
  toBigInt,
  toCount,
  toInstant,
  toText,
} from '../src/db/values.js';
import { onEachDatabase } from './support/databases.js';

onEachDatabase('a session', (current) => {
  const database = (): Database => current().database;
  const write = <T>(work: Parameters<typeof repeatable<T>>[1]): Promise<T> =>
    database().transact(repeatable('test', work));
  const rows = (sql: string, bindings: readonly Binding[] = []): Promise<Row[]> =>
    database().read((session) => session.rows(sql, bindings));

  beforeAll(async () => {
    const v = vocabularies[database().engine];
    const ddl = (sql: string): Promise<unknown> => database().forMigrations.raw(sql);
    await ddl(`create table amount (id ${v.autoId}, minor ${v.minor}, note ${v.text}) ${v.end}`);
    await ddl(`create table named (id ${v.id} not null primary key, n ${v.int} not null default 0) ${v.end}`);
    await ddl(
      `create table dated (day ${v.day} not null, at ${v.instant} not null, done ${v.moment} not null) ${v.end}`,
    );
    await ddl(
      `create table guarded (id ${v.id} not null primary key, state ${v.code} not null, minor ${v.minor} not null,
        constraint guarded_state check (state in ('INIT', 'DONE'))) ${v.end}`,
    );
  });

  describe('counts the rows that an UPDATE matched', () => {
    test('also when the new value is the old one', async () => {
      await write((trx) =>
        trx.insertMany(
          'named',
          ['id', 'n'],
          [
            ['count-a', 1],
            ['count-b', 1],
          ],
        ),
      );
      const same = await write((trx) => trx.change(`update named set n = 1 where id like 'count-%'`));
      const none = await write((trx) => trx.change(`update named set n = 1 where id = 'count-c'`));
      expect([same, none]).toEqual([2, 0]);
    });

    test('so that a CAS on the guarded column is won by exactly one', async () => {
      await write((trx) => trx.change(`insert into guarded (id, state, minor) values ('cas', 'INIT', 1)`));
      const claim = (): Promise<number> =>
        write((trx) => trx.change(`update guarded set state = 'DONE' where id = 'cas' and state = 'INIT'`));
      expect((await Promise.all([claim(), claim(), claim(), claim()])).sort()).toEqual([0, 0, 0, 1]);
    });

    test('and a DELETE removed', async () => {
      await write((trx) =>
        trx.insertMany(
          'named',
          ['id', 'n'],
          [
            ['del-a', 1],
            ['del-b', 1],
          ],
        ),
      );
      expect(await write((trx) => trx.change(`delete from named where id like 'del-%'`))).toBe(2);
    });
  });

  describe('loses no digit', () => {
    const exact = [9007199254740993n, -9007199254740993n, 2n ** 63n - 1n, -(2n ** 63n) + 1n, 0n, 1n];

    test.each(exact)('of %p', async (minor) => {
      const id = await write((trx) => trx.insert('insert into amount (minor) values (?)', [minor]));
      const [row] = await rows('select minor from amount where id = ? and minor = ?', [id, minor]);
      expect(toBigInt(row?.['minor'])).toBe(minor);
    });

    test('of a whole page read as tuples', async () => {
      const id = await write((trx) => trx.insert('insert into amount (minor) values (9007199254740993)'));
      const [tuple] = await database().read((session) =>
        session.tuples('select id, minor, note from amount where id = ?', [id]),
      );
      expect(tuple?.map((value, at) => (at < 2 ? toBigInt(value) : value))).toEqual([id, 9007199254740993n, null]);
    });

    test('of an id that the database made', async () => {
      const past = 9007199254740993n;
      await write((trx) => trx.change('insert into amount (id, minor) values (?, 0)', [past]));
      const next = await write((trx) => trx.insert('insert into amount (minor) values (0)'));
      expect(next).toBeGreaterThan(past);
      expect(toBigInt((await rows('select max(id) as id from amount'))[0]?.['id'])).toBe(next);
      await write((trx) => trx.change('delete from amount where id >= ?', [past]));
    });

    test('of a sum, however wide', async () => {
      const wide = [2n ** 63n - 1n, 2n ** 63n - 1n, 2n ** 63n - 1n, -5n, 2n ** 53n + 1n, -(2n ** 63n) + 1n, -1n];
      await write((trx) =>
        trx.insertMany(
          'amount',
          ['minor', 'note'],
          wide.map((minor) => [minor, 'wide']),
        ),
      );
      const [row] = await rows(
        `select ${exactSum(database().target.dialect, 'minor', 'total')} from amount where note = 'wide'`,
      );
      expect(sumIn(row ?? {}, 'total')).toBe(wide.reduce((sum, minor) => sum + minor, 0n));
    });

    test('of any sum at all', async () => {
      const minors = fc.array(fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }), {
        minLength: 1,
        maxLength: 20,
      });
      let round = 0;
      await fc.assert(
        fc.asyncProperty(minors, async (some) => {
          const note = `any-${String((round += 1))}`;
          await write((trx) =>
            trx.insertMany(
              'amount',
              ['minor', 'note'],
              some.map((minor) => [minor, note]),
            ),
          );
          const [row] = await rows(
            `select ${exactSum(database().target.dialect, 'minor', 'total')} from amount where note = ?`,
            [note],
          );
          expect(sumIn(row ?? {}, 'total')).toBe(some.reduce((sum, minor) => sum + minor, 0n));
        }),
        { numRuns: 25 },
      );
    });

    test('of no row at all: the sum of nothing is zero', async () => {
      const [row] = await rows(
        `select ${exactSum(database().target.dialect, 'minor', 'total')}, count(*) as n from amount where note = 'none'`,
      );
      expect([sumIn(row ?? {}, 'total'), toCount(row?.['n'])]).toEqual([0n, 0]);
    });

    test('of a signed expression summed per group', async () => {
      const big = 2n ** 62n;
      await write((trx) =>
        trx.insertMany(
          'amount',
          ['minor', 'note'],
          [big, big, big].map((minor) => [minor, 'signed']),
        ),
      );
      const [row] = await rows(
        `select note, ${exactSum(database().target.dialect, 'case when minor > 0 then -minor else minor end', 'total')}
           from amount where note = 'signed' group by note`,
      );
      expect(sumIn(row ?? {}, 'total')).toBe(-3n * big);
    });
  });

  describe('keeps ids apart byte by byte', () => {
    const ids = [
      'abc',
      'ABC',
      'Abc',
      'abç',
      'abc\u0327',
      'äbc',
      'abc ',
      ' abc',
      'ａｂｃ',
      'ß',
      'ss',
      'SS',
      'ı',
      'i',
      '0',
      '00',
    ];

    test('as keys: all of them can exist', async () => {
      expect(
        await write((trx) =>
          trx.insertMany(
            'named',
            ['id', 'n'],
            ids.map((id, n) => [id, n]),
          ),
        ),
      ).toBe(ids.length);
      for (const [n, id] of ids.entries()) {
        const found = await rows('select n, id from named where id = ?', [id]);
        expect(found.map((row) => [toCount(row['n']), toText(row['id'])])).toEqual([[n, id]]);
      }
    });

    test('when grouped and counted', async () => {
      const [row] = await rows(`select count(distinct id) as n from named where id in (${placeholders(ids)})`, ids);
      expect(toCount(row?.['n'])).toBe(ids.length);
    });

    test('and sorts them alike on every engine: by bytes', async () => {
      const sorted = await rows(`select id from named where id in (${placeholders(ids)}) order by id`, ids);
      const byBytes = [...ids].sort((a, b) => Buffer.from(a).compare(Buffer.from(b)));
      expect(sorted.map((row) => toText(row['id']))).toEqual(byBytes);
    });

    test('and a number never equals a text that starts with it', async () => {
      await write((trx) => trx.change(`insert into named (id) values ('12abc')`));
      expect(await rows('select id from named where id = ?', ['12'])).toEqual([]);
    });
  });

  test.each(['😀 paid', '商户', 'O\'Brien \\ "x" ; -- %', 'a\u0000b', 'line\nline', '?', ':name', 'ﷺ'.repeat(20)])(
    'gives back the text %j as it was',
    async (text) => {
      const id = await write((trx) => trx.insert('insert into amount (minor, note) values (0, ?)', [text]));
      expect(toText((await rows('select note from amount where id = ?', [id]))[0]?.['note'])).toBe(text);
      await write((trx) => trx.insertMany('amount', ['minor', 'note'], [[id, text]]));
      expect(toText((await rows('select note from amount where minor = ?', [id]))[0]?.['note'])).toBe(text);
    },
  );

  test('reads days and instants as they were written, whatever the zone of the machine is', async () => {
    const at = '2026-03-08T02:30:00.123456Z';
    const done = '2024-02-29T23:59:59.999Z';
    const { dialect } = database().target;
    await write((trx) =>
      trx.change('insert into dated (day, at, done) values (?, ?, ?)', [
        '2026-03-08',
        fromInstant(dialect, at),
        fromInstant(dialect, done),
      ]),
    );
    const [row] = await rows('select * from dated');
    expect([toText(row?.['day']), toInstant(row?.['at']), toInstant(row?.['done'])]).toEqual(['2026-03-08', at, done]);
  });

  describe('binds scalars only', () => {
    const hostile: unknown[] = [
      undefined,
      {},
      { id: 1 },
      [],
      ['a', 'b'],
      [['a']],
      new Date(0),
      true,
      1.5,
      NaN,
      Infinity,
    ];
    hostile.push(2 ** 53, Symbol('x'), () => 1, Buffer.from('a'));

    test.each(hostile)('%p is refused, in every kind of statement', async (value) => {
      const bindings = [value as Binding];
      for (const use of [
        (trx: Parameters<Parameters<typeof write>[0]>[0]) => trx.rows('select id from named where id = ?', bindings),
        (trx: Parameters<Parameters<typeof write>[0]>[0]) => trx.tuples('select id from named where id = ?', bindings),
        (trx: Parameters<Parameters<typeof write>[0]>[0]) =>
          trx.change('update named set n = 1 where id = ?', bindings),
        (trx: Parameters<Parameters<typeof write>[0]>[0]) => trx.insert('insert into named (id) values (?)', bindings),
        (trx: Parameters<Parameters<typeof write>[0]>[0]) => trx.insertMany('named', ['id'], [bindings]),
      ]) {
        await expect(write<unknown>(use)).rejects.toThrow(TypeError);
      }
    });
  });

  describe('refuses what would have to be changed to fit, and says that the values are at fault', () => {
    const refused: [string, string, readonly Binding[]][] = [
      ['a key that is taken', `insert into guarded (id, state, minor) values (?, 'INIT', 1)`, ['taken']],
      ['a state that is not listed', `insert into guarded (id, state, minor) values (?, 'PAID', 1)`, ['r1']],
      ['a state in other case', `insert into guarded (id, state, minor) values (?, 'init', 1)`, ['r2']],
      ['nothing where a value belongs', `insert into guarded (id, state, minor) values (?, 'INIT', null)`, ['r3']],
      ['a word where a number belongs', `insert into guarded (id, state, minor) values (?, 'INIT', 'abc')`, ['r4']],
      ['a number with a tail', `insert into guarded (id, state, minor) values (?, 'INIT', '12abc')`, ['r5']],
      ['an empty text where a number belongs', `insert into guarded (id, state, minor) values (?, 'INIT', '')`, ['r6']],
    ];

    beforeAll(async () => {
      await write((trx) => trx.change(`insert into guarded (id, state, minor) values ('taken', 'INIT', 7)`));
    });

    test.each(refused)('%s', async (_what, sql, bindings) => {
      const count = async (): Promise<Row[]> => rows('select count(*) as n, min(minor) as lowest from guarded');
      const before = await count();
      const error: unknown = await write((trx) => trx.change(sql, bindings)).catch((reason: unknown) => reason);
      expect(failureKind(error)).toBe('refused');
      expect(await count()).toEqual(before);
    });

    test('a number past 64 bits is not stored as another one', async () => {
      await expect(
        write((trx) => trx.change(`insert into guarded (id, state, minor) values ('r7', 'INIT', ?)`, [2n ** 63n])),
      ).rejects.toThrow();
      expect(await rows(`select id from guarded where id = 'r7'`)).toEqual([]);
    });

    test('a sum of the database that leaves 64 bits is an error, not another number', async () => {
      await expect(
        write((trx) => trx.change(`update guarded set minor = minor + 9223372036854775807 where id = 'taken'`)),
      ).rejects.toThrow();
      expect(toBigInt((await rows(`select minor from guarded where id = 'taken'`))[0]?.['minor'])).toBe(7n);
    });
  });

  describe('takes statements of any size', () => {
    test('30,000 rows of three columns, past every limit on bound values', async () => {
      const many = Array.from({ length: 30_000 }, (_, at): Binding[] => [BigInt(at), 'many', null]);
      await database().forMigrations.raw('alter table amount add column extra integer');
      expect(await write((trx) => trx.insertMany('amount', ['minor', 'note', 'extra'], many))).toBe(30_000);
      const [row] = await rows(
        `select count(*) as n, count(distinct minor) as d, ${exactSum(database().target.dialect, 'minor', 'total')}
           from amount where note = 'many'`,
      );
      expect([toCount(row?.['n']), toCount(row?.['d']), sumIn(row ?? {}, 'total')]).toEqual([
        30_000,
        30_000,
        449985000n,
      ]);
    });

    test('a list of 20,000 ids', async () => {
      const ids = (await rows(`select id from amount where note = 'many' order by id limit 20000`)).map((row) =>
        toBigInt(row['id']),
      );
      const list = oneOfIds(current().database.target.dialect, 'id', ids);
      const changed = await write((trx) =>
        trx.change(`update amount set note = 'listed' where ${list.sql}`, list.bindings),
      );
      expect(changed).toBe(20_000);
    });

    test('a list of 20,000 texts', async () => {
      const texts = Array.from({ length: 20_000 }, (_, at) => `text-${String(at)}`);
      await write((trx) =>
        trx.insertMany(
          'named',
          ['id'],
          texts.map((text) => [text]),
        ),
      );
      const [row] = await rows(`select count(*) as n from named where id in (${placeholders(texts)})`, texts);
      expect(toCount(row?.['n'])).toBe(20_000);
    });

    test('no row at all', async () => {
      expect(await write((trx) => trx.insertMany('named', ['id'], []))).toBe(0);
    });

    test('an empty list of ids is refused instead of matching everything or nothing', () => {
      expect(() => oneOfIds('mysql', 'id', [])).toThrow(expect.objectContaining({ code: 'VALUE_NOT_EXACT' }));
    });
  });

  describe('that may only read', () => {
    const writes: [string, string][] = [
      ['INSERT', `insert into named (id) values ('written')`],
      ['UPDATE', `update named set n = 99`],
      ['DELETE', `delete from named`],
      ['CREATE TABLE', 'create table written (n integer)'],
      ['DROP TABLE', 'drop table named'],
    ];

    test.each(writes)('refuses %s', async (_name, sql) => {
      const reader = await Database.open(parseDatabaseUrl(current().url), { readOnly: true });
      try {
        const before = await rows('select count(*) as n, max(n) as most from named');
        await expect(reader.read((session) => session.change(sql))).rejects.toThrow();
        await expect(reader.snapshot((session) => session.change(sql))).rejects.toThrow();
        await expect(reader.transact(repeatable('write', (trx) => trx.change(sql)))).rejects.toMatchObject({
          code: 'CHECK_FAILED',
        });
        expect(await rows('select count(*) as n, max(n) as most from named')).toEqual(before);
      } finally {
        await reader.close();
      }
    });

    test('refuses many rows at once', async () => {
      const reader = await Database.open(parseDatabaseUrl(current().url), { readOnly: true });
      try {
        await expect(reader.read((session) => session.insertMany('named', ['id'], [['written']]))).rejects.toThrow();
        await expect(
          reader.read((session) => session.insert(`insert into amount (minor) values (1)`)),
        ).rejects.toThrow();
      } finally {
        await reader.close();
      }
      expect(await rows(`select id from named where id = 'written'`)).toEqual([]);
    });

    test('still reads, also from one snapshot', async () => {
      const reader = await Database.open(parseDatabaseUrl(current().url), { readOnly: true });
      try {
        const count = (): Promise<unknown> =>
          reader.snapshot(async (session) => {
            const read = async (): Promise<number> =>
              toCount((await session.rows('select count(*) as n from dated'))[0]?.['n']);
            const first = await read();
            await write((trx) =>
              trx.change('insert into dated (day, at, done) values (?, ?, ?)', [
                '2026-01-01',
                '2026-01-01 00:00:00',
                '2026-01-01 00:00:00',
              ]),
            );
            return (await read()) - first;
          });
        expect(await count()).toBe(0);
      } finally {
        await reader.close();
      }
    });
  });
});

describe('a value from a row', () => {
  test.each([1.5, '1.5', '', 'abc', null, undefined, true, 2 ** 53, '1e3', ' 1', {}, new Date(0)])(
    '%p is not taken for a whole number',
    (value) => {
      expect(() => toBigInt(value)).toThrow(expect.objectContaining({ code: 'VALUE_NOT_EXACT', exitCode: 4 }));
    },
  );

  test('a count that JavaScript would round is refused', () => {
    expect(() => toCount('9007199254740993')).toThrow(expect.objectContaining({ code: 'VALUE_NOT_EXACT' }));
    expect(toCount('9007199254740991')).toBe(9007199254740991);
  });

  test.each([1, 1n, null, undefined, new Date(0), Buffer.from('a')])('%p is not taken for text', (value) => {
    expect(() => toText(value)).toThrow(expect.objectContaining({ code: 'VALUE_NOT_EXACT' }));
  });
});
