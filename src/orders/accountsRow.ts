import { accountStates, type AccountState } from '../kernel/states.js';
import { shown } from '../kernel/printable.js';
import type { RowFault } from './importProblems.js';
import { idFault } from './orderRow.js';

/** The columns of an account file, in the order in which `readAccountRow` takes their values. */
export const accountColumns = { required: ['account_no', 'status'], optional: [] } as const;

/** An account as a file tells it. The file's `status` is the account's state. */
export interface AccountRow {
  accountNo: string;
  state: AccountState;
}

export function readAccountRow(values: readonly (string | null)[]): AccountRow | RowFault {
  const accountNo = values[0] ?? '';
  const state = values[1] ?? '';
  const badAccountNo = idFault('BAD_ACCOUNT_NO', 'account_no', accountNo);
  if (badAccountNo !== null) return badAccountNo;
  if (!isAccountState(state)) {
    return { code: 'BAD_STATUS', message: `status ${shown(state)} is none of ${accountStates.join(', ')}.` };
  }
  return { accountNo, state };
}

function isAccountState(text: string): text is AccountState {
  return (accountStates as readonly string[]).includes(text);
}
