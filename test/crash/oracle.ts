import type { Database } from '../../src/db/database.js';
import { requireSchema, schemaStatus } from '../../src/db/schema.js';
import { batchDays } from '../../src/reconciliation/days.js';
import { reconcileDay } from '../../src/reconciliation/reconcile.js';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { SettleError } from '../../src/kernel/errors.js';
import { everyRow, moneyDump, runDay } from '../support/day.js';

async function lines(database: Database, sql: string): Promise<string[]> {
  const tuples = await database.read((session) => session.tuples(sql));
  return tuples.map((row) => row.map(String).join(' '));
}

/** Orders, nets and messages of a chunk are there all together or not at all. Counted anew here, apart from `verify`. */
export async function chunkFaults(database: Database): Promise<string[]> {
  const half = await lines(
    database,
    `select 'chunk', k.run_id, k.chunk_no, 'orders', k.orders, k.claimed, k.netted, k.told, 'nets', k.nets, k.net_rows, k.messages
       from (select c.run_id, c.chunk_no, c.orders, c.nets,
               (select count(*) from settlement_order o where o.run_id = c.run_id and o.chunk_no = c.chunk_no) as claimed,
               (select sum(n.orders) from net n where n.run_id = c.run_id and n.chunk_no = c.chunk_no) as netted,
               (select count(*) from net n where n.run_id = c.run_id and n.chunk_no = c.chunk_no) as net_rows,
               (select sum(m.orders) from net n join outbox m on m.biz_no = n.biz_no
                 where n.run_id = c.run_id and n.chunk_no = c.chunk_no) as told,
               (select count(*) from net n join outbox m on m.biz_no = n.biz_no
                 where n.run_id = c.run_id and n.chunk_no = c.chunk_no) as messages
          from chunk c) k
      where k.orders <> k.claimed or k.orders <> k.netted or k.orders <> k.told or k.nets <> k.net_rows or k.nets <> k.messages`,
  );
  const stray = await lines(
    database,
    `select 'order', o.order_no, o.state, 'of no chunk' from settlement_order o
       left join chunk c on c.run_id = o.run_id and c.chunk_no = o.chunk_no
      where o.state in ('PROCESSING', 'SUCCESS') and c.run_id is null`,
  );
  // An order is finished by the transaction that books its message.
  const unbooked = await lines(
    database,
    `select 'order', o.order_no, o.state, 'but its message is booked', count(j.id), 'times' from settlement_order o
       join net n on n.run_id = o.run_id and n.chunk_no = o.chunk_no and n.account_no = o.account_no
                 and n.currency = o.currency
       left join journal_entry j on j.biz_no = n.biz_no
      where o.state in ('PROCESSING', 'SUCCESS')
      group by o.order_no, o.state
     having count(j.id) <> case when o.state = 'SUCCESS' then 1 else 0 end`,
  );
  return [...half, ...stray, ...unbooked];
}

/** `verify` finds nothing, and `reconcile` of each day at most work that is still to be done. */
export async function contradictions(database: Database, worst: 'OK' | 'UNFINISHED'): Promise<string[]> {
  const checks = await verifyBooks(database);
  const found = checks.flatMap(({ name, contradictions: all }) =>
    all.map(({ table, key, problem }) => `verify ${name}: ${table} ${key} ${problem}`),
  );
  for (const batchDay of await database.read(batchDays)) {
    const { outcome, checks: totals } = await reconcileDay(database, batchDay);
    if (outcome === 'OK' || (outcome === 'UNFINISHED' && worst === 'UNFINISHED')) continue;
    const failed = totals
      .filter(({ ok }) => !ok)
      .map(({ name, expected, actual }) => `${name} ${expected} / ${actual}`);
    found.push(`reconcile ${batchDay}: ${outcome}: ${failed.join('; ')}`);
  }
  return found;
}

/** No run that says it is still at work, nobody who holds the lease. */
export async function leftovers(database: Database): Promise<string[]> {
  return [
    ...(await lines(database, `select 'run', id, state from run where state not in ('OK', 'PARTIAL', 'ABANDONED')`)),
    ...(await lines(database, 'select owner from lease where owner is not null')).filter(isAlive),
  ];
}

/** A start that finds nothing due does not take the lease; that of a dead process is free for whoever needs it. */
function isAlive(owner: string): boolean {
  try {
    return process.kill((JSON.parse(owner) as { pid: number }).pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** A further run of a closed day changes no row at all; one of a day that cannot be closed changes no money. */
export async function furtherRunChanges(database: Database, what: 'no row' | 'no money'): Promise<string[]> {
  const picture = async (): Promise<string> =>
    what === 'no row' ? everyRow(database) : (await moneyDump(database)).join('\n');
  const before = await picture();
  const { exitCode } = await runDay(database);
  const changed = (await picture()) === before ? [] : [`a further run changed rows`];
  return exitCode === 3 ? changed : [...changed, `a further run ended with ${String(exitCode)}`];
}

/** The orders of a file are stored all together or not at all, each with its account. */
export async function halfImported(database: Database, files: readonly (readonly string[])[]): Promise<string[]> {
  const stored = new Set(await lines(database, 'select order_no from settlement_order'));
  const half = files
    .map((orderNos) => orderNos.filter((orderNo) => stored.has(orderNo)))
    .filter((found, at) => found.length > 0 && found.length < (files[at]?.length ?? 0))
    .map((found) => `of a file only ${found.join(', ')} are stored`);
  const unknown = await lines(
    database,
    `select 'order', order_no, 'of an account that is not registered' from settlement_order
      where account_no not in (select account_no from account)`,
  );
  return [...half, ...unknown];
}

export async function importedRows(database: Database): Promise<string[]> {
  const accounts = await lines(database, `select 'account', account_no, state from account`);
  return [...(await moneyDump(database)), ...accounts].sort();
}

/** Unless the migration is recorded as applied, no run may start; once it is, every table is there. */
export async function halfSchema(database: Database): Promise<string[]> {
  const { applied } = await schemaStatus(database);
  if (applied.length > 0) {
    const tables = (await schemaDump(database)).length;
    return tables > 100 || database.engine === 'sqlite' ? [] : [`applied, with ${String(tables)} columns only`];
  }
  try {
    await requireSchema(database);
    return ['a run may start on half a schema'];
  } catch (error) {
    return error instanceof SettleError && error.code === 'SCHEMA_PENDING' ? [] : [`refused with ${String(error)}`];
  }
}

/** Tables, columns, indexes, checks and the rows that migrations make. */
export async function schemaDump(database: Database): Promise<string[]> {
  const parts =
    database.target.dialect === 'sqlite'
      ? [`select type, name, tbl_name, sql from sqlite_master where name not like 'sqlite_%'`]
      : [
          `select 'column', table_name, ordinal_position, column_name, column_type, is_nullable, column_default, collation_name, extra
             from information_schema.columns where table_schema = database()`,
          `select 'index', table_name, index_name, non_unique, seq_in_index, column_name
             from information_schema.statistics where table_schema = database()`,
          `select 'check', constraint_name, check_clause
             from information_schema.check_constraints where constraint_schema = database()`,
          `select 'table', table_name, engine, table_collation from information_schema.tables where table_schema = database()`,
        ];
  parts.push(`select 'ledger account', code, name, kind, sub_ledger from ledger_account`);
  parts.push(`select 'migration', name from settle_migration`);
  parts.push(`select 'lock', is_locked from settle_migration_lock`);
  const found: string[] = [];
  for (const sql of parts) found.push(...(await lines(database, sql)));
  return found.sort();
}
