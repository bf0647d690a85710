import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Database } from '../src/db/database.js';
import { failureKind } from '../src/db/failure.js';
import type { Transaction } from '../src/db/session.js';
import { repeatable } from '../src/db/transaction.js';
import { parseDatabaseUrl } from '../src/db/url.js';
import { ordersAfter } from '../src/orders/queries.js';
import type { Order } from '../src/orders/order.js';
import { decodePayload } from '../src/outbox/message.js';
import { messagesOf, planSettlement, type SettlementPlan } from '../src/settlement/planSettlement.js';
import { OrdersMoved, settleChunk } from '../src/settlement/settleChunk.js';
import { createTestDatabase, onEachDatabase, type TestDatabase } from './support/databases.js';
import { day, everyRow, givenOrders } from './support/day.js';
import { startProxy, type Fault, type Proxy } from './support/proxy.js';

const ports = {
  now: () => '2026-11-30T01:02:03.456Z',
  fence: () => Promise.resolve(),
  signal: new AbortController().signal,
};
const chunk = { runId: 4n, chunkNo: 2, batchDay: day, lane: 3 };

onEachDatabase('settling a chunk', (current) => {
  const rows = async (sql: string): Promise<string[]> =>
    (await current().database.read((session) => session.tuples(sql))).map((row) => row.map(String).join(' '));
  const change = (sql: string) => current().database.transact(repeatable('test', (trx) => trx.change(sql)));

  let orders: Order[];
  let plan: SettlementPlan;
  beforeEach(async () => {
    for (const table of ['settlement_order', 'chunk', 'net', 'outbox']) await change(`delete from ${table}`);
    await givenOrders(current().database, [
      { orderNo: 'O1', accountNo: 'B', minor: 100 },
      { orderNo: 'O2', accountNo: 'A', type: 'REFUND', minor: 7 },
      { orderNo: 'O3', accountNo: 'B', minor: 20 },
      { orderNo: 'O4', accountNo: 'B', minor: 1, currency: 'JPY' },
      { orderNo: 'OTHER', accountNo: 'C', minor: 5 },
    ]);
    const page = { day, afterId: 0n, topId: 2n ** 62n, size: 100, accounts: null, shard: null };
    const read = await current().database.read((session) => ordersAfter(session, page));
    orders = read.filter(({ accountNo }) => accountNo !== 'C');
    plan = planSettlement(chunk, orders);
  });

  test('claims exactly its orders, and writes the mark, the nets and the outbox beside them', async () => {
    await expect(settleChunk(current().database, plan, ports)).resolves.toBe(4);
    expect(
      await rows('select order_no, state, version, run_id, chunk_no from settlement_order order by order_no'),
    ).toEqual([
      'O1 PROCESSING 1 4 2',
      'O2 PROCESSING 1 4 2',
      'O3 PROCESSING 1 4 2',
      'O4 PROCESSING 1 4 2',
      'OTHER INIT 0 null null',
    ]);
    const [first, last] = [orders[0]?.id, orders[3]?.id].map(String);
    expect(await rows('select run_id, chunk_no, batch_day, lane, first_id, last_id, orders, nets from chunk')).toEqual([
      `4 2 ${day} 3 ${String(first)} ${String(last)} 4 3`,
    ]);
    expect(await rows('select net_no, account_no, currency, orders, amount_minor, biz_no from net order by 1')).toEqual(
      ['1 B USD 2 120 S4.2.1', '2 A USD 1 -7 S4.2.2', '3 B JPY 1 1 S4.2.3'],
    );
    expect(await rows('select biz_no, account_no, orders, state from outbox order by id')).toEqual([
      'S4.2.1 B 2 NEW',
      'S4.2.2 A 1 NEW',
      'S4.2.3 B 1 NEW',
    ]);
    const sent = await current().database.read((session) =>
      session.rows('select biz_no, payload, orders from outbox order by id'),
    );
    expect(
      sent.map((row) => decodePayload(String(row['biz_no']), String(row['payload']), Number(row['orders']))),
    ).toEqual([...messagesOf(plan)]);
  });

  test.each([
    ['claimed by another chunk', `state = 'PROCESSING', run_id = 1, chunk_no = 1`],
    ['moved to another day', `batch_day = '2026-11-28'`],
    ['edited', 'amount_minor = 21'],
  ])('writes nothing when one of its orders was %s meanwhile', async (_how, edit) => {
    await change(`update settlement_order set ${edit} where order_no = 'O3'`);
    const before = await everyRow(current().database);
    await expect(settleChunk(current().database, plan, ports)).rejects.toThrow(
      expect.objectContaining({ name: 'OrdersMoved', constructor: OrdersMoved }) as unknown as Error,
    );
    expect(await everyRow(current().database)).toBe(before);
  });

  test('asks for the lease last, when everything else is written, and leaves nothing when that is refused', async () => {
    const before = await everyRow(current().database);
    const lost = new Error('another run took the lease over');
    const written: number[] = [];
    const fence = async (trx: Transaction): Promise<void> => {
      for (const table of ['chunk', 'net', 'outbox']) written.push((await trx.tuples(`select * from ${table}`)).length);
      throw lost;
    };
    await expect(settleChunk(current().database, plan, { ...ports, fence })).rejects.toBe(lost);
    expect(written).toEqual([1, 3, 3]);
    expect(await everyRow(current().database)).toBe(before);
  });

  test('a second time is refused by the mark and changes no row', async () => {
    await settleChunk(current().database, plan, ports);
    const before = await everyRow(current().database);
    const again: unknown = await settleChunk(current().database, plan, ports).catch((error: unknown) => error);
    expect(failureKind(again)).toBe('refused');
    expect(await everyRow(current().database)).toBe(before);
  });

  test('leaves nothing when it is cancelled before its COMMIT, and throws the reason', async () => {
    const before = await everyRow(current().database);
    const stop = new AbortController();
    const fence = (): Promise<void> => Promise.resolve(stop.abort(new Error('SIGTERM')));
    await expect(settleChunk(current().database, plan, { ...ports, fence, signal: stop.signal })).rejects.toThrow(
      'SIGTERM',
    );
    expect(await everyRow(current().database)).toBe(before);
  });

  test('is nothing a dry run can do', async () => {
    const dry = await Database.open(parseDatabaseUrl(current().url), { readOnly: true });
    try {
      await expect(settleChunk(dry, plan, ports)).rejects.toMatchObject({
        message: '"settle chunk" tried to write during a dry run.',
      });
    } finally {
      await dry.close();
    }
  });
});

describe('a chunk whose answer to COMMIT is lost', () => {
  let place: TestDatabase;
  let proxy: Proxy;
  let database: Database;
  beforeAll(async () => {
    place = await createTestDatabase('server');
    proxy = await startProxy(place.url);
    database = await Database.open(parseDatabaseUrl(proxy.url), { connections: 2, statementMsMax: 5_000 });
    await givenOrders(place.database, [
      { orderNo: 'O1', accountNo: 'A', minor: 100 },
      { orderNo: 'O2', accountNo: 'A', minor: 7 },
      { orderNo: 'O3', accountNo: 'B', minor: 9 },
    ]);
  });
  afterAll(async () => {
    await database.close();
    await proxy.close();
    await place.drop();
  });

  test.each([
    ['dropAnswer', 1, 'is found by its mark, and how many orders it settled is told all the same'],
    ['drop', 2, 'and that never arrived is settled again'],
  ] as [Fault, number, string][])('%s, chunk %i: %s', async (fault, chunkNo) => {
    const page = { day, afterId: 0n, topId: 2n ** 62n, size: 3 - chunkNo, accounts: null, shard: null };
    const orders = await place.database.read((session) => ordersAfter(session, page));
    proxy.next(/^commit$/, fault);
    const plan = planSettlement({ ...chunk, chunkNo }, orders);
    await expect(settleChunk(database, plan, ports)).resolves.toBe(orders.length);
    const counts = await place.database.read((session) =>
      session.tuples(
        `select (select count(*) from chunk where chunk_no = ?), (select count(*) from outbox where biz_no like ?),
                (select count(*) from settlement_order where chunk_no = ? and state = 'PROCESSING')`,
        [chunkNo, `S4.${String(chunkNo)}.%`, chunkNo],
      ),
    );
    expect(counts.map((row) => row.map(String))).toEqual([['1', '1', String(orders.length)]]);
  });
});
