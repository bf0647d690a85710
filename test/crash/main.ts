import { parseArgs } from 'node:util';
import { startServer } from '../support/server.js';
import { sides, type Kill, type Side } from './experiment.js';
import { engineNames, type EngineName } from './places.js';
import { scenarioNames, type ScenarioName } from './scenarios.js';
import { walk, type Violation, type Walk } from './walk.js';

const help = `npm run test:crash -- [options]

Kills settle at every statement it sends to its database, one start a statement, starts it again until it ends, and
compares the books with those of an undisturbed start. On SQLite and on a private server, or on the one that
SETTLE_TEST_MYSQL_URL names (databases named settle_test_crash_… are made there and dropped).

  --engine sqlite|server     only there
  --scenario NAME            only this one of ${scenarioNames.join(', ')}; may be repeated
  --every N                  every Nth boundary (1)
  --offset N                 starting with this one (0)
  --after-writes             not the boundaries that only a read separates from the one before
  --doubles N                starts of "run" that are killed twice, at random (40)
  --seed N                   for the places of these (1)
  --workers N                experiments at the same time (2)
  --at STATEMENT:SIDE        only this kill, as in 17:before; twice for a double one. Sides: ${sides.join(', ')}
  --json                     one document on standard output

Exit codes: 0 nothing found, 1 failed, 2 usage, 4 a violation was found.
`;

class Usage extends Error {}

interface Options {
  engines: readonly EngineName[];
  scenarios: readonly ScenarioName[];
  every: number;
  offset: number;
  afterWrites: boolean;
  doubles: number;
  seed: number;
  workers: number;
  only: readonly Kill[] | null;
  json: boolean;
}

function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      engine: { type: 'string' },
      scenario: { type: 'string', multiple: true, default: [...scenarioNames] },
      every: { type: 'string', default: '1' },
      offset: { type: 'string', default: '0' },
      'after-writes': { type: 'boolean', default: false },
      doubles: { type: 'string', default: '40' },
      seed: { type: 'string', default: '1' },
      workers: { type: 'string', default: '2' },
      at: { type: 'string', multiple: true },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    engines: values.engine === undefined ? engineNames : [oneOf('--engine', engineNames, values.engine)],
    scenarios: values.scenario.map((name) => oneOf('--scenario', scenarioNames, name)),
    every: whole('--every', values.every, 1),
    offset: whole('--offset', values.offset, 0),
    afterWrites: values['after-writes'],
    doubles: whole('--doubles', values.doubles, 0),
    seed: whole('--seed', values.seed, 0),
    workers: values.at === undefined ? whole('--workers', values.workers, 1) : 1,
    only: values.at?.map(killOf) ?? null,
    json: values.json,
  };
}

function oneOf<T extends string>(flag: string, known: readonly T[], given: string): T {
  const found = known.find((name) => name === given);
  if (found === undefined) throw new Usage(`${flag} is one of ${known.join(', ')}.`);
  return found;
}

function whole(flag: string, text: string, least: number): number {
  if (!/^[0-9]{1,9}$/.test(text) || Number(text) < least) {
    throw new Usage(`${flag} "${text}" is not a whole number from ${String(least)} on.`);
  }
  return Number(text);
}

function killOf(text: string): Kill {
  const [at = '', side = ''] = text.split(':');
  return { at: whole('--at', at, 1), side: oneOf<Side>('The side in --at', sides, side) };
}

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options === 'help') {
    process.stdout.write(help);
    return 0;
  }
  const given = process.env['SETTLE_TEST_MYSQL_URL'] ?? '';
  const needsOwn = options.engines.includes('server') && given === '';
  const own = needsOwn ? await startServer(['--innodb-flush-log-at-trx-commit=2']) : null;
  const stop = (): void => void (own?.stop() ?? Promise.resolve()).finally(() => process.exit(130));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const serverUrl = own?.url ?? (given.endsWith('/') ? given : `${given}/`);
  const walks: (Walk & { seconds: number })[] = [];
  try {
    for (const engine of options.engines) {
      for (const scenario of options.scenarios) {
        const since = performance.now();
        const done = await walk({
          ...options,
          ...{ engine, serverUrl, ownServer: own !== null, scenario },
          doubles: scenario === 'run' ? options.doubles : 0,
          onProgress: progress(`${engine} ${scenario}`),
        });
        const seconds = Math.round((performance.now() - since) / 1_000);
        walks.push({ ...done, seconds });
        if (!options.json) process.stdout.write(`${line(done)} (${String(seconds)} s)\n`);
        for (const violation of done.violations) process.stderr.write(told(done, violation));
      }
    }
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    await own?.stop();
  }
  const violations = walks.reduce((sum, one) => sum + one.violations.length, 0);
  if (options.json)
    process.stdout.write(`${JSON.stringify({ schema: 'settle.crash', schemaVersion: 1, walks }, null, 2)}\n`);
  else process.stdout.write(`${compared}\n${String(violations)} violations\n`);
  return violations === 0 ? 0 : 4;
}

const compared =
  'Compared after each kill: chunks whole, verify and reconcile without a contradiction; after the restart: the money\n' +
  'tables by business key, exit code and document, no run or lease left behind, verify and reconcile, and that a further\n' +
  'start changes nothing.';

function line(walk: Walk): string {
  const counted = walk.counted === null ? 'not counted by it' : `${String(walk.counted)} counted by it`;
  return (
    `${walk.engine} ${walk.scenario}: ${String(walk.walked)} of ${String(walk.boundaries)} boundaries ` +
    `(${String(walk.statements)} statements to the database, ${counted}), ${String(walk.doubles)} double kills, ` +
    `${String(walk.violations.length)} violations`
  );
}

/** With what replays it: the same kill at the same statement. */
function told({ engine, scenario }: Walk, { kills, statements, what }: Violation): string {
  const at = kills.map((kill) => `--at ${String(kill.at)}:${kill.side}`).join(' ');
  const where = kills.map(
    (kill, nth) => `  ${kill.side} statement ${String(kill.at)}: ${statements[nth] ?? '(not reached)'}`,
  );
  return [
    `VIOLATION on ${engine} in ${scenario}`,
    ...where,
    `  ${what}`,
    `  replay: npm run test:crash -- --engine ${engine} --scenario ${scenario} ${at}`,
    '',
  ].join('\n');
}

function progress(name: string): (done: number, all: number) => void {
  let next = Date.now() + 30_000;
  return (done, all) => {
    if (Date.now() < next) return;
    next = Date.now() + 30_000;
    process.stderr.write(`${name}: ${String(done)} of ${String(all)}\n`);
  };
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const code = (error as { code?: string }).code ?? '';
  const usage = error instanceof Usage || code.startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`${usage ? (error as Error).message : String((error as Error).stack)}\n`);
  process.exitCode = usage ? 2 : 1;
}
