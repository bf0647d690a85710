import type { EngineResult } from './contest.js';
import type { ForeignLatency } from './foreignWriter.js';
import type { ContestFigures, ScaleFigures } from './history.js';
import type { Lap } from './laps.js';
import { median } from './median.js';
import type { ScaleResult } from './scale.js';

/** What is kept of a contest on one engine: the median round of each rate and latency, the worst of what has a limit. */
export function contestFigures(result: EngineResult): ContestFigures {
  const { engine, server, floors, oneByOne, settle, elephant, ratios, foreignIdle } = result;
  const worst = Math.max(...settle.map(peakOf));
  return {
    engine,
    server,
    floors: floors.map(({ connections, laps }) => ({
      connections,
      ordersPerSecond: rateOf(laps),
      messages: messagesOf(laps),
    })),
    oneByOne: { connections: oneByOne.connections, ordersPerSecond: oneByOne.lap.ordersPerSecond },
    settle: {
      ordersPerSecond: rateOf(settle),
      messages: messagesOf(settle),
      peakBytes: worst,
      served: servedOf(settle),
    },
    elephant:
      elephant.length === 0
        ? null
        : { ordersPerSecond: rateOf(elephant), peakBytes: Math.max(...elephant.map(peakOf)) },
    ratios: {
      settleToFloor: rounded(ratios.settleToFloor, 3),
      settleToBestFloor: rounded(ratios.settleToBestFloor, 3),
      settleToOneByOne: rounded(ratios.settleToOneByOne, 2),
      elephantToEven: ratios.elephantToEven === null ? null : rounded(ratios.elephantToEven, 3),
    },
    foreign:
      foreignIdle === null
        ? null
        : {
            idle: latencyOf([foreignIdle]),
            besideFloor: latencyOf(floors.flatMap(({ laps }) => laps.flatMap(({ foreign }) => foreign ?? []))),
            besideSettle: latencyOf(settle.flatMap(({ foreign }) => foreign ?? [])),
          },
  };
}

export function scaleFigures({ engine, server, laps }: ScaleResult): ScaleFigures {
  return {
    engine,
    server,
    laps: laps.map((lap) => {
      const { orders, ms, ordersPerSecond, messages } = lap;
      return { orders, ms, ordersPerSecond, peakBytes: peakOf(lap), messages };
    }),
  };
}

function rateOf(laps: readonly Lap[]): number {
  return Math.round(median(laps.map(({ ordersPerSecond }) => ordersPerSecond)));
}

function messagesOf(laps: readonly Lap[]): number {
  return Math.round(median(laps.map(({ messages }) => messages)));
}

function peakOf({ peakBytes }: Lap): number {
  return peakBytes ?? 0;
}

function servedOf(laps: readonly Lap[]): ContestFigures['settle']['served'] {
  const counted = laps.flatMap(({ orders, counts }) => (counts === null ? [] : { orders, ...counts }));
  if (counted.length === 0) return null;
  const perThousand = (of: 'statements' | 'commits'): number =>
    rounded(Math.max(...counted.map((lap) => (lap[of] / lap.orders) * 1_000)), 2);
  const deadlocks = counted.flatMap((lap) => lap.deadlocks ?? []);
  return {
    statementsPerThousand: perThousand('statements'),
    commitsPerThousand: perThousand('commits'),
    deadlocks: deadlocks.length === 0 ? null : sum(deadlocks),
  };
}

function latencyOf(latencies: readonly ForeignLatency[]): { p50: number; p99: number; errors: number } {
  return {
    p50: rounded(median(latencies.map(({ p50 }) => p50)), 2),
    p99: rounded(median(latencies.map(({ p99 }) => p99)), 2),
    errors: sum(latencies.map(({ errors }) => errors)),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function rounded(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}
