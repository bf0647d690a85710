import { compareBytes } from '../kernel/ids.js';
import { formatMinorGrouped } from '../kernel/money.js';
import type { LedgerTotal } from './ledgerQueries.js';

/** What the terms of the accounts made of the nets of a day in one currency. */
export interface PayableTotal {
  currency: string;
  /** What the orders made payable. */
  netMinor: bigint;
  /** By reason in the order of the alphabet, signed: what it added to what is owed to the accounts. */
  effects: { reason: string; amountMinor: bigint }[];
  payableMinor: bigint;
}

/** From the nets of the orders to what the day made payable, per currency in order of its code. */
export function payableTotals(booked: readonly LedgerTotal[]): PayableTotal[] {
  return booked
    .map(({ currency, payableMinor: netMinor, effects }) => ({
      currency,
      netMinor,
      effects: [...effects].sort((a, b) => compareBytes(a.reason, b.reason)),
      payableMinor: effects.reduce((sum, { amountMinor }) => sum + amountMinor, netMinor),
    }))
    .sort((a, b) => compareBytes(a.currency, b.currency));
}

const titles: Readonly<Record<string, string>> = {
  FEE_PLAN: 'Plan fees',
  RESERVE_HOLD: 'Reserve held',
  RESERVE_RELEASE: 'Reserve released',
  DEBT: 'Debt carried',
  DEBT_RECOVERY: 'Debt recovered',
};

function reasonsOf(payable: readonly PayableTotal[]): string[] {
  return [...new Set(payable.flatMap(({ effects }) => effects.map(({ reason }) => reason)))].sort(compareBytes);
}

/** Currency, net, one column for each reason that there was, payable. */
export function payableColumns(payable: readonly PayableTotal[]): string[] {
  return ['Currency', 'Net', ...reasonsOf(payable).map((reason) => titles[reason] ?? reason), 'Payable'];
}

export function payableRows(payable: readonly PayableTotal[]): string[][] {
  return payable.map(({ currency, netMinor, effects, payableMinor }) => {
    const amountOf = (reason: string): bigint => effects.find((one) => one.reason === reason)?.amountMinor ?? 0n;
    const amounts = [netMinor, ...reasonsOf(payable).map(amountOf), payableMinor];
    return [currency, ...amounts.map((minor) => formatMinorGrouped(minor, currency))];
  });
}
