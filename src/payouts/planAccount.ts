import type { BatchDay } from '../kernel/batchDay.js';
import type { AccountState } from '../kernel/states.js';
import type { AccountTerms } from '../terms/accountTerms.js';
import { payoutDue } from '../terms/payout.js';

export type PayoutTerms = Pick<AccountTerms, 'minimumPayout' | 'payoutHold' | 'payoutDelayDays'>;

/** Terms of an account that has none: everything that is payable, at once. */
export const noPayoutTerms: PayoutTerms = { minimumPayout: new Map(), payoutHold: false, payoutDelayDays: 0 };

/** What an account may be paid in one currency once a day is closed. */
export interface Position {
  readonly accountNo: string;
  readonly state: AccountState;
  readonly currency: string;
  /** What the books owe it at the end of the day, less its open debts. */
  readonly payableMinor: bigint;
  /** What payouts that are planned, or were submitted since the day, take of it. */
  readonly reservedMinor: bigint;
}

/** Over which channel an account is paid, and where to. */
export interface Route {
  readonly channel: string;
  readonly destination: string;
  readonly holder: string;
  /** Largest single payout, or null. */
  readonly maximumMinor: bigint | null;
}

export interface PlannedPayout {
  readonly accountNo: string;
  readonly currency: string;
  readonly seq: number;
  readonly amountMinor: bigint;
  readonly dueDay: BatchDay;
  readonly route: Route;
}

/** Why something is payable and not planned; it is carried forward. */
export type NotPlanned = 'BELOW_MINIMUM' | 'ON_HOLD' | 'NOT_ACTIVE' | 'WITHOUT_BENEFICIARY';

/** The payouts of an account's closed day in a currency: one, or as many as the channel's largest amount asks for. */
export function planAccount(
  day: BatchDay,
  { accountNo, state, currency, payableMinor, reservedMinor }: Position,
  terms: PayoutTerms,
  route: Route | null,
): PlannedPayout[] | NotPlanned {
  const { dueDay, dueMinor, held } = payoutDue(payableMinor - reservedMinor, currency, day, terms);
  if (held !== null) return held === 'HOLD' ? 'ON_HOLD' : held;
  if (dueMinor === 0n) return [];
  if (state !== 'ACTIVE') return 'NOT_ACTIVE';
  if (route === null) return 'WITHOUT_BENEFICIARY';
  const partMinor = route.maximumMinor ?? dueMinor;
  const planned: PlannedPayout[] = [];
  for (let left = dueMinor; left > 0n; left -= partMinor) {
    const amountMinor = left < partMinor ? left : partMinor;
    planned.push({ accountNo, currency, seq: planned.length + 1, amountMinor, dueDay, route });
  }
  return planned;
}
