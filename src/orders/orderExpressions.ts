import { among, literal } from '../db/identifiers.js';
import type { Dialect } from '../db/session.js';
import { currenciesOfScale, currencyScales, scaleOf } from '../kernel/money.js';
import type { OrderSource, SourceValue } from '../kernel/orderSource.js';

// How each concept is read from a row of the mapped table, as SQL. What fits as it is stays a bare column, so that
// indexes on it are used and nothing is computed.

/** The name of a concept and the SQL that reads it. */
export type Expression = [concept: string, sql: string];

type Naming = (column: string) => string;

export function orderExpressions(source: OrderSource, dialect: Dialect, named: Naming): Expression[] {
  const { columns } = source;
  return [
    ['id', named(columns.id)],
    ['order_no', named(columns.orderNo)],
    ['account_no', text(source, dialect, named, columns.accountNo)],
    ['batch_day', named(columns.day)],
    ['type', typeSql(source, named)],
    ['amount_minor', amountSql(source, dialect, named)],
    ['currency', currencySql(source, dialect, named)],
    ['channel', channelSql(source, dialect, named)],
    ['state', stateSql(source, named)],
    ['reversal_of', reversalSql(source, dialect, named)],
  ];
}

export function claimExpressions({ columns: { runId, chunkNo } }: OrderSource, named: Naming): Expression[] {
  const isKept = runId !== null && chunkNo !== null;
  return [
    ['run_id', isKept ? named(runId) : 'm.run_id'],
    ['chunk_no', isKept ? named(chunkNo) : 'm.chunk_no'],
  ];
}

/**
 * Text as ours: UTF-8 that compares byte by byte, and never null. A number is spelt in digits, and a CHAR without its
 * padding, which servers take off when they read it.
 */
function text({ exact }: OrderSource, dialect: Dialect, named: Naming, column: string): string {
  if (exact.has(column)) return named(column);
  return dialect === 'sqlite'
    ? `coalesce(cast(${named(column)} as text), '')`
    : `coalesce(cast(${named(column)} as char character set utf8mb4), '') collate utf8mb4_bin`;
}

function typeSql({ always, columns, types, exact }: OrderSource, named: Naming): string {
  if (columns.type === null) return literal(always.type ?? 'OTHER');
  if (exact.has(columns.type) && isIdentity(types)) return named(columns.type);
  return byValue(named(columns.type), Object.entries(types));
}

/** INIT is only what nobody has claimed: an order that somebody sets back after we have settled it is not settled again. */
function stateSql({ own, columns, states, exact }: OrderSource, named: Naming): string {
  if (exact.has(columns.state) && isIdentity(states) && (own || columns.runId === null)) return named(columns.state);
  const free = columns.runId === null ? '' : ` and ${named(columns.runId)} is null`;
  const order = Object.entries(states) as [keyof typeof states, readonly SourceValue[]][];
  if (free === '') return byValue(named(columns.state), order);
  const arms = order.map(
    ([state, values]) =>
      `when ${among(named(columns.state), values)}${state === 'INIT' ? free : ''} then ${literal(state)}`,
  );
  return `case ${arms.join(' ')} else 'OTHER' end`;
}

function isIdentity(map: Readonly<Record<string, readonly SourceValue[]>>): boolean {
  return Object.entries(map).every(([name, values]) => values.length === 1 && values[0] === name);
}

function byValue(column: string, map: [string, readonly SourceValue[]][]): string {
  const arms = map.flatMap(([name, values]) => values.map((value) => `when ${literal(value)} then ${literal(name)}`));
  return `case ${column} ${arms.join(' ')} else 'OTHER' end`;
}

/** A code of three letters; what is none is XXX, the code of no currency, which no order may have. */
function currencySql(source: OrderSource, dialect: Dialect, named: Naming): string {
  const { always, columns, exact } = source;
  if (columns.currency === null) return literal(always.currency ?? 'XXX');
  if (exact.has(columns.currency)) return named(columns.currency);
  const code = text(source, dialect, named, columns.currency);
  return `case when ${dialect === 'sqlite' ? 'length' : 'char_length'}(${code}) = 3 then ${code} else 'XXX' end`;
}

function channelSql(source: OrderSource, dialect: Dialect, named: Naming): string {
  const { always, columns } = source;
  return columns.channel === null ? literal(always.channel ?? '') : text(source, dialect, named, columns.channel);
}

/** Nothing, or the empty text that older tables have for it, is null. */
function reversalSql(source: OrderSource, dialect: Dialect, named: Naming): string {
  const { reversalOf } = source.columns;
  if (reversalOf === null) return 'null';
  return source.exact.has(reversalOf) ? named(reversalOf) : `nullif(${text(source, dialect, named, reversalOf)}, '')`;
}

/** Minor units with our sign. Decimals are multiplied as decimals, so that no digit is lost on the way. */
function amountSql(source: OrderSource, dialect: Dialect, named: Naming): string {
  const { amount, columns, exact } = source;
  const column = named(columns.amount);
  const whole = `coalesce(cast(${minorSql(source, dialect, named)} as ${dialect === 'sqlite' ? 'integer' : 'signed'}), 0)`;
  const minor = amount.unit === 'MINOR' && exact.has(columns.amount) ? column : whole;
  if (!amount.signed) return minor;
  if (columns.type === null) return takes(source.always.type) ? `-${minor}` : minor;
  const { REFUND, FEE } = source.types;
  return `case when ${among(named(columns.type), [...REFUND, ...FEE])} then -${minor} else ${minor} end`;
}

function takes(type: string | null): boolean {
  return type === 'REFUND' || type === 'FEE';
}

function minorSql(source: OrderSource, dialect: Dialect, named: Naming): string {
  const { amount, columns, always } = source;
  const column = named(columns.amount);
  if (amount.unit === 'MINOR') return column;
  if (columns.currency === null) return `${column} * ${String(factor(scaleOf(always.currency ?? '') ?? 0))}`;
  const code = currencySql(source, dialect, named);
  const usual = 2;
  const arms = currencyScales
    .filter((scale) => scale !== usual)
    .map((scale) => `when ${among(code, currenciesOfScale(scale))} then ${String(factor(scale))}`);
  return `${column} * case ${arms.join(' ')} else ${String(factor(usual))} end`;
}

function factor(scale: number): bigint {
  return 10n ** BigInt(scale);
}

/** Why a row cannot be settled, as a sentence about the order; null when it can, as far as its numbers tell. */
export function rowProblem(source: OrderSource, dialect: Dialect, named: Naming): string {
  const { columns, amount, types, exact } = source;
  const arms: [condition: string, problem: string][] = [];
  if (columns.type !== null && !exact.has(columns.type)) {
    const mapped = among(named(columns.type), Object.values(types).flat());
    arms.push([`${named(columns.type)} is null or not ${mapped}`, 'has a type that source.columns.type does not map']);
  }
  if (!exact.has(columns.amount)) {
    const minor = minorSql(source, dialect, named);
    const isWhole =
      dialect === 'sqlite' ? `${minor} = cast(${minor} as integer)` : `${minor} = cast(${minor} as signed)`;
    arms.push([`${named(columns.amount)} is null`, 'has no amount']);
    arms.push([`not (${isWhole})`, 'has an amount that is no whole number of minor units of 64 bits']);
  }
  const minor = amountSql(source, dialect, named);
  const isReversal = columns.reversalOf === null ? '' : ` and ${reversalSql(source, dialect, named)} is null`;
  const type = typeSql(source, named);
  const sign = amount.signed ? 'an amount whose sign its type does not have' : 'an amount below zero';
  arms.push([`${minor} < 0 and ${type} <> 'ADJUSTMENT'${isReversal}`, `has ${sign}, and is no reversal`]);
  return `case ${arms.map(([condition, problem]) => `when ${condition} then '${problem}'`).join(' ')} end`;
}
