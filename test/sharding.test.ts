import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { minorMax } from '../src/kernel/money.js';
import { signedAmount, type Order } from '../src/orders/order.js';
import { OrderPage } from '../src/orders/orderPage.js';
import { Lanes } from '../src/sharding/lanes.js';
import { laneOf, planChunks, type LanePlan } from '../src/sharding/planChunks.js';

function orders(accounts: readonly string[]): Order[] {
  return accounts.map((accountNo, at) => ({
    id: BigInt(at + 1),
    accountNo,
    type: 'PAYMENT',
    amountMinor: 1n,
    currency: 'USD',
    channel: 'CARD',
  }));
}

const chunked = (page: readonly Order[], lanePlan: LanePlan) =>
  planChunks(OrderPage.of(page), lanePlan).map((chunk) => ({ lane: chunk.lane, orders: [...chunk] }));

const plan = { lanes: 4, elephantLanes: 2, chunkSize: 5 };

describe('chunks', () => {
  test('whatever the page: each order is in one chunk, no chunk is too large, ids ascend, an account stays in its lane', () => {
    const account = fc.integer({ min: 0, max: 12 }).map((at) => `M${String(at)}`);
    fc.assert(
      fc.property(fc.array(account, { maxLength: 120 }), fc.integer({ min: 1, max: 9 }), (accounts, chunkSize) => {
        const page = orders(accounts);
        const chunks = chunked(page, { ...plan, chunkSize });
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
    const chunks = chunked(orders([...Array<string>(12).fill('BIG'), 'SMALL']), plan);
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
    const chunks = chunked(page, { lanes: 1, elephantLanes: 1, chunkSize });
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
    const chunks = chunked(page, plan);
    expect(chunks.map(({ orders: own }) => own.length)).toEqual(lengths);
    expect(chunks.every(({ lane }) => lane >= plan.lanes)).toBe(true);
  });

  test('an account of the largest sum that fits is no elephant', () => {
    expect(chunked(amounts(minorMax - 1n, 1n), plan)).toEqual([
      { lane: laneOf('A', plan.lanes), orders: amounts(minorMax - 1n, 1n) },
    ]);
  });

  const given = (complete: boolean, ids: readonly bigint[], accounts: readonly string[]): OrderPage => {
    const page = new OrderPage(ids.length, complete);
    ids.forEach((id, at) => {
      page.add({ ...(orders([accounts[at % accounts.length] as string])[0] as Order), id });
    });
    return page;
  };
  const single = { lanes: 1, elephantLanes: 1, chunkSize: 9 };
  test.each([
    ['a whole page of neighbours', given(true, [5n, 6n, 7n], ['A', 'B']), [true]],
    ['ids that lie close', given(true, [5n, 7n, 9n, 10n], ['A']), [true]],
    ['ids that lie as far apart as a range pays', given(true, [1n, 3n, 6n], ['A']), [true]],
    ['ids that lie further apart', given(true, [1n, 3n, 7n], ['A']), [false]],
    ['a page that leaves orders out', given(false, [5n, 6n, 7n], ['A', 'B']), [false]],
    [
      'what is left of a page without an account',
      given(true, [5n, 6n, 7n], ['A', 'A', 'B']).without(new Set(['B'])),
      [false],
    ],
    ['a page without an account that it has not', given(true, [5n, 6n], ['A']).without(new Set(['B'])), [true]],
    ['an elephant alone, cut by id', given(true, [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n, 10n], ['A']), [true, true]],
    [
      'an elephant among others, of which one order alone is a range',
      given(true, [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n, 10n, 11n, 12n], ['A', 'A', 'A', 'A', 'A', 'B']),
      [false, true, false],
    ],
  ])('are claimed by their range or by their ids: %s', (_what, page, ranges) => {
    expect(planChunks(page, single).map((chunk) => chunk.isRange)).toEqual(ranges);
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

describe('a page in columns', () => {
  const order: fc.Arbitrary<Order> = fc.record({
    id: fc.bigInt(1n, 2n ** 63n - 1n),
    accountNo: fc.constantFrom('A', 'B', 'C', '商户'),
    type: fc.constantFrom('PAYMENT', 'REFUND', 'FEE', 'ADJUSTMENT'),
    amountMinor: fc.bigInt(-(2n ** 63n), minorMax),
    currency: fc.constantFrom('USD', 'JPY'),
    channel: fc.constantFrom('CARD', 'a b', ''),
  });
  const list = fc.array(order, { maxLength: 30 });
  const all = (page: OrderPage): Order[] => Array.from({ length: page.length }, (_, at) => page.order(at));

  test('gives back the orders that were put in', () => {
    fc.assert(
      fc.property(list, (given) => {
        expect(all(OrderPage.of(given))).toEqual(given);
      }),
    );
  });

  test('counts and adds up by account and by currency, exactly', () => {
    fc.assert(
      fc.property(list, (given) => {
        const page = OrderPage.of(given);
        page.accountNos.forEach((accountNo, account) => {
          expect(page.ordersOf[account]).toBe(given.filter((one) => one.accountNo === accountNo).length);
        });
        expect(page.accountNos).toEqual([...new Set(given.map(({ accountNo }) => accountNo))]);
        for (const { currency, orders: count, netMinor } of page.totals()) {
          const own = given.filter((one) => one.currency === currency);
          expect([count, netMinor]).toEqual([own.length, own.reduce((sum, one) => sum + signedAmount(one), 0n)]);
        }
        expect(page.totals().map(({ currency }) => currency)).toEqual(
          [...new Set(given.map(({ currency }) => currency))].sort(),
        );
      }),
    );
  });

  test('leaves accounts out whole', () => {
    fc.assert(
      fc.property(list, fc.subarray(['A', 'B', 'C', '商户', 'D']), (given, out) => {
        const page = OrderPage.of(given).without(new Set(out));
        expect(all(page)).toEqual(given.filter(({ accountNo }) => !out.includes(accountNo)));
      }),
    );
  });

  test('takes no more than it was made for', () => {
    const page = OrderPage.of(orders(['A']));
    expect(() => {
      page.add(orders(['A'])[0] as Order);
    }).toThrow('The page is full.');
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
