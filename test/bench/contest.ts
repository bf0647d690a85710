import type { Engine } from '../../migrations/vocabulary.js';
import { disagreements, shortcomings } from './books.js';
import type { Day, DayShape } from './data.js';
import { dropForeignTable, type ForeignLatency } from './foreignWriter.js';
import { idleLatency, lapFloor, lapOneByOne, lapSettle, type Lap, type Left } from './laps.js';
import { median } from './median.js';
import { describeServer, withDatabase, type Place } from './place.js';

export interface ContestOptions {
  day: Day;
  /** Orders of the sample that (b) settles. */
  sample: number;
  rangeOrders: number;
  /** 1 among them; a SQLite file has one writer, and so one. */
  floorConnections: readonly number[];
  repeat: number;
  lanes: number | undefined;
  /** Settle also on a day of this size of which one account has 70 %. */
  elephant: boolean;
  /** Lets the floor leave the last order out: the comparison of the books must then fail. */
  skipOneOrder: boolean;
}

export interface EngineResult {
  engine: Engine;
  server: string;
  floors: { connections: number; laps: Lap[] }[];
  oneByOne: { connections: number; lap: Lap };
  settle: Lap[];
  /** Empty unless asked for. */
  elephant: Lap[];
  ratios: Ratios;
  foreignIdle: ForeignLatency | null;
  /** Why these figures count for nothing; empty when all left the same whole day behind. */
  differences: string[];
}

/** Of rates, but the last, which is of times. Medians over the rounds of the ratio within a round, whose laps ran one after the other. */
export interface Ratios {
  /** To the floor of one connection. */
  settleToFloor: number;
  /** To the fastest floor of the round. */
  settleToBestFloor: number;
  settleToOneByOne: number;
  elephantToEven: number | null;
}

interface Round {
  /** In the order of `floorConnections`. */
  floors: Lap[];
  settle: Lap;
  elephant: Lap | null;
  differences: string[];
}

export type Say = (text: string) => void;

/** The three contenders on one engine, each on tables just filled with the same rows. */
export async function contest(place: Place, asked: ContestOptions, say: Say): Promise<EngineResult> {
  const options = place.target.dialect === 'sqlite' ? { ...asked, floorConnections: [1] } : asked;
  const server = await withDatabase(place.target, {}, describeServer);
  say(server.server);
  const oneByOne = await sampleOneByOne(place, options, say);
  const foreignIdle = await idleLatency(place, options.day.orders < 50_000 ? 500 : 5_000);
  const rounds: Round[] = [];
  for (let at = 0; at < options.repeat; at += 1) rounds.push(await runRound(place, options, at % 2 === 1, say));
  if (place.target.dialect === 'mysql') await withDatabase(place.target, {}, dropForeignTable);
  return {
    ...server,
    floors: options.floorConnections.map((connections, at) => ({
      connections,
      laps: rounds.map(({ floors }) => floors[at] as Lap),
    })),
    oneByOne: { connections: oneByOne.connections, lap: oneByOne.lap },
    settle: rounds.map(({ settle }) => settle),
    elephant: rounds.flatMap(({ elephant }) => elephant ?? []),
    ratios: ratiosOf(rounds, options.floorConnections.indexOf(1), oneByOne.lap),
    foreignIdle,
    differences: [...oneByOne.differences, ...rounds.flatMap(({ differences }) => differences)],
  };
}

function ratiosOf(rounds: readonly Round[], single: number, oneByOne: Lap): Ratios {
  const inRounds = (ratio: (round: Round) => number): number => median(rounds.map(ratio));
  const rates = (laps: readonly Lap[]): number[] => laps.map(({ ordersPerSecond }) => ordersPerSecond);
  return {
    settleToFloor: inRounds(({ settle, floors }) => settle.ordersPerSecond / (rates(floors)[single] ?? NaN)),
    settleToBestFloor: inRounds(({ settle, floors }) => settle.ordersPerSecond / Math.max(...rates(floors))),
    settleToOneByOne: inRounds(({ settle }) => settle.ordersPerSecond / oneByOne.ordersPerSecond),
    elephantToEven: rounds.every(({ elephant }) => elephant === null)
      ? null
      : inRounds(({ elephant, settle }) => (elephant?.ms ?? NaN) / settle.ms),
  };
}

/** One after the other; every second round the other way round, for what the machine does meanwhile. */
async function runRound(place: Place, options: ContestOptions, turned: boolean, say: Say): Promise<Round> {
  const contenders = contendersOf(place, options);
  const left = new Map<string, Left>();
  for (const [name, run] of turned ? contenders.toReversed() : contenders) {
    const result = await run();
    left.set(name, result);
    say(`${name}: ${String(result.lap.ordersPerSecond)} orders/s`);
  }
  const settle = left.get('settle') as Left;
  const floors = options.floorConnections.map(floorName).map((name) => [name, left.get(name) as Left] as const);
  const short = [...left].flatMap(([name, { books }]) =>
    shortcomings(books, options.day.orders, true).map((text) => `${name}: ${text}`),
  );
  const unlike = floors.flatMap(([name, floor]) =>
    disagreements(floor.books, settle.books).map((text) => `settle against ${name}: ${text}`),
  );
  return {
    floors: floors.map(([, floor]) => floor.lap),
    settle: settle.lap,
    elephant: left.get('settle, elephant day')?.lap ?? null,
    differences: [...short, ...unlike],
  };
}

function contendersOf(place: Place, options: ContestOptions): (readonly [string, () => Promise<Left>])[] {
  const { day, lanes } = options;
  const settle = (shape: DayShape) => () => lapSettle(place, { ...day, shape }, lanes, 'beside a foreign writer');
  return [
    ...options.floorConnections.map(
      (connections) => [floorName(connections), () => lapFloor(place, options, connections)] as const,
    ),
    ['settle', settle(day.shape)],
    ...(options.elephant ? [['settle, elephant day', settle('elephant')] as const] : []),
  ];
}

function floorName(connections: number): string {
  return connections === 1 ? 'floor' : `floor of ${String(connections)} connections`;
}

async function sampleOneByOne(
  place: Place,
  { day, sample }: ContestOptions,
  say: Say,
): Promise<{ lap: Lap; connections: number; differences: string[] }> {
  const connections = place.target.dialect === 'sqlite' ? 1 : 16;
  const { lap, books } = await lapOneByOne(place, { ...day, orders: sample }, connections);
  say(`one order a transaction: ${String(lap.ordersPerSecond)} orders/s`);
  const differences = shortcomings(books, sample, false).map((text) => `one order a transaction: ${text}`);
  return { lap, connections, differences };
}
