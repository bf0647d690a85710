import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createConnection } from 'mysql2/promise';
import { stringify } from 'yaml';
import { batchDay, type Day } from './data.js';
import { median } from './median.js';
import { freshDay, privateServerPlace, type Place } from './place.js';

const help = `npm run bench:source -- [options]

Settles the same day from the own order table and from one that is mapped: the same rows under other names, with all
columns and with some of them missing. Rounds go through all of them in turn, so that a busy moment strikes all alike.

  --orders N       (100000)
  --accounts N     (10000)
  --rounds N       rounds, of which the median counts (3)
`;

const settleBin = fileURLToPath(new URL('../../../bin/settle.js', import.meta.url));

/** Columns of ours, and what the mapped table calls them. */
const names = {
  ...{ id: 'pk', order_no: 'ref', account_no: 'merchant', batch_day: 'settle_on', type: 'kind', amount_minor: 'cents' },
  ...{
    currency: 'ccy',
    channel: 'via',
    state: 'status',
    reversal_of: 'undoes',
    version: 'lock_no',
    run_id: 'claimed_by',
  },
  ...{ chunk_no: 'claimed_in', finished_at: 'done_at', cancel_code: 'why', occurred_at: 'paid_at' },
};

const whole = {
  ...{ id: names.id, orderNo: names.order_no, accountNo: names.account_no, batchDay: names.batch_day },
  type: { column: names.type, values: { PAYMENT: 'PAYMENT', REFUND: 'REFUND', FEE: 'FEE', ADJUSTMENT: 'ADJUSTMENT' } },
  amount: { column: names.amount_minor, unit: 'minor', sign: 'type' },
  ...{ currency: { column: names.currency }, channel: { column: names.channel } },
  state: {
    column: names.state,
    values: { INIT: 'INIT', PROCESSING: 'PROCESSING', SUCCESS: 'SUCCESS', FAILED: 'FAILED', CANCELED: 'CANCELED' },
  },
  ...{ reversalOf: names.reversal_of, version: names.version, runId: names.run_id, chunkNo: names.chunk_no },
  finishedAt: { column: names.finished_at, timeZone: 'UTC' },
};
type Columns = Partial<Record<string, unknown>>;
const without = (columns: Columns, ...missing: string[]): Columns =>
  Object.fromEntries(Object.entries(columns).filter(([name]) => !missing.includes(name)));

interface Variant {
  name: string;
  /** Null: the own table. */
  columns: Columns | null;
  change?: string;
}

const variants: readonly Variant[] = [
  { name: 'own table', columns: null },
  { name: 'mapped, all columns', columns: whole },
  { name: 'no version', columns: without(whole, 'version') },
  { name: 'no run and chunk', columns: without(whole, 'runId', 'chunkNo') },
  {
    name: 'no batch day: an instant in UTC',
    columns: { ...without(whole, 'batchDay'), instant: { column: names.occurred_at, timeZone: 'UTC' } },
    change: `add index by_instant (${names.occurred_at}), drop index settlement_order_day`,
  },
  {
    name: 'amounts in DECIMAL(18,3)',
    columns: {
      ...whole,
      amount: { column: names.amount_minor, unit: 'major', sign: 'type' },
      currency: { always: 'KWD' },
    },
    change: `modify ${names.amount_minor} decimal(18,3) not null`,
  },
];

async function prepare(place: Place, day: Day, { columns, change }: Variant, folder: string): Promise<void> {
  const connection = await createConnection({ uri: place.url });
  try {
    await connection.query('drop table if exists shop_order');
    await freshDay(place, day);
    if (columns === null) {
      writeFileSync(join(folder, 'settle.yaml'), '');
      return;
    }
    await connection.query('create table shop_order like settlement_order');
    const [checks] = await connection.query(
      `select constraint_name as name from information_schema.check_constraints
        where constraint_schema = database() and table_name = 'shop_order'`,
    );
    const dropped = (checks as { name: string }[]).map(({ name }) => `drop constraint ${name}`);
    const renamed = Object.entries(names).map(([from, to]) => `rename column ${from} to ${to}`);
    // Checks of states and claims are of the own table: a table of others has none of them.
    if (dropped.length > 0) await connection.query(`alter table shop_order ${dropped.join(', ')}`);
    await connection.query(`alter table shop_order ${renamed.join(', ')}`);
    if (change !== undefined) await connection.query(`alter table shop_order ${change}`);
    const list = Object.keys(names).join(', ');
    await connection.query(
      `insert into shop_order (${Object.values(names).join(', ')}) select ${list} from settlement_order order by id`,
    );
    await connection.query('delete from settlement_order');
    await connection.query('analyze table shop_order');
    await connection.query('flush tables shop_order for export');
    await connection.query('unlock tables');
    writeFileSync(join(folder, 'settle.yaml'), stringify({ source: { table: 'shop_order', columns } }));
  } finally {
    await connection.end();
  }
}

interface Ran {
  ms: number;
  posted: number;
}

/** Types `settle run` and waits for its end. */
async function run(place: Place, folder: string): Promise<Ran> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [settleBin, 'run', '--batch-day', batchDay, '--json', '--quiet'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], SETTLE_DATABASE_URL: place.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (part: Buffer) => (text += part.toString()));
  await new Promise((resolve) => child.on('close', resolve));
  const ms = performance.now() - startedAt;
  const { closed, totals } = JSON.parse(text) as { closed: boolean; totals: { posted: { orders: number }[] } };
  if (!closed) throw new Error('The day was not closed.');
  return { ms, posted: totals.posted.reduce((sum, { orders }) => sum + orders, 0) };
}

async function main(): Promise<number> {
  const options = {
    orders: { type: 'string', default: '100000' },
    accounts: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '3' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help === true) {
    process.stdout.write(help);
    return 0;
  }
  const day: Day = { orders: Number(values.orders), accounts: Number(values.accounts), shape: 'even' };
  const place = await privateServerPlace();
  const folder = mkdtempSync(join(tmpdir(), 'settle-bench-'));
  const figures = new Map<string, number[]>(variants.map(({ name }) => [name, []]));
  try {
    for (let round = 0; round < Number(values.rounds); round += 1) {
      for (const variant of variants) {
        await prepare(place, day, variant, folder);
        const { ms, posted } = await run(place, folder);
        if (posted !== day.orders) throw new Error(`${variant.name}: ${String(posted)} orders were posted.`);
        figures.get(variant.name)?.push(ms);
      }
    }
  } finally {
    await place.remove();
    rmSync(folder, { recursive: true, force: true });
  }
  const own = median(figures.get('own table') ?? []);
  for (const [name, all] of figures) {
    const spread = all.map((ms) => (ms / 1_000).toFixed(1)).join(', ');
    process.stdout.write(`${name.padEnd(34)} ${(median(all) / own).toFixed(2)} × (${spread} s)\n`);
  }
  return 0;
}

process.exitCode = await main();
