import type { MonthReport } from './monthReport.js';
import type { Need, Verdict } from './verdict.js';
import { plural } from './words.js';

/** What a month comes to, in words. Whether the books of a day hold is said by the report of the day. */
export function monthVerdict(report: MonthReport): Verdict {
  const { notClosed, withoutBatch, quarantined, payouts, discrepancies, month } = report;
  const inState = (state: string): number =>
    payouts.filter((total) => total.state === state).reduce((sum, total) => sum + total.payouts, 0);
  const open = discrepancies.reduce((sum, { count, closedSince }) => sum + count - closedSince, 0);
  const aside = quarantined.length;
  const needs = [
    need(notClosed.length, `${plural(notClosed.length, 'day')} not closed: ${notClosed.join(', ')}.`, runOf(notClosed)),
    need(
      withoutBatch.length,
      `${plural(withoutBatch.length, 'business day')} never settled: ${withoutBatch.join(', ')}.`,
      runOf(withoutBatch),
    ),
    need(aside, `${plural(aside, 'account')} of a day set aside in quarantine.`, 'settle quarantine list'),
    need(
      inState('MANUAL'),
      `${plural(inState('MANUAL'), 'payout')} for a person to decide on.`,
      'settle payout list --state MANUAL',
    ),
    need(
      inState('UNKNOWN'),
      `${plural(inState('UNKNOWN'), 'payout')} of which nobody knows yet whether it is paid.`,
      'settle payout check',
    ),
    need(
      open,
      `${plural(open, 'discrepancy', 'discrepancies')} of days up to the end of ${month} open.`,
      'settle discrepancy list',
    ),
  ].flat();
  if (notClosed.length > 0) return { grade: 'attention', headline: 'The month has days that are not closed.', needs };
  if (needs.length > 0) {
    return {
      grade: 'attention',
      headline: 'Every day that was begun is closed, with something left for a person.',
      needs,
    };
  }
  return { grade: 'good', headline: 'Every day is closed. Nothing is left to do.', needs };
}

function need(count: number, text: string, command: string): Need[] {
  return count === 0 ? [] : [{ text, command }];
}

function runOf([first = '']: readonly string[]): string {
  return `settle run --batch-day ${first}`;
}
