import type { Session } from '../db/session.js';
import { exactSum, sumIn, toBigInt, toInstant, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';

const signed = `case l.side when 'CREDIT' then l.amount_minor else -l.amount_minor end`;
const payableOf = `from ledger_entry l join journal_entry j on j.id = l.journal_entry_id
      where l.ledger_account = 'MERCHANT_PAYABLE' and l.sub_account = ?`;

/** A ledger entry on what an account is owed, signed: positive = we owe more. */
export interface PayableEntry {
  postedAt: string;
  bizNo: string;
  type: string;
  /** In whose books it stands. */
  bookingDay: BatchDay;
  currency: string;
  /** Which of the account's terms it comes from; null for orders. */
  reason: string | null;
  amountMinor: bigint;
}

/** What moved an account's payable on a day, in the order of the ledger. */
export async function payableEntries(session: Session, accountNo: string, day: BatchDay): Promise<PayableEntry[]> {
  const rows = await session.rows(
    `select j.posted_at, j.biz_no, j.type, j.booking_day, l.currency, l.reason, ${signed} as minor ${payableOf} and j.batch_day = ?
      order by j.id, l.line_no`,
    [accountNo, day],
  );
  return rows.map((row) => ({
    postedAt: toInstant(row['posted_at']),
    bizNo: toText(row['biz_no']),
    type: toText(row['type']),
    bookingDay: toText(row['booking_day']),
    currency: toText(row['currency']),
    reason: toTextOrNull(row['reason']),
    amountMinor: toBigInt(row['minor']),
  }));
}

/** What an account was owed before a day, by currency. */
export async function payableBefore(session: Session, accountNo: string, day: BatchDay): Promise<Map<string, bigint>> {
  const rows = await session.rows(
    `select l.currency, ${exactSum(session.dialect, signed, 'owed')} ${payableOf} and j.batch_day < ? group by l.currency`,
    [accountNo, day],
  );
  return new Map(rows.map((row) => [toText(row['currency']), sumIn(row, 'owed')]));
}

/** What an account owes up to and with a day, by currency: debts that were not recovered. */
export async function debtUpTo(session: Session, accountNo: string, day: BatchDay): Promise<Map<string, bigint>> {
  const rows = await session.rows(
    `select l.currency, ${exactSum(session.dialect, signed, 'owed')}
       from ledger_entry l join journal_entry j on j.id = l.journal_entry_id
      where l.ledger_account = 'MERCHANT_DEBT' and l.sub_account = ? and j.batch_day <= ? group by l.currency`,
    [accountNo, day],
  );
  return new Map(rows.map((row) => [toText(row['currency']), -sumIn(row, 'owed')]));
}

/** A day of the payable of an account: credits raise it. */
export interface BalanceMoves {
  bookingDay: BatchDay;
  openingMinor: bigint;
  debitMinor: bigint;
  creditMinor: bigint;
  closingMinor: bigint;
}

/** What the books say of an account's payable on a day, or on the last one before it on which it moved; null: it never did. */
export async function balanceMoves(
  session: Session,
  accountNo: string,
  currency: string,
  day: BatchDay,
): Promise<BalanceMoves | null> {
  const [row] = await session.rows(
    `select booking_day, opening_minor, debit_minor, credit_minor, closing_minor from account_balance
      where ledger_account = 'MERCHANT_PAYABLE' and sub_account = ? and currency = ? and booking_day <= ?
      order by booking_day desc limit 1`,
    [accountNo, currency, day],
  );
  if (row === undefined) return null;
  // Balances are debits less credits, whatever the account.
  return {
    bookingDay: toText(row['booking_day']),
    openingMinor: -toBigInt(row['opening_minor']),
    debitMinor: toBigInt(row['debit_minor']),
    creditMinor: toBigInt(row['credit_minor']),
    closingMinor: -toBigInt(row['closing_minor']),
  };
}
