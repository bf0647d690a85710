import { formatMinorGrouped } from '../kernel/money.js';
import type { DayReport } from './dayReport.js';
import { ageChart } from './chartsOfDay.js';
import { agedAt, ageColumns, ageRows } from './discrepancyAges.js';
import { discrepancyColumns, discrepancyRows, type ReportedDiscrepancy } from './discrepancyTables.js';
import { blocksOf, cut, right, type HtmlBlock, type HtmlTable } from './reportHtmlTable.js';
import { countText, momentText } from './words.js';

/** The lists of the HTML report that wait for a person; empty ones are left out, long ones are cut and say so. */
export function personBlocks(report: DayReport): HtmlBlock[] {
  return blocksOf(
    ...[failedChecks(report), quarantined(report), parked(report), withdrawn(report), late(report)].map(cut),
  );
}

/** Open discrepancies: how many of which age, and each of them. */
export function discrepancyBlocks({ discrepancies, discrepanciesOpen }: DayReport): HtmlBlock[] {
  if (discrepancies.length === 0) return [];
  const more = discrepanciesOpen - discrepancies.length;
  const ages: HtmlTable = {
    caption: `By class and age in days on ${agedAt(discrepancies)?.slice(0, 10) ?? '–'}, when last looked for`,
    columns: ageColumns.map((title, at) => (at > 0 && at < ageColumns.length - 1 ? right(title) : { title })),
    rows: ageRows(discrepancies),
    ...(more > 0 ? { note: `${countText(more)} more are open; settle discrepancy list has all.` } : {}),
  };
  return [{ table: ages, charts: [ageChart(discrepancies)] }, ...blocksOf(cut(openDiscrepancies(discrepancies)))];
}

function failedChecks({ checks }: DayReport): HtmlTable {
  const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
  return {
    caption: 'Failed checks',
    columns: [{ title: 'Check' }, { title: 'Expected', wraps: true }, { title: 'Actual', wraps: true }],
    rows: checks.filter((check) => !check.ok).map((check) => [check.name, text(check.expected), text(check.actual)]),
  };
}

function openDiscrepancies(discrepancies: readonly ReportedDiscrepancy[]): HtmlTable {
  return {
    caption: 'Each of them, the oldest first',
    columns: discrepancyColumns.map((title) => {
      if (title === 'Key') return { title, wraps: true };
      return title === 'Id' || title === 'Expected' || title === 'Found' ? right(title) : { title };
    }),
    rows: discrepancyRows(discrepancies),
  };
}

function quarantined(report: DayReport): HtmlTable {
  return {
    caption: 'Accounts set aside in quarantine',
    columns: [
      { title: 'Account' },
      { title: 'Code' },
      right('Orders'),
      { title: 'Since' },
      { title: 'Detail', wraps: true },
    ],
    rows: report.quarantined.map((row) => [
      row.accountNo,
      row.code,
      countText(row.orders),
      momentText(row.since),
      row.detail,
    ]),
  };
}

function parked(report: DayReport): HtmlTable {
  return {
    caption: 'Parked messages',
    columns: [
      { title: 'Message' },
      { title: 'Account' },
      right('Orders'),
      right('Attempts'),
      { title: 'Last error', wraps: true },
    ],
    rows: report.parked.map((row) => [
      row.bizNo,
      row.accountNo ?? '–',
      countText(row.orders),
      countText(row.attempts),
      row.lastError,
    ]),
  };
}

function withdrawn(report: DayReport): HtmlTable {
  return {
    caption: 'Orders withdrawn by somebody else between freeze and claim',
    columns: [
      { title: 'Order' },
      { title: 'Account' },
      { title: 'Type' },
      right('Amount'),
      { title: 'Currency' },
      { title: 'Found as' },
      { title: 'Noticed' },
    ],
    rows: report.withdrawn.map((row) => [
      row.orderNo,
      row.accountNo,
      row.type,
      formatMinorGrouped(row.amountMinor, row.currency),
      row.currency,
      row.foundState,
      momentText(row.noticedAt),
    ]),
  };
}

function late(report: DayReport): HtmlTable {
  return {
    caption: 'Settled late, after the day was closed',
    columns: [{ title: 'Account' }, right('Run'), right('Orders'), right('Net'), { title: 'Currency' }],
    rows: report.late.map((row) => [
      row.accountNo,
      row.runId.toString(),
      countText(row.orders),
      formatMinorGrouped(row.netMinor, row.currency),
      row.currency,
    ]),
  };
}
