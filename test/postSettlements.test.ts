import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Database } from '../src/db/database.js';
import type { Binding, Transaction } from '../src/db/session.js';
import { repeatable } from '../src/db/transaction.js';
import { parseDatabaseUrl } from '../src/db/url.js';
import { fromInstant, toBigInt } from '../src/db/values.js';
import { postSettlements, type LedgerIntake, type LedgerPorts } from '../src/ledger/postSettlements.js';
import { finishing } from '../src/settlement/finishing.js';
import { createTestDatabase, onEachDatabase, type TestDatabase } from './support/databases.js';
import { day, everyRow, givenOrders, payables } from './support/day.js';
import { startProxy, type Fault, type Proxy } from './support/proxy.js';
import { plant } from './support/plants.js';

const moment = '2026-11-30T01:02:03.456Z';
const ports: LedgerPorts = {
  runId: 1n,
  now: () => moment,
  fence: () => Promise.resolve(),
  finishing,
  signal: new AbortController().signal,
};

/** Four claimed orders and the three messages that book them; the ids of the first message's orders enclose the second's. */
async function givenMessages(database: Database): Promise<LedgerIntake[]> {
  for (const table of ['settlement_order', 'chunk', 'journal_entry', 'ledger_entry']) {
    await plant(database, `delete from ${table}`);
  }
  await givenOrders(database, [
    { orderNo: 'O1', accountNo: 'A', minor: 100 },
    { orderNo: 'O2', accountNo: 'B', minor: 7 },
    { orderNo: 'O3', accountNo: 'A', minor: 20 },
    { orderNo: 'O4', accountNo: 'Z', minor: 0 },
  ]);
  await database.transact(
    repeatable('claim', (trx) =>
      trx.change(`update settlement_order set state = 'PROCESSING', run_id = 1, chunk_no = 1`),
    ),
  );
  const read = await database.read((session) => session.tuples('select id from settlement_order order by order_no'));
  const [o1, o2, o3, o4] = read.map(([id]) => toBigInt(id)) as [bigint, bigint, bigint, bigint];
  const message = (id: bigint, accountNo: string, netMinor: bigint, orderIds: bigint[]): LedgerIntake => ({
    id,
    bizNo: `S1.1.${String(id)}`,
    orders: orderIds.length,
    batchDay: day,
    open: () => ({
      bizNo: `S1.1.${String(id)}`,
      batchDay: day,
      accountNo,
      currency: 'USD',
      netMinor,
      orderIds,
      lines: [{ type: 'PAYMENT', channel: 'CARD', amountMinor: netMinor }],
    }),
  });
  return [message(11n, 'A', 120n, [o1, o3]), message(12n, 'B', 7n, [o2]), message(13n, 'Z', 0n, [o4])];
}

const states = async (database: Database): Promise<string[]> =>
  (
    await database.read((session) => session.tuples('select order_no, state from settlement_order order by order_no'))
  ).map((row) => row.map(String).join(' '));

/** The transaction, with its changes noted. */
function noting(trx: Transaction, changes: string[]): Transaction {
  const change = (sql: string, bindings: readonly Binding[]): Promise<number> => {
    changes.push(`${sql} ${bindings.join(' ')}`);
    return trx.change(sql, bindings);
  };
  return Object.assign(Object.create(trx) as Transaction, { change });
}

const finishedAt = async (database: Database): Promise<string[]> =>
  (await database.read((session) => session.tuples('select finished_at from settlement_order'))).map(String);

const entries = async (database: Database): Promise<string[]> =>
  (
    await database.read((session) =>
      session.tuples('select id, biz_no, batch_day, ledger_entries from journal_entry order by id'),
    )
  ).map((row) => row.map(String).join(' '));

onEachDatabase('posting', (current) => {
  let messages: LedgerIntake[];
  beforeEach(async () => {
    messages = await givenMessages(current().database);
  });

  test('books each message once, under its own id, and finishes its orders', async () => {
    await postSettlements(current().database, messages, ports);
    expect(await entries(current().database)).toEqual([
      `11 S1.1.11 ${day} 2`,
      `12 S1.1.12 ${day} 2`,
      `13 S1.1.13 ${day} 0`,
    ]);
    expect(await payables(current().database)).toEqual({ 'A USD': '120', 'B USD': '7' });
    expect(await states(current().database)).toEqual(['O1 SUCCESS', 'O2 SUCCESS', 'O3 SUCCESS', 'O4 SUCCESS']);
  });

  test('what is delivered again changes no row and needs no lease', async () => {
    await postSettlements(current().database, messages, ports);
    const before = await everyRow(current().database);
    const later = { ...ports, now: () => '2026-11-30T09:00:00.000Z', fence: () => Promise.reject(new Error('lost')) };
    await postSettlements(current().database, messages, later);
    expect(await everyRow(current().database)).toBe(before);
  });

  test('of a delivery that was taken in part, the rest is posted', async () => {
    await postSettlements(current().database, messages.slice(1, 2), ports);
    expect(await states(current().database)).toEqual(['O1 PROCESSING', 'O2 SUCCESS', 'O3 PROCESSING', 'O4 PROCESSING']);
    await postSettlements(current().database, messages, ports);
    expect(await entries(current().database)).toHaveLength(3);
    expect(await payables(current().database)).toEqual({ 'A USD': '120', 'B USD': '7' });
  });

  test('locks orders in the order of their ids, whatever message they are of, and all at one moment', async () => {
    const asked: string[] = [];
    const [first, , last] = messages as [LedgerIntake, LedgerIntake, LedgerIntake];
    await postSettlements(current().database, [last, first], {
      ...ports,
      finishing: (trx, posted) => finishing(noting(trx, asked), posted),
    });
    const ids = [first, last].flatMap((message) => message.open().orderIds);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain(ids.join(','));
    expect(new Set(await finishedAt(current().database)).size).toBe(2); // one order is not finished
  });

  test.each([
    ['all messages of a chunk whose orders lie close', 4, 0n, true],
    ['all messages of a chunk with an order of another one between', 3, 1n, true],
    ['a part of a chunk', 5, 0n, false],
    ['a chunk whose orders lie far apart', 4, 40n, false],
  ])('finishes %s by its range, or else order by order', async (_what, orders, further, byRange) => {
    const { database } = current();
    const ids = messages.flatMap((message) => message.open().orderIds).sort((a, b) => Number(a - b));
    const [first, last] = [ids[0] as bigint, (ids[ids.length - 1] as bigint) + further];
    const due = orders === 3 ? messages.slice(0, 2) : messages;
    await database.transact(
      repeatable('chunk', (trx) =>
        trx.change(
          `insert into chunk (run_id, chunk_no, batch_day, lane, first_id, last_id, orders, nets, committed_at)
       values (1, 1, ?, '0', ?, ?, ?, 3, ?)`,
          [day, first, last, orders, fromInstant(trx.dialect, moment)],
        ),
      ),
    );
    if (orders === 3) {
      await database.transact(
        repeatable('other', (trx) => trx.change(`update settlement_order set chunk_no = 2 where order_no = 'O4'`)),
      );
    }
    const asked: string[] = [];
    await postSettlements(database, due, {
      ...ports,
      finishing: (trx, posted) => finishing(noting(trx, asked), posted),
    });
    expect(asked.map((sql) => sql.includes('chunk_no = ?'))).toEqual([byRange]);
    expect(await states(database)).toEqual([
      'O1 SUCCESS',
      'O2 SUCCESS',
      'O3 SUCCESS',
      orders === 3 ? 'O4 PROCESSING' : 'O4 SUCCESS',
    ]);
  });

  test('an order that is not in PROCESSING stops the run, and nothing is posted', async () => {
    await current().database.transact(
      repeatable('cancel', (trx) =>
        trx.change(
          `update settlement_order set state = 'CANCELED', cancel_code = 'X', finished_at = '2026-11-30 01:00:00.000'
            where order_no = 'O3'`,
        ),
      ),
    );
    const before = await everyRow(current().database);
    await expect(postSettlements(current().database, messages, ports)).rejects.toMatchObject({
      code: 'POSTED_ORDERS_DIFFER',
      exitCode: 4,
      message: '4 orders were to be finished, 3 were in PROCESSING.',
      details: { messages: 3, firstMessage: 'S1.1.11' },
    });
    expect(await everyRow(current().database)).toBe(before);
  });

  test('asks for the lease last, when everything else is written, and leaves nothing when that is refused', async () => {
    const before = await everyRow(current().database);
    const lost = new Error('another run took the lease over');
    const written: string[] = [];
    const fence = async (trx: Transaction): Promise<void> => {
      for (const what of ['journal_entry', 'ledger_entry', `settlement_order where state = 'SUCCESS'`]) {
        const [row] = await trx.rows(`select count(*) as n from ${what}`);
        written.push(String(row?.['n']));
      }
      throw lost;
    };
    await expect(postSettlements(current().database, messages, { ...ports, fence })).rejects.toBe(lost);
    expect(written).toEqual(['3', '4', '4']);
    expect(await everyRow(current().database)).toBe(before);
  });

  test('leaves nothing when it is cancelled before its COMMIT, and throws the reason', async () => {
    const before = await everyRow(current().database);
    const stop = new AbortController();
    const fence = (): Promise<void> => Promise.resolve(stop.abort(new Error('SIGTERM')));
    await expect(
      postSettlements(current().database, messages, { ...ports, fence, signal: stop.signal }),
    ).rejects.toThrow('SIGTERM');
    expect(await everyRow(current().database)).toBe(before);
  });

  test('is nothing a dry run can do', async () => {
    const dry = await Database.open(parseDatabaseUrl(current().url), { readOnly: true });
    try {
      await expect(postSettlements(dry, messages, ports)).rejects.toMatchObject({
        message: '"post settlements" tried to write during a dry run.',
      });
    } finally {
      await dry.close();
    }
  });
});

describe('posting whose answer to COMMIT is lost', () => {
  let place: TestDatabase;
  let proxy: Proxy;
  let database: Database;
  beforeAll(async () => {
    place = await createTestDatabase('server');
    proxy = await startProxy(place.url);
    database = await Database.open(parseDatabaseUrl(proxy.url), { connections: 2, statementMsMax: 5_000 });
  });
  afterAll(async () => {
    await database.close();
    await proxy.close();
    await place.drop();
  });

  test.each<[Fault, string]>([
    ['drop', 'because COMMIT never arrived, is done again'],
    ['dropAnswer', 'although COMMIT was carried out, is not done twice'],
    ['deliverLate', 'and that lands while it is done again, counts once'],
  ])('%s: %s', async (fault) => {
    const messages = await givenMessages(place.database);
    proxy.next(/^commit$/, fault);
    await postSettlements(database, messages, ports);
    expect(await entries(place.database)).toHaveLength(3);
    expect(await payables(place.database)).toEqual({ 'A USD': '120', 'B USD': '7' });
    expect(await states(place.database)).toEqual(['O1 SUCCESS', 'O2 SUCCESS', 'O3 SUCCESS', 'O4 SUCCESS']);
  });
});
