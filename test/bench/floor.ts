import type { Database } from '../../src/db/database.js';
import type { Binding, Transaction } from '../../src/db/session.js';
import { repeatable } from '../../src/db/transaction.js';
import { batchDay } from './data.js';
import { mysqlFloor } from './floorMysql.js';
import { sqliteFloor } from './floorSqlite.js';
import { Stopwatch } from './stopwatch.js';

/** One statement of the floor; `:name` stands for a value of the range. */
export interface FloorStatement {
  part: string;
  sql: string;
}

/** The hand-written statements of an engine. No row passes through the client: only these texts do. */
export interface FloorSql {
  /** Temporary tables, once. */
  prepare: readonly string[];
  /** Before each range, outside a transaction. */
  clear: readonly string[];
  /** First transaction of a range: chunk, nets, orders to PROCESSING, outbox. */
  settle: readonly FloorStatement[];
  /** Second transaction of a range: journal, ledger, orders to SUCCESS, outbox to SENT. */
  post: readonly FloorStatement[];
  /** Once at the end. */
  totals: readonly FloorStatement[];
}

export interface FloorResult {
  ms: number;
  parts: Record<string, number>;
}

const runId = 1;

/**
 * The yardstick: the durable changes of Settle, made by set-based SQL in id ranges over one connection, with nothing
 * read or computed by a client. It keeps no lease, watermark or quarantine, retries nothing and proves nothing.
 * `database` must have been opened with one connection, which owns the temporary tables.
 */
export async function runFloor(database: Database, orders: number, rangeOrders: number): Promise<FloorResult> {
  const statements = database.target.dialect === 'sqlite' ? sqliteFloor : mysqlFloor;
  const stopwatch = new Stopwatch();
  const start = performance.now();
  for (const sql of statements.prepare) await database.read((session) => session.change(sql));
  for (let first = 1, chunkNo = 1; first <= orders; first += rangeOrders, chunkNo += 1) {
    const last = Math.min(first + rangeOrders - 1, orders);
    // A range's messages get ids from `first` on: there are never more of them than orders.
    const values = { run: runId, chunk: chunkNo, first, last, day: batchDay };
    for (const sql of statements.clear)
      await stopwatch.time('clear', () => database.read((session) => session.change(sql)));
    await transaction(database, 'settle', statements.settle, values, stopwatch);
    await transaction(database, 'post', statements.post, values, stopwatch);
  }
  await transaction(database, 'totals', statements.totals, { day: batchDay }, stopwatch);
  return { ms: performance.now() - start, parts: Object.fromEntries(stopwatch.parts) };
}

async function transaction(
  database: Database,
  name: string,
  statements: readonly FloorStatement[],
  values: Record<string, Binding>,
  stopwatch: Stopwatch,
): Promise<void> {
  let finished = 0;
  await database.transact(
    repeatable(`floor ${name}`, async (trx) => {
      for (const { part, sql } of statements) await stopwatch.time(part, () => execute(trx, sql, values));
      finished = performance.now();
    }),
  );
  const commit = performance.now() - finished;
  stopwatch.parts.set(`${name}: commit`, (stopwatch.parts.get(`${name}: commit`) ?? 0) + commit);
}

async function execute(trx: Transaction, sql: string, values: Record<string, Binding>): Promise<void> {
  const bindings: Binding[] = [];
  const text = sql.replace(/:([a-z]+)\b/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    bindings.push(value);
    return '?';
  });
  if (/^\s*select/i.test(text)) await trx.rows(text, bindings);
  else await trx.change(text, bindings);
}
