import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { vocabularies } from '../migrations/vocabulary.js';
import { Database } from '../src/db/database.js';
import { failureKind } from '../src/db/failure.js';
import type { Row, Session } from '../src/db/session.js';
import { repeatable } from '../src/db/transaction.js';
import { parseDatabaseUrl } from '../src/db/url.js';
import { toBigInt, toCount, toText } from '../src/db/values.js';
import { createTestDatabase, onEachDatabase, type TestDatabase } from './support/databases.js';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const counterTable = (database: Database): Promise<unknown> => {
  const v = vocabularies[database.engine];
  return database.forMigrations.raw(
    `create table counter (id ${v.big} not null primary key, n ${v.big} not null) ${v.end}`,
  );
};

const counters = async (session: Session): Promise<Record<string, bigint>> =>
  Object.fromEntries(
    (await session.rows('select id, n from counter order by id')).map((row) => [String(row['id']), toBigInt(row['n'])]),
  );

onEachDatabase('a unit of work', (current) => {
  const database = (): Database => current().database;
  const read = <T>(work: (session: Session) => Promise<T>): Promise<T> => database().read(work);

  beforeAll(() => counterTable(database()));
  beforeEach(() =>
    database().transact(
      repeatable('reset', async (trx) => {
        await trx.change('delete from counter');
        await trx.insertMany(
          'counter',
          ['id', 'n'],
          Array.from({ length: 50 }, (_, id) => [BigInt(id), 0n]),
        );
      }),
    ),
  );

  test('gives its result, and others see it when it is done', async () => {
    const result = await database().transact(
      repeatable('one', async (trx) => trx.change('update counter set n = 5 where id = 1')),
    );
    expect(result).toBe(1);
    expect((await read(counters))['1']).toBe(5n);
  });

  test('that throws is rolled back whole, is not tried again, and its error comes out as it was', async () => {
    const own = new Error('the ledger does not balance');
    let begun = 0;
    const failing = database().transact(
      repeatable('throws', async (trx) => {
        begun += 1;
        await trx.change('update counter set n = 1');
        throw own;
      }),
    );
    await expect(failing).rejects.toBe(own);
    expect(begun).toBe(1);
    expect(Object.values(await read(counters)).every((n) => n === 0n)).toBe(true);
  });

  test('that the database refuses is rolled back whole and says so: it never ends as if it had worked', async () => {
    const refused: unknown = await database()
      .transact(
        repeatable('refused', async (trx) => {
          await trx.change('update counter set n = 1 where id = 2');
          await trx.change('insert into counter (id, n) values (1, 1)');
        }),
      )
      .catch((error: unknown) => error);
    expect(failureKind(refused)).toBe('refused');
    expect((await read(counters))['2']).toBe(0n);
  });

  test('after a failed one the next finds a clean connection', async () => {
    for (let round = 0; round < 12; round += 1) {
      await expect(
        database().transact(
          repeatable('fails', async (trx) => {
            await trx.change('update counter set n = n + 1');
            throw new Error('no');
          }),
        ),
      ).rejects.toThrow('no');
    }
    await database().transact(repeatable('works', (trx) => trx.change('update counter set n = 3 where id = 3')));
    const found = await read(counters);
    expect([found['3'], found['4']]).toEqual([3n, 0n]);
  });

  test('nothing of it is seen by others before it is done', async () => {
    if (database().target.dialect === 'sqlite') {
      // One connection in the pool: the reader has to be another process or, as here, another pool.
      const other = await Database.open(parseDatabaseUrl(current().url), { readOnly: true });
      try {
        await database().transact(
          repeatable('unseen', async (trx) => {
            await trx.change('update counter set n = 9 where id = 9');
            expect((await other.read(counters))['9']).toBe(0n);
          }),
        );
      } finally {
        await other.close();
      }
      return;
    }
    await database().transact(
      repeatable('unseen', async (trx) => {
        await trx.change('update counter set n = 9 where id = 9');
        expect((await read(counters))['9']).toBe(0n);
      }),
    );
  });

  test('more of them at once than there are connections all end', async () => {
    const small = await Database.open(parseDatabaseUrl(current().url), { connections: 2 });
    try {
      const units = Array.from({ length: 20 }, (_, at) =>
        small.transact(
          repeatable(`unit ${String(at)}`, async (trx) => {
            await pause(5);
            await trx.change('update counter set n = n + 1 where id = 7');
          }),
        ),
      );
      await Promise.all(units);
      expect((await read(counters))['7']).toBe(20n);
    } finally {
      await small.close();
    }
  });

  test('that asks for a second connection while the pool is empty fails loudly, soon, and leaves nothing', async () => {
    const one = await Database.open(parseDatabaseUrl(current().url), {
      connections: 1,
      statementMsMax: 300,
      connectMsMax: 500,
    });
    try {
      const started = Date.now();
      const stuck = one.transact(
        repeatable('borrows twice', async (trx) => {
          await trx.change('update counter set n = 1 where id = 8');
          await one.read((session) => session.rows('select 1 as one'));
        }),
      );
      await expect(stuck).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE', exitCode: 75 });
      expect(Date.now() - started).toBeLessThan(10_000);
      expect((await read(counters))['8']).toBe(0n);
    } finally {
      await one.close();
    }
  });

  test('every increment of many writers counts once, whatever order they meet in', async () => {
    const added: Record<string, bigint> = {};
    let seed = 42;
    const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below;
    const units = Array.from({ length: 40 }, () => Array.from({ length: 4 }, () => random(10)));
    await Promise.all(
      units.map((ids) =>
        database().transact(
          repeatable('unsorted on purpose', async (trx) => {
            for (const id of ids) await trx.change('update counter set n = n + 1 where id = ?', [id]);
          }),
        ),
      ),
    );
    for (const id of units.flat()) added[String(id)] = (added[String(id)] ?? 0n) + 1n;
    const found = await read(counters);
    for (const [id, n] of Object.entries(added)) expect([id, found[id]]).toEqual([id, n]);
  });
});

describe('contention on a server', () => {
  let place: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    place = await createTestDatabase('server', { migrate: false });
    database = place.database;
    await counterTable(database);
  });
  afterAll(() => place.drop());
  beforeEach(async () => {
    await database.forMigrations.raw('delete from counter');
    await database.forMigrations.raw('insert into counter (id, n) values (1, 0), (2, 0), (10, 0), (20, 0)');
  });

  const sessionId = async (session: Session): Promise<bigint> =>
    toBigInt((await session.rows('select connection_id() as id'))[0]?.['id']);

  test('a deadlock ends in both units done whole, the victim on a new connection', async () => {
    const attempts: string[] = [];
    const meet = barrier(2);
    const opposing = (name: string, first: number, second: number): Promise<void> =>
      database.transact(
        repeatable(name, async (trx) => {
          attempts.push(`${name}@${String(await sessionId(trx))}`);
          const again = attempts.filter((attempt) => attempt.startsWith(name)).length > 1;
          await trx.change('update counter set n = n + 1 where id = ?', [first]);
          if (!again) await meet();
          await trx.change('update counter set n = n + 1 where id = ?', [second]);
        }),
      );
    await Promise.all([opposing('up', 1, 2), opposing('down', 2, 1)]);
    expect(await database.read(counters)).toMatchObject({ '1': 2n, '2': 2n });
    expect(attempts).toHaveLength(3);
    // The victim's session had fallen to autocommit, where half a unit would have been committed; it is not used again.
    expect(new Set(attempts).size).toBe(3);
  });

  test('a lock wait time-out undoes the whole unit, not only the statement that waited', async () => {
    let release: () => void = () => undefined;
    const blocked = new Promise<void>((resolve) => (release = resolve));
    const locked = barrier(2);
    const blocker = database.transact(
      repeatable('blocker', async (trx) => {
        await trx.change('update counter set n = n + 100 where id = 1');
        await locked();
        await blocked;
      }),
    );
    await locked();
    let attempts = 0;
    const waiting = database.transact(
      repeatable('waits', async (trx) => {
        attempts += 1;
        await trx.change('set session innodb_lock_wait_timeout = 1');
        await trx.change('update counter set n = n + 1 where id = 2');
        await trx.change('update counter set n = n + 1 where id = 1');
      }),
    );
    await pause(1_300);
    // Between the attempts: the first update of the unit is gone too.
    expect((await database.read(counters))['2']).toBe(0n);
    release();
    await Promise.all([blocker, waiting]);
    expect(attempts).toBeGreaterThan(1);
    expect(await database.read(counters)).toMatchObject({ '1': 101n, '2': 1n });
  });

  test('a snapshot conflict (1020) undoes the whole unit, which is then done again', async () => {
    const known = await database.read((session) => session.rows(`show variables like 'innodb_snapshot_isolation'`));
    let attempts = 0;
    const errnos: unknown[] = [];
    await database.transact(
      repeatable('meets a newer row', async (trx) => {
        attempts += 1;
        if (known.length > 0 && attempts === 1) {
          // What a unit would meet on a server that does not let it choose READ COMMITTED.
          await trx.change('rollback');
          await trx.change('set session innodb_snapshot_isolation = ON');
          await trx.change('set session transaction isolation level repeatable read');
          await trx.change('start transaction with consistent snapshot');
          await trx.change('update counter set n = n + 1 where id = 2');
          await database.transact(
            repeatable('other', (other) => other.change('update counter set n = 50 where id = 1')),
          );
        }
        if (attempts > 1) await trx.change('update counter set n = n + 1 where id = 2');
        await trx.change('update counter set n = n + 1 where id = 1').catch((error: unknown) => {
          errnos.push((error as { errno?: number }).errno);
          throw error;
        });
      }),
    );
    const found = await database.read(counters);
    if (known.length > 0) {
      expect(errnos).toEqual([1020]);
      expect(attempts).toBe(2);
      expect(found).toMatchObject({ '1': 51n, '2': 1n });
    } else expect(attempts).toBe(1);
  });

  test('writers decide on what is committed now: a CAS sees the move that another one made after our BEGIN', async () => {
    await database.transact(
      repeatable('begun before', async (trx) => {
        await trx.rows('select n from counter where id = 1');
        await database.transact(repeatable('mover', (other) => other.change('update counter set n = 7 where id = 1')));
        expect(toCount((await trx.rows('select n from counter where id = 1'))[0]?.['n'])).toBe(7);
        expect(await trx.change('update counter set n = 8 where id = 1 and n = 0')).toBe(0);
        expect(await trx.change('update counter set n = 8 where id = 1 and n = 7')).toBe(1);
      }),
    );
  });

  test('a gap between accounts that are worked on is not locked', async () => {
    await database.transact(
      repeatable('holds 10 to 20', async (trx) => {
        await trx.change('update counter set n = n + 1 where id between 10 and 19');
        const started = Date.now();
        await database.transact(
          repeatable('15', (other) => other.change('insert into counter (id, n) values (15, 1)')),
        );
        expect(Date.now() - started).toBeLessThan(900);
      }),
    );
    expect(await database.read(counters)).toMatchObject({ '10': 1n, '15': 1n });
  });

  describe('settings of every session', () => {
    const variables = async (session: Session): Promise<Record<string, string>> =>
      Object.fromEntries(
        (await session.rows('show session variables')).map((row: Row) => [
          toText(row['Variable_name']),
          toText(row['Value']),
        ]),
      );

    test('are made on each connection of the pool, not only the first', async () => {
      const seen = new Map<bigint, Record<string, string>>();
      const meet = barrier(4);
      await Promise.all(
        Array.from({ length: 4 }, () =>
          database.read(async (session) => {
            seen.set(await sessionId(session), await variables(session));
            await meet();
          }),
        ),
      );
      expect(seen.size).toBe(4);
      for (const settings of seen.values()) {
        expect(settings['transaction_isolation'] ?? settings['tx_isolation']).toBe('READ-COMMITTED');
        expect(settings['time_zone']).toBe('+00:00');
        expect(settings['sql_mode']).toContain('STRICT_ALL_TABLES');
        expect(settings['sql_mode']).toContain('NO_ZERO_IN_DATE');
        expect(settings['character_set_connection']).toBe('utf8mb4');
        expect(settings['character_set_results']).toBe('utf8mb4');
        expect(Number(settings['innodb_lock_wait_timeout'])).toBeLessThanOrEqual(10);
        // The defaults are eight hours and no limit: a peer that vanished would keep its locks for the night.
        expect(Number(settings['wait_timeout'])).toBeLessThanOrEqual(600);
        expect(Number(settings['autocommit'] === 'ON')).toBe(1);
        if (database.engine === 'mariadb') {
          expect(Number(settings['max_statement_time'])).toBe(60);
          expect(Number(settings['idle_write_transaction_timeout'])).toBeLessThanOrEqual(60);
        } else expect(Number(settings['max_execution_time'])).toBe(60_000);
      }
    });

    test('are back to READ COMMITTED after a snapshot was read on the same connection', async () => {
      const one = await Database.open(parseDatabaseUrl(place.url), { connections: 1 });
      try {
        await one.snapshot(async (session) => session.rows('select 1 as one'));
        const settings = await one.read(variables);
        expect(settings['transaction_isolation'] ?? settings['tx_isolation']).toBe('READ-COMMITTED');
        await one.transact(
          repeatable('fresh', async (trx) => {
            await trx.rows('select n from counter where id = 1');
            await database.transact(
              repeatable('mover', (other) => other.change('update counter set n = 70 where id = 1')),
            );
            expect(toCount((await trx.rows('select n from counter where id = 1'))[0]?.['n'])).toBe(70);
          }),
        );
      } finally {
        await one.close();
      }
    });
  });
});

/** Resolves for everyone when so many have come. */
function barrier(count: number): () => Promise<void> {
  let come = 0;
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return () => {
    come += 1;
    if (come === count) open();
    return opened;
  };
}
