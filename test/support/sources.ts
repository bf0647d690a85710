import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { configuredSource } from '../../src/commands/orderSource.js';
import { configSchema, type Config } from '../../src/config.js';
import type { Database } from '../../src/db/database.js';
import { repeatable } from '../../src/db/transaction.js';
import type { Binding } from '../../src/db/session.js';
import { useSource } from '../../src/orders/useSource.js';
import { createTestDatabase, type DatabaseKind, type TestDatabase } from './databases.js';
import { day } from './day.js';

// The tables of others that fixtures/sources describes, with orders in them as their own programs would write them.

export type SourceName = 't_order' | 'transactions' | 'ORDERS_T';

/** An order as a test tells it, whatever the table calls it. */
export interface ForeignOrder {
  no: string;
  account: string;
  type?: 'PAYMENT' | 'REFUND' | 'FEE' | 'ADJUSTMENT';
  /** Minor units with our sign. */
  minor: number;
  reverses?: string;
  /** Of the tables that tell an instant: local to its column. */
  at?: string;
  batchDay?: string;
}

export interface ForeignTable {
  name: SourceName;
  currency: string;
  /** Columns of the state, the number and the key, and how the states are spelt there. */
  state: string;
  no: string;
  id: string;
  states: Record<'INIT' | 'PROCESSING' | 'SUCCESS' | 'CANCELED' | 'UNKNOWN', string>;
  columns: readonly string[];
  row(order: ForeignOrder): Binding[];
}

const decimals = (minor: number): string => (minor / 100).toFixed(2);

export const foreignTables: Record<SourceName, ForeignTable> = {
  t_order: {
    name: 't_order',
    currency: 'CNY',
    state: 'status',
    no: 'order_no',
    id: 'id',
    states: { INIT: '1', PROCESSING: '2', SUCCESS: '3', CANCELED: '9', UNKNOWN: '0' },
    columns: ['order_no', 'merchant_id', 'trade_type', 'amount', 'pay_channel', 'settle_date', 'orig_order_no'],
    row: ({ no, account, type = 'PAYMENT', minor, reverses, batchDay = day }) => [
      no,
      account,
      ['PAYMENT', 'REFUND', 'FEE', 'ADJUSTMENT'].indexOf(type) + 1,
      decimals(minor),
      'ALIPAY',
      batchDay,
      reverses ?? null,
    ],
  },
  transactions: {
    name: 'transactions',
    currency: 'USD',
    state: 'status',
    no: 'uuid',
    id: 'id',
    states: {
      INIT: `'captured'`,
      PROCESSING: `'settling'`,
      SUCCESS: `'settled'`,
      CANCELED: `'voided'`,
      UNKNOWN: `'disputed'`,
    },
    columns: ['uuid', 'seller', 'captured_at', 'kind', 'cents', 'currency', 'gateway', 'reverses'],
    row: ({ no, account, type = 'PAYMENT', minor, reverses, at = `${day} 10:00:00.000` }) => [
      no,
      account,
      at,
      { PAYMENT: 'sale', REFUND: 'refund', FEE: 'fee', ADJUSTMENT: 'adjustment' }[type],
      type === 'REFUND' || type === 'FEE' ? -minor : minor,
      'USD',
      'adyen',
      reverses ?? null,
    ],
  },
  ORDERS_T: {
    name: 'ORDERS_T',
    currency: 'USD',
    state: 'STAT',
    no: 'ORD_NUM',
    id: 'ORD_ID',
    states: { INIT: `'N'`, PROCESSING: `'P'`, SUCCESS: `'S'`, CANCELED: `'X'`, UNKNOWN: `'?'` },
    columns: ['ORD_NUM', 'CUST_CODE', 'ORD_TIME', 'TYP', 'AMT', 'CHAN', 'ORIG_NUM'],
    row: ({ no, account, type = 'PAYMENT', minor, reverses, at = `${day} 10:00:00` }) => [
      no,
      account,
      at,
      { PAYMENT: 'SA', REFUND: 'RE', FEE: 'FE', ADJUSTMENT: 'AD' }[type],
      decimals(minor),
      'CARD',
      reverses ?? '',
    ],
  },
};

/** Where the fixture fits: SQLite holds no exact decimals, so that only the table in cents can be there. */
export const placesOfSources: [SourceName, DatabaseKind][] = [
  ['t_order', 'server'],
  ['transactions', 'server'],
  ['ORDERS_T', 'server'],
  ['transactions', 'sqlite'],
];

const fixture = (name: string): string => readFileSync(join('fixtures/sources', name), 'utf8');

export function sourceConfig(name: SourceName, change: (source: never) => void = () => undefined): Config {
  const tree = parse(fixture(`${name}.yaml`)) as { source: unknown };
  change(tree.source as never);
  return configSchema.parse(tree);
}

export async function createTable(database: Database, name: SourceName, kind: DatabaseKind): Promise<void> {
  const sql = fixture(`${name}.sql`).replaceAll(/^--.*$/gm, '');
  const statements =
    kind === 'server'
      ? [sql]
      : // The same table as SQLite spells it.
        [
          `create table transactions (id integer primary key autoincrement, uuid text not null unique, seller text not null,
             captured_at text not null, kind text not null, cents integer not null, currency text not null, gateway text,
             status text not null default 'captured', reverses text)`,
          'create index transactions_captured on transactions (captured_at)',
        ];
  await asOlderProgram(database, kind, statements);
}

/** On a session that takes zero dates, as the programs of old tables have. */
async function asOlderProgram(database: Database, kind: DatabaseKind, statements: readonly string[]): Promise<void> {
  await database.forMigrations.transaction(async (trx) => {
    if (kind === 'server') await trx.raw(`set @usual = @@session.sql_mode, session sql_mode = ''`);
    for (const statement of statements) await trx.raw(statement);
    if (kind === 'server') await trx.raw('set session sql_mode = @usual');
  });
}

const literal = (value: Binding): string => (typeof value === 'string' ? `'${value}'` : String(value));

export interface ForeignPlace {
  test: TestDatabase;
  database: Database;
  table: ForeignTable;
  config: Config;
  insert(orders: readonly ForeignOrder[]): Promise<void>;
  change(sql: string): Promise<number>;
  /** Order numbers by state, as the table spells both. */
  states(): Promise<Record<string, string[]>>;
}

/** A database with one of the tables, its mapping in use, and nothing in it. */
export async function foreignPlace(name: SourceName, kind: DatabaseKind): Promise<ForeignPlace> {
  const test = await createTestDatabase(kind);
  const { database } = test;
  const table = foreignTables[name];
  const config = sourceConfig(name);
  await createTable(database, name, kind);
  const source = configuredSource(config);
  if (source === null) throw new Error('The fixture names no source.');
  await useSource(database, source, () => 'settle.yaml');
  return {
    test,
    database,
    table,
    config,
    insert: (orders) =>
      asOlderProgram(database, kind, [
        `insert into ${name} (${table.columns.join(', ')}) values ${orders
          .map((order) => `(${table.row(order).map(literal).join(', ')})`)
          .join(', ')}`,
      ]),
    change: (sql) => database.transact(repeatable('test', (trx) => trx.change(sql))),
    states: async () => {
      const rows = await database.read((session) =>
        session.tuples(`select ${table.state}, ${table.no} from ${name} order by ${table.id}`),
      );
      const found: Record<string, string[]> = {};
      for (const [state, no] of rows) (found[String(state)] ??= []).push(String(no));
      return found;
    },
  };
}
