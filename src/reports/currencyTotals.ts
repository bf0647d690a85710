import { compareBytes } from '../kernel/ids.js';
import type { OrderType } from '../kernel/states.js';

/** What a day's settled orders come to in one currency. Gross is payments; refunds and fees are magnitudes. */
export interface CurrencyTotals {
  currency: string;
  orders: number;
  grossMinor: bigint;
  refundMinor: bigint;
  feeMinor: bigint;
  adjustmentMinor: bigint;
  netMinor: bigint;
}

const fieldOf = {
  PAYMENT: 'grossMinor',
  REFUND: 'refundMinor',
  FEE: 'feeMinor',
  ADJUSTMENT: 'adjustmentMinor',
} as const satisfies Record<OrderType, keyof CurrencyTotals>;

/** The signed effect of an amount of this type on its account. */
export function signed(type: OrderType, amountMinor: bigint): bigint {
  return type === 'REFUND' || type === 'FEE' ? -amountMinor : amountMinor;
}

/** Sums per currency, in order of the currency code. */
export function totalsByCurrency(
  sums: readonly { currency: string; type: OrderType; orders: number; amountMinor: bigint }[],
): CurrencyTotals[] {
  const totals = new Map<string, CurrencyTotals>();
  for (const { currency, type, orders, amountMinor } of sums) {
    const total = totals.get(currency) ?? emptyTotals(currency);
    totals.set(currency, total);
    total.orders += orders;
    total[fieldOf[type]] += amountMinor;
    total.netMinor += signed(type, amountMinor);
  }
  return [...totals.values()].sort((a, b) => compareBytes(a.currency, b.currency));
}

function emptyTotals(currency: string): CurrencyTotals {
  return { currency, orders: 0, grossMinor: 0n, refundMinor: 0n, feeMinor: 0n, adjustmentMinor: 0n, netMinor: 0n };
}
