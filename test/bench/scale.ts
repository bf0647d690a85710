import type { Engine } from '../../migrations/vocabulary.js';
import { shortcomings } from './books.js';
import type { Say } from './contest.js';
import type { Day } from './data.js';
import { lapSettle, type Lap } from './laps.js';
import { describeServer, withDatabase, type Place } from './place.js';

export interface ScaleOptions {
  /** Orders of each day, ascending. */
  sizes: readonly number[];
  day: Omit<Day, 'orders'>;
  lanes: number | undefined;
}

export interface ScaleResult {
  engine: Engine;
  server: string;
  laps: Lap[];
  differences: string[];
}

/** Settle alone, on days that differ in their size only: whether time grows with the orders, and memory does not. */
export async function scale(place: Place, { sizes, day, lanes }: ScaleOptions, say: Say): Promise<ScaleResult> {
  const server = await withDatabase(place.target, {}, describeServer);
  say(server.server);
  const laps: Lap[] = [];
  const differences: string[] = [];
  for (const orders of sizes) {
    const { lap, books } = await lapSettle(place, { ...day, orders }, lanes, 'alone');
    laps.push(lap);
    differences.push(...shortcomings(books, orders, true).map((text) => `settle, ${String(orders)} orders: ${text}`));
    say(`settle, ${String(orders)} orders: ${String(lap.ordersPerSecond)} orders/s`);
  }
  return { ...server, laps, differences };
}

/** What a lap costs in times of the lap of the size before it. */
export interface Growth {
  orders: number;
  ms: number;
  peakBytes: number;
}

/** By lap; the first has nothing before it. Time in proportion means that `ms` equals `orders`. */
export function growthOf(laps: readonly Pick<Lap, 'orders' | 'ms' | 'peakBytes'>[]): (Growth | null)[] {
  return laps.map((lap, at) => {
    const before = laps[at - 1];
    if (before === undefined) return null;
    return {
      orders: lap.orders / before.orders,
      ms: lap.ms / before.ms,
      peakBytes: (lap.peakBytes ?? NaN) / (before.peakBytes ?? NaN),
    };
  });
}
