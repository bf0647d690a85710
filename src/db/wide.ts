import type BetterSqlite3 from 'better-sqlite3';
import type { Dialect } from './session.js';

// Sums and balances are wider than 64 bits. A server keeps them as DECIMAL and adds by itself; SQLite keeps their decimal
// digits as text, and adds by functions that each of our connections brings along.

/** Gives a SQLite connection the functions that the expressions below name. */
export function addWideFunctions(connection: BetterSqlite3.Database): void {
  const exact = { deterministic: true, safeIntegers: true } as const;
  const text = (amount: bigint): string => amount.toString();
  const read = (value: unknown): bigint => BigInt(value as string | bigint);
  connection.function('wide', exact, (upper: unknown, lower: unknown) => text(read(upper) * 4294967296n + read(lower)));
  connection.function('wide_plus', exact, (a: unknown, b: unknown) => text(read(a) + read(b)));
  connection.function('wide_less', exact, (a: unknown, b: unknown) => text(read(a) - read(b)));
  connection.aggregate('wide_total', {
    ...exact,
    start: () => 0n,
    step: (total: bigint, value: unknown) => total + read(value),
    result: text,
  });
}

/** The exact sum of a BIGINT column, as it is stored. */
export function wideSum(dialect: Dialect, column: string): string {
  return dialect === 'sqlite'
    ? `wide(sum((${column}) >> 32), sum((${column}) & 4294967295))`
    : `cast(sum(${column}) as decimal(38,0))`;
}

/** The exact sum of a column that holds sums. */
export function wideTotal(dialect: Dialect, column: string): string {
  return dialect === 'sqlite' ? `wide_total(${column})` : `sum(${column})`;
}

export function widePlus(dialect: Dialect, a: string, b: string): string {
  return dialect === 'sqlite' ? `wide_plus(${a}, ${b})` : `(${a} + ${b})`;
}

export function wideLess(dialect: Dialect, a: string, b: string): string {
  return dialect === 'sqlite' ? `wide_less(${a}, ${b})` : `(${a} - ${b})`;
}

export function wideZero(dialect: Dialect): string {
  return dialect === 'sqlite' ? `'0'` : '0';
}
