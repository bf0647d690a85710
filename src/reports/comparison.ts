import type { BatchDay } from '../kernel/batchDay.js';
import { compareBytes } from '../kernel/ids.js';
import { magnitude } from '../kernel/money.js';
import type { BatchState } from '../kernel/states.js';
import type { CurrencyTotals } from './currencyTotals.js';
import type { Position } from './queries.js';

/** What an account's net is, was on the day compared with, and the difference. */
export interface Mover {
  accountNo: string;
  netMinor: bigint;
  comparedMinor: bigint;
  changeMinor: bigint;
}

export interface Movers {
  currency: string;
  /** Accounts whose net differs, of which `top` are those with the largest difference. */
  moved: number;
  top: Mover[];
}

/** The day beside another one. */
export interface Comparison {
  batchDay: BatchDay;
  status: BatchState;
  totals: CurrencyTotals[];
  movers: Movers[];
}

/**
 * Which accounts moved between two days, by currency: largest difference first, ties by account number. An account that
 * has no net on a day counts as zero there. At most `count` of each currency are kept.
 */
export function moversOf(now: readonly Position[], then: readonly Position[], count: number): Movers[] {
  const before = new Map<string, Map<string, bigint>>();
  for (const { accountNo, currency, netMinor } of then) {
    const accounts = before.get(currency) ?? new Map<string, bigint>();
    before.set(currency, accounts);
    accounts.set(accountNo, netMinor);
  }
  const movers = new Map<string, Mover[]>();
  const add = (currency: string, accountNo: string, netMinor: bigint, comparedMinor: bigint): void => {
    const changeMinor = netMinor - comparedMinor;
    if (changeMinor === 0n) return;
    const list = movers.get(currency) ?? [];
    movers.set(currency, list);
    list.push({ accountNo, netMinor, comparedMinor, changeMinor });
  };
  for (const { accountNo, currency, netMinor } of now) {
    const accounts = before.get(currency);
    add(currency, accountNo, netMinor, accounts?.get(accountNo) ?? 0n);
    accounts?.delete(accountNo);
  }
  for (const [currency, accounts] of before) {
    for (const [accountNo, netMinor] of accounts) add(currency, accountNo, 0n, netMinor);
  }
  return [...movers]
    .sort(([a], [b]) => compareBytes(a, b))
    .map(([currency, list]) => ({ currency, moved: list.length, top: list.sort(byChange).slice(0, count) }));
}

function byChange(a: Mover, b: Mover): number {
  const [left, right] = [magnitude(a.changeMinor), magnitude(b.changeMinor)];
  return left === right ? compareBytes(a.accountNo, b.accountNo) : left > right ? -1 : 1;
}

/** What a currency came to on the day and on the other one. Refunds and fees are taken away, and so below zero. */
export interface TotalChange {
  currency: string;
  orders: [now: number, then: number];
  gross: [bigint, bigint];
  refund: [bigint, bigint];
  fee: [bigint, bigint];
  adjustment: [bigint, bigint];
  net: [bigint, bigint];
}

/** Totals of two days side by side, for every currency that either has. */
export function totalsBeside(now: readonly CurrencyTotals[], then: readonly CurrencyTotals[]): TotalChange[] {
  const currencies = [...new Set([...now, ...then].map(({ currency }) => currency))].sort(compareBytes);
  return currencies.map((currency) => {
    const [a, b] = [now, then].map((totals) => totals.find((total) => total.currency === currency));
    return {
      currency,
      orders: [a?.orders ?? 0, b?.orders ?? 0],
      gross: [a?.grossMinor ?? 0n, b?.grossMinor ?? 0n],
      refund: [-(a?.refundMinor ?? 0n), -(b?.refundMinor ?? 0n)],
      fee: [-(a?.feeMinor ?? 0n), -(b?.feeMinor ?? 0n)],
      adjustment: [a?.adjustmentMinor ?? 0n, b?.adjustmentMinor ?? 0n],
      net: [a?.netMinor ?? 0n, b?.netMinor ?? 0n],
    };
  });
}
