import type { Session } from '../db/session.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { defaultAccount } from './accountTerms.js';
import { noTerms, type AppliedTerms, type TermsLookup } from './appliedTerms.js';
import { plansOn } from './feePlanQueries.js';
import { hasTerms, termsOn } from './termsQueries.js';

/** The terms of these accounts on a day; those of a page of orders, so that no run holds those of all accounts. */
export async function termsOfDay(session: Session, day: BatchDay, accountNos: readonly string[]): Promise<TermsLookup> {
  if (!(await hasTerms(session))) return noTerms;
  const plans = await plansOn(session, day);
  const found = await termsOn(session, day, [defaultAccount, ...accountNos]);
  const applied = new Map<string, AppliedTerms>();
  for (const [accountNo, { id, feePlan }] of found) {
    applied.set(accountNo, { id, plan: feePlan === null ? null : (plans.get(feePlan) ?? 'MISSING') });
  }
  const usual = applied.get(defaultAccount) ?? null;
  return (accountNo) => applied.get(accountNo) ?? usual;
}
