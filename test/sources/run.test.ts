import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { DatabaseEffects } from '../../src/batch/databaseEffects.js';
import type { RunDocument } from '../../src/batch/document.js';
import { cancelOrders } from '../../src/orders/cancelOrders.js';
import { orderNumbered } from '../../src/orders/orderViews.js';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { day, payables, runDay, smallSettings } from '../support/day.js';
import { foreignPlace, placesOfSources, type ForeignOrder, type ForeignPlace } from '../support/sources.js';

describe.each(placesOfSources)('orders in the table of others: %s [%s]', (name, kind) => {
  let place: ForeignPlace;
  beforeEach(async () => {
    place = await foreignPlace(name, kind);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await place.test.drop();
  });

  const run = (lanes = smallSettings.lanes): Promise<RunDocument> =>
    runDay(place.database, {
      settings: { ...smallSettings, lanes },
      calendar: place.config.calendar,
      clock: { now: () => new Date('2026-11-30T23:30:00.000Z') },
    });
  const contradictions = async (): Promise<string[]> =>
    (await verifyBooks(place.database)).flatMap(({ name: check, contradictions: found }) =>
      found.map(({ table, key, problem }) => `${check} ${table} ${key} ${problem}`),
    );
  const set = (state: keyof ForeignPlace['table']['states'], no: string): Promise<number> => {
    const { table } = place;
    return place.change(`update ${table.name} set ${table.state} = ${table.states[state]} where ${table.no} = '${no}'`);
  };
  /** Something that another program does right before a chunk is settled, once. */
  const beforeSettling = (deed: () => Promise<unknown>): void => {
    const settle = DatabaseEffects.prototype.settle;
    const spy = jest.spyOn(DatabaseEffects.prototype, 'settle');
    spy.mockImplementation(async function (this: DatabaseEffects, ...given) {
      spy.mockRestore();
      await deed();
      await settle.apply(this, given);
    });
  };
  const bare = (state: keyof ForeignPlace['table']['states']): string => place.table.states[state].replaceAll(`'`, '');

  /** Accounts are numbers in one of the tables. */
  const orders: ForeignOrder[] = [
    ...Array.from({ length: 60 }, (_, at) => ({
      no: `P${String(at)}`,
      account: String(100 + (at % 7)),
      minor: 1_000 + at,
    })),
    { no: 'R1', account: '100', type: 'REFUND', minor: 250, reverses: 'P0' },
    { no: 'F1', account: '101', type: 'FEE', minor: 33 },
    { no: 'A1', account: '102', type: 'ADJUSTMENT', minor: -5 },
    { no: 'V1', account: '103', minor: -1_003, reverses: 'P3' },
  ];
  const owed = (): Record<string, string> => {
    const sums = new Map<string, number>();
    for (const { account, minor, type } of orders) {
      const key = `${account} ${place.table.currency}`;
      sums.set(key, (sums.get(key) ?? 0) + (type === 'REFUND' || type === 'FEE' ? -minor : minor));
    }
    return Object.fromEntries([...sums].sort().map(([key, sum]) => [key, String(sum)]));
  };

  test('a day is settled, its accounts are registered, and a second run finds nothing to do', async () => {
    await place.insert(orders);
    expect(await runDay(place.database, { calendar: place.config.calendar, dryRun: true })).toMatchObject({
      exitCode: 0,
    });
    expect(Object.keys(await place.states())).toEqual([bare('INIT')]);
    const first = await run();
    expect(first).toMatchObject({ outcome: 'OK', closed: true });
    expect(first.totals.posted).toEqual(first.totals.source);
    expect(await payables(place.database)).toEqual(owed());
    expect(await place.states()).toEqual({ [bare('SUCCESS')]: orders.map(({ no }) => no) });
    expect(await run()).toMatchObject({ exitCode: 0, alreadyClosed: true });
    expect(await contradictions()).toEqual([]);
    // As `settle explain order` reads them.
    for (const no of ['P0', 'R1']) {
      const view = await place.database.read((session) => orderNumbered(session, no));
      expect(view).toMatchObject({
        orderNo: no,
        accountNo: '100',
        batchDay: day,
        state: 'SUCCESS',
        chunkNo: expect.any(Number),
      });
      expect(view?.effectMinor).toBe(no === 'P0' ? 1_000n : -250n);
    }
  });

  test('orders that come after the day was closed are settled under it by the next run', async () => {
    await place.insert(orders);
    await run();
    await place.insert([{ no: 'LATE', account: '100', minor: 7 }]);
    const late = await run();
    expect(late).toMatchObject({ outcome: 'OK', alreadyClosed: false });
    expect(late.settledNow).toEqual([{ currency: place.table.currency, orders: 1, netMinor: 7n }]);
    expect(await run()).toMatchObject({ alreadyClosed: true });
    expect(await contradictions()).toEqual([]);
  });

  test('what another program moves while a run works is skipped and listed, and never overwritten', async () => {
    await place.insert(orders);
    beforeSettling(async () => {
      await set('CANCELED', 'P10');
      await set('SUCCESS', 'P11');
      await set('UNKNOWN', 'P12');
      await place.insert([{ no: 'NEW', account: '100', minor: 1 }]);
    });
    // One lane, so that nothing of it is settled yet.
    const document = await run(1);
    expect(document).toMatchObject({ outcome: 'OK', closed: true });
    expect(document.withdrawn.map(({ orderNo }) => orderNo).sort()).toEqual(['P10', 'P11', 'P12']);
    const states = await place.states();
    expect(states[bare('CANCELED')]).toEqual(['P10']);
    expect(states[bare('UNKNOWN')]).toEqual(['P12']);
    expect(states[bare('INIT')]).toEqual(['NEW']);
    expect(await contradictions()).toEqual([]);
    // One that comes back is owed again, and so is what came meanwhile.
    await set('INIT', 'P12');
    expect(await run()).toMatchObject({ outcome: 'OK', closed: true });
    expect((await place.states())[bare('INIT')]).toBeUndefined();
    expect(await run()).toMatchObject({ alreadyClosed: true });
    expect(await contradictions()).toEqual([]);
  });

  test('an order that is set back after it was settled is not settled a second time', async () => {
    await place.insert(orders);
    await run();
    const before = await payables(place.database);
    await set('INIT', 'P5');
    const again = await run();
    expect(again.outcome).not.toBe('OK');
    expect(await payables(place.database)).toEqual(before);
    expect((await contradictions()).join('\n')).toContain('has claimed it');
  });

  test('what was settled before our time, and what is not ours to settle, is left alone', async () => {
    await place.insert(orders);
    await set('SUCCESS', 'P20');
    await set('PROCESSING', 'P21');
    await set('UNKNOWN', 'P22');
    const document = await run();
    expect(document).toMatchObject({ outcome: 'OK', closed: true });
    expect(document.totals.source[0]?.orders).toBe(orders.length - 3);
    expect((await place.states())[bare('PROCESSING')]).toEqual(['P21']);
    expect(await contradictions()).toEqual([]);
  });

  test('an order is cancelled by hand as the table spells it, and found by its exact number only', async () => {
    await place.insert(orders);
    const decision = { by: 'Ann', reason: 'asked for', at: '2026-11-30T00:00:00.000Z' };
    await expect(cancelOrders(place.database, ['p1'], decision)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await cancelOrders(place.database, ['P1'], decision)).toMatchObject({ cancelled: ['P1'] });
    expect((await place.states())[bare('CANCELED')]).toEqual(['P1']);
    expect(await run()).toMatchObject({ outcome: 'OK', closed: true });
  });

  test('a row that cannot be settled sets its account aside, and the others go on', async () => {
    await place.insert([...orders, { no: 'BAD', account: '999', minor: -1 }, { no: 'ALSO', account: '999', minor: 5 }]);
    const document = await run();
    expect(document).toMatchObject({ outcome: 'PARTIAL', closed: true, accounts: { quarantined: 1 } });
    expect((await place.states())[bare('INIT')]).toEqual(['BAD', 'ALSO']);
    expect(await run()).toMatchObject({ alreadyClosed: true, outcome: 'PARTIAL' });
    expect(await contradictions()).toEqual([]);
  });

  // The other table has a batch day.
  (name === 't_order' ? test.skip : test)('a day is of the orders between two cut-offs', async () => {
    const [before, first, last, after] =
      name === 'transactions'
        ? ['2026-11-28 23:59:59', `${day} 00:00:00`, `${day} 23:59:59`, '2026-11-30 00:00:00']
        : ['2026-11-28 16:59:59', '2026-11-28 17:00:00', `${day} 16:59:59`, `${day} 17:00:00`];
    await place.insert([
      { no: 'BEFORE', account: '1', minor: 1, at: before },
      { no: 'FIRST', account: '1', minor: 2, at: first },
      { no: 'LAST', account: '1', minor: 4, at: last },
      { no: 'AFTER', account: '1', minor: 8, at: after },
    ]);
    const document = await run();
    expect(document).toMatchObject({ outcome: 'OK', closed: true, catchUp: [{ batchDay: '2026-11-28', orders: 1 }] });
    expect(document.totals.source).toEqual([{ currency: 'USD', orders: 2, netMinor: 6n }]);
    expect((await place.states())[bare('INIT')]).toEqual(['AFTER']);
    expect(await contradictions()).toEqual([]);
  });
});
