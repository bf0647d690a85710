import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { run } from '../src/commands/run.js';
import { status } from '../src/commands/status.js';
import type { Tree } from '../src/kernel/yamlTree.js';
import { answerOf } from './support/command.js';
import { createTestDatabase, type TestDatabase } from './support/databases.js';
import { givenOrders } from './support/day.js';

// `settle run` as cron types it: without a day. What it does depends on the calendar, on the clock and on what was missed.

interface Ran {
  batchDay: string;
  outcome: string;
  closed: boolean;
  alreadyClosed: boolean;
  catchUp: { batchDay: string; outcome: string; orders: number }[];
}

describe('settle run without a day', () => {
  let current: TestDatabase;
  beforeEach(async () => {
    current = await createTestDatabase('sqlite');
  });
  afterEach(() => current.drop());

  async function runAt(now: string, calendar: Tree = {}): Promise<{ code: number; ran: Ran }> {
    const asked = { url: current.url, now, output: 'json' as const, settings: { calendar } };
    const { code, stdout } = await answerOf(run, {}, asked);
    return { code, ran: JSON.parse(stdout) as Ran };
  }
  async function isClosedAt(now: string, calendar: Tree = {}): Promise<number> {
    return (await answerOf(status, { check: true }, { url: current.url, now, settings: { calendar } })).code;
  }
  const given = (...days: string[]) =>
    givenOrders(
      current.database,
      days.map((batchDay) => ({ orderNo: `O-${batchDay}`, accountNo: 'A1', minor: 100, batchDay })),
    );

  test('a quiet day closes with exit code 0, and once more nothing is due', async () => {
    expect(await isClosedAt('2026-11-30T01:00:00Z')).toBe(3);
    expect(await runAt('2026-11-30T01:00:00Z')).toMatchObject({
      code: 0,
      ran: { batchDay: '2026-11-29', outcome: 'OK', closed: true, alreadyClosed: false, catchUp: [] },
    });
    expect(await runAt('2026-11-30T23:59:59Z')).toMatchObject({ code: 0, ran: { alreadyClosed: true } });
    expect(await isClosedAt('2026-11-30T23:59:59Z')).toBe(0);
    expect(await isClosedAt('2026-12-01T00:00:00Z')).toBe(3);
  });

  test('days that were missed come first, in order, over a leap day and a change of clocks', async () => {
    const calendar = { timeZone: 'Europe/Berlin' };
    await given('2028-03-01', '2028-02-28', '2028-02-29', '2028-03-26');
    const { code, ran } = await runAt('2028-03-26T22:00:00Z', calendar);
    expect(code).toBe(0);
    expect(ran).toMatchObject({ batchDay: '2028-03-26', closed: true });
    expect(ran.catchUp.map(({ batchDay, outcome, orders }) => [batchDay, outcome, orders])).toEqual([
      ['2028-02-28', 'OK', 1],
      ['2028-02-29', 'OK', 1],
      ['2028-03-01', 'OK', 1],
    ]);
    expect((await runAt('2028-03-27T21:59:59Z', calendar)).ran).toMatchObject({ alreadyClosed: true });
  });

  test('a day that is open from before the look-back is refused by name, and nothing moves', async () => {
    await given('2026-10-01');
    await answerOf(run, { batchDay: '2026-10-01', account: ['A2'] }, { url: current.url, now: '2026-10-02T01:00:00Z' });
    await expect(runAt('2026-11-30T01:00:00Z')).rejects.toMatchObject({
      code: 'EARLIER_DAY_OPEN',
      exitCode: 5,
      next: 'settle run --batch-day 2026-10-01',
    });
  });

  test('a weekend and a holiday are settled with the business day that follows', async () => {
    const calendar = { weekend: ['SATURDAY', 'SUNDAY'] };
    await given('2026-11-27', '2026-11-28', '2026-11-29', '2026-11-30');
    expect((await runAt('2026-11-30T01:00:00Z', calendar)).ran).toMatchObject({ batchDay: '2026-11-27', catchUp: [] });
    const { ran } = await runAt('2026-12-01T00:00:00Z', calendar);
    expect([...ran.catchUp.map(({ batchDay }) => batchDay), ran.batchDay]).toEqual([
      '2026-11-28',
      '2026-11-29',
      '2026-11-30',
    ]);
  });

  test('a channel whose day ends later holds the day back, for the run and for --check', async () => {
    const calendar = { channels: { CARD: { timeZone: 'America/New_York', cutOff: '20:00' } } };
    await given('2026-11-28', '2026-11-29');
    const [before, after] = ['2026-11-30T00:59:59Z', '2026-11-30T01:00:00Z'];
    expect((await runAt(before, calendar)).ran).toMatchObject({ batchDay: '2026-11-28', closed: true });
    expect(await isClosedAt(before, calendar)).toBe(0);
    expect(await isClosedAt(after, calendar)).toBe(3);
    expect((await runAt(after, calendar)).ran).toMatchObject({ batchDay: '2026-11-29', closed: true, catchUp: [] });
    const [batch] = await current.database.read((session) =>
      session.rows(`select cut_off from batch where batch_day = '2026-11-29'`),
    );
    expect(batch).toEqual({ cut_off: '2026-11-30T01:00:00.000Z' });
  });
});
