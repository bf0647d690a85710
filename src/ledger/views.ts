import type { Row, Session } from '../db/session.js';
import { exactSum, joinInOrder, sumIn, toBigInt, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { ChartLine, LedgerAccountKind, SubLedger } from '../kernel/chart.js';
import { compareBytes } from '../kernel/ids.js';

/** The chart of accounts, in order of code. */
export async function chartOfAccounts(session: Session): Promise<ChartLine[]> {
  const rows = await session.rows('select code, name, kind, sub_ledger from ledger_account');
  return rows
    .map((row) => ({
      code: toText(row['code']),
      name: toText(row['name']),
      kind: toText(row['kind']) as LedgerAccountKind,
      subLedger: toTextOrNull(row['sub_ledger']) as SubLedger | null,
    }))
    .sort((a, b) => compareBytes(a.code, b.code));
}

/** The newest balance up to a day. Amounts stand on the natural side of the ledger account. */
export interface LedgerBalance {
  code: string;
  name: string;
  /** Null where the ledger account has no sub-ledger, and in the general ledger. */
  subAccount: string | null;
  currency: string;
  /** The day on which it last moved: opening, debits and credits are of that day. */
  bookingDay: BatchDay;
  openingMinor: bigint;
  debitMinor: bigint;
  creditMinor: bigint;
  balanceMinor: bigint;
}

export interface LedgerFilter {
  /** Only the sub-ledgers of this account. */
  account?: string | undefined;
  ledgerAccount?: string | undefined;
  /** Up to and with this day of the books. */
  asOf?: BatchDay | undefined;
  /** Balances of whole ledger accounts instead of those of their sub-ledgers. */
  general?: boolean | undefined;
}

/** Balances per ledger account, sub-ledger account and currency, in that order, as the runs made them. */
export async function ledgerBalances(session: Session, filter: LedgerFilter = {}): Promise<LedgerBalance[]> {
  const { account, asOf, ledgerAccount, general } = filter;
  const [table, keys] =
    general === true
      ? ['general_balance', ['ledger_account', 'currency']]
      : ['account_balance', ['ledger_account', 'sub_account', 'currency']];
  const conditions = [
    ...(asOf === undefined ? [] : ['booking_day <= ?']),
    ...(ledgerAccount === undefined ? [] : ['ledger_account = ?']),
    ...(account === undefined ? [] : ['sub_account = ?']),
  ];
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  const rows = await session.rows(
    `select b.ledger_account, coalesce(a.name, 'not in the chart of accounts') as name, coalesce(a.kind, 'ASSET') as kind,
            a.sub_ledger, ${general === true ? `''` : 'b.sub_account'} as sub_account, b.currency, b.booking_day,
            b.opening_minor, b.debit_minor, b.credit_minor, b.closing_minor
       from (select ${keys.join(', ')}, max(booking_day) as newest from ${table} ${where} group by ${keys.join(', ')}) k
       ${joinInOrder(session.dialect)} ${table} b on b.booking_day = k.newest and ${keys.map((key) => `b.${key} = k.${key}`).join(' and ')}
       left join ledger_account a on a.code = b.ledger_account`,
    [asOf, ledgerAccount, account].filter((value) => value !== undefined),
  );
  return rows
    .filter((row) => account === undefined || row['sub_ledger'] === 'ACCOUNT')
    .map(balanceIn)
    .sort(
      (a, b) =>
        compareBytes(a.code, b.code) ||
        compareBytes(a.subAccount ?? '', b.subAccount ?? '') ||
        compareBytes(a.currency, b.currency),
    );
}

function balanceIn(row: Row): LedgerBalance {
  const kind = toText(row['kind']) as LedgerAccountKind;
  const subAccount = toText(row['sub_account']);
  return {
    code: toText(row['ledger_account']),
    name: toText(row['name']),
    subAccount: subAccount === '' ? null : subAccount,
    currency: toText(row['currency']),
    bookingDay: toText(row['booking_day']),
    openingMinor: naturalBalance(kind, toBigInt(row['opening_minor']), 0n),
    debitMinor: toBigInt(row['debit_minor']),
    creditMinor: toBigInt(row['credit_minor']),
    balanceMinor: naturalBalance(kind, toBigInt(row['closing_minor']), 0n),
  };
}

/** Days up to a day that are not closed: their balances are those of their last run. */
export async function daysNotClosed(session: Session, asOf?: BatchDay): Promise<BatchDay[]> {
  const rows = await session.rows(
    `select batch_day from batch where state <> 'CLOSED' ${asOf === undefined ? '' : 'and batch_day <= ?'} order by batch_day`,
    asOf === undefined ? [] : [asOf],
  );
  return rows.map((row) => toText(row['batch_day']));
}

function naturalBalance(kind: LedgerAccountKind, debit: bigint, credit: bigint): bigint {
  return kind === 'ASSET' || kind === 'EXPENSE' ? debit - credit : credit - debit;
}

export interface TrialBalance {
  balanced: boolean;
  byCurrency: {
    currency: string;
    debitMinor: bigint;
    creditMinor: bigint;
    accounts: { code: string; name: string; debitMinor: bigint; creditMinor: bigint }[];
  }[];
}

/** Debits and credits of every ledger account that was ever used, per currency; the two must agree in each. */
export async function trialBalance(session: Session, asOf?: BatchDay): Promise<TrialBalance> {
  // A left join: an entry on a ledger account that the chart does not know still counts.
  const rows = await session.rows(
    `select l.ledger_account, coalesce(a.name, 'not in the chart of accounts') as name, l.currency,
            ${exactSum(session.dialect, `case when l.side = 'DEBIT' then l.amount_minor else 0 end`, 'debit')},
            ${exactSum(session.dialect, `case when l.side = 'CREDIT' then l.amount_minor else 0 end`, 'credit')}
       from ledger_entry l
       left join ledger_account a on a.code = l.ledger_account
       ${asOf === undefined ? '' : 'join journal_entry j on j.id = l.journal_entry_id where j.booking_day <= ?'}
      group by l.ledger_account, a.name, l.currency`,
    asOf === undefined ? [] : [asOf],
  );
  const byCurrency = new Map<string, TrialBalance['byCurrency'][number]>();
  for (const row of rows) {
    const currency = toText(row['currency']);
    const sheet = byCurrency.get(currency) ?? { currency, debitMinor: 0n, creditMinor: 0n, accounts: [] };
    byCurrency.set(currency, sheet);
    const [debitMinor, creditMinor] = [sumIn(row, 'debit'), sumIn(row, 'credit')];
    sheet.debitMinor += debitMinor;
    sheet.creditMinor += creditMinor;
    sheet.accounts.push({ code: toText(row['ledger_account']), name: toText(row['name']), debitMinor, creditMinor });
  }
  const sheets = [...byCurrency.values()].sort((a, b) => compareBytes(a.currency, b.currency));
  for (const sheet of sheets) sheet.accounts.sort((a, b) => compareBytes(a.code, b.code));
  return { balanced: sheets.every((sheet) => sheet.debitMinor === sheet.creditMinor), byCurrency: sheets };
}
