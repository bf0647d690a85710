import BetterSqlite3 from 'better-sqlite3';
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { msMax, processEvery, type Tried } from './door.js';
import { pathsBelow, type Place } from './place.js';
import { runInside } from '../support/inside.js';
import type { Ended } from '../support/program.js';
import { fitsProcess, runAsProcess } from './asProcess.js';
import { broken } from './properties.js';
import type { Random } from './random.js';

export interface Attempt {
  args: readonly string[];
  environment: Readonly<Record<string, string>>;
  /** What a person must see of it beside the arguments and the environment. */
  shown: string;
  /** Names of files and folders that it may make. */
  mayWrite: readonly string[];
  mayChangeRows?: boolean;
  /** What no output and no file that the command wrote may hold. */
  secret?: string;
}

/** Runs one command in a folder of its own and holds it to what every command must keep. */
export async function tryCommand(random: Random, place: Place, make: (cwd: string) => Attempt): Promise<Tried> {
  const { cwd } = place;
  const attempt = make(cwd);
  const { args, environment } = attempt;
  const typed = { args, environment, cwd };
  const before = pathsBelow(cwd);
  unchanged ??= rowsIn(cwd);
  const asProcess = random.oneIn(processEvery) && fitsProcess(typed);
  const ended = asProcess ? await runAsProcess(typed, msMax) : await runInside(typed);
  const faults = [
    ...inEitherForm(args, (asJson) => broken(ended, asJson)),
    ...leftBehind(cwd, before, attempt.mayWrite),
    ...place.leftovers().map((name) => `leaves the temporary ${name} behind`),
  ];
  if (attempt.secret !== undefined) faults.push(...leaksOf(attempt.secret, ended, cwd, before));
  // Exit code 2 promises that nothing was touched.
  if ((attempt.mayChangeRows !== true || ended.code === 2) && !place.isUntouched() && rowsIn(cwd) !== unchanged) {
    faults.push(`exit code ${String(ended.code)}, and the rows of the database changed`);
  }
  const told = Object.keys(environment).length === 0 ? '' : ` ${JSON.stringify(environment).slice(0, 1_000)}`;
  return { input: `${JSON.stringify(args).slice(0, 1_000)}${told} ${attempt.shown}`, faults, asProcess };
}

/** Fingerprint of the rows that each input finds. */
let unchanged: string | undefined;

function leaksOf(secret: string, { stdout, stderr }: Ended, cwd: string, before: readonly string[]): string[] {
  const written = pathsBelow(cwd).filter((path) => !before.includes(path) && lstatSync(join(cwd, path)).isFile());
  return [
    ...(stdout.includes(secret) ? ['the password is on stdout'] : []),
    ...(stderr.includes(secret) ? ['the password is on stderr'] : []),
    ...written
      .filter((path) => readFileSync(join(cwd, path)).includes(secret))
      .map((path) => `the password is in ${path}`),
  ];
}

/** The first word decides for sure; behind others it may be the value of an option. */
function inEitherForm(args: readonly string[], faultsOf: (asJson: boolean) => string[]): string[] {
  if (args[0] === '--json') return faultsOf(true);
  const asText = faultsOf(false);
  return asText.length === 0 || !args.some((word) => word.includes('json')) ? asText : shorter(asText, faultsOf(true));
}

function shorter<T>(a: T[], b: T[]): T[] {
  return b.length < a.length ? b : a;
}

function leftBehind(cwd: string, before: readonly string[], mayWrite: readonly string[]): string[] {
  if (mayWrite.includes('.')) return [];
  return pathsBelow(cwd)
    .filter((path) => !before.includes(path))
    .filter((path) => !mayWrite.some((name) => path === normalize(name) || path.startsWith(`${normalize(name)}/`)))
    .filter((path) => !mayWrite.some((name) => normalize(name).startsWith(`${path}/`)))
    .map((path) => `leaves ${path} behind`);
}

/** A fingerprint of every row of every table. */
function rowsIn(cwd: string): string {
  const database = new BetterSqlite3(join(cwd, 'settle.db'));
  try {
    database.defaultSafeIntegers(true);
    const hash = createHash('sha256');
    const tables = database.prepare(`select name from sqlite_master where type = 'table' order by name`).pluck().all();
    for (const table of tables as string[]) {
      hash.update(table);
      for (const row of database.prepare(`select * from "${table}"`).raw().all() as unknown[][]) {
        hash.update(row.map((value) => String(value)).join('|'));
      }
    }
    return hash.digest('hex');
  } finally {
    database.close();
  }
}
