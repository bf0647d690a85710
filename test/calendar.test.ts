import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Settings } from 'luxon';
import { closedBecause, cutOffOf, dueDay } from '../src/batch/calendar.js';
import { addDays } from '../src/kernel/batchDay.js';
import { parseHolidays, type SpecialDay } from '../src/kernel/holidays.js';
import { settleInside as settle } from './support/inside.js';

// Cut-offs at the hours that clocks skip or show twice. The same day ends at the same instant whoever asks, and whenever.

const realNow = Settings.now;
afterEach(() => {
  Settings.now = realNow;
});

const newYork = (cutOff: string) => ({ timeZone: 'America/New_York', cutOff });

test.each([
  ['an ordinary day', '2026-11-29', 'America/New_York', '22:30', '2026-11-30T03:30:00.000Z'],
  ['the midnight that ends the day', '2026-11-29', 'Pacific/Kiritimati', '00:00', '2026-11-29T10:00:00.000Z'],
  ['a time that is shown twice: the first', '2027-11-07', 'America/New_York', '01:30', '2027-11-07T05:30:00.000Z'],
  [
    'a time that is skipped: what follows the gap',
    '2027-03-14',
    'America/New_York',
    '02:30',
    '2027-03-14T07:00:00.000Z',
  ],
  ['half an hour that is shown twice', '2027-04-04', 'Australia/Lord_Howe', '01:45', '2027-04-03T14:45:00.000Z'],
  ['a midnight that is skipped', '2026-09-05', 'America/Santiago', '00:00', '2026-09-06T04:00:00.000Z'],
  ['a day that a country skipped', '2011-12-30', 'Pacific/Apia', '12:00', '2011-12-30T10:00:00.000Z'],
])('%s: %s in %s with cut-off %s ends at %s, in winter and in summer', (_what, day, timeZone, cutOff, instant) => {
  for (const today of ['2027-01-15T00:00:00Z', '2027-07-15T00:00:00Z']) {
    Settings.now = () => Date.parse(today);
    expect({ today, cutOff: cutOffOf(day, { timeZone, cutOff }).toISOString() }).toEqual({ today, cutOff: instant });
  }
});

describe.each(['00:00', '01:30', '02:30', '23:59'])('with cut-off %s', (cutOff) => {
  test.each(['2027-03-13T00:00:00Z', '2027-11-06T00:00:00Z'])('the due day never goes back, from %s on', (from) => {
    let last = '';
    for (let minute = 0; minute < 3 * 24 * 60; minute += 10) {
      const now = new Date(Date.parse(from) + minute * 60_000);
      Settings.now = () => now.getTime();
      const due = dueDay(now, newYork(cutOff));
      expect({ now, wentBack: due < last }).toEqual({ now, wentBack: false });
      last = due;
    }
  });
});

describe('business days', () => {
  const china = {
    ...{ timeZone: 'Asia/Shanghai', cutOff: '23:30', weekend: ['SATURDAY', 'SUNDAY'] as const },
    holidays: parsed('2026-10-01 National Day\n2026-10-02\n\n# bridge\n+2026-10-10 in place of 5 October\n2026-10-05'),
  };
  function parsed(text: string): Map<string, SpecialDay> {
    const days = parseHolidays(text);
    if (!(days instanceof Map)) throw new Error(days.problem);
    return days;
  }

  test.each([
    ['2026-09-30', null],
    ['2026-10-01', 'National Day'],
    ['2026-10-02', 'holiday'],
    ['2026-10-03', 'SATURDAY'],
    ['2026-10-04', 'SUNDAY'],
    ['2026-10-05', 'holiday'],
    ['2026-10-06', null],
    ['2026-10-10', null],
    ['2026-10-11', 'SUNDAY'],
  ])('%s is closed because of %s', (day, reason) => {
    expect(closedBecause(day, china)).toBe(reason);
  });

  test('a day that is none ends with the next one', () => {
    expect(['2026-10-01', '2026-10-05', '2026-10-06'].map((day) => cutOffOf(day, china).toISOString())).toEqual(
      Array(3).fill('2026-10-06T15:30:00.000Z'),
    );
  });

  test.each([
    ['2026-09-30T15:29:59Z', '2026-09-29'],
    ['2026-09-30T15:30:00Z', '2026-09-30'],
    ['2026-10-04T20:00:00Z', '2026-09-30'],
    ['2026-10-06T15:29:59Z', '2026-09-30'],
    ['2026-10-06T15:30:00Z', '2026-10-06'],
    ['2026-10-10T15:30:00Z', '2026-10-10'],
    ['2026-10-12T15:00:00Z', '2026-10-10'],
  ])('at %s the due day is %s', (now, due) => {
    expect(dueDay(new Date(now), china)).toBe(due);
  });

  test('the leap day and the last day of a year are days like others', () => {
    const plain = { timeZone: 'UTC', cutOff: '00:00' };
    expect(cutOffOf('2028-02-28', plain).toISOString()).toBe('2028-02-29T00:00:00.000Z');
    expect(cutOffOf('2028-02-29', plain).toISOString()).toBe('2028-03-01T00:00:00.000Z');
    expect(cutOffOf('2026-12-31', plain).toISOString()).toBe('2027-01-01T00:00:00.000Z');
  });

  test('a calendar without any is refused and not searched for ever', () => {
    const holidays = new Map<string, SpecialDay>();
    for (let day = '2026-01-01'; day < '2028-01-01'; day = addDays(day, 1))
      holidays.set(day, { works: false, name: '' });
    expect(() => cutOffOf('2026-01-01', { timeZone: 'UTC', cutOff: '00:00', holidays })).toThrow(/no business day/);
  });

  test.each([
    ['2026-12-25 Christmas\n25.12.2026 again', { line: 2, problem: 'does not begin with a day, YYYY-MM-DD' }],
    ['2026-02-30', { line: 1, problem: 'does not begin with a day, YYYY-MM-DD' }],
    ['2026-12-25\n\n+2026-12-25', { line: 3, problem: 'names 2026-12-25 again' }],
  ])('a file with %j is refused with its line', (text, fault) => {
    expect(parseHolidays(text)).toEqual(fault);
  });
});

describe('settle calendar show', () => {
  test('prints the days with their ends in local time and UTC, and why a day has none of its own', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'settle-test-'));
    try {
      writeFileSync(join(cwd, 'cn.txt'), '2026-10-01 National Day\n');
      writeFileSync(
        join(cwd, 'settle.yaml'),
        'calendar: { timeZone: Asia/Shanghai, cutOff: "23:30", weekend: [SATURDAY, SUNDAY], holidays: [cn.txt] }\n',
      );
      const args = ['calendar', 'show', '--from', '2026-09-30', '--days', '2'];
      const text = await settle(args, { cwd });
      expect(text).toMatchObject({ code: 0, stderr: '' });
      expect(text.stdout.split('\n').slice(1)).toEqual([
        '2026-09-30  WED  ends 2026-09-30T23:30:00+08:00  2026-09-30T15:30:00Z',
        '2026-10-01  THU  ends 2026-10-02T23:30:00+08:00  2026-10-02T15:30:00Z  with the next business day (National Day)',
        '',
      ]);
      const { stdout } = await settle([...args, '--json'], {
        cwd,
        env: { SETTLE_CALENDAR_WEEKEND: 'THURSDAY, FRIDAY' },
      });
      expect(JSON.parse(stdout)).toMatchObject({
        schema: 'settle.calendar',
        days: [{ closedBecause: null }, { closedBecause: 'National Day', cutOffUtc: '2026-10-03T15:30:00.000Z' }],
      });
    } finally {
      rmSync(cwd, { recursive: true });
    }
  });

  test('a file of holidays that cannot be read ends with its name and line', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'settle-test-'));
    try {
      writeFileSync(join(cwd, 'cn.txt'), '2026-10-01 National Day\nChristmas\n');
      writeFileSync(join(cwd, 'settle.yaml'), 'calendar: { holidays: [cn.txt, none.txt] }\n');
      const { code, stderr } = await settle(['calendar', 'show'], { cwd });
      expect(code).toBe(2);
      expect(stderr).toContain('calendar.holidays (settle.yaml) must be a list of files with a day a line');
      expect(stderr).toContain('"cn.txt" is wrong in line 2, which does not begin with a day');
      expect(stderr).toContain('"none.txt" cannot be read');
    } finally {
      rmSync(cwd, { recursive: true });
    }
  });
});
