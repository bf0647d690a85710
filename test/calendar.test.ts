import { afterEach, describe, expect, test } from '@jest/globals';
import { Settings } from 'luxon';
import { cutOffOf, dueDay } from '../src/batch/calendar.js';

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
