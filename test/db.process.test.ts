import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Database } from '../src/db/database.js';
import { parseDatabaseUrl } from '../src/db/url.js';
import { toBigInt, toCount } from '../src/db/values.js';
import { createTestDatabase, onEachDatabase } from './support/databases.js';
import { script } from './support/script.js';

// What shows only between processes: the zone of the machine, two programs on one file, a program that is killed.

onEachDatabase('the zone of the machine', (current) => {
  const roundTrip = `
    import { Database } from 'settle:db/database.js';
    import { parseDatabaseUrl } from 'settle:db/url.js';
    import { repeatable } from 'settle:db/transaction.js';
    import { fromInstant, toInstant, toText } from 'settle:db/values.js';
    import { addDays } from 'settle:kernel/batchDay.js';
    import { parseInstant } from 'settle:kernel/instant.js';
    const database = await Database.open(parseDatabaseUrl(process.argv[1]));
    const { dialect } = database.target;
    const days = ['2026-03-08', '2026-03-29', '2026-11-01', '2024-02-29', '2026-12-31', '2025-03-30'];
    const instants = ['2026-03-08T02:30:00.000001Z', '2026-11-01T01:30:00.999999Z', '2025-03-30T01:30:00.123456Z'];
    const rows = await database.transact(repeatable('zone', async (trx) => {
      await trx.change('delete from settlement_order');
      let id = 0n;
      for (const day of days) for (const at of instants) {
        await trx.insertMany('settlement_order',
          ['id', 'order_no', 'account_no', 'batch_day', 'type', 'amount_minor', 'currency', 'channel', 'occurred_at'],
          [[id += 1n, 'O' + String(id), 'M1', day, 'PAYMENT', 1n, 'USD', 'CARD', fromInstant(dialect, at)]]);
      }
      return trx.rows('select batch_day, occurred_at from settlement_order where batch_day >= ? order by id', ['2024-02-29']);
    }));
    console.log(JSON.stringify({
      rows: rows.map((row) => [toText(row.batch_day), toInstant(row.occurred_at)]),
      next: days.map((day) => addDays(day, 1)),
      instant: parseInstant('2026-03-08T02:30:00-05:00'),
    }));
    await database.close();`;

  test.each(['UTC', 'America/New_York', 'America/Los_Angeles', 'Asia/Shanghai', 'Asia/Tokyo', 'Pacific/Kiritimati'])(
    'changes no day and no instant: %s',
    async (zone) => {
      const ended = await script(roundTrip, { args: [current().url], env: { TZ: zone } }).ended;
      expect(ended.stderr).toBe('');
      const days = ['2026-03-08', '2026-03-29', '2026-11-01', '2024-02-29', '2026-12-31', '2025-03-30'];
      const instants = ['2026-03-08T02:30:00.000001Z', '2026-11-01T01:30:00.999999Z', '2025-03-30T01:30:00.123456Z'];
      expect(JSON.parse(ended.stdout)).toEqual({
        rows: days.flatMap((day) => instants.map((at) => [day, at])),
        next: ['2026-03-09', '2026-03-30', '2026-11-02', '2024-03-01', '2027-01-01', '2025-03-31'],
        instant: '2026-03-08T07:30:00.000000Z',
      });
    },
  );
});

describe('one SQLite file', () => {
  const writer = `
    import { Database } from 'settle:db/database.js';
    import { parseDatabaseUrl } from 'settle:db/url.js';
    import { repeatable } from 'settle:db/transaction.js';
    const database = await Database.open(parseDatabaseUrl(process.argv[1]));
    for (let round = 0; round < 100; round += 1) {
      await database.transact(repeatable('read, then write', async (trx) => {
        const [row] = await trx.rows("select count(*) as n from account where account_no like 'w%'");
        await trx.change("insert into account (account_no, state, registered_at, changed_at) values (?, 'ACTIVE', ?, ?)",
          ['w' + process.argv[2] + '-' + String(row.n), '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z']);
      }));
    }
    await database.close();`;

  test('written by three processes at once loses nothing, and none of them is told that it is busy', async () => {
    const place = await createTestDatabase('sqlite');
    try {
      const writers = ['a', 'b', 'c'].map((name) => script(writer, { args: [place.url, name] }).ended);
      let reads = 0;
      const ended = Promise.all(writers);
      const going = new Set(writers);
      for (const one of writers) void one.then(() => going.delete(one));
      while (going.size > 0) {
        await place.database.read((session) => session.rows('select count(*) as n from account'));
        reads += 1;
      }
      for (const { code, stderr } of await ended) expect([code, stderr]).toEqual([0, '']);
      const [row] = await place.database.read((session) =>
        // Each name holds the number of rows that its unit saw: 300 different ones, so no two units overlapped.
        session.rows(
          `select count(*) as n, count(distinct substr(account_no, 4)) as seen, max(cast(substr(account_no, 4) as integer)) as top
             from account`,
        ),
      );
      expect([toCount(row?.['n']), toCount(row?.['seen']), toCount(row?.['top'])]).toEqual([300, 300, 299]);
      expect(reads).toBeGreaterThan(0);
    } finally {
      await place.drop();
    }
  }, 60_000);

  test('is whole after its writer was killed in the middle of a unit', async () => {
    const place = await createTestDatabase('sqlite');
    try {
      const { child, ended } = script(
        `
        import { Database } from 'settle:db/database.js';
        import { parseDatabaseUrl } from 'settle:db/url.js';
        import { repeatable } from 'settle:db/transaction.js';
        const database = await Database.open(parseDatabaseUrl(process.argv[1]));
        const insert = (trx, no) => trx.change(
          "insert into account (account_no, state, registered_at, changed_at) values (?, 'ACTIVE', 'x', 'x')", [no]);
        await database.transact(repeatable('done', (trx) => insert(trx, 'committed')));
        await database.transact(repeatable('killed', async (trx) => {
          await insert(trx, 'half');
          console.log('in the middle');
          await new Promise((resolve) => setTimeout(resolve, 30_000));
        }));`,
        { args: [place.url] },
      );
      await new Promise((resolve) => child.stdout?.once('data', resolve));
      child.kill('SIGKILL');
      await ended;
      const rows = await place.database.read((session) => session.rows('select account_no from account'));
      expect(rows).toEqual([{ account_no: 'committed' }]);
      const [check] = await place.database.read((session) => session.rows('pragma integrity_check'));
      expect(check).toEqual({ integrity_check: 'ok' });
    } finally {
      await place.drop();
    }
  });

  test('is set to be durable, readable while it is written, and strict in every table', async () => {
    const place = await createTestDatabase('sqlite');
    try {
      const pragma = (name: string): Promise<unknown> =>
        place.database.read(async (session) => Object.values((await session.rows(`pragma ${name}`))[0] ?? {})[0]);
      expect(await pragma('journal_mode')).toBe('wal');
      expect(toBigInt(await pragma('synchronous'))).toBe(2n);
      expect(toBigInt(await pragma('foreign_keys'))).toBe(1n);
      const loose = await place.database.read((session) =>
        session.rows(
          `select name from pragma_table_list where schema = 'main' and type = 'table' and strict = 0
            and name not like 'sqlite_%' and name not like 'settle_migration%'`,
        ),
      );
      expect(loose).toEqual([]);
    } finally {
      await place.drop();
    }
  });

  test('opened for reading only is left as it is, byte for byte', async () => {
    const place = await createTestDatabase('sqlite');
    await place.database.close();
    const path = place.url.slice('sqlite:'.length);
    const before = readFileSync(path);
    const reader = await Database.open(parseDatabaseUrl(place.url), { readOnly: true });
    await reader.snapshot((session) => session.rows('select count(*) as n from account'));
    await reader.close();
    expect(readFileSync(path).equals(before)).toBe(true);
    await place.drop();
  });
});
