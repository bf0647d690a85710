import { quoted } from '../db/identifiers.js';
import type { Session } from '../db/session.js';
import { toCount } from '../db/values.js';
import { addDays, type BatchDay } from '../kernel/batchDay.js';
import type { SourceColumns } from '../kernel/orderSource.js';
import type { OrderTable } from './orderTable.js';
import type { TableDefinition } from './sourceDefinition.js';
import { warn, ok, fail, type Finding } from '../kernel/finding.js';

/** The days whose rows are looked at: as many as a run looks back, since older rows are nobody's concern. */
export interface Window {
  from: BatchDay;
  upTo: BatchDay;
}

/** What the rows of a table say, as far as it can be told without changing one. */
export async function dataFindings(
  session: Session,
  orders: OrderTable,
  definition: TableDefinition,
  window: Window,
): Promise<Finding[]> {
  return [
    ...(await rowsPerDay(session, orders, window)),
    await stateFinding(session, orders, window),
    ...(await problemFindings(session, orders, window)),
    ...(await nullFindings(session, orders, definition)),
    await foldingFinding(session, orders, window),
  ];
}

async function rowsPerDay(session: Session, orders: OrderTable, { from, upTo }: Window): Promise<Finding[]> {
  const days: string[] = [];
  let widest = 0;
  for (let day = from; day <= upTo; day = addDays(day, 1)) {
    const onDay = orders.isOn(day);
    const [row] = await session.rows(
      `select count(*) as orders, coalesce(max(id) - min(id) + 1, 0) as span,
              coalesce(sum(case when ${orders.waits()} then 1 else 0 end), 0) as waiting
         from ${orders.from()} where ${onDay.sql}`,
      onDay.bindings,
    );
    const [count, span] = [toCount(row?.['orders']), toCount(row?.['span'])];
    if (count === 0) continue;
    days.push(`${day}: ${String(count)} rows, ${String(toCount(row?.['waiting']))} to settle`);
    widest = Math.max(widest, span / count);
  }
  const findings = [ok('rows per day', days.length === 0 ? `none from ${from} to ${upTo}` : days.join('; '))];
  // Pages go through the ids of a day one after the other, those of other rows among them too.
  if (orders.source.instants !== null && widest > 20) {
    findings.push(
      warn(
        'ids of a day',
        `one order in ${String(Math.round(widest))} between the first and the last id of a day is of that day`,
        'Map a batch day with an index on it and the id, if pages are slow.',
      ),
    );
  }
  return findings;
}

async function stateFinding(session: Session, orders: OrderTable, { from, upTo }: Window): Promise<Finding> {
  const within = orders.isBetween(from, addDays(upTo, 1));
  const rows = await session.rows(
    `select state_key, count(*) as orders from ${orders.from()}
      where ${within.sql} and state = 'OTHER' group by state_key order by count(*) desc limit 20`,
    within.bindings,
  );
  if (rows.length === 0) return ok('states', 'every row has one that the mapping names');
  const list = rows.map((row) => `${String(row['state_key'])} (${String(toCount(row['orders']))} rows)`).join(', ');
  return warn(
    'states',
    `not in the mapping: ${list}; such rows are left alone`,
    'Add the value to source.columns.state.values if it is one of ours; otherwise nothing.',
  );
}

async function problemFindings(session: Session, orders: OrderTable, { from, upTo }: Window): Promise<Finding[]> {
  const within = orders.isBetween(from, addDays(upTo, 1));
  const rows = await session.rows(
    `select problem, count(*) as orders, min(id) as first from ${orders.from()}
      where ${within.sql} and problem is not null and ${orders.waits()} group by problem order by problem`,
    within.bindings,
  );
  const codes = await session.rows(
    `select count(*) as orders, min(id) as first from ${orders.from()}
      where ${within.sql} and ${orders.waits()} and currency = 'XXX'`,
    within.bindings,
  );
  const found = [
    ...rows.map((row) => [String(row['problem']), row] as const),
    ...codes
      .filter((row) => toCount(row['orders']) > 0)
      .map((row) => ['has no currency of three letters', row] as const),
  ];
  if (found.length === 0)
    return [ok('amounts and types', 'every row to settle has a type, a sign and whole minor units')];
  return found.map(([problem, row]) =>
    fail(
      'amounts and types',
      `${String(toCount(row['orders']))} rows to settle, the first with id ${String(row['first'])}: ${problem}`,
      'Mend the rows or the mapping: a run sets their accounts aside.',
    ),
  );
}

async function nullFindings(
  session: Session,
  { source, target }: OrderTable,
  definition: TableDefinition,
): Promise<Finding[]> {
  const { dialect } = session;
  const needed = ['orderNo', 'accountNo', 'day', 'type', 'amount', 'currency', 'channel', 'state'] as const;
  const nullable = needed.flatMap((concept: keyof SourceColumns) => {
    const name = source.columns[concept];
    return name !== null && definition.columns.get(name)?.isNullable === true ? [name] : [];
  });
  const findings: Finding[] = [];
  for (const name of nullable) {
    const [row] = await session.rows(`select count(*) as orders from ${target} where ${quoted(dialect, name)} is null`);
    const count = toCount(row?.['orders']);
    if (count > 0) {
      const fix = 'Fill the column, or leave such rows out with source.where.';
      findings.push(warn('missing values', `${name} is null in ${String(count)} rows`, fix));
    }
  }
  const day = definition.columns.get(source.columns.day);
  if (dialect === 'mysql' && day !== undefined && /^date/.test(day.type)) {
    const [row] = await session.rows(
      `select count(*) as orders from ${target} where ${quoted(dialect, day.name)} < '1000-01-01'`,
    );
    const count = toCount(row?.['orders']);
    if (count > 0) {
      const found = `${day.name} is 0000-00-00 in ${String(count)} rows, which are of no day`;
      findings.push(warn('missing values', found, 'Give them a day if they are to be settled.'));
    }
  }
  return findings.length > 0 ? findings : [ok('missing values', 'none')];
}

async function foldingFinding(session: Session, orders: OrderTable, { from, upTo }: Window): Promise<Finding> {
  if (session.dialect === 'sqlite') return ok('ids that fold', 'none: SQLite compares ids byte by byte');
  const name = `t.${quoted(session.dialect, orders.source.columns.accountNo)}`;
  const day = `t.${quoted(session.dialect, orders.source.columns.day)}`;
  const within = orders.isBetween(from, addDays(upTo, 1), day);
  const [row] = await session.rows(
    `select count(distinct ${name}) as folded, count(distinct cast(${name} as binary)) as exact
       from ${orders.target} t where ${within.sql}`,
    within.bindings,
  );
  const pairs = toCount(row?.['exact']) - toCount(row?.['folded']);
  return pairs === 0
    ? ok('ids that fold', 'none among the account numbers')
    : warn(
        'ids that fold',
        `${String(pairs)} account numbers differ from another only as the database does not see it`,
        'Make sure that they are different accounts: they are settled apart.',
      );
}
