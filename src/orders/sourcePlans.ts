import { quoted } from '../db/identifiers.js';
import type { Binding, Session, Transaction } from '../db/session.js';
import { toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { OrderSource, SourceColumns } from '../kernel/orderSource.js';
import { claimOrders, finishOrdersById, ordersAfter } from './queries.js';
import { warn, ok, fail, type Finding } from '../kernel/finding.js';

const denied: ReadonlySet<number> = new Set([1044, 1142, 1143]);

/** How the database would carry out the three statements that a run repeats, and whether this user may. Runs none of them. */
export async function planFindings(session: Session, day: BatchDay): Promise<Finding[]> {
  const ids = [1n, 3n];
  const statements: [string, (explained: Session) => Promise<unknown>][] = [
    [
      'plan of a page',
      (explained) =>
        ordersAfter(explained, { day, afterId: 0n, topId: 2n ** 62n, size: 2_000, accounts: null, shard: null }),
    ],
    [
      'plan of a claim',
      (explained) =>
        claimOrders(explained as Transaction, {
          runId: 0n,
          chunkNo: 0,
          batchDay: day,
          orderIds: ids,
          isRange: false,
          fingerprint: 0n,
        }),
    ],
    ['plan of finishing', (explained) => finishOrdersById(explained as Transaction, ids, '2026-01-01T00:00:00.000Z')],
  ];
  const findings: Finding[] = [];
  let mayAll = true;
  for (const [name, work] of statements) {
    const plans: string[] = [];
    try {
      await work(explaining(session, plans));
    } catch (error) {
      if (!denied.has((error as { errno?: number }).errno ?? 0)) throw error;
      mayAll = false;
      findings.push(fail(name, `refused to this user: ${(error as Error).message}`, (await grants(session)).join(' ')));
      continue;
    }
    const plan = plans.join('; ');
    const isWhole = /\bALL\b|^SCAN/m.test(plan) && !/USING (INDEX|INTEGER)/.test(plan);
    findings.push(
      isWhole ? warn(name, `${plan}: the whole table`, 'See the indexes above; then ANALYZE TABLE.') : ok(name, plan),
    );
  }
  if (session.dialect === 'mysql' && mayAll) {
    findings.push(ok('grants', `enough; the least are: ${(await grants(session)).join(' ')}`));
  }
  return findings;
}

/** A session that asks how each statement would be carried out, and carries out none. */
function explaining(session: Session, plans: string[]): Session {
  const explain = async (sql: string, bindings: readonly Binding[] = []): Promise<void> => {
    const isSqlite = session.dialect === 'sqlite';
    const rows = await session.rows(`explain ${isSqlite ? 'query plan ' : ''}${sql}`, bindings);
    for (const row of rows) {
      plans.push(
        isSqlite
          ? toText(row['detail'])
          : `${String(row['table'])} by ${toTextOrNull(row['key']) ?? 'no key'} (${String(row['type'])}, ${String(row['rows'])} rows)`,
      );
    }
  };
  return {
    dialect: session.dialect,
    clustered: session.clustered,
    source: session.source,
    rows: async (sql, bindings) => (await explain(sql, bindings), []),
    tuples: async (sql, bindings) => (await explain(sql, bindings), []),
    change: async (sql, bindings) => (await explain(sql, bindings), 0),
    insert: async (sql, bindings) => (await explain(sql, bindings), 0n),
    insertMany: () => Promise.resolve(0),
  };
}

/** The grants that suffice for a run, and no more: columns of the table, and all rows of our own schema. */
export async function grants(session: Session): Promise<string[]> {
  const [row] = await session.rows('select current_user() as user, database() as own');
  const [user = '', host = '%'] = toText(row?.['user']).split('@');
  const own = toText(row?.['own']);
  const { source } = session;
  const list = (columns: Iterable<string>): string =>
    [...new Set(columns)].map((column) => quoted('mysql', column)).join(', ');
  const written = (['state', 'version', 'finishedAt', 'cancelCode', 'runId', 'chunkNo'] as const).flatMap(
    (concept) => source.columns[concept] ?? [],
  );
  const table = quoted('mysql', source.schema ?? own, source.table);
  const to = `TO '${user}'@'${host}';`;
  return [
    `GRANT SELECT (${list(readColumns(source))}), UPDATE (${list(written)}) ON ${table} ${to}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${quoted('mysql', own)}.* ${to}`,
  ];
}

function readColumns({ columns, where }: OrderSource): string[] {
  const named = Object.keys(columns).flatMap((concept) => columns[concept as keyof SourceColumns] ?? []);
  return [...named, ...where.map(({ column }) => column)];
}
