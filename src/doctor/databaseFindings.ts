import { missingTriggers, triggerSql } from '../db/appendOnly.js';
import type { Database } from '../db/database.js';
import { schemaStatus } from '../db/schema.js';
import type { Session } from '../db/session.js';
import { nowMs, toBigInt, toCount, toText } from '../db/values.js';
import type { Clock } from '../kernel/clock.js';
import { fail, ok, warn, type Finding } from '../kernel/finding.js';

/** What Settle's own sessions are like, and what is in the database, with the number of pending migrations. Reads only. */
export async function databaseFindings(
  database: Database,
  clock: Clock,
): Promise<{ findings: Finding[]; pending: number }> {
  const found = await database.read(async (session) => [
    ...(session.dialect === 'sqlite' ? await sqliteFindings(session) : await sessionFindings(session)),
    await clockFinding(session, clock),
  ]);
  const { applied, pending, unknown } = await schemaStatus(database);
  const schema = schemaFinding(applied.length, pending, unknown);
  const ofTables =
    pending.length === 0
      ? [
          await database.read((session) => appendOnlyFinding(session, database.engine)),
          await database.read(batchingFinding),
        ]
      : [];
  return { findings: [...found, schema, ...ofTables], pending: pending.length };
}

async function sessionFindings(session: Session): Promise<Finding[]> {
  const rows = await session.rows('show session variables');
  const values = new Map(rows.map((row) => [toText(row['Variable_name']).toLowerCase(), toText(row['Value'])]));
  const expect = (name: string, value: string | undefined, wanted: RegExp): Finding => {
    const found = `${value ?? 'not told'}, as Settle sets it for each connection`;
    return value !== undefined && wanted.test(value)
      ? ok(name, found)
      : fail(
          name,
          `${value ?? 'not told'}: what Settle sets did not hold`,
          'Connect to the server itself, without a proxy that rewrites SET.',
        );
  };
  return [
    expect('sql-mode', values.get('sql_mode'), /STRICT_ALL_TABLES/),
    expect('isolation', values.get('transaction_isolation') ?? values.get('tx_isolation'), /^READ-COMMITTED$/),
    expect('time-zone', values.get('time_zone'), /^(\+00:00|UTC)$/),
    ...(session.clustered ? [expect('galera-sync-wait', values.get('wsrep_sync_wait'), /^[1357]$/)] : []),
  ];
}

async function sqliteFindings(session: Session): Promise<Finding[]> {
  const pragma = async (name: string): Promise<string> => {
    const [row] = await session.tuples(`pragma ${name}`);
    return String(row?.[0]);
  };
  const [synchronous, journal] = [await pragma('synchronous'), await pragma('journal_mode')];
  const found = `synchronous = ${synchronous === '2' ? 'FULL' : synchronous}, journal_mode = ${journal}`;
  return [
    synchronous === '2'
      ? ok('durability', `${found}: what is committed is on disk`)
      : fail('durability', found, 'Open the file without a wrapper that sets pragmas.'),
    journal === 'wal'
      ? ok('journal', 'readers and the one writer do not wait for each other')
      : warn(
          'journal',
          `journal_mode = ${journal}: a reader makes a run wait`,
          'settle run   (switches the file to WAL by itself)',
        ),
  ];
}

/** Half the way there and back is taken off; whatever is left within two seconds is nobody's business. */
async function clockFinding(session: Session, clock: Clock): Promise<Finding> {
  const before = clock.now().getTime();
  const [row] = await session.rows(`select ${nowMs(session.dialect)} as now_ms`);
  const ours = (before + clock.now().getTime()) / 2;
  const ahead = (Number(toBigInt(row?.['now_ms'])) - ours) / 1_000;
  const found = `the database's clock is ${Math.abs(ahead).toFixed(1)} s ${ahead < 0 ? 'behind' : 'ahead of'} this machine's`;
  if (Math.abs(ahead) <= 2) return ok('clock', found);
  return warn('clock', `${found}; leases go by the first, the due day by the second`, 'Let NTP set both clocks.');
}

function schemaFinding(applied: number, pending: readonly string[], unknown: readonly string[]): Finding {
  if (unknown.length > 0) {
    return fail('schema', `migrated by a newer Settle: ${unknown.join(', ')}`, 'Install the version that migrated it.');
  }
  return pending.length > 0
    ? fail('schema', `pending: ${pending.join(', ')}`, 'settle migrate up')
    : ok('schema', `all ${String(applied)} migration(s) applied`);
}

async function appendOnlyFinding(session: Session, engine: Database['engine']): Promise<Finding> {
  const name = 'append-only';
  const missing = await missingTriggers(session);
  if (missing.length === 0) return ok(name, 'the ledger refuses to change or remove its rows');
  const grant = engine === 'sqlite' ? '' : 'Grant TRIGGER to this user, who may only not be shown them; or run: ';
  return fail(
    name,
    `triggers that are missing: ${missing.join(', ')}`,
    grant + missing.map((trigger) => statementFor(engine, trigger)).join(' '),
  );
}

/** Where a body has statements of its own, a server's client must be told another delimiter first. */
function statementFor(engine: Database['engine'], trigger: string): string {
  const sql = triggerSql(engine, trigger);
  return `${engine !== 'sqlite' && sql.includes(';') ? '(in a client, after "delimiter //") ' : ''}${sql};`;
}

const transactionsMax = 5;

/** Whether orders are settled together: a database that is asked order by order is twenty times slower. */
async function batchingFinding(session: Session): Promise<Finding> {
  const name = 'batching';
  const [row] = await session.rows(
    `select count(*) as chunks, coalesce(sum(orders), 0) as orders from chunk where run_id = (select max(run_id) from chunk)`,
  );
  const [chunks, orders] = [toCount(row?.['chunks']), toCount(row?.['orders'])];
  if (chunks === 0) return ok(name, 'not known yet: no run has settled anything');
  const perThousand = (chunks / orders) * 1_000;
  const found = `the last run settled ${String(orders)} orders in ${String(chunks)} transactions, ${perThousand.toFixed(1)} for 1,000 orders`;
  return orders < 1_000 || perThousand <= transactionsMax
    ? ok(name, found)
    : warn(name, found, 'Leave batch.chunkSize and batch.pageSize at their defaults, or raise them.');
}
