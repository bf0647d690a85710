import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cutOffOf, localDay } from '../../src/batch/calendar.js';
import { addDays } from '../../src/kernel/batchDay.js';
import { sourceDays } from '../../src/batch/sourceDays.js';
import { loadConfig } from '../../src/config.js';
import { weekdays } from '../../src/kernel/batchDay.js';
import { ownOrders } from '../../src/kernel/orderSource.js';
import { OrderTable } from '../../src/orders/orderTable.js';

describe('source in the settings', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });
  const load = (change: (yaml: string) => string): unknown => {
    const file = join(folder, 'settle.yaml');
    writeFileSync(file, change(readFileSync('fixtures/sources/t_order.yaml', 'utf8')));
    return loadConfig({ file, environment: {} }).source;
  };

  test('every fixture is read', () => {
    for (const name of ['t_order', 'transactions', 'ORDERS_T']) {
      expect(loadConfig({ file: `fixtures/sources/${name}.yaml`, environment: {} }).source).toBeDefined();
    }
  });

  test.each<[string, string, string, RegExp]>([
    [
      'two states in one value',
      'SUCCESS: 3',
      'SUCCESS: 2',
      /columns\.state\.values \(.*, line 12\) must be a mapping with each value once; 2 stands for PROCESSING and for SUCCESS/,
    ],
    ['a state without a value', 'SUCCESS: 3, ', '', /line 12\) must be a mapping that has a value for SUCCESS too/],
    [
      'two types in one value',
      'REFUND: 2',
      'REFUND: 1',
      /columns\.type\.values \(.*, line 8\) must be a mapping with each value once; 1 stands for PAYMENT and for REFUND/,
    ],
    [
      'a name that is no name',
      'order_no\n',
      '"order_no` --"\n',
      /columns\.orderNo \(.*, line 5\) must be the name of a column/,
    ],
    [
      'a value with a quote',
      'is: 0',
      `is: "0' or 1=1"`,
      /source\.where\.0\.is \(.*, line 16\) must be a list of conditions such as/,
    ],
    [
      'both a day and an instant',
      'settle_date',
      'settle_date\n    instant: { column: x }',
      /one of batchDay and instant/,
    ],
    ['an unknown setting', 'version:', 'verison:', /did you mean .*version/],
    [
      'an unknown currency',
      'always: CNY',
      'always: YUAN',
      /columns\.currency\.always \(.*, line 10\) must be a currency code/,
    ],
  ])('%s is refused with its line', (_what, from, to, message) => {
    expect(() => load((yaml) => yaml.replace(from, to))).toThrow(message);
  });
});

describe('the days of instants', () => {
  const zones = ['UTC', 'Asia/Shanghai', 'America/New_York', 'Europe/Berlin', 'Australia/Lord_Howe'];
  const calendars = fc.record({
    timeZone: fc.constantFrom(...zones),
    cutOff: fc.constantFrom('00:00', '02:30', '17:00', '22:45'),
    weekend: fc.constantFrom(
      [],
      weekdays.filter((day) => day === 'SATURDAY' || day === 'SUNDAY'),
    ),
  });
  const instants = fc.date({
    min: new Date('2025-12-01T00:00:00Z'),
    max: new Date('2027-02-01T00:00:00Z'),
    noInvalidDate: true,
  });

  test('are those that the calendar gives them, whole seconds in UTC or counts', () => {
    fc.assert(
      fc.property(
        calendars,
        instants,
        fc.constantFrom('datetime', 'iso', 'seconds', 'milliseconds'),
        (calendar, at, unit) => {
          const instant = new Date(Math.floor(at.getTime() / 1_000) * 1_000);
          const days = sourceDays(calendar, { timeZone: 'UTC', unit });
          const spelt =
            unit === 'milliseconds'
              ? instant.getTime()
              : unit === 'seconds'
                ? instant.getTime() / 1_000
                : instant.toISOString().slice(0, 19);
          const found = days.dayOf(unit === 'datetime' ? String(spelt).replace('T', ' ') : spelt);
          const local = localDay(instant, calendar);
          expect(found).toBe(cutOffOf(local, calendar) > instant ? local : addDays(local, 1));
        },
      ),
      { numRuns: 300 },
    );
  });

  test('follow each other without a gap, so that every spelling of an instant is of one day', () => {
    fc.assert(
      fc.property(
        calendars,
        fc.constantFrom(...zones),
        fc.integer({ min: 0, max: 400 }),
        (calendar, timeZone, after) => {
          const days = sourceDays(calendar, { timeZone, unit: 'datetime' });
          const day = new Date(Date.UTC(2026, 0, 1 + after)).toISOString().slice(0, 10);
          const next = new Date(Date.UTC(2026, 0, 2 + after)).toISOString().slice(0, 10);
          const [from, to] = days.bounds(day);
          expect(from < to).toBe(true);
          expect(days.bounds(next)[0]).toBe(to);
          expect(days.dayOf(from)).toBe(day);
          expect(days.dayOf(`${String(from)}.000001`)).toBe(day);
          expect(days.dayOf(to)).toBe(next);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('of what is no instant is one that is never settled', () => {
    const days = sourceDays({ timeZone: 'UTC', cutOff: '00:00' }, { timeZone: 'UTC', unit: 'datetime' });
    for (const nothing of [null, '0000-00-00 00:00:00', '']) expect(days.dayOf(nothing)).toBe('1000-01-01');
  });
});

test('our own table is read as it is: the mapping adds nothing to a statement', () => {
  for (const dialect of ['sqlite', 'mysql'] as const) {
    const orders = new OrderTable(ownOrders, dialect);
    expect([
      orders.from(),
      orders.from('o'),
      orders.fromById(),
      orders.fromClaims('o'),
      orders.target,
      orders.id,
    ]).toEqual([
      'settlement_order',
      'settlement_order o',
      'settlement_order',
      'settlement_order o',
      'settlement_order',
      'id',
    ]);
    expect(orders.isOn('2026-11-29')).toEqual({ sql: 'batch_day = ?', bindings: ['2026-11-29'] });
    expect(`${orders.to('SUCCESS')}${orders.also({ finishedAt: 'x' }).sql}`).toBe(
      `state = 'SUCCESS', version = version + 1, finished_at = ?`,
    );
    expect([orders.is('INIT'), orders.waits('o'), orders.problem]).toEqual([
      `state = 'INIT'`,
      `o.state = 'INIT'`,
      null,
    ]);
  }
});
