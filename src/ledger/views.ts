import type { Binding, Session } from '../db/session.js';
import { exactSum, sumIn, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { compareBytes } from '../kernel/ids.js';

export type LedgerAccountKind = 'ASSET' | 'LIABILITY' | 'EQUITY' | 'INCOME' | 'EXPENSE';

export interface ChartLine {
  code: string;
  name: string;
  kind: LedgerAccountKind;
  /** What its sub-ledger is kept by: ACCOUNT, CHANNEL, or nothing. */
  subLedger: string | null;
}

/** The chart of accounts, in order of code. */
export async function chartOfAccounts(session: Session): Promise<ChartLine[]> {
  const rows = await session.rows('select code, name, kind, sub_ledger from ledger_account');
  return rows
    .map((row) => ({
      code: toText(row['code']),
      name: toText(row['name']),
      kind: toText(row['kind']) as LedgerAccountKind,
      subLedger: toTextOrNull(row['sub_ledger']),
    }))
    .sort((a, b) => compareBytes(a.code, b.code));
}

export interface LedgerBalance {
  code: string;
  name: string;
  /** Null where the ledger account has no sub-ledger. */
  subAccount: string | null;
  currency: string;
  debitMinor: bigint;
  creditMinor: bigint;
  /** On the natural side of the account: debits less credits for assets and expenses, the reverse for the others. */
  balanceMinor: bigint;
}

export interface LedgerFilter {
  /** Only entries in the sub-ledger of this account. */
  account?: string | undefined;
  /** Up to and with this batch day. */
  asOf?: BatchDay | undefined;
}

/** Balances per ledger account, sub-ledger account and currency, in that order. */
export async function ledgerBalances(session: Session, filter: LedgerFilter = {}): Promise<LedgerBalance[]> {
  const { where, bindings } = conditionsOf(filter);
  const rows = await session.rows(
    `select a.code, a.name, a.kind, l.sub_account, l.currency,
            ${exactSum(session.dialect, `case when l.side = 'DEBIT' then l.amount_minor else 0 end`, 'debit')},
            ${exactSum(session.dialect, `case when l.side = 'CREDIT' then l.amount_minor else 0 end`, 'credit')}
       from ledger_entry l
       join ledger_account a on a.code = l.ledger_account
       ${filter.asOf === undefined ? '' : 'join journal_entry j on j.id = l.journal_entry_id'}
      ${where}
      group by a.code, a.name, a.kind, l.sub_account, l.currency`,
    bindings,
  );
  return rows
    .map((row) => {
      const [debit, credit] = [sumIn(row, 'debit'), sumIn(row, 'credit')];
      const subAccount = toText(row['sub_account']);
      return {
        code: toText(row['code']),
        name: toText(row['name']),
        subAccount: subAccount === '' ? null : subAccount,
        currency: toText(row['currency']),
        debitMinor: debit,
        creditMinor: credit,
        balanceMinor: naturalBalance(toText(row['kind']) as LedgerAccountKind, debit, credit),
      };
    })
    .sort(
      (a, b) =>
        compareBytes(a.code, b.code) ||
        compareBytes(a.subAccount ?? '', b.subAccount ?? '') ||
        compareBytes(a.currency, b.currency),
    );
}

function conditionsOf({ account, asOf }: LedgerFilter): { where: string; bindings: Binding[] } {
  const conditions = [
    ...(account === undefined ? [] : [`a.sub_ledger = 'ACCOUNT' and l.sub_account = ?`]),
    ...(asOf === undefined ? [] : ['j.batch_day <= ?']),
  ];
  return {
    where: conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`,
    bindings: [account, asOf].filter((value) => value !== undefined),
  };
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
       ${asOf === undefined ? '' : 'join journal_entry j on j.id = l.journal_entry_id where j.batch_day <= ?'}
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
