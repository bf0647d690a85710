import { formatMinor } from '../kernel/money.js';
import type { Session } from '../db/session.js';
import { toCount } from '../db/values.js';
import { balancedEntries, controlDifferences, otherMovements, wrongBalances, type OtherMovement } from './balances.js';
import type { Checklist } from './checklist.js';
import { isClosed, type Period } from './period.js';

/** Each balance of a day, made again from its entries and from the balance before. */
export async function checkBalances(
  session: Session,
  checklist: Checklist,
  period: Period,
  bookingDay: string,
): Promise<void> {
  const contradict = (table: string, key: string, problem: string): void =>
    checklist.contradict('balance', table, key, problem);
  const { entries, balanced } = await balancedEntries(session, bookingDay);
  if (balanced !== entries && (balanced !== null || entries > 0)) {
    // Those of an open day are made by the run that closes it.
    if (!isClosed(period, bookingDay)) return;
    const problem = `has ${String(entries)} journal entries, balances of ${String(balanced ?? 0)}`;
    contradict('balanced_day', bookingDay, problem);
    return;
  }
  const [count] = await session.rows('select count(*) as balances from account_balance where booking_day = ?', [
    bookingDay,
  ]);
  checklist.examine('balance', toCount(count?.['balances']));
  for (const { key, currency, entries: booked, balance } of await otherMovements(session, bookingDay)) {
    const text = (side: OtherMovement['entries']): string =>
      side === null
        ? 'nothing'
        : `${formatMinor(side.debitMinor, currency)} Dr ${formatMinor(side.creditMinor, currency)} Cr`;
    contradict('account_balance', `${bookingDay} ${key}`, `moved ${text(balance)}, its entries say ${text(booked)}`);
  }
  for (const table of ['account_balance', 'general_balance'] as const) {
    for (const row of await wrongBalances(session, bookingDay, table)) {
      const [opening, before] = [
        formatMinor(row.openingMinor, row.currency),
        formatMinor(row.beforeMinor, row.currency),
      ];
      const sum = formatMinor(row.openingMinor + row.debitMinor - row.creditMinor, row.currency);
      const problem =
        row.openingMinor === row.beforeMinor
          ? `closes with ${formatMinor(row.closingMinor, row.currency)}, opening and movements make ${sum}`
          : `opens with ${opening}, the balance before closed with ${before}`;
      contradict(table, `${bookingDay} ${row.key}`, problem);
    }
  }
}

/**
 * The newest balances of the accounts add up to that of their ledger account; not asked while a day's are in the making,
 * which a run that was cut off leaves half done and says so.
 */
export async function checkControl(session: Session, checklist: Checklist): Promise<void> {
  const [making] = await session.rows(
    `select b.booking_day from balanced_day b
      where b.entries is null and exists (select 1 from account_balance a where a.booking_day = b.booking_day)
      limit 1`,
  );
  if (making !== undefined) return;
  for (const { ledgerAccount, currency, expectedMinor, actualMinor } of await controlDifferences(session)) {
    const [control, accounts] = [formatMinor(expectedMinor, currency), formatMinor(actualMinor, currency)];
    const problem = `is at ${control}, its accounts add up to ${accounts}`;
    checklist.contradict('balance', 'general_balance', `${ledgerAccount} ${currency}`, problem);
  }
}
