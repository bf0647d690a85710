import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'csv-parse/sync';
import { collectReport, type DayReport } from '../src/reports/dayReport.js';
import { renderReport, writeReportFile } from '../src/reports/reportFiles.js';
import { writeReports } from '../src/reports/writeReports.js';
import { reportJson } from '../src/reports/reportJson.js';
import { topPositions, verdictOf } from '../src/reports/verdict.js';
import { repeatable } from '../src/db/transaction.js';
import type { Database } from '../src/db/database.js';
import { numbered, seedClosedDay, seedOrder } from './support/closedDay.js';
import { onEachDatabase } from './support/databases.js';

const hostile = '<script>alert(1)</script>';
const formula = '=HYPERLINK("http://x","y")';
// Code unit order and byte order differ for these two: U+FF21 sorts before U+1F600 by bytes, after it by UTF-16.
const [wide, smile] = ['\u{ff21}', '\u{1f600}'];

const day = '2026-11-29';
const orders = numbered('O', [
  seedOrder('M1', 'PAYMENT', 10_000n),
  seedOrder('M1', 'REFUND', 2_500n),
  seedOrder('M1', 'FEE', 30n),
  seedOrder('M1', 'ADJUSTMENT', -70n),
  seedOrder('M1', 'PAYMENT', 500n, 'JPY'),
  seedOrder(hostile, 'PAYMENT', 999n),
  seedOrder(formula, 'PAYMENT', 1n),
  seedOrder('-M2', 'REFUND', 1_250n),
  seedOrder('A & "B"', 'PAYMENT', 1_234n, 'KWD'),
  seedOrder(smile, 'PAYMENT', 4n),
  seedOrder(wide, 'PAYMENT', 4n),
  seedOrder('BIG', 'PAYMENT', 9_007_199_254_740_993n),
  seedOrder('FROZEN<1>', 'PAYMENT', 77n),
]);

function change(database: Database, sql: string): Promise<number> {
  return database.transact(repeatable('prepare a test', (trx) => trx.change(sql)));
}

onEachDatabase('The report of a closed day', (db) => {
  let report: DayReport;
  let document: Record<string, unknown>;

  beforeAll(async () => {
    await seedClosedDay(db().database, {
      day,
      orders,
      setAside: { 'FROZEN<1>': 'ACCOUNT_FROZEN' },
      chunkSize: 3,
    });
    report = await collectReport(db().database, { day });
    document = JSON.parse(reportJson(report)) as Record<string, unknown>;
  });

  test('says how the day ended', () => {
    expect(document).toMatchObject({
      schema: 'settle.report',
      schemaVersion: 1,
      batchDay: day,
      status: 'CLOSED',
      outcome: 'PARTIAL',
      payouts: [],
      discrepancies: [],
      generatedFrom: { runIds: ['1'], watermark: '13', topId: '13', cutOff: '2026-11-30T00:00:00.000Z' },
    });
  });

  test('adds up payments, refunds, fees and adjustments per currency, and never across currencies', () => {
    expect(document['totals']).toEqual([
      totals('JPY', 1, '500', '0', '0', '0', '500'),
      totals('KWD', 1, '1234', '0', '0', '0', '1234'),
      totals('USD', 10, '9007199254752001', '3750', '30', '-70', '9007199254748151'),
    ]);
  });

  test('sums the nets of all chunks to one position per account and currency, in byte order', () => {
    const positions = document['netPositions'] as { accountNo: string; currency: string; netMinor: string }[];
    expect(positions.filter((row) => row.accountNo === 'M1')).toEqual([
      { accountNo: 'M1', currency: 'JPY', orders: 1, netMinor: '500' },
      { accountNo: 'M1', currency: 'USD', orders: 4, netMinor: '7400' },
    ]);
    expect(positions.map((row) => row.accountNo)).toEqual([
      '-M2',
      hostile,
      formula,
      'A & "B"',
      'BIG',
      'M1',
      'M1',
      wide,
      smile,
    ]);
  });

  test('follows each currency from the frozen source to the ledger', () => {
    const [jpy, , usd] = report.tieOut;
    expect(jpy).toMatchObject({ currency: 'JPY', ledgerNetMinor: 500n, agrees: true });
    expect(usd).toMatchObject({
      source: { orders: 11, netMinor: 9_007_199_254_748_228n },
      setAside: { orders: 1, netMinor: 77n },
      waiting: { orders: 0 },
      claimed: { orders: 10, netMinor: 9_007_199_254_748_151n },
      nets: { orders: 10, netMinor: 9_007_199_254_748_151n },
      outbox: { orders: 10, netMinor: 9_007_199_254_748_151n },
      posted: { orders: 10, netMinor: 9_007_199_254_748_151n },
      ledgerNetMinor: 9_007_199_254_748_151n,
      agrees: true,
    });
  });

  test('carries the checks and stage times of the last finished run', () => {
    expect(report.checks.map((check) => [check.name, check.ok])).toEqual([
      ['batch-totals', true],
      ['trial-balance', true],
    ]);
    expect(report.stageTimes).toEqual([
      { stage: 'SETTLING', durationMs: 9_000 },
      { stage: 'POSTING', durationMs: 21_000 },
    ]);
    expect(report.slowest).toEqual([
      { lane: 4, accountNo: 'SHOP<9>', orders: 10_000, durationMs: 4_200, medianMs: 1_000 },
    ]);
  });

  test('names the account that made the others wait, in text and in HTML', async () => {
    const sentence = '10,000 orders of account SHOP<9> in lane 4 took 4.2 s, 4.2 times the median of 1.0 s.';
    expect(await renderReport(report, 'text')).toContain(`A long tail: ${sentence}`);
    expect(await renderReport(report, 'html')).toContain(`A long tail: ${sentence.replace('<9>', '&lt;9&gt;')}`);
  });

  test('asks a person to look at the account that was set aside', () => {
    expect(document['quarantined']).toMatchObject([{ accountNo: 'FROZEN<1>', code: 'ACCOUNT_FROZEN', orders: 1 }]);
    expect(verdictOf(report)).toEqual({
      grade: 'attention',
      headline: 'The day is closed, with something left for a person.',
      needs: [{ text: '1 account set aside in quarantine.', command: 'settle quarantine list --batch-day 2026-11-29' }],
    });
  });

  test.each(['text', 'html', 'csv', 'json'] as const)('gives the same bytes every time as %s', async (format) => {
    const again = await collectReport(db().database);
    expect(await renderReport(again, format)).toBe(await renderReport(report, format));
  });

  test('as text shows amounts with their decimals and no control character', async () => {
    const text = await renderReport(report, 'text');
    expect(text).toContain('USD');
    expect(text).toMatch(/M1 +4 +74\.00/);
    expect(text).toMatch(/A & "B" +1 +1\.234/);
    expect(text).toContain('! 1 account set aside in quarantine.');
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  test('as CSV neutralises formulas and keeps negative amounts numbers', async () => {
    const csv = await renderReport(report, 'csv');
    const rows = parse(csv, { bom: true, columns: true }) as Record<string, string>[];
    expect(Object.keys(rows[0] ?? {})).toEqual(['batch_day', 'account_no', 'currency', 'orders', 'net_minor', 'net']);
    expect(rows).toHaveLength(report.netPositions.length);
    expect(rows.find((row) => row['account_no'] === `'${formula}`)).toMatchObject({ net_minor: '1', net: '0.01' });
    expect(rows.find((row) => row['account_no'] === `'-M2`)).toMatchObject({ net_minor: '-1250', net: '-12.50' });
  });

  test('as HTML escapes every value, and holds no script and no link to the network', async () => {
    const html = await renderReport(report, 'html');
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(html).toContain('A &amp; &quot;B&quot;');
    expect(html).toContain('FROZEN&lt;1&gt;');
    expect(html).not.toMatch(/<script|<link|<img|src=|href=|@import|url\(/i);
    expect(html).not.toContain('undefined');
  });

  test('as HTML has a caption on every table and a scope on every heading', async () => {
    const html = await renderReport(report, 'html');
    const tables = html.split('<table').slice(1);
    expect(tables.length).toBeGreaterThan(5);
    for (const table of tables) expect(table).toMatch(/^[^]*?<caption>[^<]+<\/caption>/);
    expect(html.match(/<th(?! scope="(?:row|col|colgroup)")[^e]/g)).toBeNull();
  });

  test('an unknown day is refused with the days that are known', async () => {
    await expect(collectReport(db().database, { day: '2026-11-28' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      exitCode: 2,
      message: expect.stringContaining(day) as unknown,
      details: { batchDay: '2026-11-28', days: [day] },
    });
  });
});

onEachDatabase('The report of a day that did not end well', (db) => {
  beforeAll(async () => {
    await seedClosedDay(db().database, { day, orders, chunkSize: 100 });
    const { database } = db();
    const [at, later] = ['2026-11-30 00:00:30.000', '2026-11-30 09:00:00.000'].map((text) =>
      database.engine === 'sqlite' ? `${text.replace(' ', 'T')}Z` : text,
    ) as [string, string];
    await change(
      database,
      `insert into withdrawn_order (order_id, run_id, batch_day, order_no, found_state, noticed_at)
       values (1, 1, '${day}', 'O1', 'CANCELED', '${at}')`,
    );
    await change(
      database,
      `insert into outbox (topic, biz_no, batch_day, account_no, orders, payload, state, attempts, last_error, created_at)
       values ('LEDGER', 'S1.9.9', '${day}', 'M1', 2, '{', 'PARKED', 3, 'bad \u0007\u001b[31m payload', '${at}')`,
    );
    await change(
      database,
      `insert into chunk (run_id, chunk_no, batch_day, lane, first_id, last_id, orders, nets, committed_at)
       values (2, 1, '${day}', 'lane-1', 90, 90, 1, 1, '${later}')`,
    );
    await change(
      database,
      `insert into net (run_id, chunk_no, net_no, account_no, currency, orders, amount_minor, biz_no)
       values (2, 1, 1, 'LATE1', 'USD', 1, 650, 'S2.1.1')`,
    );
    await change(
      database,
      `update run set state = 'INTEGRITY', exit_code = 4, document =
        '{"checks":[{"name":"batch-totals","ok":false,"expected":"12 orders","actual":"11 orders"}]}'`,
    );
  });

  test('names failed checks, parked messages, withdrawn and late orders, and does not call the day proven', async () => {
    const report = await collectReport(db().database, { day });
    expect(verdictOf(report).grade).toBe('bad');
    expect(verdictOf(report).needs).toEqual([
      { text: 'Check batch-totals failed.', command: 'settle verify --batch-day 2026-11-29' },
      { text: '1 message parked after repeated failure.', command: 'settle outbox status' },
      {
        text: '1 order withdrawn by somebody else during the run.',
        command: 'settle verify --batch-day 2026-11-29',
      },
      {
        text: '1 order settled late, after the day was closed.',
        command: 'settle ledger entries --batch-day 2026-11-29',
      },
    ]);
    expect(report.withdrawn).toMatchObject([{ orderId: 1n, accountNo: 'M1', amountMinor: 10_000n }]);
    expect(report.late).toEqual([{ runId: 2n, accountNo: 'LATE1', currency: 'USD', orders: 1, netMinor: 650n }]);
  });

  test('sees in the tie-out that a net has no message and no order', async () => {
    const report = await collectReport(db().database, { day });
    expect(report.tieOut.map((row) => [row.currency, row.agrees])).toEqual([
      ['JPY', true],
      ['KWD', true],
      ['USD', false],
    ]);
  });

  test.each(['text', 'html'] as const)('shows what an error message hides, as %s', async (format) => {
    const text = await renderReport(await collectReport(db().database, { day }), format);
    expect(text).toContain('bad \\u{7}\\u{1b}[31m payload');
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(text).toContain('LATE1');
  });

  test('is not drawn from a run document that somebody has edited', async () => {
    await change(db().database, `update run set document = '{"checks":'`);
    await expect(collectReport(db().database, { day })).rejects.toMatchObject({ exitCode: 4 });
  });
});

test('the largest positions are chosen by magnitude, ties by account number', () => {
  const position = (accountNo: string, netMinor: bigint) => ({ accountNo, currency: 'USD', orders: 1, netMinor });
  const positions = [position('b', 5n), position('a', -5n), position('c', -9n), position('d', 1n)];
  expect(topPositions(positions, 3)).toEqual([
    { currency: 'USD', positions: 4, top: [positions[2], positions[1], positions[0]] },
  ]);
});

onEachDatabase('Report files', (db) => {
  const folder = mkdtempSync(join(tmpdir(), 'settle-report-'));
  beforeAll(() => seedClosedDay(db().database, { day, orders }));
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('a folder gets HTML, JSON and CSV, readable by the owner only', async () => {
    const dir = join(folder, 'a', db().database.engine);
    const files = await writeReports(db().database, day, dir);
    expect(files).toEqual(['html', 'json', 'csv'].map((form) => join(dir, `report-${day}.${form}`)));
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(files[1] as string, 'utf8')).toBe(
      await renderReport(await collectReport(db().database, { day }), 'json'),
    );
  });

  test('a folder that is a file is refused', async () => {
    const file = join(folder, `file-${db().database.engine}`);
    await writeReportFile(file, 'x');
    await expect(writeReports(db().database, day, file)).rejects.toMatchObject({
      code: 'FILE_NOT_WRITABLE',
      exitCode: 2,
    });
  });
});

describe('Writing one file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'settle-report-'));
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('a folder in its place is refused and stays', async () => {
    mkdirSync(join(folder, 'dir'));
    await expect(writeReportFile(join(folder, 'dir'), 'x')).rejects.toMatchObject({
      code: 'FILE_IS_DIRECTORY',
      exitCode: 2,
    });
    expect(readdirSync(folder)).toEqual(['dir']);
  });

  test('a folder that is missing is refused and nothing is left behind', async () => {
    await expect(writeReportFile(join(folder, 'no', 'report.html'), 'x')).rejects.toMatchObject({
      code: 'FILE_NOT_WRITABLE',
      exitCode: 2,
    });
    expect(readdirSync(folder)).toEqual(['dir']);
  });

  test('an older report is replaced whole', async () => {
    const file = join(folder, 'report.txt');
    await writeReportFile(file, 'a longer first text');
    await writeReportFile(file, 'second');
    expect(readFileSync(file, 'utf8')).toBe('second');
    expect(readdirSync(folder).sort()).toEqual(['dir', 'report.txt']);
  });

  test('a device is written to and not replaced', async () => {
    await writeReportFile('/dev/null', 'x');
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
  });
});

function totals(
  currency: string,
  count: number,
  grossMinor: string,
  refundMinor: string,
  feeMinor: string,
  adjustmentMinor: string,
  netMinor: string,
): object {
  return { currency, orders: count, grossMinor, refundMinor, feeMinor, adjustmentMinor, netMinor };
}
