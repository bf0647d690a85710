import type { BatchDay } from '../kernel/batchDay.js';

/**
 * What terms do, and between which ledger accounts: the first is debited, the second credited. FEE_PLAN comes with a net;
 * the others are made at the end of a day.
 */
export const termsReasons = {
  FEE_PLAN: ['MERCHANT_PAYABLE', 'FEE_INCOME'],
  RESERVE_HOLD: ['MERCHANT_PAYABLE', 'RESERVE'],
  RESERVE_RELEASE: ['RESERVE', 'MERCHANT_PAYABLE'],
  DEBT: ['MERCHANT_DEBT', 'MERCHANT_PAYABLE'],
  DEBT_RECOVERY: ['MERCHANT_PAYABLE', 'MERCHANT_DEBT'],
  /** Of no account; negative the other way round. */
  FEE_ROUNDING: ['ROUNDING', 'FEE_INCOME'],
} as const;

export type TermsReason = keyof typeof termsReasons;

export function isTermsReason(value: unknown): value is TermsReason {
  return typeof value === 'string' && Object.hasOwn(termsReasons, value);
}

/** One thing that the terms of an account do. */
export interface TermsLine {
  readonly reason: TermsReason;
  /** Positive, but for FEE_ROUNDING. */
  readonly amountMinor: bigint;
  /** The day whose reserve or debt it is. */
  readonly originDay: BatchDay;
}

/** What the line does to what the account is owed. */
export function payableEffect({ reason, amountMinor }: TermsLine): bigint {
  const [debited, credited] = termsReasons[reason];
  if (debited === 'MERCHANT_PAYABLE') return -amountMinor;
  return credited === 'MERCHANT_PAYABLE' ? amountMinor : 0n;
}
