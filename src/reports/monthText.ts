import { formatMinorGrouped } from '../kernel/money.js';
import type { MonthReport } from './monthReport.js';
import { monthVerdict } from './monthVerdict.js';
import { needLines, payoutsTable, right, section, totalsTable } from './reportTextTables.js';
import { textTable } from './tables.js';
import { countText, momentText } from './words.js';

/** The roll-up of a month for a terminal or a mail: plain text, without control characters. */
export function monthText(report: MonthReport): string {
  const { headline, needs } = monthVerdict(report);
  const { days, discrepancies, endsAt, ledgerHead } = report;
  return [
    [`Settlement report of ${report.month}`, headline, ...needLines(needs)].join('\n'),
    section('Totals', totalsTable(report.totals)),
    section(
      'Days',
      textTable(
        [
          ...[{ title: 'day' }, { title: 'status' }, { title: '' }, right('orders'), right('gross'), right('fees')],
          right('net'),
        ],
        days.flatMap(({ batchDay, status, totals }) =>
          totals.length === 0
            ? [[batchDay, status, '-', '0', '-', '-', '-']]
            : totals.map(({ currency, orders, grossMinor, feeMinor, netMinor }) => [
                ...[batchDay, status, currency, countText(orders)],
                ...[grossMinor, feeMinor, netMinor].map((minor) => formatMinorGrouped(minor, currency)),
              ]),
        ),
      ),
    ),
    ...(report.payouts.length === 0 ? [] : [section('Payouts', payoutsTable(report.payouts))]),
    ...(discrepancies.length === 0
      ? []
      : [
          section(
            `Discrepancies open at month end, ${momentText(endsAt)}`,
            textTable(
              [{ title: 'class' }, right('open then'), right('closed since'), { title: 'oldest first seen' }],
              discrepancies.map((one) => [
                ...[one.class, countText(one.count), countText(one.closedSince), momentText(one.since)],
              ]),
            ),
          ),
        ]),
    ...(ledgerHead === null
      ? []
      : [`Ledger head ${ledgerHead.head} (link ${String(ledgerHead.link)}, ${ledgerHead.batchDay}).`]),
  ].join('\n\n');
}
