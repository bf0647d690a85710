import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { day, givenVariedDay, moneyDump, runDay } from '../support/day.js';
import { clock, strikeEverywhere } from '../support/faults.js';
import { soundAfter } from '../support/oracle.js';
import { settle } from '../support/program.js';

// Clocks that jump and hosts in far-off zones. The day is fixed at the start and money tables know nothing of the hour.

const hour = 3_600_000;
const msUntil = (instant: string): number => Date.parse(instant) - Date.now();

/** Zones from UTC-11 to UTC+14, with halves, quarters and changes of the hour on either side of the year. */
const zones = ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Asia/Kathmandu', 'America/New_York', 'Australia/Lord_Howe'];

const cases: { what: string; env: Record<string, string> }[] = [
  ...zones.map((zone) => ({ what: `TZ=${zone}`, env: { TZ: zone } })),
  { what: 'a clock an hour slow', env: { ...clock, SHIFT_MS: String(-hour) } },
  { what: 'a clock an hour fast', env: { ...clock, SHIFT_MS: String(hour) } },
  {
    what: 'a clock that jumps back an hour in the run',
    env: { ...clock, JUMP_MS: String(-hour), JUMP_AFTER_MS: '400' },
  },
  {
    what: 'a clock that jumps ahead an hour in the run',
    env: { ...clock, JUMP_MS: String(hour), JUMP_AFTER_MS: '400' },
  },
  {
    what: 'midnight in the middle of the run',
    env: { ...clock, SHIFT_MS: String(msUntil('2026-12-01T00:00:00Z') - 600) },
  },
  {
    what: 'the hour that New York skips in spring',
    env: { ...clock, TZ: 'America/New_York', SHIFT_MS: String(msUntil('2027-03-14T07:00:00Z') - 500) },
  },
  {
    what: 'the hour that New York has twice in autumn',
    env: { ...clock, TZ: 'America/New_York', SHIFT_MS: String(msUntil('2027-11-07T06:00:00Z') - 500) },
  },
  { what: 'a leap day', env: { ...clock, SHIFT_MS: String(msUntil('2028-02-29T23:59:59Z')) } },
];
const sampled = cases.filter((_, at) => strikeEverywhere || at === 0 || at === 7);

describe.each(databaseKinds)('the books do not depend on the clock [%s]', (kind) => {
  let current: TestDatabase;
  let undisturbed: string[];
  beforeAll(async () => {
    const other = await createTestDatabase(kind);
    await givenVariedDay(other.database, 90);
    await runDay(other.database);
    undisturbed = await moneyDump(other.database);
    await other.drop();
  });
  afterEach(async () => {
    await current.drop();
  });

  test.each(sampled)('nor on $what', async ({ env }) => {
    current = await createTestDatabase(kind);
    await givenVariedDay(current.database, 90);
    const ended = await settle(['run', '--batch-day', day, '--page-size', '40', '--chunk-size', '7'], {
      url: current.url,
      env,
    });
    expect({ code: ended.code, stderr: ended.stderr }).toMatchObject({ code: 3 });
    await soundAfter(current.database, undisturbed);
  });

  test.each([
    // Instant of the start, zone, cut-off, day that is due.
    ['2028-02-29T12:00:00Z', 'UTC', '00:00', '2028-02-28'],
    ['2028-03-01T00:00:00Z', 'UTC', '00:00', '2028-02-29'],
    ['2027-03-14T06:50:00Z', 'America/New_York', '02:30', '2027-03-13'],
    ['2027-11-07T06:30:00Z', 'America/New_York', '01:30', '2027-11-07'],
    ['2026-11-29T10:00:00Z', 'Pacific/Kiritimati', '00:00', '2026-11-29'],
    ['2026-11-29T09:55:00Z', 'Pacific/Kiritimati', '00:00', '2026-11-28'],
  ])('at %s in %s with cut-off %s, %s is due, wherever the host is', async (instant, timeZone, cutOff, due) => {
    current = await createTestDatabase(kind);
    await givenVariedDay(current.database, 6);
    for (const zone of ['UTC', 'Pacific/Kiritimati']) {
      const ended = await settle(['run', '--dry-run', '--json'], {
        url: current.url,
        env: {
          ...clock,
          TZ: zone,
          SHIFT_MS: String(msUntil(instant)),
          SETTLE_CALENDAR_TIME_ZONE: timeZone,
          SETTLE_CALENDAR_CUT_OFF: cutOff,
        },
      });
      expect({ stderr: ended.stderr, day: (JSON.parse(ended.stdout) as { batchDay: string }).batchDay }).toMatchObject({
        day: due,
      });
    }
  });
});
