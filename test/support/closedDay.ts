import { repeatable } from '../../src/db/transaction.js';
import type { Database } from '../../src/db/database.js';
import type { Binding, Session } from '../../src/db/session.js';
import { fromInstant, toBigInt } from '../../src/db/values.js';
import { insertEntries, openPeriod, writeBalances, writeLinks, writePeriod } from './ledgerBooks.js';

type Type = 'PAYMENT' | 'REFUND' | 'FEE' | 'ADJUSTMENT';

export interface SeedOrder {
  orderNo: string;
  accountNo: string;
  type: Type;
  amountMinor: bigint;
  currency: string;
  channel: string;
}

export interface SeedDay {
  day: string;
  orders: readonly SeedOrder[];
  /** Accounts whose orders stay INIT, with the code they are set aside for. */
  setAside?: Readonly<Record<string, string>>;
  /** Orders of a chunk; a chunk gives nets of its own. */
  chunkSize?: number;
}

/** An order without its number; amounts in minor units. */
export function seedOrder(
  accountNo: string,
  type: Type,
  amountMinor: bigint,
  currency = 'USD',
  channel = 'CARD',
): Omit<SeedOrder, 'orderNo'> {
  return { accountNo, type, amountMinor, currency, channel };
}

/** Gives the orders numbers: O1, O2, … with a prefix. */
export function numbered(prefix: string, orders: readonly Omit<SeedOrder, 'orderNo'>[]): SeedOrder[] {
  return orders.map((order, at) => ({ orderNo: `${prefix}${String(at + 1)}`, ...order }));
}

/**
 * Writes a whole closed day by plain SQL, as a finished run leaves it: orders, source totals, batch, run with its
 * document, chunks, nets, sent messages and the journal, all consistent with one another. Returns ids for the test.
 */
export async function seedClosedDay(
  database: Database,
  { day, orders, setAside = {}, chunkSize = 1_000 }: SeedDay,
): Promise<{ runId: bigint; topId: bigint; firstId: bigint }> {
  return database.transact(
    repeatable('seed a closed day', async (trx) => {
      await openPeriod(trx);
      const firstId = await nextId(trx, 'settlement_order');
      const runId = await nextId(trx, 'run');
      const seeds = orders.map((order, at) => ({ ...order, id: firstId + BigInt(at) }));
      const topId = firstId + BigInt(orders.length) - 1n;
      const claimed = seeds.filter((order) => setAside[order.accountNo] === undefined);
      const chunks: Seed[][] = [];
      for (let start = 0; start < claimed.length; start += chunkSize) {
        chunks.push(claimed.slice(start, start + chunkSize));
      }
      const at = (time: string): string => fromInstant(trx.dialect, `${nextDay(day)}T${time}.000Z`);
      await insertOrders(trx, day, runId, seeds, chunks, at('00:00:20'));
      await insertAccounts(trx, seeds, setAside, at('00:00:00'));
      await insertSource(trx, day, seeds);
      await insertBatch(trx, day, topId, BigInt(orders.length), at);
      await insertRun(trx, { day, runId, topId, orders: claimed.length, partial: claimed.length < seeds.length }, at);
      await insertChunks(trx, day, runId, chunks, at('00:00:10'));
      await insertQuarantine(trx, day, runId, seeds, setAside, at('00:00:05'));
      await writePeriod(trx);
      await writeBalances(trx);
      await writeLinks(trx);
      return { runId, topId, firstId };
    }),
  );
}

type Seed = SeedOrder & { id: bigint };

async function nextId(session: Session, table: string): Promise<bigint> {
  const [row] = await session.rows(`select coalesce(max(id), 0) as id from ${table}`);
  return toBigInt(row?.['id']) + 1n;
}

function nextDay(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
}

async function insertOrders(
  trx: Session,
  day: string,
  runId: bigint,
  seeds: readonly Seed[],
  chunks: readonly (readonly Seed[])[],
  finishedAt: string,
): Promise<void> {
  const chunkOf = new Map(chunks.flatMap((chunk, at) => chunk.map((order) => [order.id, at + 1] as const)));
  const occurredAt = fromInstant(trx.dialect, `${day}T10:00:00.000000Z`);
  await trx.insertMany(
    'settlement_order',
    [
      ...['id', 'order_no', 'account_no', 'batch_day', 'type', 'amount_minor', 'currency', 'channel', 'occurred_at'],
      ...['state', 'version', 'run_id', 'chunk_no', 'finished_at'],
    ],
    seeds.map((order) => {
      const chunkNo = chunkOf.get(order.id);
      const settled =
        chunkNo === undefined ? ['INIT', 0, null, null, null] : ['SUCCESS', 2, runId, chunkNo, finishedAt];
      const { id, orderNo, accountNo, type, amountMinor, currency, channel } = order;
      return [id, orderNo, accountNo, day, type, amountMinor, currency, channel, occurredAt, ...settled];
    }),
  );
}

async function insertAccounts(
  trx: Session,
  seeds: readonly Seed[],
  setAside: Readonly<Record<string, string>>,
  at: string,
): Promise<void> {
  const states: Record<string, string> = { ACCOUNT_FROZEN: 'FROZEN', ACCOUNT_CLOSED: 'CLOSED' };
  const known = new Set((await trx.rows('select account_no from account')).map((row) => row['account_no'] as string));
  const accounts = [...new Set(seeds.map((order) => order.accountNo))]
    .filter((accountNo) => !known.has(accountNo) && setAside[accountNo] !== 'ACCOUNT_UNKNOWN')
    .map((accountNo) => [accountNo, states[setAside[accountNo] ?? ''] ?? 'ACTIVE', at, at]);
  if (accounts.length > 0) {
    await trx.insertMany('account', ['account_no', 'state', 'registered_at', 'changed_at'], accounts);
  }
}

async function insertSource(trx: Session, day: string, seeds: readonly Seed[]): Promise<void> {
  const totals = new Map<string, { orders: bigint; amount: bigint }>();
  for (const { currency, type, amountMinor } of seeds) {
    const key = `${currency} ${type}`;
    const { orders, amount } = totals.get(key) ?? { orders: 0n, amount: 0n };
    totals.set(key, { orders: orders + 1n, amount: amount + amountMinor });
  }
  const rows = [...totals].map(([key, { orders, amount }]) => [day, ...key.split(' '), orders, amount.toString()]);
  if (rows.length === 0) return;
  await trx.insertMany('source_total', ['batch_day', 'currency', 'type', 'orders', 'amount_minor'], rows);
}

async function insertBatch(
  trx: Session,
  day: string,
  topId: bigint,
  orders: bigint,
  at: (time: string) => string,
): Promise<void> {
  await trx.insertMany(
    'batch',
    ['batch_day', 'state', 'cut_off', 'top_id', 'orders_at_close', 'opened_at', 'closed_at', 'version'],
    [[day, 'CLOSED', at('00:00:00'), topId, orders, at('00:00:01'), at('00:00:40'), 4]],
  );
}

async function insertRun(
  trx: Session,
  run: { day: string; runId: bigint; topId: bigint; orders: number; partial: boolean },
  at: (time: string) => string,
): Promise<void> {
  const document = JSON.stringify({
    schema: 'settle.run',
    schemaVersion: 1,
    runId: run.runId.toString(),
    checks: [
      { name: 'batch-totals', ok: true, expected: 'equal', actual: 'equal' },
      { name: 'trial-balance', ok: true, expected: '0', actual: '0' },
    ],
    stageTimes: [
      { stage: 'SETTLING', durationMs: 9_000 },
      { stage: 'POSTING', durationMs: 21_000 },
    ],
    slowestShards: [{ lane: 4, accountNo: 'SHOP<9>', orders: 10_000, durationMs: 4_200, medianMs: 1_000 }],
  });
  await trx.insertMany(
    'run',
    [
      ...['id', 'batch_day', 'kind', 'state', 'fencing_no', 'owner', 'from_id', 'reached_id', 'top_id', 'stage'],
      ...['orders_total', 'orders_read', 'orders_claimed', 'orders_posted', 'started_at', 'heartbeat_at'],
      ...['finished_at', 'exit_code', 'document'],
    ],
    [
      [
        ...[run.runId, run.day, 'RUN', run.partial ? 'PARTIAL' : 'OK', run.runId, '{"host":"db1","pid":7}'],
        ...[0n, run.topId, run.topId, 'DONE', run.orders, run.orders, run.orders, run.orders],
        ...[at('00:00:01'), at('00:00:41'), at('00:00:41'), run.partial ? 3 : 0, document],
      ],
    ],
  );
}

interface SeedNet {
  accountNo: string;
  currency: string;
  orders: Seed[];
}

async function insertChunks(
  trx: Session,
  day: string,
  runId: bigint,
  chunks: readonly (readonly Seed[])[],
  at: string,
): Promise<void> {
  let messageId = await nextId(trx, 'outbox');
  const rows = { chunk: [] as Binding[][], net: [] as Binding[][], outbox: [] as Binding[][] };
  const books = {
    entries: [] as Parameters<typeof insertEntries>[1][number][],
    legs: [] as Parameters<typeof insertEntries>[2][number][],
  };
  for (const [index, chunk] of chunks.entries()) {
    const chunkNo = index + 1;
    const nets = netsOf(chunk);
    const [first, last] = [chunk[0] as Seed, chunk[chunk.length - 1] as Seed];
    rows.chunk.push([runId, chunkNo, day, 'lane-1', first.id, last.id, chunk.length, nets.length, at]);
    for (const [netIndex, net] of nets.entries()) {
      const bizNo = `S${runId.toString()}.${String(chunkNo)}.${String(netIndex + 1)}`;
      const { accountNo, currency, orders } = net;
      const netMinor = orders.reduce((sum, order) => sum + signedOf(order), 0n);
      rows.net.push([runId, chunkNo, netIndex + 1, accountNo, currency, orders.length, netMinor, bizNo]);
      const payload = JSON.stringify({ v: 1, batchDay: day, accountNo, currency, netMinor: netMinor.toString() });
      rows.outbox.push([messageId, 'LEDGER', bizNo, day, accountNo, orders.length, payload, 'SENT', 1, at, at]);
      const legs = legsOf(net);
      books.entries.push([messageId, bizNo, 'SETTLEMENT', day, legs.length, at]);
      books.legs.push(...legs.map((leg, line): (typeof books.legs)[number] => [messageId, line + 1, ...leg]));
      messageId += 1n;
    }
  }
  const insert = async (table: string, columns: string, values: Binding[][]): Promise<void> => {
    if (values.length > 0) await trx.insertMany(table, columns.split(' '), values);
  };
  await insert('chunk', 'run_id chunk_no batch_day lane first_id last_id orders nets committed_at', rows.chunk);
  await insert('net', 'run_id chunk_no net_no account_no currency orders amount_minor biz_no', rows.net);
  await insert(
    'outbox',
    'id topic biz_no batch_day account_no orders payload state attempts created_at sent_at',
    rows.outbox,
  );
  await insertEntries(trx, books.entries, books.legs);
}

function netsOf(orders: readonly Seed[]): SeedNet[] {
  const nets = new Map<string, SeedNet>();
  for (const order of orders) {
    const key = `${order.currency} ${order.accountNo}`;
    const net = nets.get(key) ?? { accountNo: order.accountNo, currency: order.currency, orders: [] };
    nets.set(key, net);
    net.orders.push(order);
  }
  return [...nets.values()];
}

function signedOf({ type, amountMinor }: SeedOrder): bigint {
  return type === 'REFUND' || type === 'FEE' ? -amountMinor : amountMinor;
}

/** Ledger entries of a net as [ledger account, sub-account, side, amount, currency], merged as the ledger merges them. */
function legsOf({ accountNo, currency, orders }: SeedNet): [string, string, string, bigint, string][] {
  const sums = new Map<string, { key: [string, string, string]; amount: bigint }>();
  const add = (ledgerAccount: string, subAccount: string, side: string, amount: bigint): void => {
    const key = JSON.stringify([ledgerAccount, subAccount, side]);
    const sum = sums.get(key) ?? { key: [ledgerAccount, subAccount, side], amount: 0n };
    sums.set(key, { ...sum, amount: sum.amount + amount });
  };
  for (const order of orders) {
    const signed = signedOf(order);
    const amount = signed < 0n ? -signed : signed;
    if (amount === 0n) continue;
    const [side, other] = signed < 0n ? ['DEBIT', 'CREDIT'] : ['CREDIT', 'DEBIT'];
    add('MERCHANT_PAYABLE', accountNo, side as string, amount);
    if (order.type === 'FEE') add('FEE_INCOME', '', other as string, amount);
    else if (order.type === 'ADJUSTMENT') add('ADJUSTMENTS', '', other as string, amount);
    else add('CHANNEL_RECEIVABLE', order.channel, other as string, amount);
  }
  return [...sums.values()].map(({ key, amount }) => [...key, amount, currency]);
}

async function insertQuarantine(
  trx: Session,
  day: string,
  runId: bigint,
  seeds: readonly Seed[],
  setAside: Readonly<Record<string, string>>,
  at: string,
): Promise<void> {
  const rows = Object.entries(setAside).map(([accountNo, code]) => {
    const orders = seeds.filter((order) => order.accountNo === accountNo).length;
    return [day, accountNo, code, `The account is ${code.slice(8)}.`, orders, runId, at, 1];
  });
  if (rows.length === 0) return;
  await trx.insertMany(
    'quarantine',
    ['batch_day', 'account_no', 'code', 'detail', 'orders', 'run_id', 'since', 'active'],
    rows,
  );
}
