import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import { repeatable } from '../db/transaction.js';
import type { AccountState } from '../kernel/states.js';
import { accountStatesOf, insertAccounts, updateAccounts } from './accountsQueries.js';
import { accountColumns, readAccountRow, type AccountRow } from './accountsRow.js';
import type { ImportKind, PlacedRow } from './importFiles.js';
import type { UnitOutcome } from './importTally.js';

/** How account files are imported: in the order of the file, so that of two rows for one account the later one holds. */
export const accountImport: ImportKind<AccountRow> = {
  columns: accountColumns,
  readRow: readAccountRow,
  store: storeAccounts,
};

function storeAccounts(database: Database, rows: readonly PlacedRow<AccountRow>[], now: string): Promise<UnitOutcome> {
  const unit = repeatable('import accounts', async (trx) => {
    const known = await accountStatesOf(trx, [...new Set(rows.map(({ row }) => row.accountNo))]);
    const plan = planAccounts(rows, known);
    await insertAccounts(trx, plan.fresh, now);
    await updateAccounts(trx, plan.changed, now);
    return plan.outcome;
  });
  return afterOthers(() => database.transact(unit));
}

interface AccountsPlan {
  fresh: AccountRow[];
  changed: AccountRow[];
  outcome: UnitOutcome;
}

/** Decides for each row: new, known with this state, or to be given another one; one write an account at most. */
export function planAccounts(
  rows: readonly PlacedRow<AccountRow>[],
  known: ReadonlyMap<string, AccountState>,
): AccountsPlan {
  const states = new Map(known);
  let [added, updated, repeated] = [0, 0, 0];
  for (const { row } of rows) {
    const before = states.get(row.accountNo);
    if (before === undefined) added += 1;
    else if (before === row.state) repeated += 1;
    else updated += 1;
    states.set(row.accountNo, row.state);
  }
  const after = [...states].map(([accountNo, state]) => ({ accountNo, state }));
  return {
    fresh: after.filter(({ accountNo }) => !known.has(accountNo)),
    changed: after.filter(({ accountNo, state }) => known.has(accountNo) && known.get(accountNo) !== state),
    outcome: { accepted: added + updated, updated, repeated, rejected: [] },
  };
}
