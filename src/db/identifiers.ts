import knexModule, { type Knex } from 'knex';
import { invariant } from '../kernel/invariant.js';
import type { SourceValue } from '../kernel/orderSource.js';
import type { Dialect } from './session.js';

// Names and values that a person wrote into the settings, as SQL takes them. Nothing else puts such a text into a statement.

const writers = new Map<Dialect, Knex>();

/** A name quoted for the database, or a path of names such as schema and table. */
export function quoted(dialect: Dialect, ...path: readonly string[]): string {
  let writer = writers.get(dialect);
  if (writer === undefined) {
    writer = knexModule(
      dialect === 'sqlite' ? { client: 'better-sqlite3', useNullAsDefault: true } : { client: 'mysql2' },
    );
    writers.set(dialect, writer);
  }
  const own = writer;
  return path.map((name) => own.raw('??', [name]).toQuery()).join('.');
}

/** A value as it is written into a statement; the settings let no quote, backslash or control character through. */
export function literal(value: SourceValue): string {
  if (typeof value === 'number') {
    invariant(Number.isSafeInteger(value), 'VALUE_NOT_EXACT', 'A value of the mapping is not a whole number.');
    return String(value);
  }
  invariant(isPlainText(value), 'VALUE_NOT_EXACT', 'A value of the mapping cannot be written into a statement.');
  return `'${value}'`;
}

/** `column = 1`, or `column in (1, 2)`; false for no value at all. */
export function among(column: string, values: readonly SourceValue[]): string {
  const [first, ...others] = values.map(literal);
  if (first === undefined) return '1 = 0';
  return others.length === 0 ? `${column} = ${first}` : `${column} in (${[first, ...others].join(', ')})`;
}

function isPlainText(text: string): boolean {
  return /^[^'"\\\p{Cc}]*$/u.test(text);
}
