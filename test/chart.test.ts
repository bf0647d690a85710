import { beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { neededAccounts, readChart } from '../src/kernel/chart.js';
import { chartOfAccounts } from '../src/ledger/views.js';
import { createTestDatabase, onEachDatabase } from './support/databases.js';
import { everyRow, givenOrders } from './support/day.js';
import { settleInside as settle } from './support/inside.js';

const day = '2026-11-29';
type Tree = Record<string, unknown>;

/** A chart that has what is needed, under names of its own. */
const chart = (changes: Tree = {}): Tree => ({
  ...Object.fromEntries(
    Object.entries(neededAccounts).map(([code, [kind, subLedger]]) => [code, { name: `1-${code}`, kind, subLedger }]),
  ),
  ...changes,
});
const without = (code: string): Tree => Object.fromEntries(Object.entries(chart()).filter(([name]) => name !== code));

describe('a chart of accounts', () => {
  test('that has what is needed is taken, with accounts beside', () => {
    const { lines, problems } = readChart(chart({ BANK_FEES: { name: 'Bank fees', kind: 'EXPENSE' } }));
    expect(problems).toEqual([]);
    expect(lines).toHaveLength(Object.keys(neededAccounts).length + 1);
    expect(lines.at(-1)).toEqual({ code: 'BANK_FEES', name: 'Bank fees', kind: 'EXPENSE', subLedger: null });
  });

  test.each(Object.keys(neededAccounts))('that lacks %s is refused by its code', (code) => {
    const { problems } = readChart(without(code));
    expect(problems).toEqual([{ path: [], must: `a mapping that has ${code} too, which Settle books to` }]);
  });

  test.each<[string, Tree, string, string]>([
    ['another kind', { FEE_INCOME: { name: 'x', kind: 'ASSET' } }, 'FEE_INCOME.kind', 'INCOME'],
    ['no kind', { FEE_INCOME: { name: 'x' } }, 'FEE_INCOME.kind', 'INCOME'],
    ['another sub-ledger', { RESERVE: { name: 'x', kind: 'LIABILITY' } }, 'RESERVE.subLedger', 'ACCOUNT'],
    [
      'a sub-ledger too many',
      { SUSPENSE: { name: 'x', kind: 'LIABILITY', subLedger: 'ACCOUNT' } },
      'SUSPENSE.subLedger',
      'empty',
    ],
    ['no name', { ROUNDING: { kind: 'EXPENSE' } }, 'ROUNDING.name', 'a text of 1 to 100 visible characters'],
    [
      'a name of two lines',
      { ROUNDING: { name: 'a\nb', kind: 'EXPENSE' } },
      'ROUNDING.name',
      'a text of 1 to 100 visible characters',
    ],
    [
      'a kind that there is not',
      { MORE: { name: 'x', kind: 'BANK' } },
      'MORE.kind',
      'ASSET or LIABILITY or EQUITY or INCOME or EXPENSE',
    ],
    [
      'another key',
      { MORE: { name: 'x', kind: 'ASSET', type: 'y' } },
      'MORE.type',
      'left out: known here are name, kind, subLedger',
    ],
    ['a list for an account', { MORE: [] }, 'MORE', 'a mapping of name, kind, subLedger'],
    [
      'a strange code',
      { 'more:x': { name: 'x', kind: 'ASSET' } },
      'more:x',
      'under a code of A-Z, 0-9 and _, at most 40 of them',
    ],
  ])('with %s is refused at its place', (_what, changes, place, must) => {
    expect(readChart(chart(changes)).problems).toContainEqual({ path: place.split('.'), must });
  });
});

onEachDatabase('ledger.chart', (current) => {
  const folder = mkdtempSync(join(tmpdir(), 'settle-chart-'));
  const config = (ledgerChart: unknown): string => {
    const file = join(folder, 'settle.yaml');
    writeFileSync(file, stringify({ ledger: { chart: ledgerChart } }));
    return file;
  };
  const run = (...args: string[]): ReturnType<typeof settle> => settle(args, { url: current().url });
  const names = async (): Promise<Record<string, string>> =>
    Object.fromEntries((await current().database.read(chartOfAccounts)).map(({ code, name }) => [code, name]));

  beforeAll(() => givenOrders(current().database, [{ orderNo: 'O1', accountNo: 'A', type: 'FEE', minor: 5 }]));

  test('has a sound default: the one that is needed', async () => {
    const usual = (await current().database.read(chartOfAccounts)).map(({ code, kind, subLedger }) => [
      code,
      [kind, subLedger],
    ]);
    expect(Object.fromEntries(usual)).toEqual(neededAccounts);
  });

  test('that lacks an account stops a run before it touches anything, with the place', async () => {
    const before = await everyRow(current().database);
    const ended = await run('run', '--batch-day', day, '--config', config(without('FEE_INCOME')));
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(
      /CONFIG_INVALID: .*ledger\.chart \(.*settle\.yaml, line 2\) must be a mapping that has FEE_INCOME too/,
    );
    expect(await everyRow(current().database)).toBe(before);
  });

  test('is followed by a run, names and further accounts, and once', async () => {
    const file = config(chart({ BANK_FEES: { name: 'Bank fees', kind: 'EXPENSE' } }));
    expect(await run('run', '--batch-day', day, '--dry-run', '--config', file)).toMatchObject({ code: 0 });
    expect((await names())['FEE_INCOME']).toBe('Fee income');
    expect(await run('run', '--batch-day', day, '--config', file)).toMatchObject({ code: 0 });
    expect(await names()).toMatchObject({ FEE_INCOME: '1-FEE_INCOME', BANK_FEES: 'Bank fees' });
    expect(await run('verify')).toMatchObject({ code: 0 });
    expect((await run('ledger', 'trial-balance')).stdout).toContain('1-FEE_INCOME');
  });

  test('may not turn an account that is in the books into another kind', async () => {
    // Somebody has booked to an account of their own.
    const { database } = current();
    await database.transact({
      name: 'a balance',
      landed: () => Promise.resolve(undefined),
      work: (trx) =>
        trx.insertMany(
          'general_balance',
          [
            'booking_day',
            'ledger_account',
            'currency',
            'opening_minor',
            'debit_minor',
            'credit_minor',
            'closing_minor',
          ],
          [[day, 'BANK_FEES', 'EUR', '0', '1', '0', '1']],
        ),
    });
    const ended = await run('migrate', 'up', '--config', config(chart({ BANK_FEES: { name: 'x', kind: 'ASSET' } })));
    expect(ended).toMatchObject({ code: 5 });
    expect(ended.stderr).toMatch(/CHART_CONTRADICTS_BOOKS: BANK_FEES is in the books as EXPENSE/);
    expect((await names())['BANK_FEES']).toBe('Bank fees');
  });

  test('is followed by settle migrate up on a new database', async () => {
    const place = await createTestDatabase(current().database.target.dialect === 'sqlite' ? 'sqlite' : 'server', {
      migrate: false,
    });
    try {
      expect(await settle(['migrate', 'up', '--config', config(chart())], { url: place.url })).toMatchObject({
        code: 0,
      });
      expect((await place.database.read(chartOfAccounts)).every(({ code, name }) => name === `1-${code}`)).toBe(true);
    } finally {
      await place.drop();
    }
  });
});
