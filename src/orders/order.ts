import type { OrderType } from '../kernel/states.js';

/** What settling needs to know of an order; the rest of its row stays in the database. */
export interface Order {
  readonly id: bigint;
  readonly accountNo: string;
  readonly type: OrderType;
  /** As captured: zero or positive, except for an ADJUSTMENT. A reversal's sign is turned. */
  readonly amountMinor: bigint;
  readonly currency: string;
  readonly channel: string;
  /** Why it cannot be settled, as the end of a sentence about it: of a table of others only, whose rows nothing has checked. */
  readonly problem?: string;
}

/** Orders that can be gone through as often as needed, made one at a time: so many objects need not exist at once. */
export interface Orders extends Iterable<Order> {
  readonly length: number;
}

/** The order's effect on what we owe its account: payments and adjustments add, refunds and fees subtract. */
export function signedAmount(order: Pick<Order, 'type' | 'amountMinor'>): bigint {
  return order.type === 'REFUND' || order.type === 'FEE' ? -order.amountMinor : order.amountMinor;
}

/** Count and signed sum of orders in one currency. */
export interface CurrencyTotal {
  currency: string;
  orders: number;
  netMinor: bigint;
}

/** Adds up totals by currency. */
export class Totals {
  private readonly byCurrency = new Map<string, { orders: number; netMinor: bigint }>();

  add(currency: string, orders: number, netMinor: bigint): void {
    const total = this.byCurrency.get(currency);
    if (total === undefined) this.byCurrency.set(currency, { orders, netMinor });
    else {
      total.orders += orders;
      total.netMinor += netMinor;
    }
  }

  addAll(totals: readonly CurrencyTotal[]): void {
    for (const total of totals) this.add(total.currency, total.orders, total.netMinor);
  }

  /** Sorted by currency code; currencies without an order are left out. */
  list(): CurrencyTotal[] {
    return [...this.byCurrency]
      .map(([currency, total]) => ({ currency, ...total }))
      .filter((total) => total.orders > 0)
      .sort((a, b) => (a.currency < b.currency ? -1 : 1));
  }
}
