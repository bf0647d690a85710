import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { minorMax } from '../src/kernel/money.js';
import type { Order } from '../src/orders/order.js';
import { Lanes } from '../src/sharding/lanes.js';
import { laneOf, planChunks } from '../src/sharding/planChunks.js';

function orders(accounts: readonly string[]): Order[] {
  return accounts.map((accountNo, at) => ({
    id: BigInt(at + 1),
    accountNo,
    type: 'PAYMENT',
    amountMinor: 1n,
    currency: 'USD',
    channel: 'CARD',
    accountState: 'ACTIVE',
  }));
}

const plan = { lanes: 4, elephantLanes: 2, chunkSize: 5 };

describe('chunks', () => {
  test('whatever the page: each order is in one chunk, no chunk is too large, ids ascend, an account stays in its lane', () => {
    const account = fc.integer({ min: 0, max: 12 }).map((at) => `M${String(at)}`);
    fc.assert(
      fc.property(fc.array(account, { maxLength: 120 }), fc.integer({ min: 1, max: 9 }), (accounts, chunkSize) => {
        const page = orders(accounts);
        const chunks = planChunks(page, { ...plan, chunkSize });
        const ids = chunks.flatMap((chunk) => chunk.orders.map(({ id }) => id)).sort((a, b) => (a < b ? -1 : 1));
        expect(ids).toEqual(page.map(({ id }) => id));
        for (const chunk of chunks) {
          expect(chunk.orders.length).toBeLessThanOrEqual(chunkSize);
          for (let at = 1; at < chunk.orders.length; at += 1) {
            expect((chunk.orders[at - 1] as Order).id < (chunk.orders[at] as Order).id).toBe(true);
          }
          if (chunk.lane < plan.lanes) {
            for (const { accountNo } of chunk.orders) expect(laneOf(accountNo, plan.lanes)).toBe(chunk.lane);
          }
        }
        // An account that fits a chunk is in one chunk only, so that it nets to one row.
        for (const accountNo of new Set(accounts)) {
          const own = accounts.filter((other) => other === accountNo).length;
          const holding = chunks.filter((chunk) => chunk.orders.some((order) => order.accountNo === accountNo));
          if (own <= chunkSize) expect(holding.map(({ lane }) => lane)).toEqual([laneOf(accountNo, plan.lanes)]);
          else expect(holding.every((chunk) => chunk.lane >= plan.lanes)).toBe(true);
        }
      }),
    );
  });

  test('an elephant is cut by id over lanes of its own', () => {
    const chunks = planChunks(orders([...Array<string>(12).fill('BIG'), 'SMALL']), plan);
    expect(chunks.map(({ lane, orders: own }) => [lane, own.length])).toEqual([
      [4, 5],
      [5, 5],
      [4, 2],
      [laneOf('SMALL', 4), 1],
    ]);
  });

  test.each([
    ['accounts of one order', 6, [1, 1, 1, 1, 1, 1], 4, [3, 3]],
    ['a page that fills its chunks', 10, Array<number>(10).fill(1), 5, [5, 5]],
    ['one order more than that', 11, Array<number>(11).fill(1), 5, [4, 4, 3]],
    ['accounts that fill a chunk exactly', 5, [2, 3], 5, [5]],
    ['accounts of which no two fit a chunk', 9, [3, 3, 3], 5, [3, 3, 3]],
    ['an account of a full chunk, and a small one', 6, [5, 1], 5, [5, 1]],
    ['no order at all', 0, [], 5, []],
  ])('%s (%i orders) make few chunks of about equal length', (_what, total, accounts, chunkSize, lengths) => {
    const page = orders(accounts.flatMap((own, at) => Array<string>(own).fill(`M${String(at)}`)));
    expect(page).toHaveLength(total);
    const chunks = planChunks(page, { lanes: 1, elephantLanes: 1, chunkSize });
    expect(chunks.map(({ orders: own }) => own.length)).toEqual(lengths);
  });

  const amounts = (...minors: bigint[]): Order[] =>
    minors.map((amountMinor, at) => ({ ...(orders(['A'])[0] as Order), id: BigInt(at + 1), amountMinor }));

  test.each([
    ['three that fit alone only', amounts(2n ** 62n, 2n ** 62n, 2n ** 62n), [1, 1, 1]],
    ['the same, taken away: what counts is gross', amounts(-(2n ** 62n), -(2n ** 62n), -(2n ** 62n)), [1, 1, 1]],
    ['taken away and given back', amounts(-(2n ** 62n), 2n ** 62n), [1, 1]],
    ['the largest sum that fits, and one more', amounts(minorMax - 1n, 1n, 1n), [2, 1]],
    ['one that fits nowhere, which fails alone', amounts(-(2n ** 63n), 1n), [1, 1]],
  ])('an account whose sums would not fit 64 bits is cut until they do: %s', (_what, page, lengths) => {
    const chunks = planChunks(page, plan);
    expect(chunks.map(({ orders: own }) => own.length)).toEqual(lengths);
    expect(chunks.every(({ lane }) => lane >= plan.lanes)).toBe(true);
  });

  test('an account of the largest sum that fits is no elephant', () => {
    expect(planChunks(amounts(minorMax - 1n, 1n), plan)).toEqual([
      { lane: laneOf('A', plan.lanes), orders: amounts(minorMax - 1n, 1n) },
    ]);
  });

  test('the lane of an account never changes from version to version', () => {
    expect(['M00000', 'M00001', 'acme', 'ACME', '商户', ''].map((accountNo) => laneOf(accountNo, 8)))
      .toMatchInlineSnapshot(`
     [
       6,
       0,
       2,
       7,
       4,
       1,
     ]
    `);
  });

  test('accounts spread evenly over lanes', () => {
    const counts = [0, 0, 0, 0];
    for (let at = 0; at < 20_000; at += 1) {
      const lane = laneOf(`M${String(at).padStart(6, '0')}`, 4);
      counts[lane] = (counts[lane] ?? 0) + 1;
    }
    for (const count of counts) expect(Math.abs(count - 5_000)).toBeLessThan(300);
  });
});

describe('lanes', () => {
  const piece = (lane: number, work: () => Promise<void>) => ({
    lane,
    work: async () => {
      await work();
      return { lane, orders: 1, durationMs: 1, accountNo: null };
    },
  });

  test('a lane works on one piece at a time, in order; different lanes work side by side', async () => {
    const lanes = new Lanes(2, 1);
    const log: string[] = [];
    const working = (name: string) => async () => {
      log.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, 5));
      log.push(`${name} ends`);
    };
    lanes.addPage([piece(0, working('a')), piece(0, working('b')), piece(1, working('c'))], () =>
      log.push('page done'),
    );
    await lanes.drained();
    expect(log.slice(0, 2)).toEqual(['a begins', 'c begins']);
    expect(log.indexOf('a ends')).toBeLessThan(log.indexOf('b begins'));
    expect(log[log.length - 1]).toBe('page done');
  });

  test('the reader waits while the page before is unfinished', async () => {
    const lanes = new Lanes(1, 0);
    let release: () => void = () => undefined;
    lanes.addPage([piece(0, () => new Promise<void>((resolve) => (release = resolve)))], () => undefined);
    let room = false;
    const waiting = lanes.room().then(() => (room = true));
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(room).toBe(false);
    release();
    await waiting;
    expect(room).toBe(true);
  });

  test('after a failure no further piece begins, and the page does not count as done', async () => {
    const lanes = new Lanes(1, 1);
    let later = false;
    let done = false;
    lanes.addPage(
      [piece(0, () => Promise.reject(new Error('refused'))), piece(0, () => Promise.resolve(void (later = true)))],
      () => (done = true),
    );
    await expect(lanes.drained()).rejects.toThrow('refused');
    expect({ later, done }).toEqual({ later: false, done: false });
  });

  test('a page whose work was put off does not count as done', async () => {
    const lanes = new Lanes(1, 1);
    let done = false;
    lanes.addPage([{ lane: 0, work: () => Promise.resolve(null) }], () => (done = true));
    await lanes.drained();
    expect(done).toBe(false);
  });

  test('a page counts as done only when each of its pieces was: not failed, not dropped, not put off', async () => {
    const done: string[] = [];
    const puttingOff = new Lanes(1, 3);
    puttingOff.addPage([lasting(1), { lane: 0, work: () => Promise.resolve(null) }], () => done.push('put off'));
    await puttingOff.drained();
    const failing = new Lanes(1, 3);
    failing.addPage([lasting(1)], () => done.push('worked'));
    failing.addPage([piece(0, () => Promise.reject(new Error('refused')))], () => done.push('failed'));
    failing.addPage([lasting(1)], () => done.push('dropped'));
    await expect(failing.drained()).rejects.toThrow('refused');
    expect(done).toEqual(['worked']);
  });

  const lasting = (durationMs: number) => ({
    lane: 0,
    work: () => Promise.resolve({ lane: 0, orders: 1, durationMs, accountNo: null }),
  });

  test.each([
    ['nothing', [], [], 0],
    ['one', [3], [3], 3],
    ['an odd number', [3, 1, 7, 5, 2, 6, 4], [7, 6, 5, 4, 3], 4],
    ['an even number: of the two in the middle, the longer', [1, 9, 3, 20], [20, 9, 3, 1], 9],
    ['durations that sort differently as text', [100, 20, 3], [100, 20, 3], 20],
  ])(
    'tell the five longest pieces, longest first, and the median of all: %s',
    async (_what, given, longest, median) => {
      const lanes = new Lanes(1, 1);
      lanes.addPage(given.map(lasting), () => undefined);
      await lanes.drained();
      expect(lanes.slowest.map(({ durationMs }) => durationMs)).toEqual(longest);
      expect(lanes.medianMs).toBe(median);
    },
  );

  test('a piece that was put off is not timed', async () => {
    const lanes = new Lanes(1, 1);
    lanes.addPage([lasting(3), { lane: 0, work: () => Promise.resolve(null) }], () => undefined);
    await lanes.drained();
    expect([lanes.slowest.length, lanes.medianMs]).toEqual([1, 3]);
  });

  test('there is room while no more pages are unfinished than may be ahead', async () => {
    const lanes = new Lanes(1, 1);
    const releases: (() => void)[] = [];
    const held = piece(0, () => new Promise<void>((resolve) => releases.push(resolve)));
    lanes.addPage([held], () => undefined);
    await lanes.room();
    lanes.addPage([held], () => undefined);
    let room = false;
    const waiting = lanes.room().then(() => (room = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(room).toBe(false);
    releases[0]?.();
    await waiting;
    while (releases.length < 2) await new Promise((resolve) => setImmediate(resolve));
    releases[1]?.();
    await lanes.drained();
  });

  test('of several failures the first is thrown, to who waits for room and to who waits for the end', async () => {
    const lanes = new Lanes(2, 1);
    const fails = (message: string) => () => Promise.reject(new Error(message));
    lanes.addPage([piece(0, fails('first')), piece(1, fails('second'))], () => undefined);
    await expect(lanes.drained()).rejects.toThrow('first');
    await expect(lanes.room()).rejects.toThrow('first');
  });
});
