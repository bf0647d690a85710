import { quoted } from '../db/identifiers.js';
import type { Dialect } from '../db/session.js';
import type { OrderSource } from '../kernel/orderSource.js';
import type { IndexDefinition, TableDefinition } from './sourceDefinition.js';
import { warn, ok, fail, type Finding } from '../kernel/finding.js';

/** What of a table's definition decides how fast and how exactly it is read: its indexes, collations and triggers. Pure. */
export function shapeFindings(source: OrderSource, dialect: Dialect, table: TableDefinition): Finding[] {
  return [
    ...indexFindings(source, dialect, table),
    ...collationFindings(source, dialect, table),
    table.triggers.length === 0
      ? ok('triggers', 'none')
      : warn(
          'triggers',
          `${table.triggers.join(', ')}: they run for every order that a run moves, in its transaction`,
          'Make sure that they take an UPDATE of the state, and that they are quick.',
        ),
  ];
}

function indexFindings(source: OrderSource, dialect: Dialect, table: TableDefinition): Finding[] {
  const { columns, instants } = source;
  const create = (name: string, ...names: string[]): string => {
    const on = quoted(dialect, ...(source.schema === null ? [source.table] : [source.schema, source.table]));
    const list = names.map((column) => quoted(dialect, column)).join(', ');
    return `CREATE INDEX ${quoted(dialect, name)} ON ${on} (${list});`;
  };
  const findings: Finding[] = [];
  // Every index of InnoDB and SQLite ends with the primary key, so that the column alone will do.
  const page = table.indexes.find(
    (index) => begins(index, columns.day) && (instants !== null || [undefined, columns.id].includes(index.columns[1])),
  );
  findings.push(
    page === undefined
      ? fail(
          'index of the day',
          `none begins with ${columns.day}${instants === null ? ` and then ${columns.id}` : ''}: every page would read the whole table`,
          create('settle_day', columns.day, columns.id),
        )
      : ok('index of the day', `${page.name} (${page.columns.join(', ')})`),
  );
  const late = table.indexes.find((index) => begins(index, columns.state));
  findings.push(
    late === undefined
      ? warn(
          'index of the state',
          `none begins with ${columns.state}: late orders are looked for by reading all rows of the look-back`,
          create('settle_state', columns.state, columns.day),
        )
      : ok('index of the state', `${late.name} (${late.columns.join(', ')})`),
  );
  const number = table.indexes.find((index) => begins(index, columns.orderNo) && index.columns.length === 1);
  findings.push(
    number?.isUnique === true
      ? ok('order numbers', `${number.name} keeps each of them unique`)
      : warn(
          'order numbers',
          number === undefined ? `no index on ${columns.orderNo}` : `${number.name} is not unique`,
          create('settle_order_no', columns.orderNo).replace('INDEX', 'UNIQUE INDEX'),
        ),
  );
  if (columns.reversalOf !== null && !table.indexes.some((index) => begins(index, columns.reversalOf ?? ''))) {
    findings.push(
      warn(
        'index of reversals',
        `none begins with ${columns.reversalOf}: each page with a refund reads the whole table`,
        create('settle_reversal', columns.reversalOf),
      ),
    );
  }
  return findings;
}

function begins({ columns }: IndexDefinition, column: string): boolean {
  return columns[0] === column;
}

/** Ids are told apart byte by byte by us; a database that folds them may keep two of them from being there at once. */
function collationFindings({ columns }: OrderSource, dialect: Dialect, table: TableDefinition): Finding[] {
  if (dialect === 'sqlite') return [];
  const folding = (
    [
      ['accountNo', columns.accountNo],
      ['orderNo', columns.orderNo],
    ] as const
  ).flatMap(([concept, name]) => {
    const collation = table.columns.get(name)?.collation ?? null;
    return collation === null || /_bin$|^binary$/.test(collation) ? [] : [`${name} (${concept}) ${collation}`];
  });
  if (folding.length === 0) return [ok('collations', 'ids are compared byte by byte')];
  return [
    warn(
      'collations',
      `${folding.join(', ')}: to the database "abc" and "ABC" are one; Settle reads them as two`,
      'Nothing, unless "ids that fold" below names any; otherwise give the columns a _bin collation.',
    ),
  ];
}
