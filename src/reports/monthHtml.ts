import { formatMinorGrouped } from '../kernel/money.js';
import { lineChart } from './chart.js';
import { dateInWords, right, blocksOf, type HtmlBlock, type HtmlTable } from './reportHtmlTable.js';
import { pageHtml } from './reportHtmlTemplate.js';
import { payoutBlocks, totalsTable } from './reportHtmlBooks.js';
import type { MonthReport } from './monthReport.js';
import { monthVerdict } from './monthVerdict.js';
import { countText, momentText, plural } from './words.js';

/** Currencies with a figure and a chart of their own: those with most orders. */
const currenciesMax = 6;

/** The roll-up of a month as one self-contained HTML file, in the manner of a day's report. */
export function monthHtml(report: MonthReport): string {
  const { days, totals } = report;
  const [first, last] = [days[0], days[days.length - 1]];
  const verdict = monthVerdict(report);
  const largest = [...totals].sort((a, b) => b.orders - a.orders).slice(0, currenciesMax);
  return pageHtml({
    of: report.month,
    title: dateInWords(report.month),
    subtitle: `Monthly roll-up · ${plural(days.length, 'batch day')}, ${first?.batchDay ?? '–'} to ${last?.batchDay ?? '–'}`,
    status: report.notClosed.length === 0 ? 'All days closed' : 'Not all days closed',
    verdict,
    figures: largest.map(({ currency, orders, netMinor }) => ({
      title: `Net ${currency}, ${plural(orders, 'order')}`,
      value: formatMinorGrouped(netMinor, currency),
    })),
    sections: [
      {
        title: 'What needs a person',
        text: 'Each with what to type.',
        needs: verdict.needs,
        blocks: [],
      },
      { title: 'Totals of the month', blocks: blocksOf(totalsTable(totals)) },
      {
        title: 'Days',
        text: 'A day counts under its own date, what came late for it too.',
        blocks: [
          ...largest.map(({ currency }) => currencyBlock(report, currency)),
          ...totals
            .filter(({ currency }) => !largest.some((one) => one.currency === currency))
            .map(({ currency }) => ({ table: daysTable(report, currency) })),
          ...blocksOf(statusTable(report)),
        ],
      },
      { title: 'Payouts', blocks: payoutBlocks(report) },
      { title: 'Discrepancies open at month end', blocks: blocksOf(discrepancyTable(report)) },
    ],
    provenance: provenanceOf(report),
  });
}

function currencyBlock(report: MonthReport, currency: string): HtmlBlock {
  const points = daysOf(report, currency).map(({ batchDay, netMinor }) => ({
    label: batchDay.slice(8),
    value: Number(netMinor),
    text: formatMinorGrouped(netMinor, currency),
  }));
  const most = points.reduce((one, other) => (other.value > one.value ? other : one));
  const description = `The highest net is ${most.text} ${currency} on day ${most.label} of the month.`;
  return {
    charts: [lineChart(`Net ${currency} by day of the month`, description, points)],
    table: daysTable(report, currency),
  };
}

/** The days of the month in one currency; a day without it counts as zero. */
function daysOf({ days }: MonthReport, currency: string) {
  return days.map(({ batchDay, totals }) => {
    const total = totals.find((one) => one.currency === currency);
    return {
      batchDay,
      orders: total?.orders ?? 0,
      grossMinor: total?.grossMinor ?? 0n,
      feeMinor: total?.feeMinor ?? 0n,
      netMinor: total?.netMinor ?? 0n,
    };
  });
}

function daysTable(report: MonthReport, currency: string): HtmlTable {
  const amount = (minor: bigint): string => formatMinorGrouped(minor, currency);
  return {
    caption: `${currency} by day`,
    columns: [{ title: 'Day' }, right('Orders'), right('Gross'), right('Fees'), right('Net')],
    rows: daysOf(report, currency).map((day) => [
      ...[day.batchDay, countText(day.orders), amount(day.grossMinor), amount(day.feeMinor), amount(day.netMinor)],
    ]),
  };
}

function statusTable({ days }: MonthReport): HtmlTable {
  return {
    caption: 'When each day was closed',
    columns: [{ title: 'Day' }, { title: 'Status' }, { title: 'Closed' }],
    isNarrow: true,
    rows: days.map(({ batchDay, status, closedAt }) => [batchDay, status, momentText(closedAt)]),
  };
}

function discrepancyTable({ discrepancies, endsAt }: MonthReport): HtmlTable {
  return {
    caption: `Of days up to the end of the month, open on ${momentText(endsAt)}`,
    columns: [
      { title: 'Class' },
      right('Open then'),
      right('Closed since'),
      right('Open now'),
      { title: 'Oldest first seen' },
    ],
    rows: discrepancies.map(({ class: kind, count, closedSince, since }) => [
      ...[kind, countText(count), countText(closedSince), countText(count - closedSince), momentText(since)],
    ]),
  };
}

function provenanceOf({ ledgerHead, endsAt, days }: MonthReport): { title: string; value: string }[] {
  return [
    { title: 'Ledger head', value: ledgerHead === null ? '–' : ledgerHead.head },
    {
      title: 'Link of the hash chain',
      value: ledgerHead === null ? '–' : `${countText(ledgerHead.link)}, of ${ledgerHead.batchDay}`,
    },
    { title: 'Month ends', value: momentText(endsAt) },
    { title: 'Batch days', value: countText(days.length) },
  ];
}
