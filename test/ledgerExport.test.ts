import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { formatMinor } from '../src/kernel/money.js';
import { ledgerBalances } from '../src/ledger/views.js';
import { exportWriter } from '../src/ledger/exportFormats.js';
import type { ExportedEntry } from '../src/ledger/exportEntries.js';
import { onEachDatabase } from './support/databases.js';
import { givenOrders, givenVariedDay, runDay } from './support/day.js';
import { hledgerBalances, requireHledger } from './support/hledger.js';
import { settleInside as settle } from './support/inside.js';

const day = '2026-11-29';
const most = 9_223_372_036_854_775_807n;
/** Numbers that mean something to other tools: levels, comments, virtual postings, formulas, metadata. */
const odd = [
  'a:b',
  '(virtual)',
  '[x]',
  ';c',
  '=1+1',
  '-1',
  'x  y',
  '"q"',
  '%41',
  'Zażółć\u{1F4B0}',
  '#tag',
  'A.b_c~d',
  "it's",
];

const decoded = (part: string): string => decodeURIComponent(part);

onEachDatabase('settle ledger export', (current) => {
  let folder: string;
  const file = (name: string): string => join(folder, name);
  const run = (...args: string[]): ReturnType<typeof settle> =>
    settle(['ledger', 'export', ...args], { url: current().url });

  beforeAll(async () => {
    requireHledger();
    folder = mkdtempSync(join(tmpdir(), 'settle-export-'));
    const { database } = current();
    await givenOrders(database, [{ orderNo: 'E1', accountNo: 'A1', minor: 500, batchDay: '2026-11-28' }]);
    await runDay(database, { target: '2026-11-28' });
    await givenVariedDay(database);
    await givenOrders(database, [
      ...odd.map((accountNo, at) => ({ orderNo: `X${String(at)}`, accountNo, minor: 100 + at, channel: accountNo })),
      ...['USD', 'JPY', 'KWD'].flatMap((currency) =>
        [1, 2].map((at) => ({ orderNo: `M${currency}${String(at)}`, accountNo: 'MOST', minor: most, currency })),
      ),
    ]);
    await runDay(database);
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  /** Our balances up to a day, signed as hledger signs them. */
  async function ours(asOf: string): Promise<string[]> {
    const roots: Record<string, string> = {
      CHANNEL_RECEIVABLE: 'assets',
      MERCHANT_PAYABLE: 'liabilities',
      FEE_INCOME: 'revenues',
      ADJUSTMENTS: 'expenses',
    };
    const found = await current().database.read((session) => ledgerBalances(session, { asOf }));
    return found
      .map(({ code, subAccount, currency, balanceMinor }) => {
        const root = roots[code] ?? 'unknown';
        const minor = root === 'assets' || root === 'expenses' ? balanceMinor : -balanceMinor;
        const account = [root, code, ...(subAccount === null ? [] : [subAccount])].join(':');
        return minor === 0n ? '' : `${account} ${currency} ${formatMinor(minor, currency)}`;
      })
      .filter((line) => line !== '')
      .sort();
  }

  const theirs = (name: string): string[] =>
    hledgerBalances(file(name))
      .map((line) => {
        const [, account = '', rest = ''] = /^(.*) ([A-Z]{3} -?[0-9.]+)$/.exec(line) ?? [];
        const [root = '', code = '', ...sub] = account.split(':');
        return `${[root, code, ...sub.map(decoded)].join(':')} ${rest}`;
      })
      .filter((line) => !/ -?[0.]+$/.test(line))
      .sort();

  test('hledger reads the journal, and its balances are ours to the last decimal', async () => {
    const ended = await run('--format', 'hledger', '--out', file('books.journal'));
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toMatch(/^\d+ journal entries written to /);
    expect(statSync(file('books.journal')).mode & 0o777).toBe(0o600);
    const found = theirs('books.journal');
    expect(found.length).toBeGreaterThan(50);
    expect(found).toEqual(await ours(day));
    expect(found).toContain('liabilities:MERCHANT_PAYABLE:MOST KWD -18446744073709551.614');
    expect(found).toContain('liabilities:MERCHANT_PAYABLE:MOST JPY -18446744073709551614');
  });

  test('hledger finds nothing to complain of, and knows our accounts as what they are', async () => {
    await run('--format', 'hledger', '--out', file('books.journal'));
    const hledger = (...args: string[]): string =>
      spawnSync('hledger', ['-f', file('books.journal'), ...args], {
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], LANG: 'C.UTF-8' },
      }).stdout;
    const checked = spawnSync('hledger', ['-f', file('books.journal'), 'check', 'commodities', 'ordereddates'], {
      encoding: 'utf8',
    });
    expect(checked).toMatchObject({ status: 0, stderr: '' });
    expect(hledger('accounts', 'type:R')).toBe('revenues:FEE_INCOME\n');
    expect(hledger('print', 'tag:type=SETTLEMENT', 'date:2026-11-28')).toMatch(/2026-11-28 \(S1\.1\.1\) Settlement/);
  });

  test('a range of days is the movement of those days', async () => {
    await run('--format', 'hledger', '--until', '2026-11-28', '--out', file('first.journal'));
    expect(theirs('first.journal')).toEqual(await ours('2026-11-28'));
    await run('--format', 'hledger', '--from', '2026-11-30', '--out', file('none.journal'));
    expect(readFileSync(file('none.journal'), 'utf8')).toMatch(/^;[^\n]*\n$/);
  });

  test('gives the same bytes on stdout as in the file, and the same again', async () => {
    for (const format of ['hledger', 'beancount', 'csv']) {
      await run('--format', format, '--out', file('same'));
      const { stdout } = await run('--format', format);
      expect(stdout).toBe(readFileSync(file('same'), 'utf8'));
      expect(stdout.length).toBeGreaterThan(5_000);
    }
  });

  test('as CSV has each ledger entry exactly, and no cell that a spreadsheet would take for a formula', async () => {
    const { stdout } = await run('--format', 'csv', '--from', day);
    const rows = parse(stdout, { columns: true }) as Record<string, string>[];
    const stored = await current().database.read((session) =>
      session.tuples(
        `select j.id, e.line_no, e.ledger_account, e.side, e.amount_minor, e.currency from journal_entry j
           join ledger_entry e on e.journal_entry_id = j.id where j.batch_day = ? order by j.id, e.line_no`,
        [day],
      ),
    );
    const told = rows.filter((row) => row['line_no'] !== '');
    expect(
      told.map((row) =>
        ['journal_entry_id', 'line_no', 'ledger_account', 'side', 'amount_minor', 'currency'].map((name) => row[name]),
      ),
    ).toEqual(stored.map((row) => row.map(String)));
    expect(told.map((row) => row['amount'])).toContain('9223372036854775.807');
    expect(stdout).not.toMatch(/(^|,)"?[=+@]/m);
    expect(rows.filter((row) => row['line_no'] === '').length).toBeGreaterThan(0); // an order of zero books nothing
  });

  test('leaves no half file behind, and says what is wrong', async () => {
    const before = readdirSync(folder).sort();
    const refusals: [string[], RegExp][] = [
      [['--format', 'hledger', '--out', join(folder, 'no', 'where')], /FILE_NOT_WRITABLE/],
      [['--format', 'hledger', '--out', folder], /FILE_IS_DIRECTORY/],
      [['--format', 'ods'], /hledger, beancount, csv/],
      [[], /--format/],
      [['--format', 'csv', '--from', '2026-11-30', '--until', day], /--from 2026-11-30 is after/],
      [['--format', 'csv', '--from', '2026-02-30'], /2026-02-30/],
      [['--format', 'csv', '--json'], /--out/],
    ];
    for (const [args, words] of refusals) {
      const ended = await run(...args);
      expect({ args, code: ended.code, stdout: ended.stdout }).toEqual({ args, code: 2, stdout: '' });
      expect(ended.stderr).toMatch(words);
    }
    expect(readdirSync(folder).sort()).toEqual(before);
  });

  test('--json tells what was written', async () => {
    const { stdout } = await run(
      '--format',
      'beancount',
      '--out',
      file('b.beancount'),
      '--until',
      '2026-11-28',
      '--json',
    );
    expect(JSON.parse(stdout)).toEqual({
      ...{ schema: 'settle.ledgerExport', schemaVersion: 1, format: 'beancount', from: null, until: '2026-11-28' },
      ...{ file: file('b.beancount'), journalEntries: 1 },
    });
  });
});

describe('an entry that is booked on a later day', () => {
  const late: ExportedEntry = {
    ...{ id: 7n, bizNo: 'S1.1.1', type: 'SETTLEMENT', batchDay: day, bookingDay: '2026-11-30', runId: 3n },
    ...{ postedAt: '2026-12-01T01:00:00.000Z', entries: [] },
  };

  test.each([
    ['hledger', '2026-11-30=2026-11-29 (S1.1.1) Settlement'],
    ['beancount', '2026-11-30 * "Settlement" ^S1.1.1'],
    ['csv', '7,S1.1.1,SETTLEMENT,2026-11-29,3,2026-12-01T01:00:00.000Z,,,,,,,,,2026-11-30'],
  ] as const)('stands in %s on that day, and names its value date', (format, line) => {
    expect(exportWriter(format).slice([late])).toContain(line);
  });
});

describe('the beancount form', () => {
  const entry = (subAccount: string): ExportedEntry => ({
    ...{
      id: 7n,
      bizNo: 'S1.1.1',
      type: 'SETTLEMENT',
      batchDay: day,
      bookingDay: day,
      runId: 3n,
      postedAt: '2026-11-30T01:00:00.000Z',
    },
    entries: [
      {
        lineNo: 1,
        ledgerAccount: 'CHANNEL_RECEIVABLE',
        kind: 'ASSET',
        subAccount: 'CARD',
        side: 'DEBIT',
        amountMinor: 1_234n,
        currency: 'KWD',
        reason: null,
      },
      {
        lineNo: 2,
        ledgerAccount: 'MERCHANT_PAYABLE',
        kind: 'LIABILITY',
        subAccount,
        side: 'CREDIT',
        amountMinor: 1_234n,
        currency: 'KWD',
        reason: null,
      },
    ],
  });

  test('opens each account once, on the day of its first entry, under a name that beancount takes', () => {
    const writer = exportWriter('beancount');
    expect(writer.slice([entry('zł:1')])).toBe(`
2026-11-29 open Assets:CHANNEL-RECEIVABLE:XCARD

2026-11-29 open Liabilities:MERCHANT-PAYABLE:Xz-C5-82-3A1

2026-11-29 * "Settlement" ^S1.1.1
  journal-entry: "7"
  type: "SETTLEMENT"
  run: "3"
  Assets:CHANNEL-RECEIVABLE:XCARD  1.234 KWD
  Liabilities:MERCHANT-PAYABLE:Xz-C5-82-3A1  -1.234 KWD
`);
    expect(writer.slice([entry('zł:1')])).not.toContain('open');
  });

  test('gives no two accounts one name', () => {
    const names = ['a-b', 'a b', 'a_b', 'aB', 'ab', 'a-2Db', 'a%b'].map(
      (name) => /open (Liabilities:\S+)/.exec(exportWriter('beancount').slice([entry(name)]))?.[1],
    );
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^Liabilities(:[A-Z0-9][A-Za-z0-9-]*)+$/);
  });
});
