import Table from 'cli-table3';
import type { EngineResult } from './contest.js';
import type { Lap } from './laps.js';
import { median } from './median.js';
import { growthOf, type ScaleResult } from './scale.js';

/** The figures of one engine for a person. */
export function printedContest(result: EngineResult): string {
  return [result.server, ratesTable(result), ratiosLine(result), partsTable(result), foreignTable(result)]
    .filter((text) => text !== null)
    .join('\n');
}

export function printedScale({ server, laps }: ScaleResult): string {
  const table = new Table({
    head: [
      'orders',
      's',
      'orders/s',
      'messages',
      'client peak MB',
      'in times of the row above: orders',
      'time',
      'peak',
    ],
    style: plain,
  });
  const growths = growthOf(laps);
  laps.forEach((lap, at) => {
    const growth = growths[at] ?? null;
    const times = growth === null ? ['', '', ''] : [growth.orders, growth.ms, growth.peakBytes].map(twoDecimals);
    const { orders, ms, ordersPerSecond, messages } = lap;
    table.push([orders, (ms / 1_000).toFixed(1), ordersPerSecond, messages, megabytes(lap), ...times].map(String));
  });
  return `${server}\n${table.toString()}`;
}

function ratesTable({ floors, oneByOne, settle, elephant }: EngineResult): string {
  const table = new Table({
    head: ['contender', 'orders', 'orders/s', 'messages', 'client peak MB', 'statements per 1,000 orders', 'COMMITs'],
    style: plain,
  });
  const row = (name: string, laps: readonly Lap[]): string[] => {
    const each = (text: (lap: Lap) => string): string => laps.map(text).join(' · ');
    return [
      name,
      String(laps[0]?.orders),
      each(({ ordersPerSecond }) => String(ordersPerSecond)),
      String(laps[0]?.messages),
      each(megabytes),
      each(({ orders, counts }) => (counts === null ? '–' : ((counts.statements / orders) * 1_000).toFixed(1))),
      each(({ orders, counts }) => (counts === null ? '–' : ((counts.commits / orders) * 1_000).toFixed(1))),
    ];
  };
  for (const { connections, laps } of floors) table.push(row(`(a) floor, ${String(connections)} connection(s)`, laps));
  table.push(row(`(b) one order a transaction, ${String(oneByOne.connections)} connection(s)`, [oneByOne.lap]));
  table.push(row('(c) settle run', settle));
  if (elephant.length > 0) table.push(row('(c) on the elephant day', elephant));
  return table.toString();
}

function ratiosLine({ ratios, floors, settle }: EngineResult): string {
  const { settleToFloor, settleToBestFloor, settleToOneByOne, elephantToEven } = ratios;
  const deadlocks = settle.flatMap(({ counts }) => counts?.deadlocks ?? []);
  return [
    `c/a ${twoDecimals(settleToFloor)}`,
    ...(floors.length > 1 ? [`c/best a ${twoDecimals(settleToBestFloor)}`] : []),
    `c/b ${settleToOneByOne.toFixed(1)}`,
    ...(elephantToEven === null ? [] : [`time of the elephant day/even day ${twoDecimals(elephantToEven)}`]),
    ...(deadlocks.length === 0 ? [] : [`deadlocks during (c) ${deadlocks.join(' · ')}`]),
  ].join('   ');
}

/** Of the first floor; with several connections the parts are the sum of what each waited. */
function partsTable({ floors }: EngineResult): string {
  const { connections = 1, laps = [] } = floors[0] ?? {};
  const table = new Table({
    head: [`part of the floor, ${String(connections)} connection(s)`, 'ms', '%'],
    colAligns: ['left', 'right', 'right'],
    style: plain,
  });
  const names = Object.keys(laps[0]?.parts ?? {});
  const total = median(laps.map((lap) => lap.ms)) * connections;
  for (const name of names) {
    const ms = median(laps.map((lap) => lap.parts[name] ?? 0));
    table.push([name, ms.toFixed(0), ((ms / total) * 100).toFixed(0)]);
  }
  return table.toString();
}

function foreignTable({ foreignIdle, floors, settle, elephant }: EngineResult): string | null {
  if (foreignIdle === null) return null;
  const table = new Table({
    head: ['foreign writer', 'updates', 'p50 ms', 'p99 ms', 'max ms', 'errors'],
    style: plain,
  });
  const during = (name: string, laps: readonly Lap[]) => laps.map((lap) => ({ name, latency: lap.foreign }));
  for (const { name, latency } of [
    { name: 'idle server', latency: foreignIdle },
    ...floors.flatMap(({ connections, laps }) => during(`during (a), ${String(connections)} connection(s)`, laps)),
    ...during('during (c)', settle),
    ...during('during (c), elephant day', elephant),
  ]) {
    if (latency === null) continue;
    const { updates, p50, p99, max, errors } = latency;
    table.push([name, String(updates), twoDecimals(p50), twoDecimals(p99), max.toFixed(1), String(errors)]);
  }
  return table.toString();
}

function megabytes({ peakBytes }: Lap): string {
  return peakBytes === null ? '–' : (peakBytes / 1e6).toFixed(0);
}

function twoDecimals(value: number): string {
  return value.toFixed(2);
}

const plain = { head: [], border: [], compact: true };
