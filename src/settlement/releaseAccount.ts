import type { Database } from '../db/database.js';
import { audited, requireDecision, type Decision } from '../db/operatorAction.js';
import type { Session } from '../db/session.js';
import { fromInstant, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import { activeQuarantine, type QuarantinedAccount } from './quarantineViews.js';

/** Codes that come from the account table, and go when it says otherwise. */
const accountCodes: ReadonlySet<string> = new Set(['ACCOUNT_UNKNOWN', 'ACCOUNT_FROZEN', 'ACCOUNT_CLOSED']);

/**
 * Lets the next run settle an account again, for all its days or for one, and records who decided so. Returns the days
 * released. Throws NOT_FOUND when the account is not set aside, ACCOUNT_NOT_ACTIVE while the cause still stands: the
 * next run would only set it aside again.
 */
export async function releaseAccount(
  database: Database,
  accountNo: string,
  day: BatchDay | undefined,
  decision: Decision,
): Promise<QuarantinedAccount[]> {
  requireDecision(decision);
  return database.transact(
    audited('QUARANTINE_RELEASE', decision, async (trx) => {
      const found = (await activeQuarantine(trx, day)).filter((row) => row.accountNo === accountNo);
      if (found.length === 0) throw notInQuarantine(accountNo, day);
      await requireActiveAccount(trx, accountNo, found);
      for (const { batchDay } of found) {
        await trx.change(
          `update quarantine set active = null, released_at = ?, released_by = ?, release_reason = ?
            where batch_day = ? and account_no = ? and active = 1`,
          [fromInstant(trx.dialect, decision.at), decision.by, decision.reason, batchDay, accountNo],
        );
      }
      const days = found.map((row) => row.batchDay).join(', ');
      return { subject: `account ${accountNo}, batch day ${days}`, result: found };
    }),
  );
}

function notInQuarantine(accountNo: string, day: BatchDay | undefined): SettleError {
  const where = day === undefined ? '' : ` for ${day}`;
  return new SettleError('NOT_FOUND', `Account ${accountNo} is not in quarantine${where}.`, {
    details: { accountNo, batchDay: day ?? null },
    next: 'settle quarantine list',
  });
}

async function requireActiveAccount(
  session: Session,
  accountNo: string,
  found: readonly QuarantinedAccount[],
): Promise<void> {
  const cause = found.find((row) => accountCodes.has(row.code));
  if (cause === undefined) return;
  const [row] = await session.rows('select state from account where account_no = ?', [accountNo]);
  const state = row === undefined ? 'UNKNOWN' : toText(row['state']);
  if (state === 'ACTIVE') return;
  throw new SettleError(
    'ACCOUNT_NOT_ACTIVE',
    `Account ${accountNo} was set aside as ${cause.code} and is still ${state} in the account table; the next run would set it aside again.`,
    {
      details: { accountNo, code: cause.code, state },
      next: 'settle import accounts FILE   (with the account as ACTIVE), then release it again',
    },
  );
}
