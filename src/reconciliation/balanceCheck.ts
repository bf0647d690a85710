import { formatMinor } from '../kernel/money.js';
import type { Session } from '../db/session.js';
import { balancedEntries, balanceMovements, wrongBalances, type LedgerMovement } from './balances.js';
import { amountsText } from './ledgerProof.js';
import { sidesOf } from './balances.js';
import type { Check, Difference } from './reconcile.js';

/**
 * The balances of a day against its entries: opening + movements = closing, opening = what was closed with before, and
 * the accounts add up to their ledger account. `stale`: they were made before the last entry came.
 */
export async function balanceCheck(
  session: Session,
  batchDay: string,
  entries: readonly LedgerMovement[],
): Promise<{ check: Check; stale: boolean }> {
  const made = await balancedEntries(session, batchDay);
  if (made.balanced !== made.entries && (made.balanced !== null || made.entries > 0)) {
    const [expected, actual] = [`from ${String(made.entries)} journal entries`, `from ${String(made.balanced ?? 0)}`];
    const differences = [{ what: 'balances', key: batchDay, expected, actual }];
    return { check: { name: 'balances', ok: false, expected, actual, differences }, stale: true };
  }
  const accounts = await balanceMovements(session, batchDay, 'account_balance');
  const general = await balanceMovements(session, batchDay, 'general_balance');
  const differences = [
    ...movementDifferences('accounts of', entries, accounts),
    ...movementDifferences('ledger account', entries, general),
    ...(await sumDifferences(session, batchDay, 'account_balance')),
    ...(await sumDifferences(session, batchDay, 'general_balance')),
  ];
  const text = (movements: readonly LedgerMovement[]): string => amountsText(sidesOf(movements), 'expectedMinor');
  const [expected, actual] = [text(entries), text(accounts)];
  return { check: { name: 'balances', ok: differences.length === 0, expected, actual, differences }, stale: false };
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
  batchDay: string,
  table: 'account_balance' | 'general_balance',
): Promise<Difference[]> {
  return (await wrongBalances(session, batchDay, table)).map((row) => ({
    what: 'balance',
    key: row.key,
    expected: formatMinor(row.beforeMinor + row.debitMinor - row.creditMinor, row.currency),
    actual: formatMinor(row.closingMinor, row.currency),
  }));
}
