import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Database } from '../../src/db/database.js';
import { migrateUp } from '../../src/db/schema.js';
import { repeatable } from '../../src/db/transaction.js';
import { privateFilePlace, privateServerPlace, withDatabase, type Place } from './place.js';
import { peakOf } from './peakMemory.js';

const help = `npm run bench:match -- [options]

Imports a statement of so many lines and matches it with as many payouts, and compares the time with the same done by
set-based SQL written by hand on the same server: the lines inserted, one join that writes the matches under unique keys,
and what is missing on either side. The whole of settle statement import and settle reconcile counts.

  --rows N           lines, and payouts (1000000)
  --engine E         server, sqlite or both (server)
`;

const settleBin = fileURLToPath(new URL('../../../bin/settle.js', import.meta.url));
const day = '2026-11-29';
/** One row in so many is missing there, and one is of another amount. */
const oddEvery = 10_000;

function keyOf(number: number): string {
  return `20261129-${String(number).padStart(26, '0')}`;
}

async function givenPayouts(database: Database, rows: number): Promise<void> {
  const sentMs = BigInt(Date.parse(`${day}T12:00:00Z`));
  const at = database.target.dialect === 'sqlite' ? `${day}T12:00:00.000Z` : `${day} 12:00:00.000`;
  const columns = [
    ...['batch_day', 'account_no', 'currency', 'seq', 'amount_minor', 'channel', 'destination', 'holder', 'due_day'],
    ...[
      'idempotency_key',
      'state',
      'version',
      'attempts',
      'first_sent_ms',
      'last_sent_ms',
      'submitted_on',
      'created_at',
    ],
    'finished_at',
  ];
  for (let from = 0; from < rows; from += 20_000) {
    const numbers = Array.from({ length: Math.min(20_000, rows - from) }, (_, index) => from + index);
    const values = numbers.map((number) => [
      ...[
        day,
        `M${String(number).padStart(8, '0')}`,
        'EUR',
        1,
        amountOf(number),
        'bank',
        'DE00',
        'A',
        day,
        keyOf(number),
      ],
      ...['SUCCESS', 2, 1, sentMs, sentMs, day, at, at],
    ]);
    await database.transact(repeatable('payouts', (trx) => trx.insertMany('payout', columns, values)));
  }
}

function amountOf(number: number): bigint {
  return BigInt(100 + (number % 99_991));
}

/** Lines in another order than the payouts, as a bank's are. */
async function writeStatement(file: string, rows: number): Promise<void> {
  const out = createWriteStream(file);
  const write = async (record: object): Promise<void> => {
    if (!out.write(`${JSON.stringify(record)}\n`)) await once(out, 'drain');
  };
  await write({ record: 'settle.statement', account: 'X', from_day: day, to_day: day });
  let lines = 0;
  for (let at = 0; at < rows; at += 1) {
    const number = (at * 7_919) % rows;
    if (number % oddEvery === 1) continue;
    const amount = amountOf(number) + (number % oddEvery === 2 ? 1n : 0n);
    lines += 1;
    await write({
      ...{ record: 'line', kind: 'PAYOUT', direction: 'DEBIT', currency: 'EUR', amount_minor: String(amount) },
      ...{
        our_reference: keyOf(number),
        channel_reference: `B${String(number)}`,
        line_key: `B${String(number)}`,
        booked_day: day,
      },
    });
  }
  await write({ record: 'end', lines });
  out.end();
  await once(out, 'finish');
}

interface Line {
  record: string;
  our_reference: string;
  channel_reference: string;
  currency: string;
  amount_minor: string;
}

/** The hand-written contender. Returns how many it matched and what it found on either side. */
async function floor(database: Database, file: string): Promise<string> {
  const sqlite = database.target.dialect === 'sqlite';
  const [text, end] = sqlite
    ? ['text', 'strict']
    : ['varchar(64) character set ascii collate ascii_bin', 'engine = InnoDB'];
  const [big, int] = sqlite ? ['integer', 'integer'] : ['bigint', 'bigint'];
  await database.read(async (session) => {
    await session.change(`create table floor_line (id ${big} not null primary key, our_ref ${text} not null, their_ref ${text} not null,
      currency ${text} not null, amount ${int} not null, constraint floor_line_once unique (their_ref)) ${end}`);
    await session.change(`create table floor_match (line_id ${big} not null primary key, payout_id ${big} not null,
      constraint floor_match_once unique (payout_id)) ${end}`);
  });
  const columns = ['id', 'our_ref', 'their_ref', 'currency', 'amount'];
  let rows: (string | bigint)[][] = [];
  let id = 0n;
  const flush = async (): Promise<void> => {
    const some = rows;
    rows = [];
    await database.transact(repeatable('lines', (trx) => trx.insertMany('floor_line', columns, some)));
  };
  for await (const textLine of createInterface({ input: createReadStream(file) })) {
    const line = JSON.parse(textLine) as Line;
    if (line.record !== 'line') continue;
    rows.push([(id += 1n), line.our_reference, line.channel_reference, line.currency, BigInt(line.amount_minor)]);
    if (rows.length === 10_000) await flush();
  }
  await flush();
  await database.transact(
    repeatable('match', (trx) =>
      trx.change(`insert into floor_match (line_id, payout_id)
        select l.id, p.id from floor_line l join payout p on p.idempotency_key = l.our_ref
         where p.channel = 'bank' and p.currency = l.currency and p.amount_minor = l.amount`),
    ),
  );
  return database.read(async (session) => {
    const count = async (sql: string): Promise<string> => String((await session.tuples(sql))[0]?.[0]);
    const lines = await count(
      'select count(*) from floor_line l where not exists (select 1 from floor_match m where m.line_id = l.id)',
    );
    const payouts = await count(
      `select count(*) from payout p where p.channel = 'bank' and p.state = 'SUCCESS'
          and not exists (select 1 from floor_match m where m.payout_id = p.id)`,
    );
    return `${lines} lines and ${payouts} payouts without the other`;
  });
}

interface Ran {
  seconds: number;
  peakMegabytes: number;
  answer: string;
}

async function settle(place: Place, folder: string, args: readonly string[], codes: readonly number[]): Promise<Ran> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [settleBin, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], SETTLE_DATABASE_URL: place.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let answer = '';
  let peakBytes = 0;
  child.stdout.on('data', (part: Buffer) => (answer += part.toString()));
  const poll = setInterval(() => (peakBytes = Math.max(peakBytes, peakOf(child.pid))), 25);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearInterval(poll);
  if (!codes.includes(code ?? -1)) throw new Error(`settle ${args.join(' ')} ended with ${String(code)}: ${answer}`);
  return { seconds: (performance.now() - startedAt) / 1_000, peakMegabytes: peakBytes / 2 ** 20, answer };
}

async function measure(place: Place, rows: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'settle-bench-'));
  try {
    await withDatabase(place.target, {}, async (database) => {
      await migrateUp(database);
      await givenPayouts(database, rows);
      if (place.target.dialect !== 'sqlite') await database.read((session) => session.rows('analyze table payout'));
    });
    const file = join(folder, 'bank.ndjson');
    await writeStatement(file, rows);
    writeFileSync(
      join(folder, 'settle.yaml'),
      'statements: { channels: { bank: { matches: [payouts], crossDayDays: 0 } } }\n',
    );
    const imported = await settle(place, folder, ['statement', 'import', file, '--channel', 'bank'], [0]);
    const matched = await settle(place, folder, ['reconcile', '--json'], [3]);
    const { statements, discrepancies } = JSON.parse(matched.answer) as {
      statements: { matched: number }[];
      discrepancies: { open: number; byClass: { class: string; count: number }[] };
    };
    const startedAt = performance.now();
    const found = await withDatabase(place.target, {}, (database) => floor(database, file));
    const floorSeconds = (performance.now() - startedAt) / 1_000;
    const seconds = imported.seconds + matched.seconds;
    const byClass = discrepancies.byClass.map(({ class: kind, count }) => `${String(count)} ${kind}`).join(', ');
    return [
      `${String(rows)} lines and payouts: import ${imported.seconds.toFixed(1)} s, ${imported.peakMegabytes.toFixed(0)} MB;`,
      `match ${matched.seconds.toFixed(1)} s, ${matched.peakMegabytes.toFixed(0)} MB: ${String(statements[0]?.matched)} matched, ${byClass}`,
      `by hand ${floorSeconds.toFixed(1)} s: ${found}`,
      `${(seconds / floorSeconds).toFixed(2)} times the time of set-based SQL`,
    ].join('\n  ');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '1000000' },
      engine: { type: 'string', default: 'server' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    process.stdout.write(help);
    return;
  }
  for (const engine of values.engine === 'both' ? ['sqlite', 'server'] : [values.engine]) {
    const place = engine === 'sqlite' ? privateFilePlace() : await privateServerPlace();
    try {
      process.stdout.write(`${engine}: ${await measure(place, Number(values.rows))}\n`);
    } finally {
      await place.remove();
    }
  }
}

await main();
