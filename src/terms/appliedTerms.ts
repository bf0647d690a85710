import type { OrderType } from '../kernel/states.js';
import { ruleFor, type FeePlan, type FeeRule } from './feePlan.js';

/** The terms of an account on the day that is settled, as far as they bear on its nets. */
export interface AppliedTerms {
  readonly id: bigint;
  /** Null: no fees. Missing: its terms name a plan that does not hold on the day. */
  readonly plan: FeePlan | null | 'MISSING';
}

/** The terms of an account; null where it has none. */
export type TermsLookup = (accountNo: string) => AppliedTerms | null;

export const noTerms: TermsLookup = () => null;

/** The rule that an order falls under; see `ruleFor`. */
export function ruleUnder(
  { plan }: AppliedTerms,
  type: OrderType,
  channel: string,
  currency: string,
): FeeRule | 'FREE' | 'UNCOVERED' {
  if (plan === null) return 'FREE';
  if (plan !== 'MISSING') return ruleFor(plan, type, channel, currency);
  return type === 'PAYMENT' || type === 'REFUND' ? 'UNCOVERED' : 'FREE';
}
