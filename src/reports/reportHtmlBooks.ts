import { formatMinorGrouped } from '../kernel/money.js';
import { payoutMoves } from '../kernel/states.js';
import { barChart, type Chart } from './chart.js';
import { netChart } from './chartsOfDay.js';
import { totalsBeside, type TotalChange } from './comparison.js';
import type { CurrencyTotals } from './currencyTotals.js';
import type { DayReport } from './dayReport.js';
import { payableColumns, payableRows } from './payable.js';
import { blocksOf, right, type HtmlBlock, type HtmlTable } from './reportHtmlTable.js';
import type { TieOut } from './tieOut.js';
import { topPositions } from './verdict.js';
import { countText, plural, printable } from './words.js';

const topCount = 10;
/** Currencies that a tie-out table has room for. */
const besideMax = 3;
/** Currencies with a chart of their own: those with most orders. */
const chartsMax = 6;

/** One currency beside the other, a table for each few of them. */
export function tieOutBlocks(rows: readonly TieOut[]): HtmlBlock[] {
  const parts: HtmlBlock[] = [];
  const tables = Math.ceil(rows.length / besideMax);
  const beside = Math.ceil(rows.length / tables);
  for (let at = 0; at < rows.length; at += beside) {
    const part = rows.slice(at, at + beside);
    parts.push({ table: tieOutTable(part, rows.length > besideMax) });
  }
  return parts;
}

function tieOutTable(rows: readonly TieOut[], named: boolean): HtmlTable {
  const lines = [
    ['Source, frozen', 'source'],
    ['Set aside in quarantine', 'setAside'],
    ['Not settled yet', 'waiting'],
    ['Claimed', 'claimed'],
    ['In nets', 'nets'],
    ['In the outbox', 'outbox'],
    ['Posted', 'posted'],
  ] as const;
  const of = named ? `: ${rows.map(({ currency }) => currency).join(', ')}` : '';
  return {
    caption: `Orders and signed sums, by currency${of}`,
    columns: [{ title: 'Place' }, ...rows.flatMap(() => [right('Orders'), right('Net')])],
    groups: rows.map((row) => ({ title: row.currency, span: 2 })),
    hasSum: true,
    rows: [
      ...lines.map(([title, place]) => [
        title,
        ...rows.flatMap((row) => [countText(row[place].orders), formatMinorGrouped(row[place].netMinor, row.currency)]),
      ]),
      [
        'Ledger: merchant payable',
        ...rows.flatMap((row) => ['', formatMinorGrouped(row.ledgerNetMinor, row.currency)]),
      ],
      ['Claimed to ledger', ...rows.flatMap((row) => ['', row.agrees ? '✓ agrees' : '✕ differs'])],
    ],
  };
}

export function checksBlocks({ checks }: DayReport): HtmlBlock[] {
  return blocksOf({
    caption: 'Checks of the last finished run',
    columns: [{ title: 'Check' }, { title: 'Result' }],
    isNarrow: true,
    rows: checks.map((check) => [printable(check.name), check.ok ? '✓ ok' : '✕ FAILED']),
  });
}

/** All currencies in one table, what terms made of them, and the largest with a chart and beside the other day. */
export function totalsBlocks({ totals, payable, comparison }: DayReport): HtmlBlock[] {
  const beside = comparison === null ? [] : totalsBeside(totals, comparison.totals);
  const charted = [...totals].sort((a, b) => b.orders - a.orders).slice(0, chartsMax);
  return [
    ...blocksOf(totalsTable(totals), payableTable(payable)),
    ...charted.map((total) => ({
      charts: [netChart(total)],
      table: currencyTable(
        total,
        beside.find(({ currency }) => currency === total.currency),
        comparison?.batchDay ?? null,
      ),
    })),
  ];
}

export function totalsTable(totals: readonly CurrencyTotals[]): HtmlTable {
  return {
    caption: 'Totals by currency',
    columns: [{ title: 'Currency' }, ...['Orders', 'Gross', 'Refunds', 'Fees', 'Adjustments', 'Net'].map(right)],
    rows: totals.map(({ currency, ...total }) => {
      const amount = (minor: bigint): string => formatMinorGrouped(minor, currency);
      return [
        ...[currency, countText(total.orders), amount(total.grossMinor), amount(total.refundMinor)],
        ...[amount(total.feeMinor), amount(total.adjustmentMinor), amount(total.netMinor)],
      ];
    }),
  };
}

function payableTable(payable: DayReport['payable']): HtmlTable {
  const columns = payableColumns(payable);
  return {
    caption: 'From net to payable: what fee plans, reserves and debts made of it',
    columns: columns.map((title, at) => (at === 0 ? { title } : right(title))),
    // Without terms the net is what is payable, and the table would say the same twice.
    rows: columns.length === 3 ? [] : payableRows(payable),
  };
}

function currencyTable(total: CurrencyTotals, beside: TotalChange | undefined, day: string | null): HtmlTable {
  const { currency } = total;
  const amount = (minor: bigint): string => formatMinorGrouped(minor, currency);
  const against = (title: string, [now, then]: readonly [bigint, bigint]): string[] => [
    ...[title, amount(now), amount(then), signedText(now - then, amount)],
  ];
  if (beside === undefined || day === null) {
    return {
      caption: `${currency}: from gross to net`,
      columns: [{ title: 'Part' }, right('Amount')],
      hasSum: true,
      rows: [
        ['Gross', amount(total.grossMinor)],
        ['Refunds', amount(-total.refundMinor)],
        ['Fees', amount(-total.feeMinor)],
        ['Adjustments', amount(total.adjustmentMinor)],
        ['Net', amount(total.netMinor)],
      ],
    };
  }
  const [now, then] = beside.orders;
  return {
    caption: `${currency}: from gross to net, beside ${day}`,
    columns: [{ title: 'Part' }, right('This day'), right(day), right('Change')],
    hasSum: true,
    rows: [
      ['Orders', countText(now), countText(then), signedText(BigInt(now - then), countText)],
      against('Gross', beside.gross),
      against('Refunds', beside.refund),
      against('Fees', beside.fee),
      against('Adjustments', beside.adjustment),
      against('Net', beside.net),
    ],
  };
}

/** A difference with its sign, plus too. */
function signedText(difference: bigint, text: (value: bigint) => string): string {
  return difference > 0n ? `+${text(difference)}` : text(difference);
}

export function moverBlocks({ comparison }: DayReport): HtmlBlock[] {
  if (comparison === null) return [];
  return blocksOf(
    ...comparison.movers.map(({ currency, moved, top }) => {
      const amount = (minor: bigint): string => formatMinorGrouped(minor, currency);
      const shown = top.slice(0, topCount);
      return {
        caption: `${currency}: ${moved > shown.length ? `the ${String(shown.length)} that moved most of ${countText(moved)}` : plural(moved, 'account')}`,
        columns: [{ title: 'Account' }, right('Net'), right(comparison.batchDay), right('Change')],
        rows: shown.map((row) => [
          ...[printable(row.accountNo), amount(row.netMinor), amount(row.comparedMinor)],
          signedText(row.changeMinor, amount),
        ]),
      };
    }),
  );
}

export function positionBlocks({ netPositions }: DayReport): HtmlBlock[] {
  return blocksOf(
    ...topPositions(netPositions, topCount).map(({ currency, positions, top }) => ({
      caption: `${currency}: ${positions > top.length ? `the largest ${String(top.length)} of ${countText(positions)}` : plural(positions, 'position')}`,
      columns: [{ title: 'Account' }, right('Orders'), right('Net')],
      rows: top.map((row) => [
        ...[printable(row.accountNo), countText(row.orders), formatMinorGrouped(row.netMinor, currency)],
      ]),
    })),
  );
}

export function payoutBlocks({ payouts }: Pick<DayReport, 'payouts'>): HtmlBlock[] {
  if (payouts.length === 0) return [];
  const table: HtmlTable = {
    caption: 'By state, as they stand now. UNKNOWN: submitted, and the outcome is not known yet',
    columns: [{ title: 'State' }, { title: 'Currency' }, right('Payouts'), right('Amount')],
    rows: payouts.map(({ state, currency, payouts: count, amountMinor }) => [
      ...[state, currency, countText(count), formatMinorGrouped(amountMinor, currency)],
    ]),
  };
  return [{ table, charts: [payoutChart(payouts)] }];
}

/** Counts, since amounts of several currencies have no scale in common. */
function payoutChart(payouts: DayReport['payouts']): Chart {
  const counts = Object.keys(payoutMoves)
    .map((state) => ({
      state,
      count: payouts.filter((one) => one.state === state).reduce((sum, one) => sum + one.payouts, 0),
    }))
    .filter(({ count }) => count > 0);
  return barChart(
    'Payouts by state',
    counts.map(({ state, count }) => `${state}: ${countText(count)}`).join('; '),
    counts.map(({ state, count }) => ({ label: state, from: 0, to: count, text: countText(count) })),
  );
}
