import { formatMinorGrouped } from '../kernel/money.js';
import type { DayReport } from './dayReport.js';
import { byClass, classColumns, discrepancyColumns, discrepancyRows } from './discrepancyTables.js';
import { right, type HtmlTable } from './reportHtmlTable.js';
import { countText, momentText, printable } from './words.js';

const rowsMax = 100;

/** The lists of the HTML report that wait for a person; empty ones are left out, long ones are cut and say so. */
export function personTables(report: DayReport): HtmlTable[] {
  return [
    ...[failedChecks(report), openClasses(report), openDiscrepancies(report), quarantined(report), parked(report)],
    ...[withdrawn(report), late(report)],
  ]
    .filter((table) => table.rows.length > 0)
    .map(cut);
}

function cut(table: HtmlTable): HtmlTable {
  const rows = table.rows.slice(0, rowsMax).map((row) => row.map(printable));
  const left = table.rows.length - rows.length;
  return left === 0 ? { ...table, rows } : { ...table, rows, note: `${countText(left)} more; the JSON form has all.` };
}

function failedChecks({ checks }: DayReport): HtmlTable {
  const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
  return {
    caption: 'Failed checks',
    columns: [{ title: 'Check' }, { title: 'Expected', wraps: true }, { title: 'Actual', wraps: true }],
    rows: checks.filter((check) => !check.ok).map((check) => [check.name, text(check.expected), text(check.actual)]),
  };
}

function openClasses({ discrepancies }: DayReport): HtmlTable {
  return {
    caption: 'Open discrepancies of this day by class',
    columns: classColumns.map((title) => (title === 'Open' ? right(title) : { title })),
    rows: byClass(discrepancies),
  };
}

function openDiscrepancies({ discrepancies }: DayReport): HtmlTable {
  return {
    caption: 'Open discrepancies of this day, the oldest first',
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
