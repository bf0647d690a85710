import type { Session } from '../db/session.js';
import { toCount, toText, toTextOrNull } from '../db/values.js';

// What a database says of a table of orders: its columns, keys and triggers.

export interface ColumnDefinition {
  name: string;
  /** In lower case, without length: "bigint", "varchar", "datetime". */
  type: string;
  /** As it was declared: "decimal(18,2)", "enum('A','B')". */
  declared: string;
  isNullable: boolean;
  isUnsigned: boolean;
  isGenerated: boolean;
  collation: string | null;
  /** Letters that a text may have, and digits behind the point of a decimal; null where that means nothing. */
  length: number | null;
  precision: number | null;
  scale: number | null;
}

export interface IndexDefinition {
  name: string;
  isUnique: boolean;
  columns: string[];
}

export interface TableDefinition {
  kind: 'table' | 'view';
  /** A server's storage engine; null on SQLite. */
  engine: string | null;
  columns: ReadonlyMap<string, ColumnDefinition>;
  indexes: IndexDefinition[];
  triggers: string[];
}

/** What the database says of a table, or null when it has none of that name (or does not show it to this user). */
export async function readDefinition(
  session: Session,
  place: { schema: string | null; table: string },
): Promise<TableDefinition | null> {
  return session.dialect === 'sqlite' ? readFile(session, place) : readServer(session, place);
}

const sameCase = (column: string): string => `lower(${column}) as ${column}`;

async function readServer(
  session: Session,
  { schema, table }: { schema: string | null; table: string },
): Promise<TableDefinition | null> {
  const here = 'table_schema = coalesce(?, database()) and table_name = ?';
  const [found] = await session.rows(
    `select table_type as kind, engine as engine from information_schema.tables where ${here}`,
    [schema, table],
  );
  if (found === undefined) return null;
  const columns = await session.tuples(
    `select column_name, ${sameCase('data_type')}, ${sameCase('is_nullable')}, column_type, collation_name,
            character_maximum_length, numeric_precision, numeric_scale, ${sameCase('extra')}
       from information_schema.columns where ${here} order by ordinal_position`,
    [schema, table],
  );
  const keys = await session.tuples(
    `select index_name, non_unique, column_name from information_schema.statistics
      where ${here} order by index_name, seq_in_index`,
    [schema, table],
  );
  const triggers = await session.tuples(
    `select trigger_name from information_schema.triggers
      where event_object_schema = coalesce(?, database()) and event_object_table = ? order by trigger_name`,
    [schema, table],
  );
  return {
    kind: /view/i.test(toText(found['kind'])) ? 'view' : 'table',
    engine: toTextOrNull(found['engine']),
    columns: byName(columns.map(serverColumn)),
    indexes: grouped(keys.map(([name, many, column]) => [toText(name), String(many) === '0', String(column)])),
    triggers: triggers.map(([name]) => toText(name)),
  };
}

function serverColumn(row: unknown[]): ColumnDefinition {
  const count = (value: unknown): number | null => (value === null ? null : toCount(value));
  const declared = toText(row[3]);
  return {
    name: toText(row[0]),
    type: toText(row[1]),
    declared,
    isNullable: toText(row[2]) === 'yes',
    isUnsigned: /unsigned/i.test(declared),
    isGenerated: /generated/.test(toText(row[8]).replace('default_generated', '')),
    collation: toTextOrNull(row[4]),
    length: count(row[5]),
    precision: count(row[6]),
    scale: count(row[7]),
  };
}

async function readFile(session: Session, { table }: { table: string }): Promise<TableDefinition | null> {
  const [found] = await session.rows(
    `select name, type, sql from sqlite_master where type in ('table', 'view') and name = ?`,
    [table],
  );
  if (found === undefined) return null;
  const sql = toText(found['sql']);
  // Only a STRICT table holds what its columns say.
  const collation = /\bcollate\b/i.test(sql) || !/\bstrict\b[^)]*$/i.test(sql) ? 'unknown' : 'binary';
  const columns = await session.tuples('select name, type, "notnull", pk, hidden from pragma_table_xinfo(?)', [table]);
  const indexes = await session.tuples(
    `select l.name, l."unique", i.name from pragma_index_list(?) l, pragma_index_info(l.name) i
      where l.partial = 0 order by l.name, i.seqno`,
    [table],
  );
  const key = columns.filter((row) => toCount(row[3]) > 0).sort((a, b) => toCount(a[3]) - toCount(b[3]));
  const triggers = await session.tuples(
    `select name from sqlite_master where type = 'trigger' and tbl_name = ? order by name`,
    [table],
  );
  return {
    kind: toText(found['type']) === 'view' ? 'view' : 'table',
    engine: null,
    columns: byName(columns.map((row) => fileColumn(row, collation, key.length === 1))),
    indexes: [
      { name: 'PRIMARY', isUnique: true, columns: key.map((row) => toText(row[0])) },
      ...grouped(indexes.map(([name, unique, column]) => [toText(name), toCount(unique) === 1, String(column)])),
    ],
    triggers: triggers.map(([name]) => toText(name)),
  };
}

function fileColumn(row: unknown[], collation: string, isRowId: boolean): ColumnDefinition {
  const declared = toText(row[1]);
  const [, type = '', length, scale] =
    /^\s*([a-z ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*$/i.exec(declared) ?? [];
  return {
    name: toText(row[0]),
    type: fileType(type.toLowerCase()),
    declared: declared.toLowerCase(),
    isNullable: toCount(row[2]) === 0 && !(isRowId && toCount(row[3]) > 0),
    isUnsigned: false,
    isGenerated: toCount(row[4]) > 1,
    collation,
    length: length === undefined ? null : Number(length),
    precision: null,
    scale: scale === undefined ? null : Number(scale),
  };
}

/** SQLite goes by the letters of a type, so that many names mean one. */
function fileType(type: string): string {
  if (type.includes('int')) return 'bigint';
  if (/char|clob|text/.test(type)) return 'varchar';
  if (/real|floa|doub/.test(type)) return 'double';
  return /^(date|datetime|timestamp)$/.test(type) ? 'varchar' : type === '' ? 'blob' : 'decimal';
}

function byName(columns: readonly ColumnDefinition[]): Map<string, ColumnDefinition> {
  return new Map(columns.map((column) => [column.name, column]));
}

function grouped(rows: readonly (readonly [name: string, isUnique: boolean, column: string])[]): IndexDefinition[] {
  const indexes = new Map<string, IndexDefinition>();
  for (const [name, isUnique, column] of rows) {
    const known = indexes.get(name);
    if (known === undefined) indexes.set(name, { name, isUnique, columns: [column] });
    else known.columns.push(column);
  }
  return [...indexes.values()];
}
