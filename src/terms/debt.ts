import type { BatchDay } from '../kernel/batchDay.js';

/** What is still open of a day's negative position. */
export interface Debt {
  readonly originDay: BatchDay;
  readonly openMinor: bigint;
}

export interface DebtMoves<D extends Debt> {
  /** The day's position if it is negative: owed by the account from now on. */
  readonly newDebtMinor: bigint;
  /** What the day's position pays back of which debt. */
  readonly recoveries: readonly { debt: D; amountMinor: bigint }[];
  /** What is left of the position for the account. */
  readonly payableMinor: bigint;
}

/**
 * What a day's position of an account in one currency does to its debts: a negative one is a new debt, a positive one
 * pays back the oldest debt first, none of them more than is open, and all of them no more than the position holds.
 */
export function debtMoves<D extends Debt>(positionMinor: bigint, debts: readonly D[]): DebtMoves<D> {
  if (positionMinor < 0n) return { newDebtMinor: -positionMinor, recoveries: [], payableMinor: 0n };
  const recoveries: { debt: D; amountMinor: bigint }[] = [];
  let payableMinor = positionMinor;
  for (const debt of [...debts].sort(byDay)) {
    const amountMinor = debt.openMinor < payableMinor ? debt.openMinor : payableMinor;
    if (amountMinor <= 0n) continue;
    recoveries.push({ debt, amountMinor });
    payableMinor -= amountMinor;
  }
  return { newDebtMinor: 0n, recoveries, payableMinor };
}

function byDay(a: Debt, b: Debt): number {
  return a.originDay < b.originDay ? -1 : a.originDay > b.originDay ? 1 : 0;
}
