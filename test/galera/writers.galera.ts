import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { acquireLease, assertLeaseHeld } from '../../src/batch/lease.js';
import { MysqlSession } from '../../src/db/session.js';
import { repeatable } from '../../src/db/transaction.js';
import { toCount } from '../../src/db/values.js';
import { givenOrders, runDay } from '../support/day.js';
import { importOrders, orderLine, header } from '../support/importing.js';
import { settle } from '../support/program.js';
import { startCluster, type Cluster } from './cluster.js';
import { givenPlace, settings, slowly, undisturbedMoney, using } from './place.js';

// Several nodes take writes at the same time; none heeds the locks of another until COMMIT.

let cluster: Cluster;
let undisturbed: string[];
beforeAll(async () => {
  cluster = await startCluster();
  undisturbed = await undisturbedMoney();
});
afterAll(() => cluster.stop());
afterEach(() => {
  jest.restoreAllMocks();
});

test('a day that is migrated, filled and run through one node is the same on every node as on SQLite', async () => {
  const [first, second, third] = cluster.nodes;
  const place = await givenPlace(cluster);
  const ended = await settle(['run', ...slowly, '--json'], { url: place.urlOn(first) });
  expect(JSON.parse(ended.stdout)).toMatchObject({ outcome: 'PARTIAL', closed: true });
  expect(await place.moneyOn(first, second, third)).toEqual([undisturbed, undisturbed, undisturbed]);
  for (const node of cluster.nodes) {
    expect((await settle(['verify'], { url: place.urlOn(node) })).code).toBe(0);
    expect((await settle(['reconcile'], { url: place.urlOn(node) })).code).toBe(0);
  }
});

test('every table has a primary key, without which a cluster cannot tell rows apart', async () => {
  const place = await givenPlace(cluster);
  await using(await place.open(cluster.nodes[2]), async (database) => {
    const without = await database.read((session) =>
      session.rows(
        `select t.table_name as name from information_schema.tables t
           left join information_schema.table_constraints c
             on c.table_schema = t.table_schema and c.table_name = t.table_name and c.constraint_type = 'PRIMARY KEY'
          where t.table_schema = database() and c.table_name is null`,
      ),
    );
    expect(without).toEqual([]);
  });
});

test('certification failures: the unit is done again as a whole, and nothing is there twice', async () => {
  const [first, second, third] = cluster.nodes;
  const place = await givenPlace(cluster);
  const far = await place.open(second);
  const near = await place.open(first);
  const { change } = MysqlSession.prototype;
  const claims = new WeakMap<MysqlSession, string>();
  const failures = { atCommit: 0, before: 0 };
  let moves = 0;
  let fought = 0;
  jest.spyOn(MysqlSession.prototype, 'change').mockImplementation(async function (this: MysqlSession, sql, bindings) {
    const ids = /update settlement_order set state[^]* id in \(([0-9,]+)\)/.exec(sql)?.[1];
    if (ids !== undefined) claims.set(this, ids);
    const rows = claims.get(this);
    if (sql === 'commit') claims.delete(this);
    if (sql === 'commit' && rows !== undefined && (moves += 1) % 3 === 0 && fought < 40) {
      // Somebody notes something on the same rows, through another node, and commits first.
      fought += 1;
      await far.transact(
        repeatable('note', (trx) =>
          change.call(
            trx,
            `update settlement_order set occurred_at = '2026-01-01 00:00:00.${String(fought).padStart(6, '0')}' where id in (${rows})`,
          ),
        ),
      );
    }
    try {
      return await change.call(this, sql, bindings);
    } catch (error) {
      if ((error as { errno?: number }).errno === 1213) failures[sql === 'commit' ? 'atCommit' : 'before'] += 1;
      throw error;
    }
  });
  try {
    const document = await runDay(near, { settings });
    expect(document).toMatchObject({ outcome: 'PARTIAL', closed: true, error: null });
  } finally {
    await near.close();
    await far.close();
  }
  expect(fought).toBe(40);
  expect(failures.atCommit + failures.before).toBeGreaterThan(fought / 2);
  expect(failures.atCommit).toBeGreaterThan(0);
  expect(await place.moneyOn(first, second, third)).toEqual([undisturbed, undisturbed, undisturbed]);
});

test('runs through all nodes at the same time: one does the work, the others are locked out or come to a closed day', async () => {
  const place = await givenPlace(cluster);
  const ended = await Promise.all(cluster.nodes.map((node) => settle(['run', ...slowly], { url: place.urlOn(node) })));
  const worked = ended.filter(({ code, stdout }) => code !== 11 && !stdout.includes('already closed'));
  expect(worked.map(({ code, stderr }) => [code, /error|refused/i.test(stderr)])).toEqual([[3, false]]);
  expect(await place.moneyOn(...cluster.nodes)).toEqual([undisturbed, undisturbed, undisturbed]);
});

test('one file imported through two nodes at the same time is stored once', async () => {
  const place = await givenPlace(cluster);
  const lines = Array.from({ length: 3_000 }, (_, at) =>
    orderLine({ order_no: `I${String(at)}`, account_no: `B${String(at % 200)}` }),
  );
  const bytes = [header, ...lines, ''].join('\n');
  const outcomes = await Promise.all(
    cluster.nodes
      .slice(0, 2)
      .map(async (node) => using(await place.open(node), (database) => importOrders(database, bytes))),
  );
  expect(outcomes.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(3_000);
  expect(outcomes.reduce((sum, { repeated }) => sum + repeated, 0)).toBe(3_000);
  await using(await place.open(cluster.nodes[2]), async (database) => {
    const [row] = await database.read((session) =>
      session.rows(`select count(*) as n from settlement_order where order_no like 'I%'`),
    );
    expect(toCount(row?.['n'])).toBe(3_000);
  });
});

describe('through a node that has not applied yet what another has committed', () => {
  /** Keeps a node from applying anything, while it goes on to answer reads. */
  async function held<T>(work: (letGo: () => Promise<void>) => Promise<T>): Promise<T> {
    const { createConnection } = await import('mysql2/promise');
    const holder = await createConnection(cluster.nodes[1].url);
    await holder.query('flush tables with read lock');
    let isHeld = true;
    const letGo = async (): Promise<void> => {
      if (isHeld) await holder.query('unlock tables');
      isHeld = false;
    };
    try {
      return await work(letGo);
    } finally {
      await letGo();
      holder.destroy();
    }
  }

  test('a run misses nothing of an import that has just ended', async () => {
    const [first, second] = cluster.nodes;
    const place = await givenPlace(cluster);
    await using(await place.open(first), (database) => runDay(database, { settings }));
    const late = ['L1', 'L2', 'L3'].map((orderNo) => ({ orderNo, accountNo: 'A1', minor: 5 }));
    const document = await held(async (letGo) => {
      await using(await place.open(first), (database) => givenOrders(database, late));
      setTimeout(() => void letGo(), 1_000);
      return using(await place.open(second), (database) => runDay(database, { settings }));
    });
    expect(document.late).toMatchObject([{ totals: [{ orders: 3 }] }]);
  });

  test('a run whose lease was taken over there commits nothing here any more', async () => {
    const [first, second] = cluster.nodes;
    const place = await givenPlace(cluster);
    // Changing 2,500 rows without a key is done at once, and takes the other nodes seconds to follow.
    await first.sql(
      `use ${new URL(place.urlOn(first)).pathname.slice(1)}`,
      'create table slow (a int, b int)',
      'insert into slow select seq, 0 from seq_1_to_2500',
    );
    await cluster.agreed();
    const options = { durationMs: 30_000, startedAt: '2026-11-30T01:00:00.000Z' };
    await using(await place.open(first), async (old) =>
      using(await place.open(second), async (other) => {
        const lease = await acquireLease(old, { ...options, command: 'old run' });
        let attempts = 0;
        const late = old.transact(
          repeatable('late write', async (trx) => {
            attempts += 1;
            await trx.change(`update account set changed_at = '2026-12-01 00:00:00.000' where account_no = 'A1'`);
            if (attempts === 1) {
              await other.transact(repeatable('slow', (slow) => slow.change('update slow set b = b + 1')));
              await other.transact(
                repeatable('take over', (taking) =>
                  taking.change('update lease set fencing_no = fencing_no + 1, expires_ms = expires_ms + 7'),
                ),
              );
            }
            await assertLeaseHeld(trx, lease);
          }),
        );
        await expect(late).rejects.toMatchObject({ code: 'LEASE_LOST' });
        expect(attempts).toBe(2);
        const [row] = await other.read((session) =>
          session.rows(`select count(*) as n from account where changed_at = '2026-12-01 00:00:00.000'`),
        );
        expect(toCount(row?.['n'])).toBe(0);
      }),
    );
  });
});
