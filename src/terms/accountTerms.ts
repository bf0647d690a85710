import type { BatchDay } from '../kernel/batchDay.js';

/** Stands for every account that has no terms of its own, in files and tables; an account cannot be called so. */
export const defaultAccount = '*';

/** Under what terms an account settles from a day on, until the day of its next terms. */
export interface AccountTerms {
  /** The account, or `defaultAccount`. */
  readonly accountNo: string;
  readonly validFrom: BatchDay;
  /** Null: no fees. */
  readonly feePlan: string | null;
  /** Part of each day's payments that is held back, see `rate`; 0 with `reserveDays` 0: nothing. */
  readonly reserveRate: bigint;
  readonly reserveDays: number;
  /** Smallest payout, in minor units by currency; what is below is carried forward. */
  readonly minimumPayout: ReadonlyMap<string, bigint>;
  /** Nothing is paid out. */
  readonly payoutHold: boolean;
  /** T+n: a day's payable may be paid out this many days after it. */
  readonly payoutDelayDays: number;
}

/** Whether the two say the same, apart from their account and first day. */
export function isSameTerms(a: AccountTerms, b: AccountTerms): boolean {
  return (
    a.feePlan === b.feePlan &&
    a.reserveRate === b.reserveRate &&
    a.reserveDays === b.reserveDays &&
    a.payoutHold === b.payoutHold &&
    a.payoutDelayDays === b.payoutDelayDays &&
    minimumPayoutText(a.minimumPayout) === minimumPayoutText(b.minimumPayout)
  );
}

/** "EUR 2000; USD 2500", in minor units and in the order of the codes: how a table keeps it. */
export function minimumPayoutText(minimum: ReadonlyMap<string, bigint>): string {
  return [...minimum]
    .map(([currency, minor]) => `${currency} ${minor.toString()}`)
    .sort()
    .join('; ');
}

export function minimumPayoutIn(text: string): Map<string, bigint> {
  if (text === '') return new Map();
  return new Map(text.split('; ').map((part) => [part.slice(0, 3), BigInt(part.slice(4))]));
}
