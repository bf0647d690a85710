import type { ContestFigures, ContestLine, HistoryLine, ScaleFigures, ScaleLine } from './history.js';
import { BenchRefused } from './refused.js';
import { growthOf } from './scale.js';

export const firstMarker = '<!-- figures, made from test/bench/history.jsonl: npm run bench -- --readme -->';
export const lastMarker = '<!-- end of figures -->';

/** The README with the newest line of each measure between the two markers. */
export function withFigures(readme: string, history: readonly HistoryLine[]): string {
  const [before, rest, ...others] = readme.split(firstMarker);
  const [, after, ...more] = (rest ?? '').split(lastMarker);
  if (before === undefined || after === undefined || others.length > 0 || more.length > 0) {
    throw new BenchRefused(`README.md must have each of these lines once:\n${firstMarker}\n${lastMarker}`);
  }
  return `${before}${firstMarker}\n\n${figuresText(history)}\n${lastMarker}${after}`;
}

function figuresText(history: readonly HistoryLine[]): string {
  const contest = history.findLast((line): line is ContestLine => line.measure === 'contest');
  const scale = history.findLast((line): line is ScaleLine => line.measure === 'scale');
  if (contest === undefined && scale === undefined) return 'No figures are saved yet.\n';
  return [contest === undefined ? [] : contestText(contest), scale === undefined ? [] : scaleText(scale)]
    .flat()
    .join('\n');
}

function contestText(line: ContestLine): string {
  const { orders, repeat, rangeOrders } = line.sizes;
  const rounds = repeat === 1 ? 'one round' : `medians of ${String(repeat)} rounds`;
  return `${madeText(line)}
${number(orders)} orders of ${dayText(line.sizes)}, ${rounds}, the floor in ranges of ${number(rangeOrders)} orders:

${table(line.engines, contestRows(line.engines))}`;
}

type Row<F> = readonly [name: string, cell: (figures: F) => string | null];

function contestRows(engines: readonly ContestFigures[]): Row<ContestFigures>[] {
  const connections = [...new Set(engines.flatMap(({ floors }) => floors.map((floor) => floor.connections)))];
  const best: Row<ContestFigures> = ['Settle to the best floor', ({ ratios }) => ratios.settleToBestFloor.toFixed(2)];
  return [
    ...connections.map((wanted): Row<ContestFigures> => [
      `floor, ${wanted === 1 ? '1 connection' : `${String(wanted)} connections`}`,
      ({ floors }) => orNull(floors.find((floor) => floor.connections === wanted)?.ordersPerSecond, perSecond),
    ]),
    ['one order a transaction', ({ oneByOne }) => perSecond(oneByOne.ordersPerSecond)],
    ['**Settle**', ({ settle }) => `**${perSecond(settle.ordersPerSecond)}**`],
    ['Settle to the floor of 1 connection', ({ ratios }) => ratios.settleToFloor.toFixed(2)],
    ...(connections.length > 1 ? [best] : []),
    ['Settle to one order a transaction', ({ ratios }) => ratios.settleToOneByOne.toFixed(1)],
    ['time when one account has 70 % of the orders', ({ ratios }) => orNull(ratios.elephantToEven, times)],
    ['peak memory', ({ settle }) => megabytes(settle.peakBytes)],
    [
      'messages: floor, Settle',
      ({ floors, settle }) => `${number(floors[0]?.messages ?? 0)}, ${number(settle.messages)}`,
    ],
    ['statements, COMMITs per 1,000 orders', ({ settle }) => orNull(settle.served, perThousand)],
    ['deadlocks', ({ settle }) => orNull(settle.served?.deadlocks, number)],
    ['foreign writer alone: p50, p99', ({ foreign }) => orNull(foreign?.idle, percentiles)],
    ['foreign writer beside Settle: p50, p99', ({ foreign }) => orNull(foreign?.besideSettle, percentiles)],
  ];
}

function scaleText(line: ScaleLine): string {
  const rows = line.sizes.orders.map((orders, at): Row<ScaleFigures> => [
    `${number(orders)} orders`,
    ({ laps }) => {
      const lap = laps[at];
      if (lap === undefined) return null;
      const growth = growthOf(laps)[at] ?? null;
      const grown = growth === null ? '' : ` (${times(growth.ms)})`;
      return `${(lap.ms / 1_000).toFixed(1)} s${grown}, ${megabytes(lap.peakBytes)}`;
    },
  ]);
  return `${madeText(line)}
Settle alone on ${dayText(line.sizes)}: time, in times of the row above too, and peak memory:

${table(line.engines, rows)}`;
}

function madeText({ date, commit, dirty, command, machine, engines }: HistoryLine): string {
  const { cpus, cpu, memoryBytes, node, load } = machine;
  const changed = dirty === true ? ' with changes that were not committed' : '';
  const gibibytes = Math.round(memoryBytes / 1024 ** 3);
  return `\`\`\`sh
${command}
\`\`\`

${date.slice(0, 10)}, commit ${commit.slice(0, 7)}${changed}, ${String(cpus)} × ${cpu}, ${String(gibibytes)} GiB, load ${load.toFixed(1)} before, Node ${node.slice(1)}.
${engines.map(({ server }) => server).join('; ')}.`;
}

function dayText({ accounts, shape }: { accounts: number; shape: string }): string {
  return `${number(accounts)} accounts${shape === 'elephant' ? ', one of which has 70 % of the orders' : ''}`;
}

/** A row that no engine has anything for is left out. */
function table<F extends { server: string }>(engines: readonly F[], rows: readonly Row<F>[]): string {
  const lines = rows
    .map(([name, cell]) => [name, engines.map(cell)] as const)
    .filter(([, cells]) => cells.some((cell) => cell !== null))
    .map(([name, cells]) => `| ${[name, ...cells.map((cell) => cell ?? '–')].join(' | ')} |\n`);
  const head = engines.map(({ server }) => /^\S+ \d+\.\d+/.exec(server)?.[0] ?? server);
  return `| | ${head.join(' | ')} |\n|---|${'---|'.repeat(engines.length)}\n${lines.join('')}`;
}

function orNull<T>(value: T | null | undefined, text: (value: T) => string): string | null {
  return value === null || value === undefined ? null : text(value);
}

function percentiles({ p50, p99 }: { p50: number; p99: number }): string {
  return `${p50.toFixed(1)} ms, ${p99.toFixed(1)} ms`;
}

function perThousand(served: { statementsPerThousand: number; commitsPerThousand: number }): string {
  return `${served.statementsPerThousand.toFixed(1)}, ${served.commitsPerThousand.toFixed(1)}`;
}

function perSecond(rate: number): string {
  return `${number(rate)} orders/s`;
}

function times(value: number): string {
  return `${value.toFixed(2)} ×`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

/** 1234567 as 1,234,567. */
function number(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
