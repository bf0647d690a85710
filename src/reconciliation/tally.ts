import { formatMinor } from '../kernel/money.js';

export interface CurrencyTotal {
  currency: string;
  orders: number;
  /** Signed effect on the accounts, in minor units. */
  netMinor: bigint;
}

/** Counts and signed amounts per currency, or per currency and type ("USD REFUND"). Equal when every key agrees. */
export class Tally {
  private readonly sums = new Map<string, { orders: number; minor: bigint }>();

  add(key: string, orders: number, minor: bigint): this {
    const sum = this.sums.get(key) ?? { orders: 0, minor: 0n };
    this.sums.set(key, { orders: sum.orders + orders, minor: sum.minor + minor });
    return this;
  }

  plus(other: Tally): Tally {
    return this.combined(other, 1);
  }

  minus(other: Tally): Tally {
    return this.combined(other, -1);
  }

  /** Keys with anything in them, in the order of their letters. */
  keys(): string[] {
    return [...this.sums]
      .filter(([, sum]) => sum.orders !== 0 || sum.minor !== 0n)
      .map(([key]) => key)
      .sort();
  }

  /** Keys on which the two disagree. */
  differing(other: Tally): string[] {
    return this.minus(other).keys();
  }

  equals(other: Tally): boolean {
    return this.differing(other).length === 0;
  }

  /**
   * Whether every sum here can be part of what `waiting` holds: nothing, all of it, or some of its orders. Amounts of
   * a part cannot be told, those of the whole must agree.
   */
  isPartOf(waiting: Tally): boolean {
    const rest = waiting.minus(this);
    return this.keys().every((key) => {
      const [part, remainder] = [this.sums.get(key), rest.sums.get(key)];
      if (part === undefined || remainder === undefined || part.orders < 1 || remainder.orders < 0) return false;
      return remainder.orders > 0 || remainder.minor === 0n;
    });
  }

  /** "3 orders 12.50" of one key. */
  part(key: string): string {
    const { orders, minor } = this.sums.get(key) ?? { orders: 0, minor: 0n };
    return `${String(orders)} orders ${formatMinor(minor, key.slice(0, 3))}`;
  }

  /** "JPY 2 orders 500; USD 3 orders 12.50", or "nothing". */
  text(): string {
    return (
      this.keys()
        .map((key) => `${key} ${this.part(key)}`)
        .join('; ') || 'nothing'
    );
  }

  totals(): CurrencyTotal[] {
    return this.keys().map((currency) => {
      const { orders, minor } = this.sums.get(currency) ?? { orders: 0, minor: 0n };
      return { currency, orders, netMinor: minor };
    });
  }

  /** The same sums under coarser keys. */
  regrouped(keyOf: (key: string) => string): Tally {
    const result = new Tally();
    for (const [key, { orders, minor }] of this.sums) result.add(keyOf(key), orders, minor);
    return result;
  }

  private combined(other: Tally, sign: 1 | -1): Tally {
    const result = new Tally();
    for (const [key, { orders, minor }] of this.sums) result.add(key, orders, minor);
    for (const [key, { orders, minor }] of other.sums) result.add(key, sign * orders, BigInt(sign) * minor);
    return result;
  }
}

/** What an order does to its account: payments and adjustments add, refunds and fees subtract. */
export function effectOf(type: string, amountMinor: bigint): bigint {
  return type === 'REFUND' || type === 'FEE' ? -amountMinor : amountMinor;
}
