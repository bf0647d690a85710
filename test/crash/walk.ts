import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { experiment, shape, undisturbed, type Kill, type Reference } from './experiment.js';
import { serverGround, sqliteGround, type EngineName, type Place } from './places.js';
import { scenarioOf, type Scenario, type ScenarioName } from './scenarios.js';

export interface WalkOptions {
  engine: EngineName;
  /** URL of the server without a database, ending in "/"; not used for SQLite. */
  serverUrl: string;
  /** Nobody else asks this server anything, so that its counter of statements can be compared. */
  ownServer: boolean;
  scenario: ScenarioName;
  /** Every how many-th boundary, starting at `offset` (0 is the first). 1 is all of them. */
  every: number;
  offset: number;
  /** Leaves out each boundary that only a read separates from the one before: the database is the same at both. */
  afterWrites: boolean;
  workers: number;
  /** Experiments with two kills at random places, and the seed of the places. */
  doubles: number;
  seed: number;
  /** Only this experiment. */
  only: readonly Kill[] | null;
  onProgress: (done: number, all: number) => void;
}

export interface Violation {
  kills: readonly Kill[];
  statements: readonly string[];
  what: string;
}

export interface Walk {
  engine: EngineName;
  scenario: ScenarioName;
  /** Statements of the undisturbed run. */
  statements: number;
  /** The same, counted by the database; null where nobody could. */
  counted: number | null;
  /** Boundaries there are, and those that were walked. */
  boundaries: number;
  walked: number;
  doubles: number;
  /** How many experiments ended like which reference. */
  endings: number[];
  violations: Violation[];
}

/** Kills the scenario's command at its statement boundaries, one start a boundary, and says what did not hold. */
export async function walk(options: WalkOptions): Promise<Walk> {
  const { engine } = options;
  const scenario = scenarioOf(options.scenario);
  const folder = mkdtempSync(join(tmpdir(), 'settle-crash-trace-'));
  const ground =
    engine === 'sqlite'
      ? await sqliteGround(scenario.seed)
      : await serverGround(options.serverUrl, scenario.seed, options.ownServer);
  const places: Place[] = [];
  try {
    for (let nth = 0; nth < options.workers; nth += 1) places.push(await ground.place());
    return await walkOn(options, scenario, places, folder);
  } finally {
    for (const place of places) await place.remove();
    await ground.remove();
    scenario.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function walkOn(
  options: WalkOptions,
  scenario: Scenario,
  places: readonly Place[],
  folder: string,
): Promise<Walk> {
  const [place] = places as [Place];
  const trace = (nth: number): string => join(folder, String(nth));
  const references = await prove(scenario, place, trace(0));
  const [{ statements, counted }] = references as [Reference];
  const every = boundariesOf(statements, options.engine);
  const all = options.afterWrites ? every.filter((kill) => comesAfterWrite(kill, statements)) : every;
  const chosen = all.filter((_, at) => at % options.every === options.offset % options.every).map((kill) => [kill]);
  const kills: (readonly Kill[])[] =
    options.only === null ? [...chosen, ...doublesOf(all, options.doubles, options.seed)] : [options.only];
  if (kills.length === 0) throw new Error('No boundary was chosen: nothing would be proven.');
  const result: Walk = {
    engine: options.engine,
    scenario: scenario.name,
    statements: statements.length,
    counted,
    boundaries: all.length,
    walked: 0,
    doubles: 0,
    endings: references.map(() => 0),
    violations: [],
  };
  let next = 0;
  const worker = async (own: Place, nth: number): Promise<void> => {
    for (let one = kills[next]; one !== undefined; one = kills[next]) {
      next += 1;
      const { struck, violations, endedAs } = await experiment(scenario, own, trace(nth), references, one);
      if (one.length === 1) result.walked += struck.length;
      else result.doubles += 1;
      if (endedAs >= 0) result.endings[endedAs] = (result.endings[endedAs] ?? 0) + 1;
      result.violations.push(...violations.map((what) => ({ kills: one, statements: struck, what })));
      options.onProgress(next, kills.length);
    }
  };
  await Promise.all(places.map(worker));
  return result;
}

type References = [Reference, ...Reference[]];

const attemptsMax = 5;

/**
 * What undisturbed starts come to. That the statements come in the same order twice is what a boundary's number means; a
 * busy machine may put a heartbeat between them, in any of the starts.
 */
async function prove(scenario: Scenario, place: Place, trace: string): Promise<References> {
  const seen = [await undisturbed(scenario, place, trace)];
  const [first] = seen as [Reference];
  if (first.statements.length === 0) throw new Error('The command sent no statement: nothing was wrapped.');
  let proven: Reference | undefined;
  while (proven === undefined && seen.length <= attemptsMax) {
    const again = await undisturbed(scenario, place, trace);
    proven = seen.find((earlier) => firstDifference(earlier, again) === '');
    seen.push(again);
  }
  if (proven === undefined) {
    const different = firstDifference(first, seen[1] as Reference);
    throw new Error(`Undisturbed starts differ in their statements, first in ${different}`);
  }
  const references: References = [proven];
  for (const variant of scenario.variants) references.push(await undisturbed(scenario, place, trace, variant));
  return references;
}

function firstDifference(one: Reference, other: Reference): string {
  const length = Math.max(one.statements.length, other.statements.length);
  for (let at = 0; at < length; at += 1) {
    const pair = [one.statements[at], other.statements[at]];
    if (shape(pair[0]) !== shape(pair[1])) return `number ${String(at + 1)}: ${pair.map(String).join(' / ')}`;
  }
  return '';
}

/**
 * After statement k took effect is before statement k + 1 reaches the database, since nothing else is under way: one
 * boundary. On a server a statement that writes has one more, when it is sent and the server may still carry it out.
 */
function boundariesOf(statements: readonly string[], engine: EngineName): Kill[] {
  const kills = statements.flatMap((sql, index): Kill[] => {
    const before: Kill = { at: index + 1, side: 'before' };
    return engine === 'sqlite' || changesNothing(sql) ? [before] : [before, { ...before, side: 'sent' }];
  });
  return [...kills, { at: statements.length, side: 'after' }];
}

function changesNothing(sql: string): boolean {
  return /^(select|set|show|start transaction|begin|rollback)\b/i.test(sql);
}

function comesAfterWrite({ at, side }: Kill, statements: readonly string[]): boolean {
  return side !== 'before' || at === 1 || !changesNothing(statements[at - 2] as string);
}

function doublesOf(all: readonly Kill[], count: number, seed: number): Kill[][] {
  const random = randomFrom(seed);
  const some = (): Kill => all[Math.floor(random() * all.length)] as Kill;
  return Array.from({ length: count }, () => [some(), some()]);
}

/** mulberry32: the same places for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
