import { readBooks, type Books } from './books.js';
import type { Day } from './data.js';
import { runFloor } from './floor.js';
import { besideForeignWriter, createForeignTable, type ForeignLatency } from './foreignWriter.js';
import { runOneByOne } from './oneByOne.js';
import { freshDay, withDatabase, type Place } from './place.js';
import { countedByServer, type ServerCounts } from './serverCounts.js';
import { runSettle } from './settleProcess.js';

/** One contender once through one day, on tables just filled. */
export interface Lap {
  orders: number;
  ms: number;
  ordersPerSecond: number;
  messages: number;
  /** Milliseconds by part, where the contender tells them. */
  parts: Record<string, number>;
  /** Of the client, where it is a process of its own. */
  peakBytes: number | null;
  /** What a foreign writer beside it met. */
  foreign: ForeignLatency | null;
  /** The contender's own; the foreign writer's are taken off. */
  counts: ServerCounts | null;
}

/** A lap and the books that it left behind. */
export interface Left {
  lap: Lap;
  books: Books;
}

interface Work {
  ms: number;
  parts?: Record<string, number>;
  peakBytes?: number;
}

export interface FloorLapOptions {
  day: Day;
  rangeOrders: number;
  skipOneOrder: boolean;
}

export function lapFloor(place: Place, options: FloorLapOptions, connections: number): Promise<Left> {
  const { day, rangeOrders } = options;
  const orders = options.skipOneOrder ? day.orders - 1 : day.orders;
  return lap(place, day, 'beside a foreign writer', () => runFloor(place.target, { orders, rangeOrders, connections }));
}

export type Beside = 'beside a foreign writer' | 'alone';

export function lapSettle(place: Place, day: Day, lanes: number | undefined, beside: Beside): Promise<Left> {
  return lap(place, day, beside, () => runSettle(place.url, lanes));
}

export function lapOneByOne(place: Place, day: Day, connections: number): Promise<Left> {
  return lap(place, day, 'alone', () =>
    withDatabase(place.target, { connections }, (database) => runOneByOne(database, connections)),
  );
}

async function lap(place: Place, day: Day, beside: Beside, work: () => Promise<Work>): Promise<Left> {
  await freshDay(place, day);
  const others = beside === 'alone' ? null : await givenOthers(place);
  const [[{ ms, parts, peakBytes }, foreign], counts] = await countedByServer(place, () =>
    others === null ? withNobody(work) : besideForeignWriter(others, work),
  );
  const books = await withDatabase(place.target, {}, readBooks);
  return {
    books,
    lap: {
      orders: day.orders,
      ms: Math.round(ms),
      ordersPerSecond: Math.round((day.orders / ms) * 1_000),
      messages: books.messages,
      parts: parts ?? {},
      peakBytes: peakBytes ?? null,
      foreign,
      counts: counts === null ? null : { ...counts, statements: counts.statements - (foreign?.statements ?? 0) },
    },
  };
}

/** The URL for the foreign writer, whose table is there then; a SQLite file has none. */
async function givenOthers(place: Place): Promise<string | null> {
  if (place.target.dialect === 'sqlite') return null;
  await withDatabase(place.target, {}, createForeignTable);
  return place.url;
}

async function withNobody<T>(work: () => Promise<T>): Promise<[T, ForeignLatency | null]> {
  return [await work(), null];
}

/** What the foreign writer meets when it has the server to itself for `ms`. */
export async function idleLatency(place: Place, ms: number): Promise<ForeignLatency | null> {
  const url = await givenOthers(place);
  if (url === null) return null;
  const [, latency] = await besideForeignWriter(url, () => new Promise((resolve) => setTimeout(resolve, ms)));
  return latency;
}
