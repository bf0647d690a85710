import { formatMinor } from '../kernel/money.js';
import type { Session } from '../db/session.js';
import { toTextOrNull } from '../db/values.js';
import {
  balancedEntries,
  balanceMovements,
  entryMovements,
  sidesOf,
  wrongBalances,
  type LedgerMovement,
} from './balances.js';
import { amountsText } from './ledgerProof.js';
import type { Check, Difference } from './reconcile.js';

/** What the entries in the books of a day moved. */
export interface BookedDay {
  bookingDay: string;
  movements: readonly LedgerMovement[];
}

/**
 * A batch day in the books, and before it the days that have entries and no batch of their own, whose balances its run
 * makes too.
 */
export async function bookedWith(session: Session, batchDay: string): Promise<BookedDay[]> {
  const [batch] = await session.rows('select max(batch_day) as day from batch where batch_day < ?', [batchDay]);
  const days: string[] = [];
  for (let last = toTextOrNull(batch?.['day']) ?? '1000-01-01'; ;) {
    const [row] = await session.rows(
      'select min(booking_day) as day from journal_entry where booking_day > ? and booking_day < ?',
      [last, batchDay],
    );
    const day = toTextOrNull(row?.['day']);
    if (day === null) break;
    days.push(day);
    last = day;
  }
  const booked: BookedDay[] = [];
  for (const bookingDay of [...days, batchDay]) {
    booked.push({ bookingDay, movements: await entryMovements(session, bookingDay) });
  }
  return booked;
}

/**
 * The balances of days against their entries: opening + movements = closing, opening = what was closed with before, and
 * the accounts add up to their ledger account. `stale`: those of some day were made before the last entry came.
 */
export async function balanceCheck(
  session: Session,
  days: readonly BookedDay[],
): Promise<{ check: Check; stale: string | null }> {
  const differences: Difference[] = [];
  const accounts: LedgerMovement[] = [];
  for (const { bookingDay, movements } of days) {
    const made = await balancedEntries(session, bookingDay);
    if (made.balanced !== made.entries && (made.balanced !== null || made.entries > 0)) {
      const [expected, actual] = [`from ${String(made.entries)} journal entries`, `from ${String(made.balanced ?? 0)}`];
      const found = [{ what: 'balances', key: bookingDay, expected, actual }];
      return { check: { name: 'balances', ok: false, expected, actual, differences: found }, stale: bookingDay };
    }
    const ofAccounts = await balanceMovements(session, bookingDay, 'account_balance');
    accounts.push(...ofAccounts);
    differences.push(
      ...movementDifferences('accounts of', movements, ofAccounts),
      ...movementDifferences(
        'ledger account',
        movements,
        await balanceMovements(session, bookingDay, 'general_balance'),
      ),
      ...(await sumDifferences(session, bookingDay, 'account_balance')),
      ...(await sumDifferences(session, bookingDay, 'general_balance')),
    );
  }
  const text = (movements: readonly LedgerMovement[]): string => amountsText(sidesOf(movements), 'expectedMinor');
  const [expected, actual] = [text(days.flatMap(({ movements }) => movements)), text(accounts)];
  return { check: { name: 'balances', ok: differences.length === 0, expected, actual, differences }, stale: null };
}

function movementDifferences(
  what: string,
  entries: readonly LedgerMovement[],
  balances: readonly LedgerMovement[],
): Difference[] {
  const keyOf = (movement: LedgerMovement): string => `${movement.ledgerAccount} ${movement.currency}`;
  const byKey = (movements: readonly LedgerMovement[]): Map<string, LedgerMovement> =>
    new Map(movements.map((movement) => [keyOf(movement), movement]));
  const [expected, actual] = [byKey(entries), byKey(balances)];
  const text = (movement: LedgerMovement | undefined): string =>
    movement === undefined
      ? 'nothing'
      : `${formatMinor(movement.debitMinor, movement.currency)} Dr ${formatMinor(movement.creditMinor, movement.currency)} Cr`;
  return [...new Set([...expected.keys(), ...actual.keys()])]
    .sort()
    .map((key) => ({ what, key, expected: text(expected.get(key)), actual: text(actual.get(key)) }))
    .filter((difference) => difference.expected !== difference.actual);
}

async function sumDifferences(
  session: Session,
  bookingDay: string,
  table: 'account_balance' | 'general_balance',
): Promise<Difference[]> {
  return (await wrongBalances(session, bookingDay, table)).map((row) => ({
    what: 'balance',
    key: row.key,
    expected: formatMinor(row.beforeMinor + row.debitMinor - row.creditMinor, row.currency),
    actual: formatMinor(row.closingMinor, row.currency),
  }));
}
