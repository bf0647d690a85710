import type { Session } from '../db/session.js';
import { exactSum, sumIn, toCount, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';

export interface LedgerTotal {
  currency: string;
  debitMinor: bigint;
  creditMinor: bigint;
  /** What the merchant payable control account gained by the orders: credits less debits, before fees and other terms. */
  payableMinor: bigint;
  /** What it gained, or lost, by the terms of the accounts, for each reason that there was. */
  effects: { reason: string; amountMinor: bigint }[];
}

/** Debits and credits that the ledger booked for a day, per currency. */
export async function ledgerTotals(session: Session, day: BatchDay): Promise<LedgerTotal[]> {
  const payable = `j.type in ('SETTLEMENT', 'TERMS') and l.ledger_account = 'MERCHANT_PAYABLE'`;
  const amountOf = (condition: string) => `case when ${condition} then l.amount_minor else 0 end`;
  const rows = await session.rows(
    `select l.currency, l.reason,
            ${exactSum(session.dialect, amountOf(`l.side = 'DEBIT'`), 'debit')},
            ${exactSum(session.dialect, amountOf(`l.side = 'CREDIT'`), 'credit')},
            ${exactSum(session.dialect, amountOf(`l.side = 'DEBIT' and ${payable}`), 'paid')},
            ${exactSum(session.dialect, amountOf(`l.side = 'CREDIT' and ${payable}`), 'owed')}
       from journal_entry j
       join ledger_entry l on l.journal_entry_id = j.id
      where j.batch_day = ?
      group by l.currency, l.reason`,
    [day],
  );
  const totals = new Map<string, LedgerTotal>();
  for (const row of rows) {
    const [currency, reason] = [toText(row['currency']), toTextOrNull(row['reason'])];
    const total = totals.get(currency) ?? { currency, debitMinor: 0n, creditMinor: 0n, payableMinor: 0n, effects: [] };
    totals.set(currency, total);
    total.debitMinor += sumIn(row, 'debit');
    total.creditMinor += sumIn(row, 'credit');
    const amountMinor = sumIn(row, 'owed') - sumIn(row, 'paid');
    if (reason === null) total.payableMinor += amountMinor;
    else if (amountMinor !== 0n) total.effects.push({ reason, amountMinor });
  }
  return [...totals.values()];
}

export interface LedgerHead {
  link: number;
  entries: number;
  head: string;
  previousHead: string;
}

/** The day's link of the hash chain; null before the day was closed. */
export async function ledgerHead(session: Session, day: BatchDay): Promise<LedgerHead | null> {
  const [row] = await session.rows(
    'select link_no, entries, previous_head, head from chain_link where booking_day = ?',
    [day],
  );
  if (row === undefined) return null;
  return {
    link: toCount(row['link_no']),
    entries: toCount(row['entries']),
    head: toText(row['head']),
    previousHead: toText(row['previous_head']),
  };
}
