import type { Session } from '../db/session.js';
import { exactSum, joinInOrder, sumIn, toBigInt, toCount, toText } from '../db/values.js';
import { wideLess, widePlus, wideSum, wideTotal, wideZero } from '../db/wide.js';
import { listedMax, type Sides } from './ledgerProof.js';

/** What moved on a ledger account in a currency, and where two places say it differently. */
export interface LedgerMovement {
  ledgerAccount: string;
  currency: string;
  debitMinor: bigint;
  creditMinor: bigint;
}

/** The entries of a day, summed by ledger account and currency. */
export async function entryMovements(session: Session, bookingDay: string): Promise<LedgerMovement[]> {
  const ofSide = (side: string): string => `case e.side when '${side}' then e.amount_minor else 0 end`;
  const rows = await session.rows(
    `select e.ledger_account, e.currency, ${exactSum(session.dialect, ofSide('DEBIT'), 'debit')},
            ${exactSum(session.dialect, ofSide('CREDIT'), 'credit')}
       from journal_entry j join ledger_entry e on e.journal_entry_id = j.id where j.booking_day = ?
      group by e.ledger_account, e.currency order by e.ledger_account, e.currency`,
    [bookingDay],
  );
  return rows.map((row) => ({
    ledgerAccount: toText(row['ledger_account']),
    currency: toText(row['currency']),
    debitMinor: sumIn(row, 'debit'),
    creditMinor: sumIn(row, 'credit'),
  }));
}

/** Debits (expected) and credits (actual) of these movements, by currency. */
export function sidesOf(movements: readonly LedgerMovement[]): Sides[] {
  const sides = new Map<string, Sides>();
  for (const { currency, debitMinor, creditMinor } of movements) {
    const side = sides.get(currency) ?? { currency, expectedMinor: 0n, actualMinor: 0n };
    sides.set(currency, side);
    side.expectedMinor += debitMinor;
    side.actualMinor += creditMinor;
  }
  return [...sides.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1));
}

/** The movements that the balances of a day add up to: those of the accounts, or those of the general ledger. */
export async function balanceMovements(
  session: Session,
  bookingDay: string,
  table: 'account_balance' | 'general_balance',
): Promise<LedgerMovement[]> {
  const rows = await session.rows(
    `select ledger_account, currency, ${wideTotal(session.dialect, 'debit_minor')} as debit_minor,
            ${wideTotal(session.dialect, 'credit_minor')} as credit_minor
       from ${table} where booking_day = ? group by ledger_account, currency order by ledger_account, currency`,
    [bookingDay],
  );
  return rows.map((row) => ({
    ledgerAccount: toText(row['ledger_account']),
    currency: toText(row['currency']),
    debitMinor: toBigInt(row['debit_minor']),
    creditMinor: toBigInt(row['credit_minor']),
  }));
}

/** How many journal entries a day has, and from how many its balances were made; null: they were not made. */
export async function balancedEntries(
  session: Session,
  bookingDay: string,
): Promise<{ entries: number; balanced: number | null }> {
  const [row] = await session.rows(
    `select (select count(*) from journal_entry where booking_day = ?) as entries,
            (select entries from balanced_day where booking_day = ?) as balanced`,
    [bookingDay, bookingDay],
  );
  const balanced = row?.['balanced'];
  return { entries: toCount(row?.['entries']), balanced: balanced === null ? null : toCount(balanced) };
}

export interface WrongBalance {
  /** "MERCHANT_PAYABLE/A1 USD"; without the sub-ledger account in the general ledger. */
  key: string;
  currency: string;
  /** What it must open with: the closing balance before. */
  beforeMinor: bigint;
  openingMinor: bigint;
  debitMinor: bigint;
  creditMinor: bigint;
  closingMinor: bigint;
}

/** Balances of a day that do not open with what the one before closed with, or do not add up; at most `listedMax`. */
export async function wrongBalances(
  session: Session,
  bookingDay: string,
  table: 'account_balance' | 'general_balance',
): Promise<WrongBalance[]> {
  const { dialect } = session;
  const keys =
    table === 'account_balance' ? ['ledger_account', 'sub_account', 'currency'] : ['ledger_account', 'currency'];
  const rows = await session.rows(
    `select * from (
       select ${keys.join(', ')}, opening_minor, debit_minor, credit_minor, closing_minor,
              ${wideLess(dialect, widePlus(dialect, 'opening_minor', 'debit_minor'), 'credit_minor')} as adds_up_to,
              coalesce((select p.closing_minor from ${table} p
                         where ${keys.map((key) => `p.${key} = b.${key}`).join(' and ')} and p.booking_day < b.booking_day
                         order by p.booking_day desc limit 1), ${wideZero(dialect)}) as before_minor
         from ${table} b where b.booking_day = ?) x
      where adds_up_to <> closing_minor or before_minor <> opening_minor
      order by ${keys.join(', ')} limit ${String(listedMax)}`,
    [bookingDay],
  );
  return rows.map((row) => ({
    key: balanceKey(row),
    currency: toText(row['currency']),
    beforeMinor: toBigInt(row['before_minor']),
    openingMinor: toBigInt(row['opening_minor']),
    debitMinor: toBigInt(row['debit_minor']),
    creditMinor: toBigInt(row['credit_minor']),
    closingMinor: toBigInt(row['closing_minor']),
  }));
}

function balanceKey(row: Record<string, unknown>): string {
  const sub = row['sub_account'] === undefined || row['sub_account'] === '' ? '' : `/${toText(row['sub_account'])}`;
  return `${toText(row['ledger_account'])}${sub} ${toText(row['currency'])}`;
}

export interface OtherMovement {
  key: string;
  currency: string;
  /** By the entries; null when no entry moves this account. */
  entries: { debitMinor: bigint; creditMinor: bigint } | null;
  /** By its balance; null when there is none. */
  balance: { debitMinor: bigint; creditMinor: bigint } | null;
}

/** Accounts whose balance of a day moved otherwise than their entries; at most `listedMax`. */
export async function otherMovements(session: Session, bookingDay: string): Promise<OtherMovement[]> {
  const { dialect } = session;
  const zero = wideZero(dialect);
  const ofSide = (side: string): string =>
    wideSum(dialect, `case e.side when '${side}' then e.amount_minor else 0 end`);
  const total = (name: string): string => `${wideTotal(dialect, name)} as ${name}`;
  // Put side by side by grouping and not by a join: derived tables have no index.
  const rows = await session.rows(
    `select * from (
       select ledger_account, sub_account, currency, sum(in_entries) as in_entries, sum(in_balance) as in_balance,
              ${['debit', 'credit', 'balance_debit', 'balance_credit'].map(total).join(', ')}
         from (
           select e.ledger_account, e.sub_account, e.currency, 1 as in_entries, 0 as in_balance,
                  ${ofSide('DEBIT')} as debit, ${ofSide('CREDIT')} as credit, ${zero} as balance_debit, ${zero} as balance_credit
             from journal_entry j join ledger_entry e on e.journal_entry_id = j.id
            where j.booking_day = ? group by e.ledger_account, e.sub_account, e.currency
           union all
           select ledger_account, sub_account, currency, 0, 1, ${zero}, ${zero}, debit_minor, credit_minor
             from account_balance where booking_day = ?) as side
        group by ledger_account, sub_account, currency) as account
      where in_entries <> in_balance or debit <> balance_debit or credit <> balance_credit
      order by ledger_account, sub_account, currency limit ${String(listedMax)}`,
    [bookingDay, bookingDay],
  );
  const amounts = (there: unknown, debit: unknown, credit: unknown): OtherMovement['entries'] =>
    toCount(there) === 0 ? null : { debitMinor: toBigInt(debit), creditMinor: toBigInt(credit) };
  return rows.map((row) => ({
    key: balanceKey(row),
    currency: toText(row['currency']),
    entries: amounts(row['in_entries'], row['debit'], row['credit']),
    balance: amounts(row['in_balance'], row['balance_debit'], row['balance_credit']),
  }));
}

/** The newest balances of all accounts (actual) beside that of their ledger account (expected), where they differ. */
export async function controlDifferences(session: Session): Promise<(Sides & { ledgerAccount: string })[]> {
  const accounts = await newestTotals(session, 'account_balance', ['ledger_account', 'sub_account', 'currency']);
  const control = await newestTotals(session, 'general_balance', ['ledger_account', 'currency']);
  return [...new Set([...accounts.keys(), ...control.keys()])]
    .sort()
    .map((key) => {
      const [ledgerAccount = '', currency = ''] = key.split(' ');
      const [expectedMinor, actualMinor] = [control.get(key) ?? 0n, accounts.get(key) ?? 0n];
      return { ledgerAccount, currency, expectedMinor, actualMinor };
    })
    .filter(({ expectedMinor, actualMinor }) => expectedMinor !== actualMinor)
    .slice(0, listedMax);
}

/** Newest closing balances, added up by "LEDGER_ACCOUNT CUR". */
async function newestTotals(session: Session, table: string, keys: readonly string[]): Promise<Map<string, bigint>> {
  const { dialect } = session;
  const rows = await session.rows(
    `select b.ledger_account, b.currency, ${wideTotal(dialect, 'b.closing_minor')} as closing
       from (select ${keys.join(', ')}, max(booking_day) as newest from ${table} group by ${keys.join(', ')}) k
       ${joinInOrder(dialect)} ${table} b on b.booking_day = k.newest and ${keys.map((key) => `b.${key} = k.${key}`).join(' and ')}
      group by b.ledger_account, b.currency`,
  );
  return new Map(
    rows.map((row) => [`${toText(row['ledger_account'])} ${toText(row['currency'])}`, toBigInt(row['closing'])]),
  );
}
