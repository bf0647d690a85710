import type { OrderType } from '../kernel/states.js';
import { halfEven, rateOne } from './rate.js';

/** What an order of at least `fromMinor` costs. Amounts are minor units, the rate is as in `rate`. */
export interface FeeTier {
  readonly fromMinor: bigint;
  readonly rate: bigint;
  readonly fixedMinor: bigint;
  readonly minimumMinor: bigint;
  /** Null: no maximum. */
  readonly maximumMinor: bigint | null;
}

/** SLAB: the whole amount at the terms of its tier. MARGINAL: each part of the amount at the rate of the tier it lies in. */
export const tierModes = ['SLAB', 'MARGINAL'] as const;
export type TierMode = (typeof tierModes)[number];

/** Types of orders that a plan may charge: an order that is a fee or an adjustment itself costs nothing. */
export const chargedTypes = ['PAYMENT', 'REFUND'] as const;
export type ChargedType = (typeof chargedTypes)[number];

/** The fee of orders of one type, over one channel or any (null), in one currency or any (null). */
export interface FeeRule {
  readonly type: ChargedType;
  readonly channel: string | null;
  readonly currency: string | null;
  readonly mode: TierMode;
  /** Never charge more than the order's amount. */
  readonly capAtOrder: boolean;
  /** By `fromMinor`, rising from 0. MARGINAL: fixed amount, minimum and maximum are those of the first. */
  readonly tiers: readonly FeeTier[];
}

export interface FeePlan {
  readonly name: string;
  readonly rules: readonly FeeRule[];
}

/**
 * The rule that an order falls under: of those that fit, the one that names its channel, and of these the one that names
 * its currency. FREE where the plan says nothing of the order's type; UNCOVERED where it speaks of the type, but of no
 * channel and currency that fit: what that order costs is not known.
 */
export function ruleFor(
  { rules }: FeePlan,
  type: OrderType,
  channel: string,
  currency: string,
): FeeRule | 'FREE' | 'UNCOVERED' {
  let found: FeeRule | null = null;
  let isCharged = false;
  for (const rule of rules) {
    if (rule.type !== type) continue;
    isCharged = true;
    if (rule.channel !== null && rule.channel !== channel) continue;
    if (rule.currency !== null && rule.currency !== currency) continue;
    if (found === null || specificity(rule) > specificity(found)) found = rule;
  }
  return found ?? (isCharged ? 'UNCOVERED' : 'FREE');
}

function specificity({ channel, currency }: FeeRule): number {
  return (channel === null ? 0 : 2) + (currency === null ? 0 : 1);
}

/** A fee, and what rounding took from it or added to it: the exact fee is `feeMinor + rest / rateOne`. */
export interface Fee {
  readonly feeMinor: bigint;
  readonly rest: bigint;
}

/** The fee of one order of this amount (zero or positive), rounded half-even to minor units. */
export function feeOf(rule: FeeRule, amountMinor: bigint): Fee {
  const exact = exactFee(rule, amountMinor);
  const feeMinor = halfEven(exact, rateOne);
  return { feeMinor, rest: exact - feeMinor * rateOne };
}

/**
 * The exact fee, in minor units times `rateOne`: rate and fixed amount, then raised to the minimum, lowered to the
 * maximum, and last of all lowered to the order's amount where the rule says so.
 */
export function exactFee({ tiers, mode, capAtOrder }: FeeRule, amountMinor: bigint): bigint {
  let at = 0;
  while (at + 1 < tiers.length && (tiers[at + 1] as FeeTier).fromMinor <= amountMinor) at += 1;
  const tier = tiers[mode === 'SLAB' ? at : 0] as FeeTier;
  const charged = mode === 'SLAB' ? amountMinor * tier.rate : marginalShare(tiers, at, amountMinor);
  let exact = charged + tier.fixedMinor * rateOne;
  const minimum = tier.minimumMinor * rateOne;
  if (exact < minimum) exact = minimum;
  if (tier.maximumMinor !== null && exact > tier.maximumMinor * rateOne) exact = tier.maximumMinor * rateOne;
  return capAtOrder && exact > amountMinor * rateOne ? amountMinor * rateOne : exact;
}

function marginalShare(tiers: readonly FeeTier[], last: number, amountMinor: bigint): bigint {
  let share = 0n;
  for (let at = 0; at <= last; at += 1) {
    const { fromMinor, rate } = tiers[at] as FeeTier;
    const upTo = at === last ? amountMinor : (tiers[at + 1] as FeeTier).fromMinor;
    share += (upTo - fromMinor) * rate;
  }
  return share;
}

/**
 * The smallest amount of which the rule would take more than all, or null when there is none. No rate is above 100 %, so
 * within a tier what is left of the order only grows with it: the first amount of each tier decides.
 */
export function amountExceeded(rule: FeeRule): bigint | null {
  const tier = rule.tiers.find(({ fromMinor }) => exactFee(rule, fromMinor) > fromMinor * rateOne);
  return tier?.fromMinor ?? null;
}
