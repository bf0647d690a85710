import { addDays, type BatchDay } from '../kernel/batchDay.js';
import type { AccountTerms } from './accountTerms.js';

export interface PayoutDue {
  /** The first day on which the payable may be paid out: T+n, in calendar days. */
  readonly dueDay: BatchDay;
  readonly dueMinor: bigint;
  /** Why nothing is due although something is payable, or null. What is not due is carried forward. */
  readonly held: 'HOLD' | 'BELOW_MINIMUM' | null;
}

/**
 * What of an account's payable in a currency, less its debts, its terms let be paid out. Of what is negative nothing is due.
 */
export function payoutDue(
  payableMinor: bigint,
  currency: string,
  batchDay: BatchDay,
  terms: Pick<AccountTerms, 'minimumPayout' | 'payoutHold' | 'payoutDelayDays'>,
): PayoutDue {
  const dueDay = addDays(batchDay, terms.payoutDelayDays);
  if (payableMinor <= 0n) return { dueDay, dueMinor: 0n, held: null };
  if (terms.payoutHold) return { dueDay, dueMinor: 0n, held: 'HOLD' };
  const isBelow = payableMinor < (terms.minimumPayout.get(currency) ?? 0n);
  return isBelow ? { dueDay, dueMinor: 0n, held: 'BELOW_MINIMUM' } : { dueDay, dueMinor: payableMinor, held: null };
}
