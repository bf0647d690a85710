import { beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { buildProgram } from '../src/commandLine.js';
import type { CommandContext } from '../src/commands/context.js';
import { report as reportCommand } from '../src/commands/report.js';
import { moversOf } from '../src/reports/comparison.js';
import { collectReport, type DayReport } from '../src/reports/dayReport.js';
import { byAge } from '../src/reports/discrepancyAges.js';
import { collectMonth, daysOf, type MonthReport } from '../src/reports/monthReport.js';
import { monthVerdict } from '../src/reports/monthVerdict.js';
import type { Position } from '../src/reports/queries.js';
import { moversCsv } from '../src/reports/reportCsv.js';
import { renderMonth, renderReport } from '../src/reports/reportFiles.js';
import { reportHtml } from '../src/reports/reportHtml.js';
import { reportJson } from '../src/reports/reportJson.js';
import { verdictOf } from '../src/reports/verdict.js';
import { repeatable } from '../src/db/transaction.js';
import { onEachDatabase } from './support/databases.js';
import { reportedDay, seedReportedDays } from './support/reportedDays.js';

onEachDatabase('A day beside another', (db) => {
  let report: DayReport;
  let month: MonthReport;

  beforeAll(async () => {
    const { database } = db();
    await seedReportedDays(database);
    await database.transact(
      repeatable('a day that is open', async (trx) => {
        await trx.change(
          `update batch set state = 'POSTING', closed_at = null, orders_at_close = null where batch_day = '2026-11-20'`,
        );
        await trx.change(
          `update discrepancy set state = 'RESOLVED', closed_by = 'PERSON',
             closed_at = (select at from (select max(last_seen) as at from discrepancy) seen) where class = 'FEE'`,
        );
      }),
    );
    report = await collectReport(database, { day: reportedDay });
    month = await collectMonth(database, '2026-11', (day) => day !== '2026-11-22');
  });

  test('is the last one before it, unless another is asked for', async () => {
    expect(report.comparison).toMatchObject({ batchDay: '2026-11-28', status: 'CLOSED' });
    const other = await collectReport(db().database, { day: reportedDay, compare: '2026-11-20' });
    expect(other.comparison).toMatchObject({ batchDay: '2026-11-20', status: 'POSTING' });
    const first = await collectReport(db().database, { day: '2026-11-17' });
    expect(first.comparison).toBeNull();
  });

  test('is not the day itself, and one that is known', async () => {
    const compare = (day: string) => collectReport(db().database, { day: reportedDay, compare: day });
    await expect(compare(reportedDay)).rejects.toMatchObject({ code: 'USAGE' });
    await expect(compare('2026-11-22')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      next: `settle report --batch-day ${reportedDay} --compare ${reportedDay}`,
    });
  });

  test('has the totals that the report of that day has', async () => {
    const { totals } = await collectReport(db().database, { day: '2026-11-28' });
    expect(report.comparison?.totals).toEqual(totals);
  });

  test('shows the accounts that moved, those too that had no net on one of the days', () => {
    const usd = report.comparison?.movers.find(({ currency }) => currency === 'USD');
    expect(usd?.top).toContainEqual({
      accountNo: '<b>new</b>',
      netMinor: 99_999n,
      comparedMinor: 0n,
      changeMinor: 99_999n,
    });
    expect(usd?.moved).toBe(15);
    expect(report.comparison?.movers.some(({ currency }) => currency === 'EUR')).toBe(false);
  });

  test('as CSV has every account that moved', async () => {
    const all = await collectReport(db().database, { day: reportedDay, compare: '2026-11-28', everyMover: true });
    const rows = parse(moversCsv(all), { bom: true, columns: true }) as Record<string, string>[];
    expect(rows).toHaveLength((all.comparison?.movers ?? []).reduce((sum, { moved }) => sum + moved, 0));
    expect(rows.find((row) => row['account_no'] === '<b>new</b>')).toEqual({
      ...{ batch_day: reportedDay, compared_day: '2026-11-28', account_no: '<b>new</b>', currency: 'USD' },
      ...{ net_minor: '99999', net: '999.99', compared_net_minor: '0', compared_net: '0.00' },
      ...{ change_minor: '99999', change: '999.99' },
    });
  });

  test('HTML is drawn from what the JSON says, and from nothing else', () => {
    const read = JSON.parse(reportJson(report), (key, value: unknown) =>
      key.endsWith('Minor') && value !== null ? BigInt(value as string) : value,
    ) as DayReport;
    expect(reportHtml(read)).toBe(reportHtml(report));
  });

  test('carries with what the run was made', async () => {
    const made = { version: '0.1.0', configHash: 'c'.repeat(64), timeZone: 'Europe/Paris', cutOff: '00:00' };
    expect(report.provenance).toEqual(made);
    const html = await renderReport(report, 'html');
    for (const fact of Object.values(made)) expect(html).toContain(fact);
    expect((await collectReport(db().database, { day: '2026-11-28' })).provenance).toBeNull();
  });

  test('open discrepancies fall into classes of age, counted to when they were last looked for', () => {
    expect(byAge(report.discrepancies).map(({ class: kind, counts }) => [kind, counts])).toEqual([
      ['AMOUNT', [0, 0, 1, 0]],
      ['DUPLICATE', [0, 1, 0, 0]],
      ['MISSING_THEIRS', [0, 0, 0, 1]],
    ]);
    expect(report.discrepanciesOpen).toBe(3);
  });

  test('a month adds up its days, and names those that are not closed or were never settled', async () => {
    expect(month.days.map(({ batchDay }) => batchDay)).toHaveLength(12);
    for (const { batchDay, totals } of month.days) {
      expect(totals).toEqual((await collectReport(db().database, { day: batchDay })).totals);
    }
    const net = month.days.flatMap(({ totals }) => totals.filter(({ currency }) => currency === 'USD'));
    expect(month.totals.find(({ currency }) => currency === 'USD')).toMatchObject({
      netMinor: net.reduce((sum, { netMinor }) => sum + netMinor, 0n),
      orders: net.reduce((sum, { orders }) => sum + orders, 0),
    });
    expect([month.notClosed, month.withoutBatch]).toEqual([['2026-11-20'], []]);
    const everyDay = await collectMonth(db().database, '2026-11', () => true);
    expect(everyDay.withoutBatch).toEqual(['2026-11-22']);
  });

  test('a month counts discrepancies that were open when it ended, those too that were closed since', () => {
    expect(month.endsAt).toBe('2026-11-30T00:00:40.000Z');
    expect(month.discrepancies.map((row) => [row.class, row.count, row.closedSince])).toEqual([
      ['AMOUNT', 1, 0],
      ['DUPLICATE', 1, 0],
      ['FEE', 1, 1],
      ['MISSING_THEIRS', 1, 0],
    ]);
    expect(month.payouts).toEqual(report.payouts);
    expect(monthVerdict(month).needs.map(({ text }) => text)).toEqual([
      '1 day not closed: 2026-11-20.',
      '1 account of a day set aside in quarantine.',
      '1 payout for a person to decide on.',
      '1 payout of which nobody knows yet whether it is paid.',
      '3 discrepancies of days up to the end of 2026-11 open.',
    ]);
  });

  test.each(['text', 'html', 'csv', 'json'] as const)('a month as %s is the same every time', async (format) => {
    const again = await collectMonth(db().database, '2026-11', (day) => day !== '2026-11-22');
    const text = await renderMonth(month, format);
    expect(await renderMonth(again, format)).toBe(text);
    expect(text).toContain('2026-11-29');
  });

  test('a month without a batch is refused with one that has some', async () => {
    await expect(collectMonth(db().database, '2026-10', () => true)).rejects.toMatchObject({
      code: 'NOT_FOUND',
      next: 'settle report --month 2026-11',
    });
  });

  test('whatever needs a person comes with a command that the program knows', async () => {
    const commands = [...verdictOf(report).needs, ...monthVerdict(month).needs].map(({ command }) => command);
    expect(commands.length).toBeGreaterThan(6);
    for (const command of commands) {
      let invoked = 0;
      const program = buildProgram(() => Promise.resolve((invoked += 1)), { silentErrors: true });
      await program.parseAsync(command.split(' ').slice(1), { from: 'user' });
      expect([command, invoked]).toEqual([command, 1]);
    }
  });

  test('is asked for on the command line', async () => {
    const printed: string[] = [];
    const context = {
      config: {
        database: { url: db().url, statementTimeout: 60_000, connectTimeout: 10_000 },
        calendar: { timeZone: 'UTC', cutOff: '00:00' },
      },
      output: 'json',
      print: (text: string) => Promise.resolve(void printed.push(text)),
    } as unknown as CommandContext;
    expect(await reportCommand(context, { month: '2026-11' })).toBe(0);
    expect(await reportCommand(context, { compare: '2026-11-20' })).toBe(0);
    expect(printed.map((text) => JSON.parse(text) as unknown)).toMatchObject([
      { schema: 'settle.monthReport', schemaVersion: 1, month: '2026-11', withoutBatch: ['2026-11-22'] },
      { schema: 'settle.report', batchDay: reportedDay, comparison: { batchDay: '2026-11-20' } },
    ]);
    const refused = (options: object) => () => reportCommand(context, options);
    expect(refused({ month: '2026-13' })).toThrow('is not a month such as 2026-11');
    expect(refused({ month: '2026-11', batchDay: reportedDay })).toThrow('--month asks for whole days');
    expect(refused({ compare: 'yesterday' })).toThrow('--compare: "yesterday" is not a day');
  });
});

describe('movers', () => {
  const position = fc.record({
    accountNo: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    currency: fc.constantFrom('USD', 'JPY'),
    orders: fc.constant(1),
    netMinor: fc.bigInt({ min: -5n, max: 2n ** 70n }),
  });
  const day = fc.uniqueArray(position, { selector: (row) => `${row.currency} ${row.accountNo}` });
  const sum = (rows: readonly Position[], currency: string): bigint =>
    rows.filter((row) => row.currency === currency).reduce((total, { netMinor }) => total + netMinor, 0n);
  const size = (value: bigint): bigint => (value < 0n ? -value : value);

  test('explain the whole difference of two days, the largest first, and none stands still', () => {
    fc.assert(
      fc.property(day, day, fc.nat(6), (now, then, count) => {
        const all = moversOf(now, then, Infinity);
        for (const currency of ['USD', 'JPY']) {
          const top = all.find((movers) => movers.currency === currency)?.top ?? [];
          const changed = top.reduce((total, { changeMinor }) => total + changeMinor, 0n);
          expect(changed).toBe(sum(now, currency) - sum(then, currency));
          for (const [at, mover] of top.entries()) {
            expect(mover.changeMinor).toBe(mover.netMinor - mover.comparedMinor);
            expect(size(mover.changeMinor)).toBeGreaterThan(0n);
            expect(size(mover.changeMinor) <= size(top[at - 1]?.changeMinor ?? mover.changeMinor)).toBe(true);
          }
        }
        const cut = all.map((movers) => ({ ...movers, top: movers.top.slice(0, count) }));
        expect(moversOf(now, then, count)).toEqual(cut);
      }),
    );
  });
});

test('the days of a month, leap years too', () => {
  expect([daysOf('2028-02').length, daysOf('2026-02').at(-1), daysOf('2026-12').at(-1)]).toEqual([
    29,
    '2026-02-28',
    '2026-12-31',
  ]);
});
