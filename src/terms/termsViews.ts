import type { Session } from '../db/session.js';
import { toBigInt, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { defaultAccount } from './accountTerms.js';
import { settledDays, termsOn, type StoredTerms } from './termsQueries.js';
import type { TermsReason } from './termsLine.js';

/** The terms of one account on a day: its own, or else the default ones, or null. */
export async function termsOfAccount(session: Session, day: BatchDay, accountNo: string): Promise<StoredTerms | null> {
  const found = await termsOn(session, day, [accountNo, defaultAccount]);
  return found.get(accountNo) ?? found.get(defaultAccount) ?? null;
}

/** The last day of which an account has a net, or null. */
export async function lastDayOf(session: Session, accountNo: string): Promise<BatchDay | null> {
  return (await settledDays(session, '1000-01-01', [accountNo])).get(accountNo) ?? null;
}

/** What an account's terms did at the end of a day. */
export interface EffectView {
  bizNo: string;
  currency: string;
  reason: TermsReason;
  originDay: BatchDay;
  amountMinor: bigint;
  /** Of a reserve that is held: when it is given back. */
  dueDay: BatchDay | null;
}

export async function effectsOfAccount(session: Session, day: BatchDay, accountNo: string): Promise<EffectView[]> {
  const rows = await session.rows(
    `select biz_no, currency, reason, origin_day, amount_minor, due_day from terms_effect
      where batch_day = ? and account_no = ? order by id`,
    [day, accountNo],
  );
  return rows.map((row) => ({
    bizNo: toText(row['biz_no']),
    currency: toText(row['currency']),
    reason: toText(row['reason']) as TermsReason,
    originDay: toText(row['origin_day']),
    amountMinor: toBigInt(row['amount_minor']),
    dueDay: toTextOrNull(row['due_day']),
  }));
}
