import { parseArgs } from 'node:util';
import type { ContestOptions } from './contest.js';
import { dayShapes, type DayShape } from './data.js';
import { BenchRefused } from './refused.js';
import type { ScaleOptions } from './scale.js';

export const help = `npm run bench -- [options]

Settles one made-up day three ways and compares: (a) set-based SQL written by hand, the floor; (b) one order a
transaction; (c) settle run. Fails unless (a) and (c) leave the same books behind.

  --orders N               orders of the day (300000)
  --accounts N             accounts (20000)
  --day SHAPE              even, or elephant: one account has 70 % of the orders (even)
  --engine E               server, sqlite or both: a private MariaDB or MySQL server, a SQLite file (both)
  --database URL           only on this empty database
  --lanes N                lanes of settle run
  --repeat N               rounds of (a) and (c), the order turned every time; medians count (1)
  --sample N               orders of (b) (6000)
  --range N                orders in one transaction of (a) (10000)
  --floor-connections N,N  connections of (a), each a contender, 1 among them; SQLite has 1 alone (1)
  --elephant               (c) on the elephant day too, and its time by that of the even day
  --skip-one-order         lets (a) leave one order out, to see that the comparison notices
  --scale N,N              instead of all this (c) alone, without a foreign writer, on days of so many orders
  --save                   adds the figures to test/bench/history.jsonl and puts them into README.md
  --readme                 only puts the newest saved figures into README.md
  --json                   one document on standard output

Exit codes: 0 done, 1 failed, 2 usage, 4 the books differ.
`;

export type EngineChoice = 'server' | 'sqlite' | 'both';

interface Common {
  /** Not asked for a given database. */
  engine: EngineChoice;
  database: string | undefined;
  save: boolean;
  json: boolean;
}

export type Measure = Common &
  ({ measure: 'contest'; contest: ContestOptions } | { measure: 'scale'; scale: ScaleOptions });

export const flags = {
  orders: { type: 'string' },
  accounts: { type: 'string' },
  day: { type: 'string' },
  engine: { type: 'string' },
  database: { type: 'string' },
  lanes: { type: 'string' },
  repeat: { type: 'string' },
  sample: { type: 'string' },
  range: { type: 'string' },
  'floor-connections': { type: 'string' },
  elephant: { type: 'boolean' },
  'skip-one-order': { type: 'boolean' },
  scale: { type: 'string' },
  save: { type: 'boolean' },
  readme: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** What has no meaning for a run of `--scale`: taken in silence, it would look as if it had been measured. */
const ofContestOnly = [
  'orders',
  'repeat',
  'sample',
  'range',
  'floor-connections',
  'elephant',
  'skip-one-order',
] as const;

export function readOptions(args: readonly string[]): Measure | { measure: 'help' } | { measure: 'readme' } {
  const { values } = parseArgs({ args: [...args], options: flags });
  if (values.help === true) return { measure: 'help' };
  if (values.readme === true) {
    if (Object.keys(values).length > 1) throw new BenchRefused('--readme measures nothing: it stands alone.');
    return { measure: 'readme' };
  }
  if (values.database !== undefined && values.engine !== undefined) {
    throw new BenchRefused('--database names the engine already: leave --engine out.');
  }
  const common = {
    engine: choice('--engine', values.engine ?? 'both', ['server', 'sqlite', 'both'] as const),
    database: values.database,
    save: values.save ?? false,
    json: values.json ?? false,
  };
  const shape: DayShape = choice('--day', values.day ?? 'even', dayShapes);
  const accounts = count('--accounts', values.accounts ?? '20000');
  const lanes = values.lanes === undefined ? undefined : count('--lanes', values.lanes);
  if (values.scale !== undefined) {
    const needless = ofContestOnly.find((name) => values[name] !== undefined);
    if (needless !== undefined) throw new BenchRefused(`--scale runs settle alone: leave --${needless} out.`);
    const sizes = counts('--scale', values.scale).sort((a, b) => a - b);
    if (sizes.length < 2) throw new BenchRefused('--scale compares at least two sizes.');
    return { measure: 'scale', ...common, scale: { sizes, day: { accounts, shape }, lanes } };
  }
  const elephant = values.elephant ?? false;
  if (elephant && shape === 'elephant')
    throw new BenchRefused('--elephant compares with an even day: leave --day out.');
  const floorConnections = counts('--floor-connections', values['floor-connections'] ?? '1');
  if (!floorConnections.includes(1)) throw new BenchRefused('--floor-connections must have 1 among them.');
  const orders = count('--orders', values.orders ?? '300000');
  return {
    measure: 'contest',
    ...common,
    contest: {
      ...{ day: { orders, accounts, shape }, lanes, elephant, floorConnections },
      sample: Math.min(orders, count('--sample', values.sample ?? '6000')),
      rangeOrders: count('--range', values.range ?? '10000'),
      repeat: count('--repeat', values.repeat ?? '1'),
      skipOneOrder: values['skip-one-order'] ?? false,
    },
  };
}

function count(flag: string, text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new BenchRefused(`${flag} must be a whole number from 1.`);
  return Number(text);
}

function counts(flag: string, text: string): number[] {
  const values = text.split(',').map((part) => count(flag, part));
  if (new Set(values).size < values.length) throw new BenchRefused(`${flag} names a number twice.`);
  return values;
}

function choice<T extends string>(flag: string, text: string, choices: readonly T[]): T {
  const chosen = choices.find((name) => name === text);
  if (chosen === undefined) throw new BenchRefused(`${flag} is one of ${choices.join(', ')}.`);
  return chosen;
}
