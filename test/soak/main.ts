import { parseArgs } from 'node:util';
import { startServer, type Server } from '../support/server.js';
import type { Engine } from './bound.js';
import { runHistory, type Counts } from './history.js';
import { planOf } from './plan.js';
import { shrink } from './shrink.js';
import type { SoakServer } from './world.js';

const help = `npm run soak -- [options]

Carries random operations out on Settle under random faults, and compares the tables with a model after each of them.

  --minutes N         how long (10)
  --seed S            the first seed; the next histories have the seeds after it (1)
  --engine E          sqlite, server or both (both)
  --operations N      operations in a history (40)
  --only N,N,…        only these operations of the first seed, once: replays a failure
  --shrink N          seconds to look for a shorter failure (90)
  --quiet             no line for each history
  --lines             every operation of each history

Exit codes: 0 no violation, 2 usage, 4 a violation.
`;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
      engine: { type: 'string', default: 'both' },
      operations: { type: 'string', default: '40' },
      only: { type: 'string' },
      shrink: { type: 'string', default: '90' },
      quiet: { type: 'boolean', default: false },
      lines: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    say(help);
    return 0;
  }
  const engines = ({ sqlite: ['sqlite'], server: ['server'], both: ['sqlite', 'server'] } as Record<string, Engine[]>)[
    values.engine
  ];
  const [minutes, first, length, shrinkSeconds] = [values.minutes, values.seed, values.operations, values.shrink].map(
    Number,
  ) as [number, number, number, number];
  if (engines === undefined || !(minutes > 0) || !Number.isInteger(first) || !(length > 0) || !(shrinkSeconds >= 0)) {
    process.stderr.write(help);
    return 2;
  }
  const server: Server | null = engines.includes('server') ? await startServer() : null;
  const soaked: SoakServer | null = server === null ? null : { url: server.url, crash: server };
  const totals = new Totals();
  const started = Date.now();
  try {
    const only = values.only?.split(',').map(Number);
    for (let seed = first; Date.now() - started < minutes * 60_000; seed += 1) {
      for (const engine of engines) {
        const plan = planOf(seed, engine, length);
        const options = { server: soaked, ...(only === undefined ? {} : { only }) };
        const history = await runHistory(plan, options);
        totals.add(engine, history.counts);
        if (values.lines) history.lines.forEach(say);
        const faults = plan.faults.length === 0 ? 'no faults' : plan.faults.join(' ');
        const { violation, lines } = history;
        if (!values.quiet)
          say(`${engine} seed ${String(seed)}: ${violation === null ? 'ok' : 'VIOLATION'} (${faults})`);
        if (violation === null) continue;
        totals.violations += 1;
        const replay = (which: readonly number[] | null): string =>
          `npm run soak -- --engine ${engine} --seed ${String(seed)} --operations ${String(length)}` +
          (which === null ? ' --minutes 0.01' : ` --only ${which.join(',')}`);
        say(`  after ${lines.slice(-3).join('\n        ')}`);
        for (const problem of violation.problems.slice(0, 8)) say(`  ${problem}`);
        if (only !== undefined || shrinkSeconds === 0) {
          say(`  replay: ${replay(only ?? null)}`);
          continue;
        }
        const short = await shrink(plan, violation, options, shrinkSeconds * 1_000);
        if (short.only === null) say('  A replay did not fail: it hangs on the moment of a fault.');
        else say(`  shortest of ${String(short.replays)} replays: ${String(short.only.length)} operations`);
        say(`  replay: ${replay(short.only)}`);
      }
      if (only !== undefined) break;
    }
  } finally {
    await server?.stop();
  }
  say(totals.text((Date.now() - started) / 3_600_000));
  return totals.violations === 0 ? 0 : 4;
}

class Totals {
  violations = 0;
  private readonly histories: Record<string, number> = {};
  private readonly operations: Record<string, number> = {};
  private readonly faults: Record<string, number> = {};
  private readonly results: Record<string, number> = {};

  add(engine: Engine, { operations, faults, results }: Counts): void {
    count(this.histories, { [engine]: 1 });
    count(this.operations, operations);
    count(this.faults, faults);
    count(this.results, results);
  }

  text(hours: number): string {
    const all = (counts: Record<string, number>): string =>
      `${String(Object.values(counts).reduce((sum, one) => sum + one, 0))} (${Object.entries(counts)
        .sort(([, a], [, b]) => b - a)
        .map(([key, number]) => `${key} ${String(number)}`)
        .join(', ')})`;
    return [
      `hours       ${hours.toFixed(2)}`,
      `histories   ${all(this.histories)}`,
      `operations  ${all(this.operations)}`,
      `faults      ${all(this.faults)}`,
      `results     ${all(this.results)}; each unknown resolved by reading the tables`,
      `violations  ${String(this.violations)}`,
    ].join('\n');
  }
}

function count(into: Record<string, number>, from: Record<string, number | undefined>): void {
  for (const [key, number] of Object.entries(from)) into[key] = (into[key] ?? 0) + (number ?? 0);
}

process.exitCode = await main(process.argv.slice(2));
