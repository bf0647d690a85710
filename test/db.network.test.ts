import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Database } from '../src/db/database.js';
import { failureKind } from '../src/db/failure.js';
import { MysqlSession } from '../src/db/session.js';
import { repeatable, type Unit } from '../src/db/transaction.js';
import { parseDatabaseUrl } from '../src/db/url.js';
import { toBigInt, toCount } from '../src/db/values.js';
import { createTestDatabase, onServer, type TestDatabase } from './support/databases.js';
import { startProxy, type Fault, type Proxy } from './support/proxy.js';

// What a network loses between the program and the server, statement by statement.

let direct: TestDatabase;
let proxy: Proxy;
let database: Database;

beforeAll(async () => {
  direct = await createTestDatabase('server', { migrate: false });
  await direct.database.forMigrations.raw(
    'create table mark (id bigint not null primary key, attempt int not null) engine = InnoDB',
  );
  await direct.database.forMigrations.raw(
    'create table applied (id bigint not null auto_increment primary key, mark bigint not null) engine = InnoDB',
  );
});
afterAll(async () => {
  await direct.drop();
});
beforeEach(async () => {
  await direct.database.forMigrations.raw('delete from mark');
  await direct.database.forMigrations.raw('delete from applied');
  proxy = await startProxy(direct.url);
  database = await Database.open(parseDatabaseUrl(proxy.url), { connections: 2, statementMsMax: 1_500 });
});
afterEach(async () => {
  await database.close();
  await proxy.close();
});

/** A unit with a commit mark, which counts how often its work was done and its outcome was asked for. */
function markedUnit(mark: bigint): Unit<string> & { worked: number; asked: number } {
  const unit = {
    name: 'marked unit',
    worked: 0,
    asked: 0,
    work: async (trx: Parameters<Unit<string>['work']>[0]) => {
      unit.worked += 1;
      await trx.change('insert into mark (id, attempt) values (?, ?)', [mark, unit.worked]);
      await trx.change('insert into applied (mark) values (?)', [mark]);
      return `attempt ${String(unit.worked)}`;
    },
    landed: async (session: Parameters<Unit<string>['landed']>[0]) => {
      unit.asked += 1;
      const [row] = await session.rows('select attempt from mark where id = ?', [mark]);
      return row === undefined ? undefined : `attempt ${String(toCount(row['attempt']))}`;
    },
  };
  return unit;
}

const applied = (): Promise<bigint> =>
  direct.database.read(async (session) =>
    toBigInt((await session.rows('select count(*) as n from applied'))[0]?.['n']),
  );

describe('when the answer to COMMIT is lost', () => {
  test.each<{ fault: Fault; worked: number; because: string }>([
    { fault: 'drop', worked: 2, because: 'COMMIT never arrived, so the mark is not there and the unit is done again' },
    { fault: 'dropAnswer', worked: 1, because: 'COMMIT was carried out, so the mark is there and nothing is repeated' },
    { fault: 'halfAnswer', worked: 1, because: 'half an answer is no answer' },
    { fault: 'holdAnswer', worked: 1, because: "the client's own time limit ends the wait" },
  ])('$fault: the mark decides, and the unit takes effect once ($because)', async ({ fault, worked }) => {
    const unit = markedUnit(1n);
    proxy.next(/^commit$/, fault);
    await expect(database.transact(unit)).resolves.toBe(`attempt ${String(worked)}`);
    expect(proxy.struck()).toBe(1);
    expect(unit).toMatchObject({ worked, asked: 1 });
    expect(await applied()).toBe(1n);
  });

  test('a COMMIT that arrives after the mark was looked for still counts once', async () => {
    const unit = markedUnit(2n);
    proxy.next(/^commit$/, 'deliverLate');
    await expect(database.transact(unit)).resolves.toBe('attempt 1');
    expect(unit.worked).toBe(2);
    expect(await applied()).toBe(1n);
  });

  test('twice in a row, the mark is looked for each time', async () => {
    const unit = markedUnit(3n);
    proxy.next(/^commit$/, 'drop');
    proxy.next(/^commit$/, 'dropAnswer');
    await expect(database.transact(unit)).resolves.toBe('attempt 2');
    expect(unit).toMatchObject({ worked: 2, asked: 2 });
    expect(await applied()).toBe(1n);
  });

  test('and the connection is lost again while looking for the mark, it is looked for again', async () => {
    const unit = markedUnit(4n);
    proxy.next(/^commit$/, 'dropAnswer');
    proxy.next(/^select attempt/, 'drop');
    await expect(database.transact(unit)).resolves.toBe('attempt 1');
    expect(unit).toMatchObject({ worked: 1, asked: 2 });
    expect(await applied()).toBe(1n);
  });

  test('a cluster that calls COMMIT a deadlock after it has let it through is not believed either', async () => {
    const unit = markedUnit(7n);
    const landed = jest.spyOn(unit, 'landed');
    const { change } = MysqlSession.prototype;
    const answering = jest.spyOn(MysqlSession.prototype, 'change').mockImplementation(async function (
      this: MysqlSession,
      sql,
      bindings,
    ) {
      const changed = await change.call(this, sql, bindings);
      if (sql !== 'commit' || unit.worked !== 1) return changed;
      throw Object.assign(new Error('Deadlock found when trying to get lock'), { errno: 1213, sqlState: '40001' });
    });
    try {
      await expect(database.transact(unit)).resolves.toBe('attempt 1');
    } finally {
      answering.mockRestore();
    }
    expect(unit).toMatchObject({ worked: 1, asked: 1 });
    expect(landed).toHaveBeenCalledWith(expect.anything(), true);
    expect(await applied()).toBe(1n);
  });
});

describe('when the connection is lost before COMMIT', () => {
  const statements: [string, RegExp][] = [
    ['BEGIN', /^start transaction$/],
    ['the first INSERT', /^insert into mark/],
    ['the last INSERT', /^insert into applied/],
  ];
  const cuts = statements.flatMap(([name, statement]) =>
    (['drop', 'dropAnswer', 'halfAnswer', 'holdAnswer'] as const).map((fault) => ({ name, statement, fault })),
  );

  test.each(cuts)(
    'at $name ($fault) the whole unit is done again and takes effect once',
    async ({ statement, fault }) => {
      const unit = markedUnit(5n);
      proxy.next(statement, fault);
      await database.transact(unit);
      expect(proxy.struck()).toBe(1);
      expect(await applied()).toBe(1n);
      // Before COMMIT nothing can have landed, so nobody needs to ask.
      expect(unit.asked).toBe(0);
    },
  );

  test('because the session was killed between the last statement and COMMIT, the unit is done again', async () => {
    const unit = markedUnit(6n);
    const work = unit.work.bind(unit);
    unit.work = async (trx) => {
      const result = await work(trx);
      if (unit.worked === 1) {
        const [row] = await trx.rows('select connection_id() as id');
        await onServer(`kill ${String(toBigInt(row?.['id']))}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return result;
    };
    await expect(database.transact(unit)).resolves.toBe('attempt 2');
    expect(await applied()).toBe(1n);
  });
});

describe('a statement that takes longer than the limit', () => {
  test('ends on both sides, leaves nothing, and the unit is tried again on another connection', async () => {
    const sessions: bigint[] = [];
    await database.transact(
      repeatable('slow once', async (trx) => {
        sessions.push(toBigInt((await trx.rows('select connection_id() as id'))[0]?.['id']));
        if (sessions.length > 1) return;
        await trx.change('insert into applied (mark) values (7)');
        await trx.rows('select sleep(30)');
      }),
    );
    expect(new Set(sessions).size).toBe(2);
    // Long enough for the server to carry on with what the client gave up, if it did.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await applied()).toBe(0n);
    const running = await direct.database.read((session) =>
      session.rows(`select id from information_schema.processlist where info like 'select sleep(30)%'`),
    );
    expect(running).toEqual([]);
  });
});

describe('reads', () => {
  test.each<Fault>(['drop', 'dropAnswer', 'halfAnswer', 'holdAnswer'])('are done again after %s', async (fault) => {
    proxy.next(/^select 41 \+ 1/, fault);
    const [row] = await database.read((session) => session.rows('select 41 + 1 as answer'));
    expect(toCount(row?.['answer'])).toBe(42);
    expect(proxy.struck()).toBe(1);
  });

  test('of one snapshot are done again from its start', async () => {
    proxy.next(/^select 'second'/, 'drop');
    let begun = 0;
    await database.snapshot(async (session) => {
      begun += 1;
      await session.rows(`select 'first'`);
      await session.rows(`select 'second'`);
    });
    expect(begun).toBe(2);
  });
});

test('a connection whose login or settings get no answer is made again, whichever answer it is', async () => {
  for (let nth = 1; nth <= 5; nth += 1) {
    const struck = proxy.struck();
    proxy.at(nth, 'holdAnswer');
    const other = await Database.open(parseDatabaseUrl(proxy.url), { connections: 2, statementMsMax: 1_000 });
    try {
      const [row] = await other.read((session) => session.rows('select 41 + 1 as answer'));
      expect(toCount(row?.['answer'])).toBe(42);
    } finally {
      await other.close();
    }
    expect(proxy.struck()).toBe(struck + 1);
  }
});

test('after a loss no connection is lent that may have half a transaction in it', async () => {
  for (let round = 0; round < 6; round += 1) {
    proxy.next(/^insert into applied/, round % 2 === 0 ? 'holdAnswer' : 'dropAnswer');
    await database.transact(markedUnit(BigInt(100 + round)));
    const inside = await database.read((session) => session.rows('select @@in_transaction as inside').catch(() => []));
    for (const row of inside) expect(toCount(row['inside'])).toBe(0);
  }
  expect(await applied()).toBe(6n);
});

test('an error of the driver that tells nothing of the outcome is sorted as lost', () => {
  const lost = ['PROTOCOL_CONNECTION_LOST', 'ECONNRESET', 'EPIPE', 'PROTOCOL_SEQUENCE_TIMEOUT', 'ETIMEDOUT'];
  for (const code of lost) expect(failureKind(Object.assign(new Error('x'), { code }))).toBe('lost');
});
