import { Eta } from 'eta';
import { formatMinorGrouped } from '../kernel/money.js';
import type { DayReport } from './dayReport.js';
import { longTailText } from './longTail.js';
import { css, pageTemplate, tableTemplate } from './reportHtmlTemplate.js';
import { personTables } from './reportHtmlAttention.js';
import { right, type HtmlSection, type HtmlTable } from './reportHtmlTable.js';
import type { TieOut } from './tieOut.js';
import { topPositions, verdictOf } from './verdict.js';
import { countText, durationText, kindText, momentText, msBetween, plural, printable } from './words.js';

const topCount = 20;

/** The report of a day as one self-contained HTML file: no script, no network, every value escaped. */
export function reportHtml(report: DayReport): string {
  const eta = new Eta({ autoEscape: true });
  eta.loadTemplate('@table', tableTemplate);
  const from = report.generatedFrom;
  return eta.renderString(pageTemplate, {
    css,
    day: report.batchDay,
    dayInWords: dayInWords(report.batchDay),
    cutOff: momentText(from.cutOff),
    status: report.status === 'CLOSED' ? 'Closed' : `Open · ${report.status.toLowerCase()}`,
    verdict: verdictOf(report),
    figures: report.totals.map((total) => ({
      title: `Net ${total.currency}, ${plural(total.orders, 'order')}`,
      value: formatMinorGrouped(total.netMinor, total.currency),
    })),
    sections: sectionsOf(report).filter((section) => section.tables.length > 0),
    provenance: provenanceOf(report),
  });
}

function sectionsOf(report: DayReport): HtmlSection[] {
  return [
    {
      title: 'From source to ledger',
      text: 'The same orders, counted and summed at every place where they are recorded. What was claimed must equal nets, outbox, posted orders and the ledger.',
      tables: report.tieOut.length === 0 ? [] : [tieOutTable(report.tieOut)],
    },
    { title: 'Checks', tables: report.checks.length === 0 ? [] : [checksTable(report)] },
    {
      title: 'What needs a person',
      text: 'Nothing in these lists was lost: each line stays where it is until somebody decides.',
      tables: personTables(report),
    },
    { title: 'Totals by currency', tables: report.totals.length === 0 ? [] : [totalsTable(report)] },
    {
      title: 'Largest net positions',
      sideBySide: true,
      text: 'Positive: owed to the account. Negative: owed by the account. The CSV and JSON forms hold all positions.',
      tables: topPositions(report.netPositions, topCount).map(({ currency, positions, top }) => ({
        caption: `${currency}: ${positions > top.length ? `the largest ${String(top.length)} of ${countText(positions)}` : plural(positions, 'position')}`,
        columns: [{ title: 'Account' }, right('Orders'), right('Net')],
        rows: top.map((row) => [
          printable(row.accountNo),
          countText(row.orders),
          formatMinorGrouped(row.netMinor, currency),
        ]),
      })),
    },
    { title: 'Payouts', tables: report.payouts.length === 0 ? [] : [payoutsTable(report)] },
    { title: 'Runs and times', tables: runTables(report) },
  ];
}

function tieOutTable(rows: readonly TieOut[]): HtmlTable {
  const lines = [
    ['Source, frozen', 'source'],
    ['Set aside in quarantine', 'setAside'],
    ['Not settled yet', 'waiting'],
    ['Claimed', 'claimed'],
    ['In nets', 'nets'],
    ['In the outbox', 'outbox'],
    ['Posted', 'posted'],
  ] as const;
  return {
    caption: 'Orders and signed sums, by currency',
    columns: [{ title: 'Place' }, ...rows.flatMap(() => [right('Orders'), right('Net')])],
    groups: rows.map((row) => ({ title: row.currency, span: 2 })),
    rows: [
      ...lines.map(([title, place]) => [
        title,
        ...rows.flatMap((row) => [countText(row[place].orders), formatMinorGrouped(row[place].netMinor, row.currency)]),
      ]),
      [
        'Ledger: merchant payable',
        ...rows.flatMap((row) => ['', formatMinorGrouped(row.ledgerNetMinor, row.currency)]),
      ],
      ['Claimed to ledger', ...rows.flatMap((row) => ['', row.agrees ? 'agrees' : 'differs'])],
    ],
  };
}

function checksTable({ checks }: DayReport): HtmlTable {
  return {
    caption: 'Checks of the last finished run',
    columns: [{ title: 'Check' }, { title: 'Result' }],
    rows: checks.map((check) => [printable(check.name), check.ok ? 'ok' : 'FAILED']),
  };
}

function totalsTable({ totals }: DayReport): HtmlTable {
  return {
    caption: 'Net = gross − refunds − fees + adjustments',
    columns: [{ title: 'Currency' }, ...['Orders', 'Gross', 'Refunds', 'Fees', 'Adjustments', 'Net'].map(right)],
    rows: totals.map(({ currency, ...total }) => {
      const amount = (minor: bigint): string => formatMinorGrouped(minor, currency);
      return [
        currency,
        countText(total.orders),
        amount(total.grossMinor),
        amount(total.refundMinor),
        amount(total.feeMinor),
        amount(total.adjustmentMinor),
        amount(total.netMinor),
      ];
    }),
  };
}

function payoutsTable({ payouts }: DayReport): HtmlTable {
  return {
    caption: 'Payouts of this day by state, as they stand now. UNKNOWN: submitted, and the outcome is not known yet',
    columns: [{ title: 'State' }, { title: 'Currency' }, right('Payouts'), right('Amount')],
    rows: payouts.map(({ state, currency, payouts: count, amountMinor }) => [
      state,
      currency,
      countText(count),
      formatMinorGrouped(amountMinor, currency),
    ]),
  };
}

function runTables({ runs, stageTimes, slowest }: DayReport): HtmlTable[] {
  const tail = longTailText(slowest);
  return [
    {
      caption: 'Runs of this day, oldest first',
      columns: [
        { title: 'Run' },
        { title: 'Kind' },
        { title: 'Ended' },
        right('Orders'),
        { title: 'Started' },
        right('Took'),
      ],
      rows: runs.map((run) => [
        run.runId.toString(),
        kindText(run),
        printable(run.cancellation === null ? run.state : `${run.state} (${run.cancellation.code})`),
        countText(run.orders),
        momentText(run.startedAt),
        run.finishedAt === null ? '–' : durationText(msBetween(run.startedAt, run.finishedAt)),
      ]),
    },
    ...(stageTimes === null
      ? []
      : [
          {
            caption: 'Stage times of the last finished run',
            columns: [{ title: 'Stage' }, right('Took')],
            rows: stageTimes.map((row) => [printable(row.stage), durationText(row.durationMs)]),
            ...(tail === null ? {} : { note: printable(tail) }),
          },
        ]),
  ].filter((table) => table.rows.length > 0);
}

function provenanceOf({ generatedFrom: from, ledgerHead }: DayReport): { title: string; value: string }[] {
  return [
    { title: 'Runs', value: from.runIds.length === 0 ? '–' : from.runIds.join(', ') },
    { title: 'Watermark reached', value: from.watermark === null ? '–' : from.watermark.toString() },
    { title: 'Last order id', value: from.topId.toString() },
    { title: 'Orders at closing', value: from.ordersAtClose === null ? '–' : countText(from.ordersAtClose) },
    { title: 'Opened', value: momentText(from.openedAt) },
    { title: 'Closed', value: momentText(from.closedAt) },
    { title: 'Ledger head', value: ledgerHead === null ? '–' : ledgerHead.head },
  ];
}

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** "29 November 2026": the same on every machine, which Intl does not promise. */
function dayInWords(day: string): string {
  const [year = '', month = '1', date = '1'] = day.split('-');
  return `${String(Number(date))} ${months[Number(month) - 1] ?? month} ${year}`;
}
