import BetterSqlite3 from 'better-sqlite3';
import { spawnSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { msMax, processEvery, type Door, type Tried } from './door.js';
import { fileBytes, type FileKind } from './files.js';
import { pathsBelow, type Place } from './place.js';
import { runInside, type Typed } from '../support/inside.js';
import { fitsProcess, runAsProcess } from './asProcess.js';
import { broken, documentIn } from './properties.js';
import type { Random } from './random.js';
import { expectedOf } from './reference.js';
import { compareWithModel, type FileTold, type Stored } from './importModel.js';

/** Files of orders or of accounts, through `settle import`. */
export function importDoor(kind: FileKind): Door {
  return { name: kind, try: (random, place) => tryFiles(kind, random, place) };
}

interface Handed {
  /** As it is typed. */
  path: string;
  /** What a reader would get of it; null for what is no file. */
  bytes: Buffer | null;
  stdin?: Buffer;
  after?: () => void;
}

async function tryFiles(kind: FileKind, random: Random, place: Place): Promise<Tried> {
  const { cwd } = place;
  const handed: Handed[] = [];
  for (let count = random.oneIn(10) ? 2 : 1; count > 0; count -= 1) {
    handed.push(handIn(kind, random, cwd, handed.length));
  }
  const stdin = handed.find((file) => file.stdin !== undefined)?.stdin;
  const asJson = !random.oneIn(5);
  const args = ['import', kind, ...(asJson ? ['--json'] : []), ...handed.map((file) => file.path)];
  const typed: Typed = { args, environment: {}, cwd, ...(stdin === undefined ? {} : { stdin }) };
  const asProcess = random.oneIn(processEvery) && fitsProcess(typed);
  const before = pathsBelow(cwd);
  unchanged ??= storedIn(cwd);
  const ended = asProcess ? await runAsProcess(typed, msMax) : await runInside(typed);
  for (const { after } of handed) after?.();
  const told = asJson ? ((documentIn(ended.stdout)?.['files'] as FileTold[] | undefined) ?? null) : null;
  const faults = [
    ...broken(ended, asJson),
    ...pathsBelow(cwd)
      .filter((path) => !before.includes(path))
      .map((path) => `leaves ${path} behind`),
    ...place.leftovers().map((name) => `leaves the temporary ${name} behind`),
    ...compareWithModel({
      kind,
      before: unchanged,
      after: place.isUntouched() ? unchanged : storedIn(cwd),
      files: handed.map(({ bytes }) => (bytes === null ? null : expectedOf(kind, bytes))),
      told,
      code: ended.code,
      asJson,
    }),
  ];
  const shown = handed.map(({ path, bytes }) => `${path} ${JSON.stringify(bytes?.toString('latin1').slice(0, 2_000))}`);
  return { input: `import ${kind} ${shown.join(' ')}`, faults, asProcess };
}

/** What each input finds. */
let unchanged: Stored | undefined;

/** Mostly a plain file; seldom what else a path can be. */
function handIn(kind: FileKind, random: Random, cwd: string, at: number): Handed {
  const bytes = fileBytes(kind, random);
  const extension = random.pick(['csv', 'csv', 'ndjson', 'json', 'txt', 'gz', 'xlsx', '']);
  const path = `${random.pick(['in', 'ün', 'a b', '=in'])}${String(at)}.${extension}`;
  const full = join(cwd, path);
  if (!random.oneIn(20)) {
    writeFileSync(full, bytes);
    return { path, bytes };
  }
  switch (random.whole(0, 8)) {
    case 0:
      mkdirSync(full);
      return { path, bytes: null };
    case 1:
      symlinkSync(random.pick(['nowhere', path, '.', '/proc/self/mem']), full);
      return { path, bytes: null };
    case 2:
      writeFileSync(`${full}.target`, bytes);
      symlinkSync(`${path}.target`, full);
      return { path, bytes };
    case 3:
      return at === 0 ? { path: '-', bytes, stdin: bytes } : { path, bytes: null };
    case 4:
      return random.oneIn(5) ? pipe(path, full, bytes) : { path: './none/none.csv', bytes: null };
    case 5:
      return { path: random.pick(['/dev/null', '/proc/version']), bytes: null };
    case 6:
      return { path: random.pick(['x'.repeat(300), 'a\u0000b', '', ' ', '\u001b[2J.csv', `${path}/`]), bytes: null };
    case 7:
      return { path: random.pick(['/proc/self/mem', '/proc/1/environ/x', 'settle.db/x']), bytes: null };
    default:
      return { path: 'settle.db', bytes: readFileSync(join(cwd, 'settle.db')) };
  }
}

function pipe(path: string, full: string, bytes: Buffer): Handed {
  spawnSync('mkfifo', [full]);
  const written = writeFile(full, bytes).catch(() => undefined);
  const after = (): void => {
    // Nobody may have read it: the writer that waits is let go.
    closeSync(openSync(full, constants.O_RDONLY | constants.O_NONBLOCK));
    void written;
  };
  return { path, bytes, after };
}

function storedIn(cwd: string): Stored {
  const database = new BetterSqlite3(join(cwd, 'settle.db'));
  try {
    database.defaultSafeIntegers(true);
    const rows = (sql: string): string[][] =>
      (database.prepare(sql).raw().all() as unknown[][]).map((row) => row.map((value) => String(value)));
    return {
      orders: rows(
        `select order_no, account_no, batch_day, type, amount_minor, currency, channel, occurred_at, reversal_of
           from settlement_order order by id`,
      ).map((row) => row.map((value, at) => (at === 7 ? value.replace(' ', 'T') : value))),
      accounts: rows('select account_no, state from account order by account_no'),
    };
  } finally {
    database.close();
  }
}
