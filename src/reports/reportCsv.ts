import { stringify } from 'csv-stringify/sync';
import { formatMinor } from '../kernel/money.js';
import type { DayReport } from './dayReport.js';

const columns = ['batch_day', 'account_no', 'currency', 'orders', 'net_minor', 'net'];

/**
 * The net positions of a day as CSV for a spreadsheet: UTF-8 with a byte-order mark, and no cell that it would take for
 * a formula. Amounts stay numbers, the negative ones too.
 */
export function reportCsv(report: DayReport): string {
  return stringify(
    report.netPositions.map(({ accountNo, currency, orders, netMinor }) => [
      report.batchDay,
      accountNo,
      currency,
      orders,
      netMinor,
      formatMinor(netMinor, currency),
    ]),
    {
      header: true,
      columns,
      bom: true,
      escape_formulas: true,
      cast: {
        // The only text that may begin with a sign and still be a number: digits of our own making.
        string: (value, { column }) =>
          column === columns.indexOf('net') || column === 'net' ? { value, escape_formulas: false } : value,
      },
    },
  );
}
