import { formatMinorGrouped } from '../kernel/money.js';
import type { DayReport } from './dayReport.js';
import { ageColumns, ageRows } from './discrepancyAges.js';
import { discrepancyColumns, discrepancyRows } from './discrepancyTables.js';
import { textTable } from './tables.js';
import { longTailText } from './longTail.js';
import { payableColumns, payableRows } from './payable.js';
import { needLines, payoutsTable, right, section, totalsTable } from './reportTextTables.js';
import type { TieOut } from './tieOut.js';
import { topPositions, verdictOf } from './verdict.js';
import { countText, durationText, kindText, momentText, msBetween, plural, printable } from './words.js';

const topCount = 20;
const listedMax = 50;
const moversShown = 10;

/** The report of a day for a terminal or a mail: plain text, without control characters. */
export function reportText(report: DayReport): string {
  const verdict = verdictOf(report);
  const sections = [
    [
      `Settlement report of ${report.batchDay}`,
      `${report.status}${report.outcome === null ? '' : `, last run ${report.outcome}`}. ${verdict.headline}`,
      ...needLines(verdict.needs),
    ].join('\n'),
    section('From source to ledger', tieOutTable(report.tieOut)),
    section('Checks', checksTable(report)),
    ...attention(report),
    section('Totals', totalsTable(report.totals)),
    ...payable(report),
    ...movers(report),
    ...positionSections(report),
    ...(report.payouts.length === 0 ? [] : [section('Payouts', payoutsTable(report.payouts))]),
    section('Runs', runsTable(report)),
    ...(report.stageTimes === null ? [] : [section('Stage times', stageTimes(report))]),
    provenance(report),
  ];
  return sections.join('\n\n');
}

function tieOutTable(rows: readonly TieOut[]): string {
  const cell = (row: TieOut, place: 'source' | 'setAside' | 'waiting' | 'claimed' | 'nets' | 'outbox' | 'posted') =>
    `${countText(row[place].orders)} / ${formatMinorGrouped(row[place].netMinor, row.currency)}`;
  const lines: [string, (row: TieOut) => string][] = [
    ['source', (row) => cell(row, 'source')],
    ['set aside', (row) => cell(row, 'setAside')],
    ['not settled yet', (row) => cell(row, 'waiting')],
    ['claimed', (row) => cell(row, 'claimed')],
    ['in nets', (row) => cell(row, 'nets')],
    ['in outbox', (row) => cell(row, 'outbox')],
    ['posted', (row) => cell(row, 'posted')],
    ['ledger', (row) => formatMinorGrouped(row.ledgerNetMinor, row.currency)],
    ['', (row) => (row.agrees ? 'agrees' : 'DIFFERS')],
  ];
  if (rows.length === 0) return '';
  return textTable(
    [{ title: 'orders / net' }, ...rows.map((row) => right(row.currency))],
    lines.map(([title, value]) => [title, ...rows.map(value)]),
  );
}

function checksTable({ checks }: DayReport): string {
  if (checks.length === 0) return '';
  return textTable(
    [{ title: 'check' }, { title: 'result' }],
    checks.map((check) => [check.name, check.ok ? 'ok' : 'FAILED']),
  );
}

/** Lists that ask for a person; what is empty is left out. Long ones are cut, and say so. */
function attention(report: DayReport): string[] {
  return [
    listed('Open discrepancies by age', ageColumns.map(columnOf), ageRows(report.discrepancies)),
    listed('Open discrepancies', discrepancyColumns.map(columnOf), discrepancyRows(report.discrepancies)),
    listed(
      'Quarantined accounts',
      [{ title: 'account' }, { title: 'code' }, right('orders'), { title: 'since' }, { title: 'detail' }],
      report.quarantined.map((row) => [
        row.accountNo,
        row.code,
        countText(row.orders),
        momentText(row.since),
        row.detail,
      ]),
    ),
    listed(
      'Parked messages',
      [{ title: 'message' }, { title: 'account' }, right('orders'), right('attempts'), { title: 'last error' }],
      report.parked.map((row) => [
        row.bizNo,
        row.accountNo ?? '-',
        countText(row.orders),
        countText(row.attempts),
        row.lastError,
      ]),
    ),
    listed(
      'Withdrawn orders',
      [{ title: 'order' }, { title: 'account' }, { title: 'type' }, right('amount'), { title: '' }, { title: 'found' }],
      report.withdrawn.map((row) => [
        row.orderNo,
        row.accountNo,
        row.type,
        formatMinorGrouped(row.amountMinor, row.currency),
        row.currency,
        row.foundState,
      ]),
    ),
    listed(
      'Settled late',
      [{ title: 'account' }, right('run'), right('orders'), right('net'), { title: '' }],
      report.late.map((row) => [
        row.accountNo,
        row.runId.toString(),
        countText(row.orders),
        formatMinorGrouped(row.netMinor, row.currency),
        row.currency,
      ]),
    ),
  ].filter((text) => text !== '');
}

const numbers: readonly string[] = ['Id', 'Open', 'Expected', 'Found', ...ageColumns.slice(1, -1)];

function columnOf(title: string): Parameters<typeof textTable>[0][number] {
  return numbers.includes(title) ? right(title.toLowerCase()) : { title: title.toLowerCase() };
}

function listed(title: string, columns: Parameters<typeof textTable>[0], rows: readonly string[][]): string {
  if (rows.length === 0) return '';
  const cut = rows.length > listedMax ? `\n(${countText(rows.length - listedMax)} more; --format json has all)` : '';
  return `${section(title, textTable(columns, rows.slice(0, listedMax)))}${cut}`;
}

function payable({ payable: totals }: DayReport): string[] {
  const columns = payableColumns(totals);
  // Without terms the net is what is payable.
  if (columns.length === 3) return [];
  const titles = columns.map((title, at) => (at === 0 ? { title: '' } : right(title.toLowerCase())));
  return [section('From net to payable', textTable(titles, payableRows(totals)))];
}

function movers({ comparison }: DayReport): string[] {
  return (comparison?.movers ?? []).map(({ currency, moved, top }) => {
    const amount = (minor: bigint): string => formatMinorGrouped(minor, currency);
    return section(
      `Movers in ${currency} since ${comparison?.batchDay ?? ''} (${String(Math.min(moversShown, moved))} of ${countText(moved)})`,
      textTable(
        [{ title: 'account' }, right('net'), right(comparison?.batchDay ?? ''), right('change')],
        top
          .slice(0, moversShown)
          .map((row) => [row.accountNo, amount(row.netMinor), amount(row.comparedMinor), amount(row.changeMinor)]),
      ),
    );
  });
}

function positionSections({ netPositions }: DayReport): string[] {
  return topPositions(netPositions, topCount).map(({ currency, positions, top }) =>
    section(
      positions > top.length
        ? `Largest net positions in ${currency} (${String(top.length)} of ${countText(positions)}; --format csv has all)`
        : `Net positions in ${currency} (${countText(positions)})`,
      textTable(
        [{ title: 'account' }, right('orders'), right('net')],
        top.map((row) => [row.accountNo, countText(row.orders), formatMinorGrouped(row.netMinor, currency)]),
      ),
    ),
  );
}

function runsTable({ runs }: DayReport): string {
  if (runs.length === 0) return '';
  return textTable(
    [right('run'), { title: 'kind' }, { title: 'state' }, right('orders'), { title: 'started' }, right('took')],
    runs.map((run) => [
      run.runId.toString(),
      kindText(run),
      run.state,
      countText(run.orders),
      momentText(run.startedAt),
      run.finishedAt === null ? '-' : durationText(msBetween(run.startedAt, run.finishedAt)),
    ]),
  );
}

function stageTimes({ stageTimes: times, slowest }: DayReport): string {
  const table = textTable(
    [{ title: 'stage' }, right('took')],
    (times ?? []).map((row) => [row.stage, durationText(row.durationMs)]),
  );
  const tail = longTailText(slowest);
  return tail === null ? table : `${table}\n${printable(tail)}`;
}

function provenance({ generatedFrom: from, ledgerHead, runs, provenance: made }: DayReport): string {
  return printable(
    `From ${plural(runs.length, 'run')} (${from.runIds.join(', ')}); watermark ${String(from.watermark ?? '-')} of ${String(from.topId)}; ` +
      `cut-off ${momentText(from.cutOff)}; closed ${momentText(from.closedAt)}.` +
      (ledgerHead === null ? '' : ` Ledger head ${ledgerHead.head} (link ${String(ledgerHead.link)}).`) +
      (made === null
        ? ''
        : ` Settled by Settle ${made.version}, cut-off ${made.cutOff} in ${made.timeZone}, config hash ${made.configHash}.`),
  );
}
