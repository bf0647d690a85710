import { fromInstant, placeholders, toText } from '../db/values.js';
import type { Session, Transaction } from '../db/session.js';
import { compareBytes } from '../kernel/ids.js';
import type { AccountState } from '../kernel/states.js';
import type { AccountRow } from './accountsRow.js';
import { parts } from './importQueries.js';

/** The states of those of these accounts that are registered. */
export async function accountStatesOf(
  session: Session,
  accountNos: readonly string[],
): Promise<Map<string, AccountState>> {
  const found = new Map<string, AccountState>();
  for (const part of parts(accountNos)) {
    const tuples = await session.tuples(
      `select account_no, state from account where account_no in (${placeholders(part)})`,
      part,
    );
    for (const [accountNo, state] of tuples) found.set(toText(accountNo), toText(state) as AccountState);
  }
  return found;
}

/** Registers accounts; sorted, so that two importers cannot wait for one another. */
export async function insertAccounts(trx: Transaction, accounts: readonly AccountRow[], now: string): Promise<void> {
  const moment = fromInstant(trx.dialect, now);
  await trx.insertMany(
    'account',
    ['account_no', 'state', 'registered_at', 'changed_at'],
    [...accounts]
      .sort((a, b) => compareBytes(a.accountNo, b.accountNo))
      .map(({ accountNo, state }) => [accountNo, state, moment, moment]),
  );
}

/** Gives these accounts another state; sorted like `insertAccounts`. */
export async function updateAccounts(trx: Transaction, accounts: readonly AccountRow[], now: string): Promise<void> {
  const moment = fromInstant(trx.dialect, now);
  for (const { accountNo, state } of [...accounts].sort((a, b) => compareBytes(a.accountNo, b.accountNo))) {
    await trx.change('update account set state = ?, changed_at = ? where account_no = ?', [state, moment, accountNo]);
  }
}
