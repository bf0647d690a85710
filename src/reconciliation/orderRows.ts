import { among, literal, quoted } from '../db/identifiers.js';
import type { Binding, Session } from '../db/session.js';
import { toText } from '../db/values.js';
import { currenciesOfScale, currencyScales, scaleOf } from '../kernel/money.js';
import type { OrderSource } from '../kernel/orderSource.js';

// The checks' own reading of the table of orders, which shares nothing with the one that settles: from the same mapping
// it works out once more what a row means.

/** Rows of the table of orders behind FROM or JOIN, under the names of our own table. */
export function orderRows(session: Session, alias = ''): string {
  const { source } = session;
  if (source.own) return alias === '' ? source.table : `${source.table} ${alias}`;
  return `(${selectOf(session)}) ${alias === '' ? 'orders_of_others' : alias}`;
}

/** Condition that a row is of a day. */
export function isOfDay({ source }: Session, day: string, column = 'batch_day'): { sql: string; bindings: Binding[] } {
  if (source.instants === null) return { sql: `${column} = ?`, bindings: [day] };
  return { sql: `${column} >= ? and ${column} < ?`, bindings: [...source.instants.bounds(day)] };
}

/** The day of a row. */
export function dayOfRow({ source }: Session, value: unknown): string {
  return source.instants === null ? toText(value) : source.instants.dayOf(value);
}

/** Condition that a run has claimed the row: in a table of others, their programs may use the same states. */
export function isClaimed({ source }: Session, alias: string): string {
  const states = `${alias}.state in ('PROCESSING', 'SUCCESS')`;
  return source.own ? states : `${alias}.run_id is not null and ${states}`;
}

/** The number that an order was taken back by, as the table spells it. */
export function reversedNo({ source }: Session, alias: string): string {
  return source.own ? `${alias}.reversal_of` : `${alias}.reversal_as_spelt`;
}

function selectOf({ source, dialect }: Session): string {
  const { columns } = source;
  const of = (column: string | null): string => (column === null ? 'null' : `t.${quoted(dialect, column)}`);
  const textOf = (column: string | null): string =>
    dialect === 'sqlite'
      ? `cast(${of(column)} as text)`
      : `cast(${of(column)} as char character set utf8mb4) collate utf8mb4_bin`;
  const named = (column: string | null, map: Readonly<Record<string, readonly (string | number)[]>>): string => {
    const found = Object.entries(map).flatMap(([name, values]) =>
      values.length === 0 ? [] : [`when ${among(of(column), values)} then ${literal(name)}`],
    );
    return `case ${found.join(' ')} else 'OTHER' end`;
  };
  const type = columns.type === null ? literal(source.always.type ?? 'OTHER') : named(columns.type, source.types);
  const claim = columns.runId === null || columns.chunkNo === null ? null : [of(columns.runId), of(columns.chunkNo)];
  const selected: Record<string, string> = {
    id: of(columns.id),
    order_no: of(columns.orderNo),
    account_no: textOf(columns.accountNo),
    batch_day: of(columns.day),
    type,
    amount_minor: minorOf(source, of(columns.amount), currencyOf(source, textOf), type, dialect === 'sqlite'),
    currency: currencyOf(source, textOf),
    channel: columns.channel === null ? literal(source.always.channel ?? '') : textOf(columns.channel),
    state: named(columns.state, source.states),
    // Others raise it for reasons of their own, so that it says nothing here.
    version: 'null',
    reversal_of: columns.reversalOf === null ? 'null' : `nullif(${textOf(columns.reversalOf)}, '')`,
    reversal_as_spelt: of(columns.reversalOf),
    run_id: claim?.[0] ?? 'k.run_id',
    chunk_no: claim?.[1] ?? 'k.chunk_no',
  };
  const list = Object.entries(selected).map(([name, sql]) => `${sql} as ${name}`);
  const place = source.schema === null ? [source.table] : [source.schema, source.table];
  const claims = claim === null ? `left join claimed_order k on k.order_id = ${of(columns.id)}` : '';
  return `select ${list.join(', ')} from ${quoted(dialect, ...place)} t ${claims} ${onlyOf(source, of)}`;
}

function onlyOf({ where }: OrderSource, of: (column: string) => string): string {
  const conditions = where.map(({ column, values, not }) =>
    not ? `(${of(column)} is null or not ${among(of(column), values)})` : among(of(column), values),
  );
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
}

function currencyOf({ columns, always }: OrderSource, textOf: (column: string) => string): string {
  if (columns.currency === null) return literal(always.currency ?? 'XXX');
  const code = textOf(columns.currency);
  return `case when length(${code}) = 3 then ${code} else 'XXX' end`;
}

/** In minor units, zero or above unless the order is an adjustment or takes back its own kind. */
function minorOf(source: OrderSource, amount: string, currency: string, type: string, isSqlite: boolean): string {
  const constant = source.columns.currency === null ? (scaleOf(source.always.currency ?? '') ?? 0) : null;
  const units =
    source.amount.unit === 'MINOR'
      ? '1'
      : constant !== null
        ? `1${'0'.repeat(constant)}`
        : `(case ${currencyScales
            .map((scale) => `when ${among(currency, currenciesOfScale(scale))} then 1${'0'.repeat(scale)}`)
            .join(' ')} else 100 end)`;
  const minor = `coalesce(cast(${amount} * ${units} as ${isSqlite ? 'integer' : 'signed'}), 0)`;
  return source.amount.signed ? `(${minor} * case when ${type} in ('REFUND', 'FEE') then -1 else 1 end)` : minor;
}
