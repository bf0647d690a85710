import { stringify } from 'csv-stringify/sync';
import { formatMinor } from '../kernel/money.js';
import type { DayReport } from './dayReport.js';
import type { MonthReport } from './monthReport.js';

const columns = ['batch_day', 'account_no', 'currency', 'orders', 'net_minor', 'net'];

/** The net positions of a day. */
export function reportCsv(report: DayReport): string {
  return csv(
    columns,
    report.netPositions.map(({ accountNo, currency, orders, netMinor }) => [
      ...[report.batchDay, accountNo, currency, orders],
      ...both(netMinor, currency),
    ]),
  );
}

const moverColumns = [
  ...['batch_day', 'compared_day', 'account_no', 'currency', 'net_minor', 'net'],
  ...['compared_net_minor', 'compared_net', 'change_minor', 'change'],
];

/** Every account that moved since the day compared with, by currency, the largest change first. */
export function moversCsv({ batchDay, comparison }: DayReport): string {
  return csv(
    moverColumns,
    (comparison?.movers ?? []).flatMap(({ currency, top }) =>
      top.map(({ accountNo, netMinor, comparedMinor, changeMinor }) => [
        ...[batchDay, comparison?.batchDay ?? '', accountNo, currency],
        ...[netMinor, comparedMinor, changeMinor].flatMap((minor) => both(minor, currency)),
      ]),
    ),
  );
}

const parts = ['gross', 'refund', 'fee', 'adjustment', 'net'] as const;

const monthColumns = [
  ...['batch_day', 'status', 'currency', 'orders'],
  ...parts.flatMap((part) => [`${part}_minor`, part]),
];

/** The totals of a month, a row for each day and currency; a day without any has one row with neither. */
export function monthCsv({ days }: MonthReport): string {
  return csv(
    monthColumns,
    days.flatMap(({ batchDay, status, totals }) =>
      totals.length === 0
        ? [[batchDay, status, '', 0, ...parts.flatMap(() => ['', ''])]]
        : totals.map((total) => [
            ...[batchDay, status, total.currency, total.orders],
            ...parts.flatMap((part) => both(total[`${part}Minor`], total.currency)),
          ]),
    ),
  );
}

type Cell = string | number | bigint;

/** An amount in minor and in major units. */
function both(minor: bigint, currency: string): [bigint, string] {
  return [minor, formatMinor(minor, currency)];
}

/** The only texts that may begin with a sign and still be numbers: digits of our own making. */
const amounts: readonly (string | number)[] = [...parts, 'compared_net', 'change'];

/** For a spreadsheet: UTF-8 with a byte-order mark, and no cell that it would take for a formula. Amounts stay numbers. */
function csv(titles: readonly string[], rows: readonly Cell[][]): string {
  return stringify(
    rows.map((row) => [...row]),
    {
      header: true,
      columns: [...titles],
      bom: true,
      escape_formulas: true,
      cast: {
        string: (value, { column }) => {
          const title = typeof column === 'number' ? titles[column] : column;
          return amounts.includes(title ?? '') ? { value, escape_formulas: false } : value;
        },
      },
    },
  );
}
