import { formatMinorGrouped } from '../kernel/money.js';
import type { CurrencyTotals } from './currencyTotals.js';
import type { DayReport } from './dayReport.js';
import { textTable } from './tables.js';
import type { Need } from './verdict.js';
import { countText } from './words.js';

// Tables of plain text that the reports of a day and of a month have in common.

/** A column of numbers or amounts. */
export const right = (title: string) => ({ title, align: 'right' as const });

export function section(title: string, body: string): string {
  return `${title}\n${body === '' ? '(none)' : body}`;
}

/** What needs a person, and below it what to type. */
export function needLines(needs: readonly Need[]): string[] {
  return needs.flatMap(({ text, command }) => [`  ! ${text}`, `      ${command}`]);
}

/** Gross to net, per currency. */
export function totalsTable(totals: readonly CurrencyTotals[]): string {
  if (totals.length === 0) return '';
  return textTable(
    [{ title: '' }, ...['orders', 'gross', 'refunds', 'fees', 'adjustments', 'net'].map(right)],
    totals.map(({ currency, ...total }) => [
      currency,
      countText(total.orders),
      formatMinorGrouped(total.grossMinor, currency),
      formatMinorGrouped(total.refundMinor, currency),
      formatMinorGrouped(total.feeMinor, currency),
      formatMinorGrouped(total.adjustmentMinor, currency),
      formatMinorGrouped(total.netMinor, currency),
    ]),
  );
}

/** Payouts by state and currency. */
export function payoutsTable(payouts: DayReport['payouts']): string {
  return textTable(
    [{ title: 'state' }, right('payouts'), right('amount'), { title: '' }],
    payouts.map(({ state, currency, payouts: count, amountMinor }) => [
      state,
      countText(count),
      formatMinorGrouped(amountMinor, currency),
      currency,
    ]),
  );
}
