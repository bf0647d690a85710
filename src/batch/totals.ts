import { formatMinor } from '../kernel/money.js';
import { Totals, type CurrencyTotal } from '../orders/order.js';
import type { Leftover } from './effects.js';
import type { Run } from './run.js';
import type { Tally } from './tally.js';

/**
 * What has been read of the day: claimed or found withdrawn by earlier runs, read by this one, and set aside. Orders that were read and
 * then refused by the database are among those set aside, so they are taken off once.
 */
export function readTotals(run: Run, tally: Tally, leftover: readonly Leftover[]): CurrencyTotal[] {
  const totals = new Totals();
  totals.addAll(run.claimedBefore);
  totals.addAll(run.withdrawnBefore);
  totals.addAll(tally.read.list());
  for (const { currency, orders, netMinor } of tally.refused.list()) totals.add(currency, -orders, -netMinor);
  totals.addAll(leftover.filter(({ accountNo }) => run.setAside.has(accountNo)));
  return totals.list();
}

/** "CNY 50000 orders 1234.56; USD 3 orders -0.10": how totals are compared and shown. */
export function totalsText(totals: readonly CurrencyTotal[]): string {
  if (totals.length === 0) return 'no orders';
  return [...totals]
    .sort((a, b) => (a.currency < b.currency ? -1 : 1))
    .map(({ currency, orders, netMinor }) => `${currency} ${String(orders)} orders ${formatMinor(netMinor, currency)}`)
    .join('; ');
}
