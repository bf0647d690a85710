import { createRequire } from 'node:module';
import { Database } from '../db/database.js';
import { explainFailure } from '../db/failure.js';
import { serverValues } from '../db/serverValues.js';
import type { DatabaseTarget } from '../db/url.js';
import type { Clock } from '../kernel/clock.js';
import { errorCatalogue, SettleError } from '../kernel/errors.js';
import { databaseFindings } from './databaseFindings.js';
import { fail, ok, warn, type Finding } from '../kernel/finding.js';
import { grantsFinding, triggersFinding } from './grants.js';
import { serverFindings } from './serverFindings.js';

export interface Examination {
  target: DatabaseTarget;
  /** Connections that a run would open. */
  poolSize: number;
  statementMsMax: number;
  connectMsMax: number;
  clock: Clock;
}

/**
 * Looks at everything that Settle relies on, and changes nothing. Throws only when the database cannot be reached: what
 * it refuses (user, name, version, schema) is a finding.
 */
export async function examine(options: Examination): Promise<Finding[]> {
  const { target } = options;
  const findings = [node(), driver(target.dialect)];
  const startedAt = performance.now();
  try {
    const server = target.dialect === 'mysql' ? await askServer(options, target) : null;
    const ms = Math.round(performance.now() - startedAt);
    let pending = 0;
    const database = await openOrRefusal(options);
    if (database instanceof SettleError) {
      const name = database.code === 'DATABASE_UNSUPPORTED' ? 'engine' : 'connection';
      findings.push(fail(name, database.message, database.next));
    } else {
      try {
        const reached = server === null ? 'is open' : `answers in ${String(ms)} ms`;
        findings.push(ok('connection', `${target.label} ${reached}`));
        findings.push(ok('engine', `${engineNames[database.engine]} ${database.facts.version}`));
        const own = await databaseFindings(database, options.clock);
        findings.push(...own.findings);
        pending = own.pending;
      } finally {
        await database.close();
      }
    }
    if (server !== null && target.dialect === 'mysql') {
      findings.push(grantsFinding(server.grants, target.database, pending), ...triggersFinding(server, pending));
      findings.push(...serverFindings(server, options.poolSize));
    }
  } catch (error) {
    if (!(error instanceof SettleError) || errorCatalogue[error.code] === 'TEMPFAIL') throw error;
    findings.push(fail('connection', error.message, error.next));
  }
  return findings;
}

const engineNames = { sqlite: 'SQLite', mariadb: 'MariaDB', mysql: 'MySQL' } as const;

async function askServer(
  { statementMsMax }: Examination,
  target: Extract<DatabaseTarget, { dialect: 'mysql' }>,
): ReturnType<typeof serverValues> {
  try {
    return await serverValues(target, statementMsMax);
  } catch (error) {
    throw explainFailure(error, target.label);
  }
}

/** The database, or why a run could not work on it either. Throws when it cannot be reached. */
async function openOrRefusal(options: Examination): Promise<Database | SettleError> {
  try {
    return await Database.open(options.target, { ...options, readOnly: true });
  } catch (error) {
    if (error instanceof SettleError && errorCatalogue[error.code] !== 'TEMPFAIL') return error;
    throw error;
  }
}

const nodeOldest = [20, 19] as const;

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const found = `Node ${process.versions.node}`;
  return major > nodeOldest[0] || (major === nodeOldest[0] && minor >= nodeOldest[1])
    ? ok('node', found)
    : fail('node', found, 'Install Node 20.19 or later.');
}

function driver(dialect: DatabaseTarget['dialect']): Finding {
  const require = createRequire(import.meta.url);
  const name = dialect === 'mysql' ? 'mysql2' : 'better-sqlite3';
  const versionIn = (file: string): { version: string; dependencies?: Record<string, string> } =>
    require(file) as { version: string };
  const found = versionIn(`${name}/package.json`).version;
  const wanted = versionIn('settle/package.json').dependencies?.[name];
  return found === wanted
    ? ok('driver', `${name} ${found}, the version that Settle was tested with`)
    : warn('driver', `${name} ${found}; Settle was tested with ${String(wanted)}`, 'npm ci');
}
