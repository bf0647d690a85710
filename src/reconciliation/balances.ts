import type { Session } from '../db/session.js';
import { exactSum, sumIn, toBigInt, toCount, toText } from '../db/values.js';
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
export async function entryMovements(session: Session, batchDay: string): Promise<LedgerMovement[]> {
  const ofSide = (side: string): string => `case e.side when '${side}' then e.amount_minor else 0 end`;
  const rows = await session.rows(
    `select e.ledger_account, e.currency, ${exactSum(session.dialect, ofSide('DEBIT'), 'debit')},
            ${exactSum(session.dialect, ofSide('CREDIT'), 'credit')}
       from journal_entry j join ledger_entry e on e.journal_entry_id = j.id where j.batch_day = ?
      group by e.ledger_account, e.currency order by e.ledger_account, e.currency`,
    [batchDay],
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
  batchDay: string,
  table: 'account_balance' | 'general_balance',
): Promise<LedgerMovement[]> {
  const rows = await session.rows(
    `select ledger_account, currency, ${wideTotal(session.dialect, 'debit_minor')} as debit_minor,
            ${wideTotal(session.dialect, 'credit_minor')} as credit_minor
       from ${table} where batch_day = ? group by ledger_account, currency order by ledger_account, currency`,
    [batchDay],
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
  batchDay: string,
): Promise<{ entries: number; balanced: number | null }> {
  const [row] = await session.rows(
    `select (select count(*) from journal_entry where batch_day = ?) as entries,
            (select balanced_entries from batch where batch_day = ?) as balanced`,
    [batchDay, batchDay],
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
  batchDay: string,
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
                         where ${keys.map((key) => `p.${key} = b.${key}`).join(' and ')} and p.batch_day < b.batch_day
                         order by p.batch_day desc limit 1), ${wideZero(dialect)}) as before_minor
         from ${table} b where b.batch_day = ?) x
      where adds_up_to <> closing_minor or before_minor <> opening_minor
      order by ${keys.join(', ')} limit ${String(listedMax)}`,
    [batchDay],
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

/** Accounts whose balance of a day moved otherwise than their entries; at most `listedMax` of each kind. */
export async function otherMovements(session: Session, batchDay: string): Promise<OtherMovement[]> {
  const { dialect } = session;
  const ofSide = (side: string): string =>
    wideSum(dialect, `case e.side when '${side}' then e.amount_minor else 0 end`);
  const movements = `select e.ledger_account, e.sub_account, e.currency, ${ofSide('DEBIT')} as debit, ${ofSide('CREDIT')} as credit
    from journal_entry j join ledger_entry e on e.journal_entry_id = j.id
   where j.batch_day = ? group by e.ledger_account, e.sub_account, e.currency`;
  const onKeys = 'b.ledger_account = d.ledger_account and b.sub_account = d.sub_account and b.currency = d.currency';
  const rows = await session.rows(
    `select d.ledger_account, d.sub_account, d.currency, d.debit, d.credit, b.debit_minor, b.credit_minor
       from (${movements}) d left join account_balance b on b.batch_day = ? and ${onKeys}
      where b.batch_day is null or b.debit_minor <> d.debit or b.credit_minor <> d.credit
      order by d.ledger_account, d.sub_account, d.currency limit ${String(listedMax)}`,
    [batchDay, batchDay],
  );
  const extra = await session.rows(
    `select b.ledger_account, b.sub_account, b.currency, b.debit_minor, b.credit_minor
       from account_balance b left join (${movements}) d on ${onKeys}
      where b.batch_day = ? and d.currency is null
      order by b.ledger_account, b.sub_account, b.currency limit ${String(listedMax)}`,
    [batchDay, batchDay],
  );
  const amounts = (debit: unknown, credit: unknown): OtherMovement['entries'] =>
    debit === null || debit === undefined ? null : { debitMinor: toBigInt(debit), creditMinor: toBigInt(credit) };
  return [...rows, ...extra].map((row) => ({
    key: balanceKey(row),
    currency: toText(row['currency']),
    entries: amounts(row['debit'], row['credit']),
    balance: amounts(row['debit_minor'], row['credit_minor']),
  }));
}

/** The newest balances of all accounts (actual) beside that of their ledger account (expected), where they differ. */
export async function controlDifferences(session: Session): Promise<(Sides & { ledgerAccount: string })[]> {
  const { dialect } = session;
  const newest = (table: string, keys: readonly string[], total: string): string =>
    `select b.ledger_account, b.currency, ${total} as closing from
       (select ${keys.join(', ')}, max(batch_day) as batch_day from ${table} group by ${keys.join(', ')}) k
       join ${table} b on b.batch_day = k.batch_day and ${keys.map((key) => `b.${key} = k.${key}`).join(' and ')}`;
  const accounts = `${newest('account_balance', ['ledger_account', 'sub_account', 'currency'], wideTotal(dialect, 'b.closing_minor'))}
    group by b.ledger_account, b.currency`;
  const rows = await session.rows(
    `select g.ledger_account, g.currency, g.closing as control, a.closing as accounts
       from (${newest('general_balance', ['ledger_account', 'currency'], 'b.closing_minor')}) g
       left join (${accounts}) a on a.ledger_account = g.ledger_account and a.currency = g.currency
      where a.closing is null or a.closing <> g.closing order by g.ledger_account, g.currency limit ${String(listedMax)}`,
  );
  return rows.map((row) => ({
    ledgerAccount: toText(row['ledger_account']),
    currency: toText(row['currency']),
    expectedMinor: toBigInt(row['control']),
    actualMinor: row['accounts'] === null ? 0n : toBigInt(row['accounts']),
  }));
}
