import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { RunDocument } from '../../src/batch/document.js';
import { acquireLease, assertLeaseHeld, releaseLease, renewLease, type Lease } from '../../src/batch/lease.js';
import { abandonRuns, doneShards, insertRun, storedWatermark } from '../../src/batch/runQueries.js';
import { wholeDay } from '../../src/batch/run.js';
import { repeatable } from '../../src/db/transaction.js';
import { ordersAfter } from '../../src/orders/queries.js';
import type { Session } from '../../src/db/session.js';
import { andInShard, isInShard, parseShard, shardsFrom, shardText, type Shard } from '../../src/sharding/shard.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { day, everyRow, givenOrders, givenVariedDay, runDay } from '../support/day.js';
import { settleInside as settle } from '../support/inside.js';

const shard = (text: string): Shard => parseShard(text) as Shard;

describe('a shard', () => {
  test.each(['0/4', '5/4', '1/0', 'x', '', '1/65', '01/4', '1/4 ', '-1/4', '1/4/4', '1.0/4'])('%j is none', (text) => {
    expect(parseShard(text)).toBeNull();
  });

  test('is written as it is read; all shards are named from the own one on', () => {
    expect(['1/1', '4/4', '64/64'].map((text) => shardText(shard(text)))).toEqual(['1/1', '4/4', '64/64']);
    expect(shardsFrom(shard('3/4')).map(shardText)).toEqual(['3/4', '4/4', '1/4', '2/4']);
  });

  test.each([['0/4'], ['5/4'], ['1/0'], ['x']])(
    'settle run --shard %s is refused before anything is opened',
    async (text) => {
      const { code, stderr } = await settle(['run', '--shard', text], { url: 'sqlite:/nowhere/at/all.db' });
      expect([code, stderr.split('\n')[0]]).toEqual([
        2,
        `settle: USAGE: --shard: "${text}" is none of 1/N to N/N, with N at most 64.`,
      ]);
    },
  );

  test.each([
    [['--shard', '1/2', '--account', 'A1'], {}, '--account and a shard cannot be asked for together.'],
    [
      [],
      { SETTLE_SHARD_INDEX: '1' },
      'SETTLE_SHARD_INDEX, SETTLE_SHARD_COUNT) must be a mapping with both index and count, or empty',
    ],
    [[], { SETTLE_SHARD_INDEX: '4', SETTLE_SHARD_COUNT: '4' }, 'shards are counted from 0 here'],
    [[], { SETTLE_SHARD_INDEX: '0', SETTLE_SHARD_COUNT: '65' }, 'shard.count'],
    [['--account', 'A1'], { SETTLE_SHARD_INDEX: '0', SETTLE_SHARD_COUNT: '2' }, '--account and a shard'],
  ])('%j with %j is a usage error', async (args, env, named) => {
    const { code, stderr } = await settle(['run', ...args], { url: 'sqlite:/nowhere/at/all.db', env });
    expect(code).toBe(2);
    expect(stderr).toContain(named);
  });

  test('accounts numbered in a row fall to all shards alike', () => {
    for (const size of [2, 3, 4, 7, 16, 64]) {
      const counts = Array.from({ length: size }, () => 0);
      for (let at = 0; at < 20_000; at += 1) {
        const accountNo = `M${String(at).padStart(6, '0')}`;
        const no = shardsFrom({ no: 1, of: size }).findIndex((each) => isInShard(accountNo, each));
        counts[no] = (counts[no] ?? 0) + 1;
      }
      expect(Math.max(...counts) / (20_000 / size)).toBeLessThan(1.1);
    }
  });
});

describe.each(databaseKinds)('shards [%s]', (kind) => {
  let current: TestDatabase;
  beforeEach(async () => {
    current = await createTestDatabase(kind);
  });
  afterEach(async () => {
    await current.drop();
  });
  const read = <T>(work: (session: Session) => Promise<T>) => current.database.read(work);
  const change = (sql: string) => current.database.transact(repeatable('test', (trx) => trx.change(sql)));
  const take = (job: string | null, durationMs = 600_000) =>
    acquireLease(current.database, {
      shard: job === null ? null : shard(job),
      durationMs,
      command: `settle run ${job ?? ''}`,
      startedAt: '2026-11-30T01:00:00.000Z',
    });
  const giveBack = (lease: Lease) => current.database.transact(repeatable('test', (trx) => releaseLease(trx, lease)));
  const held = async (lease: Lease): Promise<boolean> =>
    current.database.transact(repeatable('test', (trx) => assertLeaseHeld(trx, lease))).then(
      () => true,
      () => false,
    );

  test('the database and the program give every account to the same shard, and to one', async () => {
    // As the door lets them in: no control characters, no half of a surrogate pair.
    const accountNo = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
      .filter((text) => !/\p{C}/u.test(text));
    const accounts = fc.sample(accountNo, 300);
    accounts.push('ß', '账户', '🏦', 'é', 'e\u0301', "O'Neil", 'a\\b', '%_', '0', '00');
    const unique = [...new Set(accounts.map((text) => text.trim()).filter((text) => text !== ''))];
    await givenOrders(
      current.database,
      unique.map((text, at) => ({ orderNo: `O${String(at)}`, accountNo: text, minor: 1 })),
    );
    for (const size of [1, 2, 3, 64]) {
      const found: string[] = [];
      for (const each of shardsFrom({ no: 1, of: size })) {
        const rows = await read((session) =>
          session.tuples(`select account_no from account where 1 = 1 ${andInShard('account_no', each)}`),
        );
        const names = rows.map(([name]) => String(name));
        expect(names.filter((name) => !isInShard(name, each))).toEqual([]);
        found.push(...names);
      }
      expect(found.sort()).toEqual([...unique].sort());
    }
  });

  test('a page of a shard is found by the index of the day', async () => {
    await givenVariedDay(current.database, 400);
    const statements: string[] = [];
    await read((session) =>
      ordersAfter(
        {
          dialect: session.dialect,
          source: session.source,
          tuples: (sql: string, bindings: never) => {
            statements.push(sql);
            return session
              .tuples(`explain ${session.dialect === 'sqlite' ? 'query plan ' : ''}${sql}`, bindings)
              .then((rows) => {
                statements.push(rows.map((row) => row.map(String).join(' ')).join('\n'));
                return [];
              });
          },
        } as unknown as Session,
        { day, afterId: 100n, topId: 200n, size: 10, accounts: null, shard: shard('2/4') },
      ),
    );
    const [sql, plan] = statements;
    expect(sql).toContain('crc32(account_no) % 4 = 1');
    expect(plan).toContain('settlement_order_day');
  });

  test.each([
    ['2/4', '2/4', false],
    ['2/4', '3/4', true],
    ['2/4', '2/3', false],
    ['2/4', '1/3', false],
    ['2/4', null, false],
    [null, '2/4', false],
    [null, null, false],
  ])('while %s is held, %s can be taken: %s', async (first, second, beside) => {
    const lease = await take(first);
    const taken = take(second);
    if (beside) {
      expect((await taken).fencingNo).toBe(lease.fencingNo + 1n);
    } else {
      await expect(taken).rejects.toMatchObject({
        code: 'BATCH_LOCKED',
        details: { pid: process.pid, shard: first },
      });
    }
    expect(await held(lease)).toBe(true);
  });

  test.each([
    ['2/4', '2/4'],
    ['2/4', '1/3'],
    ['2/4', null],
    [null, '2/4'],
  ])('a holder of %s whose lease is over loses it to %s, and writes nothing more', async (first, second) => {
    const lease = await take(first, 0);
    const next = await take(second);
    expect(next.fencingNo).toBeGreaterThan(lease.fencingNo);
    expect([await held(lease), await held(next)]).toEqual([false, true]);
    await expect(
      current.database.transact(repeatable('test', (trx) => renewLease(trx, lease, 1_000))),
    ).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await giveBack(lease);
    expect(await held(next)).toBe(true);
  });

  test('takes at the same moment: one of each shard, and no number twice', async () => {
    const jobs = ['1/3', '2/3', '3/3', '1/3', '2/3', '3/3'];
    const taken = await Promise.allSettled(jobs.map((job) => take(job)));
    const leases = taken.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(leases.map(({ job }) => job).sort()).toEqual(['batch 1/3', 'batch 2/3', 'batch 3/3']);
    expect(new Set(leases.map(({ fencingNo }) => fencingNo)).size).toBe(3);
    for (const result of taken) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'BATCH_LOCKED' });
    }
  });

  const insert = (text: string | null, fencingNo: bigint, reached: bigint) =>
    current.database.transact(
      repeatable('test', async (trx) => {
        const request = { ...wholeDay, shard: text === null ? null : shard(text) };
        const run = { day, request, fencingNo, owner: '{}', fromId: reached, topId: 1_000n, orders: 0 };
        return insertRun(trx, run, '2026-11-30T01:00:00.000Z');
      }),
    );

  test('only runs whose lease nobody holds are abandoned', async () => {
    const [living, whole] = [await take('1/2'), await take('2/2')];
    await giveBack(whole);
    const ids = [await insert('1/2', living.fencingNo, 0n), await insert('2/2', whole.fencingNo, 0n)];
    await current.database.transact(repeatable('test', (trx) => abandonRuns(trx, '2026-11-30T01:00:00.000Z')));
    const rows = await read((session) => session.tuples('select id, state from run order by id'));
    expect(rows.map((row) => row.map(String))).toEqual([
      [String(ids[0]), 'RUNNING'],
      [String(ids[1]), 'ABANDONED'],
    ]);
  });

  test('the watermark of a shard is its own; the lowest of a whole division is that of the day', async () => {
    const watermark = (text: string | null) =>
      read((session) => storedWatermark(session, day, text === null ? null : shard(text)));
    await insert('1/2', 1n, 500n);
    expect([await watermark('1/2'), await watermark('2/2'), await watermark('1/3'), await watermark(null)]).toEqual([
      500n,
      0n,
      0n,
      0n,
    ]);
    await insert(null, 2n, 200n);
    expect([await watermark('1/2'), await watermark('2/2'), await watermark(null)]).toEqual([500n, 200n, 200n]);
    await insert('2/2', 3n, 300n);
    expect([await watermark('1/2'), await watermark('2/2'), await watermark('1/3'), await watermark(null)]).toEqual([
      500n,
      300n,
      300n,
      300n,
    ]);
  });

  test('a shard counts as settled until a run over all accounts has ended after it', async () => {
    const id = await insert('1/2', 1n, 0n);
    await change(`update run set state = 'OK', finished_at = started_at, stage = 'DONE'`);
    await insert('2/2', 2n, 0n);
    await insert('1/3', 3n, 0n);
    expect([...(await read((session) => doneShards(session, day, 2, 0n)))]).toEqual([1]);
    expect([...(await read((session) => doneShards(session, day, 2, id)))]).toEqual([]);
  });

  test('dry runs of all shards write nothing, and add up to that of the whole day', async () => {
    await givenVariedDay(current.database);
    const before = await everyRow(current.database);
    const whole = await runDay(current.database, { dryRun: true });
    const parts: RunDocument[] = [];
    for (const each of shardsFrom(shard('1/3')))
      parts.push(await runDay(current.database, { dryRun: true, shard: each }));
    expect(await everyRow(current.database)).toBe(before);
    expect(parts.map((part) => part.shard)).toEqual(['1/3', '2/3', '3/3']);
    const sum = (pick: (document: RunDocument) => number) => parts.reduce((total, part) => total + pick(part), 0);
    expect(sum((document) => document.accounts.settled)).toBe(whole.accounts.settled);
    expect(sum((document) => document.accounts.carriedForward)).toBe(whole.accounts.carriedForward);
    expect(sum((document) => document.accounts.quarantined)).toBe(whole.accounts.quarantined);
    for (const { currency, orders, netMinor } of whole.totals.posted) {
      const own = parts.flatMap((part) => part.totals.posted).filter((total) => total.currency === currency);
      expect(own.reduce((total, part) => total + part.orders, 0)).toBe(orders);
      expect(own.reduce((total, part) => total + part.netMinor, 0n)).toBe(netMinor);
    }
  });
});
