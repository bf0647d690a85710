import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Database } from '../../src/db/database.js';
import { settle, type Ended } from '../support/program.js';
import type { Place } from './places.js';
import type { Scenario } from './scenarios.js';

/** When a process dies at a statement; see `support/crashPoint.mjs`. */
export const sides = ['before', 'sent', 'after'] as const;
export type Side = (typeof sides)[number];

export interface Kill {
  /** Number of the statement, from 1. */
  at: number;
  side: Side;
}

interface CrashPoint extends Partial<Kill> {
  inTurn: boolean;
}

const preload = pathToFileURL(join(process.cwd(), 'test', 'support', 'crashPoint.mjs')).href;
/** Longer than any limit inside the program that a killed predecessor can make it wait for. */
const processMsMax = 120_000;
const statementsBetweenHeartbeats = 70;

interface Traced extends Ended {
  /** In the order in which they went out; the last one is that of the kill. */
  statements: string[];
  /** Counted by the native part of the driver; null when there is none. */
  seenByDriver: number | null;
  hung: boolean;
}

/** Runs the command with its statements written down, and kills it where `point` says. */
async function traced(args: readonly string[], url: string, trace: string, point: CrashPoint): Promise<Traced> {
  rmSync(trace, { force: true });
  const heartbeat = point.inTurn ? { heartbeat: statementsBetweenHeartbeats } : {};
  const env = {
    NODE_OPTIONS: `--import=${preload}`,
    CRASH_POINT: JSON.stringify({ trace, ...point, ...heartbeat }),
  };
  const run = settle(args, { url, env });
  let hung = false;
  const limit = setTimeout(() => {
    hung = true;
    run.kill('SIGKILL');
  }, processMsMax);
  const ended = await run;
  clearTimeout(limit);
  const noted = (existsSync(trace) ? readFileSync(trace, 'utf8').trimEnd().split('\n') : []).map(
    (text) => JSON.parse(text) as { sql?: string; seenByDriver?: number },
  );
  return {
    ...ended,
    hung,
    statements: noted.flatMap(({ sql }) => (sql === undefined ? [] : [sql])),
    seenByDriver: noted.at(-1)?.seenByDriver ?? null,
  };
}

/** What an undisturbed start comes to: the only thing that a disturbed one may come to as well. */
export interface Reference {
  statements: string[];
  /** How many statements the database counted; null where nobody could. */
  counted: number | null;
  picture: string;
  said: string;
}

/** Exit code, and of a run what its document says of the whole day, whoever of its predecessors did the work. */
function saidBy({ code, stdout }: Ended): string {
  const document = (stdout.startsWith('{') ? JSON.parse(stdout) : {}) as Record<string, unknown>;
  if (document['schema'] !== 'settle.run') return `exit code ${String(code)}`;
  const { outcome, closed, accounts, unsentMessages, leftOrders } = document;
  const { source, claimed, outbox, posted } = document['totals'] as Record<string, unknown>;
  return JSON.stringify({
    code,
    outcome,
    closed,
    accounts,
    unsentMessages,
    leftOrders,
    source,
    claimed,
    outbox,
    posted,
  });
}

export async function undisturbed(
  scenario: Scenario,
  place: Place,
  trace: string,
  before?: (database: Database) => Promise<void>,
): Promise<Reference> {
  await place.restore();
  if (before !== undefined) await place.change(before);
  let ended = {} as Traced;
  const logged = await place.logged(async () => {
    ended = await traced(scenario.args, place.url, trace, { inTurn: true });
  });
  const { picture, faults } = await place.look(async (database) => ({
    picture: (await scenario.picture(database)).join('\n'),
    faults: await scenario.faults(database),
  }));
  const { statements } = ended;
  const counted = logged ?? ended.seenByDriver;
  if (counted !== null && counted !== statements.length) {
    throw new Error(`${String(statements.length)} statements were seen, the database counted ${String(counted)}.`);
  }
  if (faults.length > 0 || ended.signal !== null) {
    throw new Error(`${scenario.name} is wrong without any kill:\n${faults.join('\n')}\n${ended.stderr}`);
  }
  return { statements, counted, picture, said: saidBy(ended) };
}

/** The same statement, whatever values are in it. */
export function shape(sql: string | undefined): string {
  return (sql ?? '')
    .replaceAll(/'(?:[^'\\]|\\.|'')*'?/g, '?')
    .replaceAll(/\b\d+\b/g, '?')
    .replace(/ values .*/s, ' values');
}

export interface Outcome {
  /** Text of the statement at each kill. */
  struck: string[];
  violations: string[];
  /** The end is that of this reference: its place in the list. */
  endedAs: number;
}

const attemptsMax = 6;

/**
 * Brings back the start, kills the command at each of `kills` (the first start at the first, the next at the second),
 * starts it again until it ends, and compares.
 */
export async function experiment(
  scenario: Scenario,
  place: Place,
  trace: string,
  references: readonly [Reference, ...Reference[]],
  kills: readonly Kill[],
): Promise<Outcome> {
  const wanted = kills.length === 1 ? shape(references[0].statements[(kills[0] as Kill).at - 1]) : null;
  for (let attempt = 1; ; attempt += 1) {
    const { struck, violations } = await strike(scenario, place, trace, kills);
    // Lanes write at the same time: on a busy machine another statement may have come first. Then it was no such boundary.
    const missed = wanted !== null && shape(struck[0]) !== wanted;
    if (missed && violations.length === 0 && attempt < attemptsMax) continue;
    if (missed) violations.push(`came ${String(attempt)} times to another statement than undisturbed: ${wanted}`);
    const { found, endedAs } = await goOn(scenario, place, references);
    return { struck: missed ? [] : struck, violations: [...violations, ...found], endedAs };
  }
}

/** Up to the last kill; with what is half-done after each. */
async function strike(
  scenario: Scenario,
  place: Place,
  trace: string,
  kills: readonly Kill[],
): Promise<{ struck: string[]; violations: string[] }> {
  const struck: string[] = [];
  const violations: string[] = [];
  const inTurn = kills.length === 1;
  await place.restore();
  for (const kill of kills) {
    const { signal, hung, statements } = await traced(scenario.args, place.url, trace, { ...kill, inTurn });
    if (hung) violations.push(`ran for more than ${String(processMsMax / 1_000)} s`);
    if (signal !== 'SIGKILL') break; // a second start has less to do, and may end before its turn
    struck.push(statements[kill.at - 1] ?? '');
    // After "sent" the restart is at once, while the server may still be at work for the dead.
    if (kill.side === 'sent' || !inTurn) continue;
    violations.push(...(await place.look((database) => scenario.half(database))).map((fault) => `half-way: ${fault}`));
  }
  return { struck, violations };
}

/** From the last kill to the end. */
async function goOn(
  scenario: Scenario,
  place: Place,
  references: readonly [Reference, ...Reference[]],
): Promise<{ found: string[]; endedAs: number }> {
  const ended = await scenario.again(place.url);
  const { picture, faults } = await place.look(async (database) => ({
    picture: (await scenario.picture(database)).join('\n'),
    faults: await scenario.faults(database),
  }));
  const found = faults.map((fault) => `in the end: ${fault}`);
  const endedAs = references.findIndex((one) => one.picture === picture);
  if (endedAs === -1) found.push(`other books than undisturbed:\n${difference(references[0].picture, picture)}`);
  const { said } = references[endedAs] ?? references[0];
  if (saidBy(ended) !== said) found.push(`says\n  ${saidBy(ended)}\n  instead of\n  ${said}\n${ended.stderr}`);
  return { found, endedAs };
}

function difference(expected: string, actual: string): string {
  const [before, after] = [expected.split('\n'), actual.split('\n')];
  return [
    ...before.filter((one) => !after.includes(one)).map((one) => `  missing: ${one}`),
    ...after.filter((one) => !before.includes(one)).map((one) => `  instead: ${one}`),
  ].join('\n');
}
