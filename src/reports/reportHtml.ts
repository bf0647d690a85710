import { formatMinorGrouped } from '../kernel/money.js';
import type { DayReport } from './dayReport.js';
import {
  checksBlocks,
  moverBlocks,
  payoutBlocks,
  positionBlocks,
  tieOutBlocks,
  totalsBlocks,
} from './reportHtmlBooks.js';
import { discrepancyBlocks, personBlocks } from './reportHtmlAttention.js';
import { provenanceOf, timeBlocks } from './reportHtmlRuns.js';
import { dateInWords, type HtmlSection } from './reportHtmlTable.js';
import { pageHtml, type HtmlPage } from './reportHtmlTemplate.js';
import { verdictOf } from './verdict.js';
import { countText, momentText, plural } from './words.js';

/** Currencies with a figure of their own at the top; the tables have all. */
const figuresMax = 6;

/** The report of a day as one self-contained HTML file: no script, no network, every value escaped. */
export function reportHtml(report: DayReport): string {
  const verdict = verdictOf(report);
  return pageHtml({
    of: report.batchDay,
    title: dateInWords(report.batchDay),
    subtitle: `Batch day ${report.batchDay} · cut-off ${momentText(report.generatedFrom.cutOff)}`,
    status: report.status === 'CLOSED' ? 'Closed' : `Open · ${report.status.toLowerCase()}`,
    verdict,
    figures: figuresOf(report),
    sections: sectionsOf(report, verdict.needs),
    provenance: provenanceOf(report),
  });
}

function figuresOf({ totals, tieOut }: DayReport): HtmlPage['figures'] {
  return [...totals]
    .sort((a, b) => b.orders - a.orders)
    .slice(0, figuresMax)
    .map(({ currency, orders, netMinor }) => ({
      title: `Net ${currency}, ${plural(orders, 'order')}`,
      value: formatMinorGrouped(netMinor, currency),
      note: tieOut.find((row) => row.currency === currency)?.agrees === true ? '✓ ledger agrees' : '✕ ledger differs',
    }));
}

function sectionsOf(report: DayReport, needs: NonNullable<HtmlSection['needs']>): HtmlSection[] {
  const { comparison, lastDays } = report;
  const since = comparison === null ? '' : comparison.batchDay;
  return [
    {
      title: 'From source to ledger',
      text: 'The same orders, counted and summed at every place where they are recorded. What was claimed must equal nets, outbox, posted orders and the ledger.',
      blocks: [...tieOutBlocks(report.tieOut), ...checksBlocks(report)],
    },
    {
      title: 'What needs a person',
      text: 'Each with what to type. Nothing here was lost: it stays where it is until somebody decides.',
      needs,
      blocks: personBlocks(report),
    },
    {
      title: 'Gross, fees and net',
      text: `Net is gross less refunds and fees, plus adjustments. ${countText(lastDays.at(-1)?.orders ?? 0)} orders in all currencies; currencies are never added to one another.`,
      blocks: totalsBlocks(report),
    },
    {
      title: `Movers since ${since}`,
      sideBySide: true,
      text: `Accounts whose net differs most from ${since}${comparison?.status === 'CLOSED' ? '' : ', which is not closed'}. settle report --compare DAY stands the day beside another; its CSV form has every account.`,
      blocks: moverBlocks(report),
    },
    {
      title: 'Largest net positions',
      sideBySide: true,
      text: 'Positive: owed to the account. Negative: owed by the account. The CSV and JSON forms have all positions.',
      blocks: positionBlocks(report),
    },
    { title: 'Payouts', blocks: payoutBlocks(report) },
    { title: 'Open discrepancies', blocks: discrepancyBlocks(report) },
    { title: 'Runs and times', blocks: timeBlocks(report) },
  ];
}
