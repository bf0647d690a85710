import type { Transaction } from './session.js';
import type { Unit } from './transaction.js';
import { fromInstant } from './values.js';
import { SettleError } from '../kernel/errors.js';

/** Who decided on something by hand, why, and when (RFC 3339, UTC). */
export interface Decision {
  by: string;
  reason: string;
  at: string;
}

/** Refuses a decision without a name or a reason: an audit row that says nothing is none. Throws USAGE. */
export function requireDecision(decision: Decision): void {
  for (const [flag, text] of [
    ['--by', decision.by],
    ['--reason', decision.reason],
  ] as const) {
    if (text.trim() === '') {
      throw new SettleError('USAGE', `${flag} is empty; a change by hand is kept with a name and a reason.`, {
        details: { flag },
        next: `Give ${flag} a text.`,
      });
    }
  }
}

/** Keeps who did what by hand, and why, with the change itself. */
export async function recordAction(
  trx: Transaction,
  action: string,
  subject: string,
  decision: Decision,
): Promise<void> {
  await trx.change('insert into operator_action (at, action, subject, by_name, reason) values (?, ?, ?, ?, ?)', [
    fromInstant(trx.dialect, decision.at),
    action,
    subject,
    decision.by,
    decision.reason,
  ]);
}

/**
 * A unit of work that changes something by hand and records who did it in the same transaction. `work` gives what was
 * changed in words for the record, or null when nothing was, in which case nothing is recorded.
 */
export function audited<T>(
  action: string,
  decision: Decision,
  work: (trx: Transaction) => Promise<{ subject: string | null; result: T }>,
): Unit<T> {
  let last: T | undefined;
  return {
    name: action,
    work: async (trx) => {
      const { subject, result } = await work(trx);
      if (subject !== null) await recordAction(trx, action, subject, decision);
      last = result;
      return result;
    },
    // Its own record is the commit mark: the same person cannot do the same thing twice in one millisecond.
    landed: async (session) => {
      const found = await session.rows(
        'select id from operator_action where at = ? and action = ? and by_name = ? and reason = ?',
        [fromInstant(session.dialect, decision.at), action, decision.by, decision.reason],
      );
      return found.length > 0 ? last : undefined;
    },
  };
}
