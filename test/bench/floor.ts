import type { Database } from '../../src/db/database.js';
import type { Binding, Transaction } from '../../src/db/session.js';
import { repeatable } from '../../src/db/transaction.js';
import type { DatabaseTarget } from '../../src/db/url.js';
import { batchDay } from './data.js';
import { mysqlFloor } from './floorMysql.js';
import { sqliteFloor } from './floorSqlite.js';
import { openDatabase } from './place.js';
import { dealRanges, type Range } from './ranges.js';
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

export interface FloorOptions {
  orders: number;
  /** Orders in one transaction. */
  rangeOrders: number;
  connections: number;
}

const runId = 1;

/**
 * The yardstick: the durable changes of Settle, made by set-based SQL in id ranges, with nothing read or computed by a
 * client. Each connection owns its temporary tables and takes the next range when it is done with one. It keeps no
 * lease, watermark or quarantine, retries nothing and proves nothing. The parts add up the time of all connections.
 */
export async function runFloor(target: DatabaseTarget, options: FloorOptions): Promise<FloorResult> {
  const statements = target.dialect === 'sqlite' ? sqliteFloor : mysqlFloor;
  const stopwatch = new Stopwatch();
  // Pools of one connection each, for a temporary table belongs to the connection that made it.
  const first = await openDatabase(target, { connections: 1 });
  const databases = [first];
  try {
    while (databases.length < options.connections) databases.push(await openDatabase(target, { connections: 1 }));
    const start = performance.now();
    // A connection that fails ends the dealing for the others too.
    const ranges = dealRanges(options.orders, options.rangeOrders);
    await Promise.all(databases.map((database) => takeRanges(database, statements, ranges, stopwatch)));
    await transaction(first, 'totals', statements.totals, { day: batchDay }, stopwatch);
    return { ms: performance.now() - start, parts: Object.fromEntries(stopwatch.parts) };
  } finally {
    await Promise.all(databases.map((database) => database.close()));
  }
}

async function takeRanges(
  database: Database,
  statements: FloorSql,
  ranges: Iterable<Range>,
  stopwatch: Stopwatch,
): Promise<void> {
  for (const sql of statements.prepare) await database.read((session) => session.change(sql));
  for (const { chunkNo, first, last } of ranges) {
    const values = { run: runId, chunk: chunkNo, first, last, day: batchDay };
    for (const sql of statements.clear)
      await stopwatch.time('clear', () => database.read((session) => session.change(sql)));
    await transaction(database, 'settle', statements.settle, values, stopwatch);
    await transaction(database, 'post', statements.post, values, stopwatch);
  }
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
