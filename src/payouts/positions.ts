import type { Session } from '../db/session.js';
import { placeholders, toBigInt, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { AccountState } from '../kernel/states.js';
import type { Position } from './planAccount.js';

/** Accounts asked of at once: old SQLite builds take 999 bound values in one statement. */
export const accountsMax = 900;

export interface AccountRow {
  accountNo: string;
  state: AccountState;
}

/** Accounts after one, in the order of bytes. */
export async function accountsAfter(session: Session, accountNo: string): Promise<AccountRow[]> {
  const rows = await session.tuples(
    `select account_no, state from account where account_no > ? order by account_no limit ${String(accountsMax)}`,
    [accountNo],
  );
  return rows.map(([no, state]) => ({ accountNo: toText(no), state: toText(state) as AccountState }));
}

export async function statesOf(session: Session, accountNos: readonly string[]): Promise<Map<string, AccountState>> {
  const rows = await session.tuples(
    `select account_no, state from account where account_no in (${placeholders(accountNos)})`,
    accountNos,
  );
  return new Map(rows.map(([no, state]) => [toText(no), toText(state) as AccountState]));
}

/** The key of a position: its currency has three letters. */
export function positionKey(accountNo: string, currency: string): string {
  return currency + accountNo;
}

/**
 * What these accounts have at the end of a closed day: payable less debts, as the balances of that day say it. Nothing of
 * a day that is not closed is paid out.
 */
export async function payableAt(
  session: Session,
  day: BatchDay,
  accountNos: readonly string[],
): Promise<{ accountNo: string; currency: string; payableMinor: bigint }[]> {
  const newest = (code: string): string => `(select b.closing_minor from account_balance b
      where b.ledger_account = '${code}' and b.sub_account = a.account_no and b.currency = c.currency and b.booking_day <= ?
      order by b.booking_day desc limit 1)`;
  const rows = await session.tuples(
    `select a.account_no, c.currency, ${newest('MERCHANT_PAYABLE')} as payable, ${newest('MERCHANT_DEBT')} as debt
       from account a cross join
            (select distinct currency from general_balance where ledger_account = 'MERCHANT_PAYABLE') c
      where a.account_no in (${placeholders(accountNos)}) order by a.account_no, c.currency`,
    [day, day, ...accountNos],
  );
  // Balances are debits less credits: what is owed to an account is negative, what it owes positive.
  const minor = (value: unknown): bigint => (value === null ? 0n : toBigInt(value));
  return rows
    .filter(([, , payable]) => payable !== null)
    .map(([accountNo, currency, payable, debt]) => ({
      accountNo: toText(accountNo),
      currency: toText(currency),
      payableMinor: -minor(payable) - minor(debt),
    }));
}

/**
 * What payouts take of that: those submitted since the day, less what came back since; with `planned` those that are
 * planned and not submitted too. By `positionKey`.
 */
export async function reservedSince(
  session: Session,
  day: BatchDay,
  accountNos: readonly string[],
  planned: boolean,
): Promise<Map<string, bigint>> {
  const reserved = new Map<string, bigint>();
  const ofAccounts = `account_no in (${placeholders(accountNos)})`;
  const add = async (condition: string, bindings: readonly string[]): Promise<void> => {
    const rows = await session.tuples(
      `select account_no, currency, amount_minor, submitted_on, returned_on from payout where ${ofAccounts} and ${condition}`,
      [...accountNos, ...bindings],
    );
    for (const [accountNo, currency, amount, submittedOn, returnedOn] of rows) {
      const key = positionKey(toText(accountNo), toText(currency));
      const [left, back] = [toTextOrNull(submittedOn), toTextOrNull(returnedOn)];
      const takes = left === null || left > day ? toBigInt(amount) : 0n;
      const gives = back !== null && back > day ? toBigInt(amount) : 0n;
      reserved.set(key, (reserved.get(key) ?? 0n) + takes - gives);
    }
  };
  if (planned) await add('submitted_on is null', []);
  await add('submitted_on > ?', [day]);
  await add('returned_on > ? and submitted_on <= ?', [day, day]);
  return reserved;
}

/** The positions of these accounts, those without a payable left out. */
export async function positionsAt(
  session: Session,
  day: BatchDay,
  accounts: readonly AccountRow[],
  planned: boolean,
): Promise<Position[]> {
  const accountNos = accounts.map(({ accountNo }) => accountNo);
  const states = new Map(accounts.map(({ accountNo, state }) => [accountNo, state]));
  const reserved = await reservedSince(session, day, accountNos, planned);
  return (await payableAt(session, day, accountNos)).map((position) => ({
    ...position,
    state: states.get(position.accountNo) ?? 'CLOSED',
    reservedMinor: reserved.get(positionKey(position.accountNo, position.currency)) ?? 0n,
  }));
}
