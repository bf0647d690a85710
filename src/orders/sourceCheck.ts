import type { Database } from '../db/database.js';
import { ownOrders, sourceName, type OrderSource } from '../kernel/orderSource.js';
import { ordersIn } from './orderTable.js';
import { dataFindings, type Window } from './sourceData.js';
import { readDefinition } from './sourceDefinition.js';
import { ok, fail, type Finding } from '../kernel/finding.js';
import { shapeFindings } from './sourceIndexes.js';
import { grants, planFindings } from './sourcePlans.js';
import { exactColumns, sourceProblems } from './sourceRules.js';

/**
 * Looks at the table that a mapping names: its definition, its rows of some days, how the statements of a run would be
 * carried out on it, and the user's rights. Changes nothing. `placeOf` tells where a setting stands.
 */
export async function checkSource(
  database: Database,
  source: OrderSource,
  window: Window,
  placeOf: (setting: readonly string[]) => string,
): Promise<Finding[]> {
  const { dialect } = database.target;
  const table = await database.read((session) => readDefinition(session, source));
  const own = await database.read((session) => readDefinition(session, ownOrders));
  const problems = sourceProblems(source, dialect, table);
  const findings = problems.map(({ setting, problem }) => {
    const path = ['source', ...setting];
    return fail(path.join('.'), problem, `Mend the setting (${placeOf(path)}), or the table.`);
  });
  database.useSource({
    ...source,
    exact: table === null || own === null ? new Set() : exactColumns(source, table, own),
  });
  if (table === null) {
    if (dialect === 'sqlite') return findings;
    const [grant = ''] = await database.read(grants);
    return [...findings, fail('grants', 'if the table is there, this user may not see it', grant)];
  }
  const { kind, columns } = table;
  const what = `${sourceName(source)} is a ${kind} with ${String(columns.size)} columns${table.engine === null ? '' : `, ${table.engine}`}`;
  findings.unshift(ok('table', what));
  // Without its columns, or with values of another kind, no statement of ours is one.
  if (problems.length > 0) return findings;
  findings.push(ok('mapping', 'every column is there, and of a kind that fits'));
  findings.push(...shapeFindings(source, dialect, table));
  return database.read(async (session) => [
    ...findings,
    ...(await planFindings(session, window.upTo)),
    ...(await dataFindings(session, ordersIn(session), table, window)),
  ]);
}
