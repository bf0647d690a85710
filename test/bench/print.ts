import Table from 'cli-table3';
import { median, type EngineResult, type Lap } from './contest.js';

/** The figures of one engine for a person. */
export function printed(result: EngineResult): string {
  return [result.server, ratesTable(result), ratiosLine(result), partsTable(result.floor), foreignTable(result)]
    .filter((text) => text !== null)
    .join('\n');
}

function ratesTable({ floor, oneByOne, settle }: EngineResult): string {
  const table = new Table({ head: ['contender', 'orders', 'orders/s', 'messages', 'client peak MB'], style: plain });
  const row = (name: string, laps: readonly Lap[]): string[] => [
    name,
    String(laps[0]?.orders),
    laps.map((lap) => String(lap.ordersPerSecond)).join(' · '),
    String(laps[0]?.messages),
    laps.map((lap) => (lap.peakBytes === null ? '–' : (lap.peakBytes / 1e6).toFixed(0))).join(' · '),
  ];
  table.push(
    row('(a) floor: set-based SQL', floor),
    [
      `(b) one order a transaction, ${String(oneByOne.connections)} connection(s)`,
      String(oneByOne.orders),
      String(oneByOne.ordersPerSecond),
      String(oneByOne.orders),
      '–',
    ],
    row('(c) settle run', settle),
  );
  return table.toString();
}

function ratiosLine({ ratios }: EngineResult): string {
  return `c/a ${ratios.settleToFloor.toFixed(2)}   c/b ${ratios.settleToOneByOne.toFixed(1)}`;
}

function partsTable(floor: readonly Lap[]): string {
  const table = new Table({
    head: ['part of the floor', 'ms', '%'],
    colAligns: ['left', 'right', 'right'],
    style: plain,
  });
  const names = Object.keys(floor[0]?.parts ?? {});
  const total = median(floor.map((lap) => lap.ms));
  for (const name of names) {
    const ms = median(floor.map((lap) => lap.parts[name] ?? 0));
    table.push([name, ms.toFixed(0), ((ms / total) * 100).toFixed(0)]);
  }
  return table.toString();
}

function foreignTable({ foreignIdle, floor, settle }: EngineResult): string | null {
  if (foreignIdle === null) return null;
  const table = new Table({
    head: ['foreign writer', 'updates', 'p50 ms', 'p99 ms', 'max ms', 'errors'],
    style: plain,
  });
  const during = (name: string, laps: readonly Lap[]) => laps.map((lap) => ({ name, latency: lap.foreign }));
  for (const { name, latency } of [
    { name: 'idle server', latency: foreignIdle },
    ...during('during (a)', floor),
    ...during('during (c)', settle),
  ]) {
    if (latency === null) continue;
    const { updates, p50, p99, max, errors } = latency;
    table.push([name, String(updates), p50.toFixed(2), p99.toFixed(2), max.toFixed(1), String(errors)]);
  }
  return table.toString();
}

const plain = { head: [], border: [], compact: true };
