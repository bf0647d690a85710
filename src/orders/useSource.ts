import type { Database } from '../db/database.js';
import { SettleError } from '../kernel/errors.js';
import { ownOrders, sourceName, type OrderSource } from '../kernel/orderSource.js';
import { readDefinition } from './sourceDefinition.js';
import { exactColumns, sourceProblems, type SourceProblem } from './sourceRules.js';

/**
 * Makes a mapped table the table of orders of a database, after looking at its definition and before anything is read of
 * it. Throws SOURCE_INVALID with every setting that does not fit; `placeOf` tells where a setting under `source` stands.
 */
export async function useSource(
  database: Database,
  source: OrderSource,
  placeOf: (setting: readonly string[]) => string,
): Promise<void> {
  const { table, own } = await database.read(async (session) => ({
    table: await readDefinition(session, source),
    own: await readDefinition(session, ownOrders),
  }));
  const problems = sourceProblems(source, database.target.dialect, table);
  if (problems.length > 0 || table === null) throw refusal(source, problems, placeOf);
  database.useSource({ ...source, exact: own === null ? new Set() : exactColumns(source, table, own) });
}

/** "source.columns.id (settle.yaml, line 12) names …" */
function refusal(
  source: OrderSource,
  problems: readonly SourceProblem[],
  placeOf: (setting: readonly string[]) => string,
): SettleError {
  const lines = problems.map(({ setting, problem }) => {
    const path = ['source', ...setting];
    return `${path.join('.')} (${placeOf(path)}) ${problem}.`;
  });
  return new SettleError('SOURCE_INVALID', `Orders cannot be read from ${sourceName(source)}. ${lines.join(' ')}`, {
    details: {
      source: sourceName(source),
      settings: problems.map(({ setting }) => ['source', ...setting].join('.')),
    },
    next: 'Mend the settings named above; settle source check says all there is to say of the table.',
  });
}
