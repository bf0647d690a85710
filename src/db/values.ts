import { invariant } from '../kernel/invariant.js';
import type { Dialect, Row } from './session.js';

// The edge between rows and the program. Nothing else reads raw rows: mysql2 gives BIGINT, COUNT and SUM as text,
// better-sqlite3 gives bigint, and JavaScript would add the one as strings and round the other.

/** An exact integer from a row: an id, a count, an amount in minor units. */
export function toBigInt(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'string' && /^-?[0-9]+$/.test(value)) return BigInt(value);
  invariant(
    typeof value === 'number' && Number.isSafeInteger(value),
    'VALUE_NOT_EXACT',
    `The database gave ${String(value)} where a whole number belongs.`,
  );
  return BigInt(value);
}

/** A small exact integer: a count that fits a JavaScript number. */
export function toCount(value: unknown): number {
  const exact = toBigInt(value);
  invariant(exact <= BigInt(Number.MAX_SAFE_INTEGER), 'VALUE_NOT_EXACT', `${String(exact)} is too large for a count.`);
  return Number(exact);
}

export function toText(value: unknown): string {
  invariant(typeof value === 'string', 'VALUE_NOT_EXACT', `The database gave a ${typeof value} where text belongs.`);
  return value;
}

export function toTextOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : toText(value);
}

/** An instant as the program spells it (RFC 3339, UTC), from either database's spelling. */
export function toInstant(value: unknown): string {
  const text = toText(value);
  return text.endsWith('Z') ? text : `${text.replace(' ', 'T')}Z`;
}

export function toInstantOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : toInstant(value);
}

/** An instant as the database spells it. */
export function fromInstant(dialect: Dialect, instant: string): string {
  return dialect === 'sqlite' ? instant : instant.replace('T', ' ').replace(/Z$/, '');
}

/** Milliseconds since 1970 by the database's clock, the only clock that decides about leases. */
export function nowMs(dialect: Dialect): string {
  return dialect === 'sqlite'
    ? `cast(round((julianday('now') - 2440587.5) * 86400000) as integer)`
    : 'cast(unix_timestamp(now(3)) * 1000 as signed)';
}

/**
 * Select expressions for the exact sum of a BIGINT column, named `${name}_hi` and `${name}_lo`. SQLite's own SUM()
 * stops with an error beyond 64 bits, so there the upper and lower 32 bits are summed apart; servers sum as DECIMAL.
 */
export function exactSum(dialect: Dialect, column: string, name: string): string {
  return dialect === 'sqlite'
    ? `coalesce(sum((${column}) >> 32), 0) as ${name}_hi, coalesce(sum((${column}) & 4294967295), 0) as ${name}_lo`
    : `0 as ${name}_hi, cast(coalesce(sum(${column}), 0) as char) as ${name}_lo`;
}

/** The value that `exactSum` selected. */
export function sumIn(row: Row, name: string): bigint {
  return toBigInt(row[`${name}_hi`]) * 4294967296n + toBigInt(row[`${name}_lo`]);
}

/**
 * An id column to group by: the same bytes, told to be at most 64 of them. A server holds 256 for each text of 64 letters,
 * and a few hundred thousand groups then no longer fit into its memory. `groupKeyText` makes it text again.
 */
export function groupKey(dialect: Dialect, column: string): string {
  return dialect === 'sqlite' ? column : `left(cast(${column} as binary), 64)`;
}

export function groupKeyText(dialect: Dialect, column: string): string {
  return dialect === 'sqlite' ? column : `convert(${column} using utf8mb4)`;
}

/**
 * An inner join that goes from left to right: from what was gathered to the rows it names by their key. Left to itself a
 * server may go through all rows and gather anew for each.
 */
export function joinInOrder(dialect: Dialect): string {
  return dialect === 'sqlite' ? 'cross join' : 'straight_join';
}

/** Condition that the exact sum of a BIGINT column is below zero. */
export function sumIsNegative(dialect: Dialect, column: string): string {
  return dialect === 'sqlite'
    ? `sum((${column}) >> 32) + (sum((${column}) & 4294967295) >> 32) < 0`
    : `sum(${column}) < 0`;
}

/**
 * Condition that an integer column is one of these ids. Servers get the digits written out, which they look up as
 * ranges; SQLite gets them as one bound JSON text, so that its statement is prepared once and not once a list. Ids
 * without a gap are named by their first and last. An empty list is a caller's bug.
 */
export function oneOfIds(
  dialect: Dialect,
  column: string,
  ids: readonly bigint[],
): { sql: string; bindings: (string | bigint)[] } {
  invariant(ids.length > 0, 'VALUE_NOT_EXACT', 'An id list must not be empty.');
  if (ids.length > 2 && ids.every((id, at) => at === 0 || id === (ids[at - 1] as bigint) + 1n)) {
    return { sql: `${column} between ? and ?`, bindings: [ids[0] as bigint, ids[ids.length - 1] as bigint] };
  }
  const list = ids.join(',');
  return dialect === 'sqlite'
    ? { sql: `${column} in (select value from json_each(?))`, bindings: [`[${list}]`] }
    : { sql: `${column} in (${list})`, bindings: [] };
}

/**
 * A column that SQLite must not look for an index on, because the other condition names the rows better; the unary plus
 * changes nothing else. Servers weigh indexes by what they know of the table.
 */
export function unindexed(dialect: Dialect, column: string): string {
  return dialect === 'sqlite' ? `+${column}` : column;
}

/**
 * Behind the table of an UPDATE: goes by the primary key, whatever the server thinks of it. Along another index, or through a
 * small table, it would lock rows that it does not change, and wait for those that others have not committed.
 */
export function byPrimaryKey(dialect: Dialect): string {
  return dialect === 'sqlite' ? '' : 'force index (primary)';
}

/** `?,?,?` for an IN list of texts. */
export function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join(',');
}
