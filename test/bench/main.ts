import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { SettleError } from '../../src/kernel/errors.js';
import { contest, type ContestOptions, type EngineResult } from './contest.js';
import { BenchRefused, givenPlace, privateFilePlace, privateServerPlace, type Place } from './place.js';
import { printed } from './print.js';

const help = `npm run bench -- [options]

Settles one made-up day three ways and compares: (a) set-based SQL written by hand, the floor; (b) one order a
transaction; (c) settle run. Fails unless (a) and (c) leave the same books behind.

  --orders N          orders of the day (300000)
  --accounts N        accounts (20000)
  --database URL      only on this empty database; without it on a private MariaDB server and on a SQLite file
  --lanes N           lanes of settle run
  --repeat N          rounds of (a) and (c), the order turned every time; medians count (1)
  --sample N          orders of (b) (6000)
  --range N           orders in one transaction of (a) (10000)
  --skip-one-order    lets (a) leave one order out, to see that the comparison notices
  --json              one document on standard output

Exit codes: 0 done, 1 failed, 2 usage, 4 the books differ.
`;

interface Options extends ContestOptions {
  database: string | undefined;
  json: boolean;
}

function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      orders: { type: 'string', default: '300000' },
      accounts: { type: 'string', default: '20000' },
      database: { type: 'string' },
      lanes: { type: 'string' },
      repeat: { type: 'string', default: '1' },
      sample: { type: 'string', default: '6000' },
      range: { type: 'string', default: '10000' },
      'skip-one-order': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  const orders = count('--orders', values.orders);
  return {
    size: { orders, accounts: count('--accounts', values.accounts) },
    sample: Math.min(orders, count('--sample', values.sample)),
    rangeOrders: count('--range', values.range),
    repeat: count('--repeat', values.repeat),
    lanes: values.lanes === undefined ? undefined : count('--lanes', values.lanes),
    skipOneOrder: values['skip-one-order'],
    database: values.database,
    json: values.json,
  };
}

function count(flag: string, text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new BenchRefused(`${flag} must be a whole number from 1.`);
  return Number(text);
}

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options === 'help') {
    process.stdout.write(help);
    return 0;
  }
  const say = (text: string): void => {
    process.stderr.write(`${text}\n`);
  };
  const engines: EngineResult[] = [];
  const places: (() => Place | Promise<Place>)[] =
    options.database === undefined
      ? [privateServerPlace, privateFilePlace]
      : [() => givenPlace(options.database as string)];
  for (const open of places) {
    const place = await open();
    const stop = (): void => {
      void place.remove().finally(() => process.exit(130));
    };
    process.once('SIGINT', stop).once('SIGTERM', stop);
    try {
      engines.push(await contest(place, options, say));
    } finally {
      process.off('SIGINT', stop).off('SIGTERM', stop);
      await place.remove();
    }
  }
  process.stdout.write(options.json ? `${JSON.stringify(documentOf(options, engines), null, 2)}\n` : text(engines));
  return engines.every((engine) => engine.differences.length === 0) ? 0 : 4;
}

function documentOf(options: Options, engines: readonly EngineResult[]): object {
  return {
    schema: 'settle.bench',
    schemaVersion: 1,
    machine: { cpus: cpus().length, cpu: cpus()[0]?.model ?? null, memoryBytes: totalmem(), node: process.version },
    orders: options.size.orders,
    accounts: options.size.accounts,
    engines,
  };
}

function text(engines: readonly EngineResult[]): string {
  const shown = 10;
  return engines
    .map((engine) => {
      const { differences } = engine;
      const more = differences.length > shown ? [`… and ${String(differences.length - shown)} more`] : [];
      const verdict =
        differences.length === 0
          ? ['Same books: nets, ledger balances and settled orders of (a) and (c) are equal.']
          : ['THE BOOKS DIFFER; the figures count for nothing:', ...differences.slice(0, shown), ...more];
      return `${[printed(engine), ...verdict].join('\n')}\n`;
    })
    .join('\n');
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const code = (error as { code?: string }).code ?? '';
  const usage = error instanceof BenchRefused || error instanceof SettleError || code.startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`${usage ? (error as Error).message : String((error as Error).stack)}\n`);
  process.exitCode = usage ? 2 : 1;
}
