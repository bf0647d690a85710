import { disagreements, readBooks, shortcomings, type Books } from './books.js';
import type { Size } from './data.js';
import { runFloor } from './floor.js';
import { besideForeignWriter, createForeignTable, dropForeignTable, type ForeignLatency } from './foreignWriter.js';
import { runOneByOne } from './oneByOne.js';
import { describeServer, freshDay, withDatabase, type Place } from './place.js';
import { runSettle } from './settleProcess.js';

export interface ContestOptions {
  size: Size;
  /** Orders of the sample that (b) settles. */
  sample: number;
  rangeOrders: number;
  repeat: number;
  lanes: number | undefined;
  /** Lets the floor leave the last order out: the comparison of the books must then fail. */
  skipOneOrder: boolean;
}

export interface Rate {
  orders: number;
  ms: number;
  ordersPerSecond: number;
}

/** One run of (a) or (c). */
export interface Lap extends Rate {
  messages: number;
  parts: Record<string, number>;
  peakBytes: number | null;
  foreign: ForeignLatency | null;
}

export interface EngineResult {
  server: string;
  floor: Lap[];
  oneByOne: Rate & { connections: number };
  settle: Lap[];
  /** Median over the rounds of the ratio within a round, whose two laps ran one after the other. */
  ratios: { settleToFloor: number; settleToOneByOne: number };
  foreignIdle: ForeignLatency | null;
  /** Why these figures count for nothing; empty when both left the same whole day behind. */
  differences: string[];
}

type Say = (text: string) => void;

/** The three contenders on one engine, each on tables just filled with the same rows. */
export async function contest(place: Place, options: ContestOptions, say: Say): Promise<EngineResult> {
  const server = await withDatabase(place.target, {}, describeServer);
  say(server);
  const oneByOne = await lapOneByOne(place, options, say);
  const foreignIdle = await idleLatency(place, options);
  const rounds: { floor: Lap; settle: Lap; differences: string[] }[] = [];
  for (let round = 0; round < options.repeat; round += 1) {
    rounds.push(await runRound(place, options, round % 2 === 1, say));
  }
  if (place.target.dialect === 'mysql') await withDatabase(place.target, {}, dropForeignTable);
  const settleToFloor = median(rounds.map(({ floor, settle }) => settle.ordersPerSecond / floor.ordersPerSecond));
  const settleRate = median(rounds.map(({ settle }) => settle.ordersPerSecond));
  return {
    server,
    floor: rounds.map(({ floor }) => floor),
    oneByOne: oneByOne.rate,
    settle: rounds.map(({ settle }) => settle),
    ratios: { settleToFloor, settleToOneByOne: settleRate / oneByOne.rate.ordersPerSecond },
    foreignIdle,
    differences: [...oneByOne.differences, ...rounds.flatMap(({ differences }) => differences)],
  };
}

/** Floor and Settle one after the other; every second round the other way round, for what the machine does meanwhile. */
async function runRound(
  place: Place,
  options: ContestOptions,
  settleFirst: boolean,
  say: Say,
): Promise<{ floor: Lap; settle: Lap; differences: string[] }> {
  const floorFirst = settleFirst ? null : await lapFloor(place, options, say);
  const settle = await lapSettle(place, options, say);
  const floor = floorFirst ?? (await lapFloor(place, options, say));
  const { orders } = options.size;
  const differences = [
    ...shortcomings(floor.books, orders, true).map((text) => `floor: ${text}`),
    ...shortcomings(settle.books, orders, true).map((text) => `settle: ${text}`),
    ...disagreements(floor.books, settle.books).map((text) => `settle against floor: ${text}`),
  ];
  return { floor: floor.lap, settle: settle.lap, differences };
}

async function lapFloor(place: Place, options: ContestOptions, say: Say): Promise<{ lap: Lap; books: Books }> {
  await prepare(place, options.size);
  const orders = options.skipOneOrder ? options.size.orders - 1 : options.size.orders;
  const [{ ms, parts }, foreign] = await besideOthers(place, () =>
    withDatabase(place.target, { connections: 1 }, (database) => runFloor(database, orders, options.rangeOrders)),
  );
  const books = await withDatabase(place.target, {}, readBooks);
  const lap = { ...rate(options.size.orders, ms), messages: books.messages, parts, peakBytes: null, foreign };
  say(`floor: ${lap.ordersPerSecond.toFixed(0)} orders/s`);
  return { lap, books };
}

async function lapSettle(place: Place, options: ContestOptions, say: Say): Promise<{ lap: Lap; books: Books }> {
  await prepare(place, options.size);
  const [{ ms, peakBytes }, foreign] = await besideOthers(place, () => runSettle(place.url, options.lanes));
  const books = await withDatabase(place.target, {}, readBooks);
  const lap = { ...rate(options.size.orders, ms), messages: books.messages, parts: {}, peakBytes, foreign };
  say(`settle: ${lap.ordersPerSecond.toFixed(0)} orders/s`);
  return { lap, books };
}

async function lapOneByOne(
  place: Place,
  options: ContestOptions,
  say: Say,
): Promise<{ rate: Rate & { connections: number }; differences: string[] }> {
  await freshDay(place, { ...options.size, orders: options.sample });
  const connections = place.target.dialect === 'sqlite' ? 1 : 16;
  return withDatabase(place.target, { connections }, async (database) => {
    const { ms } = await runOneByOne(database, connections);
    const differences = shortcomings(await readBooks(database), options.sample, false);
    const result = { ...rate(options.sample, ms), connections };
    say(`one order a transaction: ${result.ordersPerSecond.toFixed(0)} orders/s`);
    return { rate: result, differences: differences.map((text) => `one order a transaction: ${text}`) };
  });
}

async function prepare(place: Place, size: Size): Promise<void> {
  await freshDay(place, size);
  if (place.target.dialect === 'mysql') await withDatabase(place.target, {}, createForeignTable);
}

/** Both contenders share the server with the foreign writer, so that neither has it easier. A SQLite file has none. */
async function besideOthers<T>(place: Place, work: () => Promise<T>): Promise<[T, ForeignLatency | null]> {
  return place.target.dialect === 'mysql' ? besideForeignWriter(place.url, work) : [await work(), null];
}

async function idleLatency(place: Place, options: ContestOptions): Promise<ForeignLatency | null> {
  if (place.target.dialect === 'sqlite') return null;
  await withDatabase(place.target, {}, createForeignTable);
  const ms = options.size.orders < 50_000 ? 500 : 5_000;
  const [, latency] = await besideForeignWriter(place.url, () => new Promise((resolve) => setTimeout(resolve, ms)));
  return latency;
}

function rate(orders: number, ms: number): Rate {
  return { orders, ms: Math.round(ms), ordersPerSecond: Math.round((orders / ms) * 1_000) };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}
