import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Settings } from 'luxon';
import { closedBecause, cutOffOf, cutOffsOf, dayOf, dueDay } from '../src/batch/calendar.js';
import { calendarCommands } from '../src/commands/calendar.js';
import { addDays } from '../src/kernel/batchDay.js';
import { parseHolidays, type SpecialDay } from '../src/kernel/holidays.js';
import { answerOf } from './support/command.js';
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

// Nominal local times, with the instant in UTC behind each: what changes at the borders is the offset, and the day stays one.
describe('a day over which clocks change', () => {
  test.each([
    ['spring, a day of 23 hours', 'Europe/Berlin', '00:00', '2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z', 23],
    ['autumn, a day of 25 hours', 'Europe/Berlin', '00:00', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z', 25],
    ['spring', 'America/New_York', '22:30', '2026-03-08T03:30:00.000Z', '2026-03-09T02:30:00.000Z', 23],
    ['autumn', 'America/New_York', '22:30', '2026-11-01T02:30:00.000Z', '2026-11-02T03:30:00.000Z', 25],
    [
      'half an hour in autumn',
      'Australia/Lord_Howe',
      '00:00',
      '2026-04-04T13:00:00.000Z',
      '2026-04-05T13:30:00.000Z',
      24.5,
    ],
    ['a zone without a change', 'Asia/Shanghai', '00:00', '2026-03-28T16:00:00.000Z', '2026-03-29T16:00:00.000Z', 24],
  ])('%s in %s with cut-off %s lasts from %s to %s: %d hours', (_what, timeZone, cutOff, from, to, hours) => {
    const calendar = { timeZone, cutOff };
    const day = dueDay(new Date(to), calendar);
    const [begins, ends] = [cutOffOf(addDays(day, -1), calendar), cutOffOf(day, calendar)];
    expect([begins.toISOString(), ends.toISOString()]).toEqual([from, to]);
    expect((ends.getTime() - begins.getTime()) / 3_600_000).toBe(hours);
    // Half open: the instant of the cut-off is the first of the next day.
    expect(dayOf(new Date(ends.getTime() - 1), calendar)).toBe(day);
    expect(dayOf(ends, calendar)).toBe(addDays(day, 1));
    expect(dueDay(new Date(ends.getTime() - 1), calendar)).toBe(addDays(day, -1));
  });

  test.each([
    ['2028-02-28', '2028-02-29T05:00:00.000Z', '2028-02-29'],
    ['2028-02-29', '2028-03-01T05:00:00.000Z', '2028-03-01'],
    ['2027-02-28', '2027-03-01T05:00:00.000Z', '2027-03-01'],
  ])('%s ends at %s, and %s follows', (day, instant, next) => {
    expect(cutOffOf(day, newYork('00:00')).toISOString()).toBe(instant);
    expect(dayOf(new Date(instant), newYork('00:00'))).toBe(next);
  });
});

describe('a channel with a cut-off of its own', () => {
  const calendar = {
    ...{ timeZone: 'Europe/Berlin', cutOff: '00:00', weekend: ['SATURDAY', 'SUNDAY'] as const },
    channels: new Map([
      ['CARD', { timeZone: 'America/New_York', cutOff: '17:00' }],
      ['WALLET', { timeZone: 'America/Los_Angeles', cutOff: '23:00' }],
    ]),
  };

  test.each([
    ['summer', '2026-07-01', '2026-07-01T22:00:00Z', '2026-07-01T21:00:00Z', '2026-07-02T06:00:00Z'],
    ['winter', '2026-12-01', '2026-12-01T23:00:00Z', '2026-12-01T22:00:00Z', '2026-12-02T07:00:00Z'],
    [
      'between the changes of two continents',
      '2026-03-09',
      '2026-03-09T23:00:00Z',
      '2026-03-09T21:00:00Z',
      '2026-03-10T06:00:00Z',
    ],
    ['Saturday: with Monday', '2026-07-04', '2026-07-06T22:00:00Z', '2026-07-06T21:00:00Z', '2026-07-07T06:00:00Z'],
  ])('%s: %s ends at %s, for CARD at %s and for WALLET at %s', (_what, day, own, card, wallet) => {
    expect([...cutOffsOf(day, calendar)]).toEqual([
      [null, new Date(own)],
      ['CARD', new Date(card)],
      ['WALLET', new Date(wallet)],
    ]);
    expect(cutOffOf(day, calendar)).toEqual(new Date(wallet));
  });

  test.each([
    ['2026-07-01T22:00:00Z', '2026-06-30'],
    ['2026-07-02T05:59:59Z', '2026-06-30'],
    ['2026-07-02T06:00:00Z', '2026-07-01'],
    ['2026-07-04T05:59:59Z', '2026-07-02'], // the WALLET of Friday ends on Saturday morning
    ['2026-07-04T06:00:00Z', '2026-07-03'],
    ['2026-07-06T23:00:00Z', '2026-07-03'],
  ])('holds the day back until the last has ended: at %s the due day is %s', (now, due) => {
    expect(dueDay(new Date(now), calendar)).toBe(due);
  });

  test('an earlier one alone changes nothing of when the day is due', () => {
    const early = { ...calendar, channels: new Map([['CARD', { timeZone: 'Asia/Tokyo', cutOff: '15:00' }]]) };
    expect(cutOffOf('2026-07-01', early)).toEqual(new Date('2026-07-01T22:00:00Z'));
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
        'batch day'.padEnd(23) + 'local time'.padEnd(27) + 'UTC',
        '2026-09-30  WED  ends  2026-09-30T23:30:00+08:00  2026-09-30T15:30:00Z',
        '2026-10-01  THU  ends  2026-10-02T23:30:00+08:00  2026-10-02T15:30:00Z  with the next business day (National Day)',
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

  test('prints the cut-off of each channel in its own zone and UTC', async () => {
    const calendar = {
      ...{ timeZone: 'Asia/Shanghai', cutOff: '23:30' },
      channels: { CARD: { cutOff: '20:00' }, 'BANK-US': { timeZone: 'America/New_York', cutOff: '17:00' } },
    };
    const asked = { url: 'sqlite:none.db', now: '2026-03-10T00:00:00Z', settings: { calendar } };
    const options = { from: '2026-03-07', days: 2 };
    const text = await answerOf(calendarCommands.show, options, asked);
    expect(text.stdout.split('\n')).toEqual([
      'Due now: 2026-03-09. A day ends at 23:30 in Asia/Shanghai, for CARD at 20:00 in Asia/Shanghai, ' +
        'for BANK-US at 17:00 in America/New_York.',
      'It is due when it has ended for all of them.',
      'batch day'.padEnd(26) + 'local time'.padEnd(27) + 'UTC',
      '2026-03-07  SAT  ends     2026-03-08T06:00:00+08:00  2026-03-07T22:00:00Z',
      '                 others   2026-03-07T23:30:00+08:00  2026-03-07T15:30:00Z',
      '                 CARD     2026-03-07T20:00:00+08:00  2026-03-07T12:00:00Z',
      '                 BANK-US  2026-03-07T17:00:00-05:00  2026-03-07T22:00:00Z',
      '2026-03-08  SUN  ends     2026-03-09T05:00:00+08:00  2026-03-08T21:00:00Z',
      '                 others   2026-03-08T23:30:00+08:00  2026-03-08T15:30:00Z',
      '                 CARD     2026-03-08T20:00:00+08:00  2026-03-08T12:00:00Z',
      '                 BANK-US  2026-03-08T17:00:00-04:00  2026-03-08T21:00:00Z',
    ]);
    const document = await answerOf(calendarCommands.show, options, { ...asked, output: 'json' });
    expect(JSON.parse(document.stdout)).toMatchObject({
      channels: [{ channel: 'CARD', timeZone: 'Asia/Shanghai', cutOff: '20:00' }, { channel: 'BANK-US' }],
      days: [{ cutOffUtc: '2026-03-07T22:00:00.000Z', channels: [{ channel: null }, { channel: 'CARD' }, {}] }, {}],
    });
  });

  test('a file of holidays that cannot be read ends with its name and line', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'settle-test-'));
    try {
      writeFileSync(join(cwd, 'cn.txt'), '2026-10-01 National Day\nChristmas\n');
      writeFileSync(join(cwd, 'settle.yaml'), 'calendar: { holidays: [cn.txt, none.txt] }\n');
      const { code, stderr } = await settle(['calendar', 'show'], { cwd });
      expect(code).toBe(2);
      expect(stderr).toContain('calendar.holidays (settle.yaml, line 1) must be a list of files with a day a line');
      expect(stderr).toContain('"cn.txt" is wrong in line 2, which does not begin with a day');
      expect(stderr).toContain('"none.txt" cannot be read');
    } finally {
      rmSync(cwd, { recursive: true });
    }
  });
});
