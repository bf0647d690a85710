import type { Database } from '../../src/db/database.js';
import type { Binding, Session } from '../../src/db/session.js';
import { repeatable } from '../../src/db/transaction.js';
import { fromInstant } from '../../src/db/values.js';
import { insertEntries, openPeriod, writeBalances, writeLinks, writePeriod } from './ledgerBooks.js';
import { plant } from './plants.js';

// Writes a settled day straight into the tables, as the data model says it must look. It nets, numbers and books by
// itself and shares no code with the program, so that a check which agrees with it was not taught by what it checks.

export interface SeedOrder {
  id: number;
  accountNo: string;
  type: 'PAYMENT' | 'REFUND' | 'FEE' | 'ADJUSTMENT';
  channel: string;
  amountMinor: bigint;
  currency: string;
  /** Number of the chunk that claimed it; null for one that was not settled. */
  chunkNo: number | null;
  /** For an order that was not settled. */
  fate?: 'LEFT' | 'QUARANTINED' | 'WITHDRAWN' | 'CANCELED';
}

export interface SeedDay {
  batchDay: string;
  runId: number;
  topId: number;
  /** Id of the first message; the others follow. */
  firstMessageId: number;
  orders: readonly SeedOrder[];
}

const at = '2026-11-30T00:05:00.000Z';
const closedAt = '2026-11-30T00:06:00.000Z';

/** Empties every money table, so that a test starts from nothing. */
export async function emptyBooks(database: Database): Promise<void> {
  await plant(database, async (trx) => {
    for (const table of [
      ...['payout_review', 'payout_move', 'payout', 'payout_carried', 'payout_plan', 'beneficiary', 'channel_pace'],
      ...['terms_effect', 'account_terms', 'fee_plan_tier'],
      ...['withdrawn_order', 'quarantine', 'ledger_entry', 'journal_entry', 'outbox', 'net', 'chunk', 'run'],
      ...['source_total', 'batch', 'settlement_order', 'account', 'account_balance', 'general_balance', 'chain_link'],
      ...['balanced_day', 'operator_action'],
    ]) {
      await trx.change(`delete from ${table}`);
    }
    await openPeriod(trx);
  });
}

/** Writes closed, settled days that agree with themselves in every table. */
export async function writeBooks(database: Database, days: readonly SeedDay[]): Promise<void> {
  const accounts = new Set(days.flatMap((day) => day.orders.map((order) => order.accountNo)));
  await database.transact(
    repeatable('seed the books', async (trx) => {
      const now = fromInstant(trx.dialect, at);
      const rows = [...accounts].map((accountNo) => [accountNo, 'ACTIVE', now, now]);
      await trx.insertMany('account', ['account_no', 'state', 'registered_at', 'changed_at'], rows);
      for (const day of days) await writeDay(trx, day);
      await writePeriod(trx);
      await writeBalances(trx);
      await writeLinks(trx);
    }),
  );
}

async function writeDay(trx: Session, day: SeedDay): Promise<void> {
  await writeOrders(trx, day);
  await writeBatch(trx, day);
  const nets = netsOf(day);
  await writeChunks(trx, day, nets);
  await writeMessages(trx, day, nets);
  await writeJournal(trx, day, nets);
  await writeUnsettled(trx, day);
}

const stateOf = (order: SeedOrder): string =>
  order.chunkNo !== null ? 'SUCCESS' : order.fate === 'WITHDRAWN' || order.fate === 'CANCELED' ? 'CANCELED' : 'INIT';

async function writeOrders(trx: Session, day: SeedDay): Promise<void> {
  const now = fromInstant(trx.dialect, at);
  const occurred = fromInstant(trx.dialect, `${day.batchDay}T10:00:00.000000Z`);
  await trx.insertMany(
    'settlement_order',
    [
      ...['id', 'order_no', 'account_no', 'batch_day', 'type', 'amount_minor', 'currency', 'channel', 'occurred_at'],
      ...['state', 'version', 'run_id', 'chunk_no', 'finished_at', 'cancel_code'],
    ],
    day.orders.map((order): Binding[] => {
      const state = stateOf(order);
      return [
        ...[order.id, `O${String(order.id)}`, order.accountNo, day.batchDay, order.type, order.amountMinor],
        ...[order.currency, order.channel, occurred],
        ...[state, state === 'SUCCESS' ? 2 : state === 'INIT' ? 0 : 1],
        ...[order.chunkNo === null ? null : day.runId, order.chunkNo],
        ...[state === 'INIT' ? null : now, state === 'CANCELED' ? 'MERCHANT' : null],
      ];
    }),
  );
}

async function writeBatch(trx: Session, day: SeedDay): Promise<void> {
  const [now, closed] = [fromInstant(trx.dialect, at), fromInstant(trx.dialect, closedAt)];
  const counted = day.orders.filter((order) => order.id <= day.topId).length;
  await trx.insertMany(
    'batch',
    ['batch_day', 'state', 'cut_off', 'top_id', 'orders_at_close', 'opened_at', 'closed_at', 'version'],
    [[day.batchDay, 'CLOSED', now, day.topId, counted, now, closed, 4]],
  );
  const totals = new Map<string, { orders: number; sum: bigint; row: Binding[] }>();
  for (const order of day.orders) {
    if (order.id > day.topId || order.fate === 'CANCELED') continue;
    const key = `${order.currency} ${order.type}`;
    const total = totals.get(key) ?? { orders: 0, sum: 0n, row: [day.batchDay, order.currency, order.type] };
    total.orders += 1;
    total.sum += order.amountMinor;
    totals.set(key, total);
  }
  await trx.insertMany(
    'source_total',
    ['batch_day', 'currency', 'type', 'orders', 'amount_minor'],
    [...totals.values()].map((total) => [...total.row, total.orders, String(total.sum)]),
  );
  await trx.insertMany(
    'run',
    [
      ...['id', 'batch_day', 'kind', 'state', 'fencing_no', 'owner', 'from_id', 'reached_id', 'top_id', 'stage'],
      ...['started_at', 'heartbeat_at', 'finished_at', 'exit_code'],
    ],
    [[day.runId, day.batchDay, 'RUN', 'OK', 1, '{}', 0, day.topId, day.topId, 'DONE', now, now, closed, 0]],
  );
}

interface SeedNet {
  chunkNo: number;
  netNo: number;
  bizNo: string;
  accountNo: string;
  currency: string;
  amountMinor: bigint;
  orders: SeedOrder[];
}

/** Nets by chunk, account and currency, numbered in that order within each chunk. */
function netsOf(day: SeedDay): SeedNet[] {
  const groups = new Map<string, SeedOrder[]>();
  for (const order of day.orders) {
    if (order.chunkNo === null) continue;
    const key = `${String(order.chunkNo).padStart(9, '0')} ${order.accountNo} ${order.currency}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [order]);
    else group.push(order);
  }
  const nets: SeedNet[] = [];
  for (const key of [...groups.keys()].sort()) {
    const orders = groups.get(key) as [SeedOrder, ...SeedOrder[]];
    const [{ accountNo, currency }] = orders;
    const chunkNo = orders[0].chunkNo ?? 0;
    const before = nets.at(-1);
    const netNo = before?.chunkNo === chunkNo ? before.netNo + 1 : 1;
    let amountMinor = 0n;
    for (const order of orders) {
      amountMinor += ['REFUND', 'FEE'].includes(order.type) ? -order.amountMinor : order.amountMinor;
    }
    const bizNo = `S${String(day.runId)}.${String(chunkNo)}.${String(netNo)}`;
    nets.push({ chunkNo, netNo, bizNo, accountNo, currency, amountMinor, orders });
  }
  return nets;
}

async function writeChunks(trx: Session, day: SeedDay, nets: readonly SeedNet[]): Promise<void> {
  const now = fromInstant(trx.dialect, at);
  const chunks = new Map<number, { first: number; last: number; orders: number; nets: number }>();
  for (const net of nets) {
    const chunk = chunks.get(net.chunkNo) ?? { first: Infinity, last: 0, orders: 0, nets: 0 };
    chunk.nets += 1;
    for (const { id } of net.orders) {
      chunk.orders += 1;
      chunk.first = Math.min(chunk.first, id);
      chunk.last = Math.max(chunk.last, id);
    }
    chunks.set(net.chunkNo, chunk);
  }
  await trx.insertMany(
    'chunk',
    ['run_id', 'chunk_no', 'batch_day', 'lane', 'first_id', 'last_id', 'orders', 'nets', 'committed_at'],
    [...chunks].map(([chunkNo, chunk]) => [
      ...[day.runId, chunkNo, day.batchDay, '0', chunk.first, chunk.last, chunk.orders, chunk.nets, now],
    ]),
  );
  await trx.insertMany(
    'net',
    ['run_id', 'chunk_no', 'net_no', 'account_no', 'currency', 'orders', 'amount_minor', 'biz_no'],
    nets.map((net) => [
      ...[day.runId, net.chunkNo, net.netNo, net.accountNo, net.currency, net.orders.length, net.amountMinor],
      net.bizNo,
    ]),
  );
}

async function writeMessages(trx: Session, day: SeedDay, nets: readonly SeedNet[]): Promise<void> {
  const now = fromInstant(trx.dialect, at);
  await trx.insertMany(
    'outbox',
    ['id', 'topic', 'biz_no', 'batch_day', 'account_no', 'orders', 'payload', 'state', 'created_at', 'sent_at'],
    nets.map((net, index) => [
      ...[day.firstMessageId + index, 'LEDGER', net.bizNo, day.batchDay, net.accountNo, net.orders.length],
      ...[payloadOf(day, net), 'SENT', now, now],
    ]),
  );
}

function payloadOf(day: SeedDay, net: SeedNet): string {
  const lines: { type: string; channel: string; orders: number; amountMinor: bigint }[] = [];
  for (const { type, channel, amountMinor } of net.orders) {
    const line = lines.find(
      (one) => one.type === type && one.channel === channel && one.amountMinor < 0n === amountMinor < 0n,
    );
    if (line === undefined) lines.push({ type, channel, orders: 1, amountMinor });
    else {
      line.orders += 1;
      line.amountMinor += amountMinor;
    }
  }
  return JSON.stringify({
    v: 1,
    batchDay: day.batchDay,
    accountNo: net.accountNo,
    currency: net.currency,
    netMinor: String(net.amountMinor),
    lines: lines.map((line) => ({ ...line, amountMinor: String(line.amountMinor) })),
    orderIds: net.orders.map((order) => String(order.id)).join(','),
  });
}

/** The two sides of each order, merged by ledger account, sub account and side. */
function legsOf(net: SeedNet): [ledgerAccount: string, subAccount: string, side: string, amountMinor: bigint][] {
  const legs = new Map<string, bigint>();
  const add = (account: string, sub: string, side: string, minor: bigint): void => {
    const key = JSON.stringify([account, sub, side]);
    legs.set(key, (legs.get(key) ?? 0n) + minor);
  };
  for (const { type, channel, amountMinor } of net.orders) {
    if (amountMinor === 0n) continue;
    const up = type === 'PAYMENT' || (type === 'ADJUSTMENT' && amountMinor > 0n);
    const size = amountMinor > 0n ? amountMinor : -amountMinor;
    const other = {
      PAYMENT: 'CHANNEL_RECEIVABLE',
      REFUND: 'CHANNEL_RECEIVABLE',
      FEE: 'FEE_INCOME',
      ADJUSTMENT: 'ADJUSTMENTS',
    };
    add(other[type], type === 'PAYMENT' || type === 'REFUND' ? channel : '', up ? 'DEBIT' : 'CREDIT', size);
    add('MERCHANT_PAYABLE', net.accountNo, up ? 'CREDIT' : 'DEBIT', size);
  }
  return [...legs].map(([key, amountMinor]) => [...(JSON.parse(key) as [string, string, string]), amountMinor]);
}

async function writeJournal(trx: Session, day: SeedDay, nets: readonly SeedNet[]): Promise<void> {
  const now = fromInstant(trx.dialect, at);
  const entries: Parameters<typeof insertEntries>[1][number][] = [];
  const legs: Parameters<typeof insertEntries>[2][number][] = [];
  nets.forEach((net, index) => {
    const id = day.firstMessageId + index;
    const lines = legsOf(net);
    entries.push([id, net.bizNo, 'SETTLEMENT', day.batchDay, lines.length, now]);
    lines.forEach((line, lineNo) => legs.push([id, lineNo + 1, ...line, net.currency]));
  });
  await insertEntries(trx, entries, legs);
}

async function writeUnsettled(trx: Session, day: SeedDay): Promise<void> {
  const now = fromInstant(trx.dialect, at);
  const held = new Set<string>();
  for (const order of day.orders) {
    if (order.fate === 'QUARANTINED') held.add(order.accountNo);
    if (order.fate !== 'WITHDRAWN') continue;
    await trx.insertMany(
      'withdrawn_order',
      ['order_id', 'run_id', 'batch_day', 'order_no', 'found_state', 'noticed_at'],
      [[order.id, day.runId, day.batchDay, `O${String(order.id)}`, 'CANCELED', now]],
    );
  }
  for (const accountNo of held) {
    const orders = day.orders.filter((order) => order.fate === 'QUARANTINED' && order.accountNo === accountNo).length;
    await trx.insertMany(
      'quarantine',
      ['batch_day', 'account_no', 'code', 'detail', 'orders', 'run_id', 'since', 'active'],
      [[day.batchDay, accountNo, 'ACCOUNT_FROZEN', 'The account is frozen.', orders, day.runId, now, 1]],
    );
  }
}

type Row = [
  id: number,
  accountNo: string,
  type: SeedOrder['type'],
  channel: string,
  amountMinor: bigint,
  currency: string,
  chunkNo: number | null,
  fate?: SeedOrder['fate'],
];

function seedOrder([id, accountNo, type, channel, amountMinor, currency, chunkNo, fate]: Row): SeedOrder {
  return { id, accountNo, type, channel, amountMinor, currency, chunkNo, ...(fate === undefined ? {} : { fate }) };
}

const int64Max = 9223372036854775807n;

/**
 * Two closed days. 2026-11-29 has every type, an adjustment of either sign, a negative net, a zero net, sums beyond 64
 * bits, an account in two chunks, one in quarantine, a withdrawn order, one cancelled before the freeze, and one that
 * came after the top id. Ids leave gaps of ten for what a test plants.
 */
export const smallDays: readonly SeedDay[] = [
  {
    batchDay: '2026-11-28',
    runId: 6,
    topId: 910,
    firstMessageId: 401,
    orders: [
      seedOrder([900, 'M1', 'PAYMENT', 'CARD', 100n, 'USD', 1]),
      seedOrder([910, 'M2', 'FEE', 'CARD', 5n, 'USD', 1]),
    ],
  },
  {
    batchDay: '2026-11-29',
    runId: 7,
    topId: 1170,
    firstMessageId: 501,
    orders: (
      [
        [1010, 'M1', 'PAYMENT', 'CARD', 1000n, 'USD', 1],
        [1020, 'M1', 'PAYMENT', 'CARD', 500n, 'USD', 1],
        [1030, 'M1', 'REFUND', 'CARD', 200n, 'USD', 1],
        [1040, 'M1', 'FEE', 'CARD', 15n, 'USD', 1],
        [1050, 'M1', 'PAYMENT', 'WALLET', 300n, 'USD', 1],
        [1060, 'M1', 'PAYMENT', 'CARD', 900n, 'JPY', 1],
        [1070, 'M2', 'ADJUSTMENT', 'BANK', 70n, 'USD', 1],
        [1080, 'M2', 'ADJUSTMENT', 'BANK', -30n, 'USD', 1],
        [1090, 'M3', 'REFUND', 'CARD', 5000n, 'KWD', 2],
        [1100, 'M3', 'PAYMENT', 'CARD', 0n, 'KWD', 2],
        [1110, 'M4', 'PAYMENT', 'CARD', 0n, 'JPY', 2],
        [1120, 'M1', 'PAYMENT', 'CARD', 1n, 'USD', 2],
        [1130, 'M5', 'PAYMENT', 'CARD', 77n, 'USD', null, 'QUARANTINED'],
        [1140, 'M2', 'PAYMENT', 'CARD', 40n, 'USD', null, 'WITHDRAWN'],
        [1150, 'M2', 'PAYMENT', 'CARD', 41n, 'USD', null, 'CANCELED'],
        [1160, 'M6', 'PAYMENT', 'CARD', int64Max, 'JPY', 2],
        [1170, 'M7', 'PAYMENT', 'CARD', int64Max, 'JPY', 2],
        [1180, 'M1', 'PAYMENT', 'CARD', 9n, 'USD', null, 'LEFT'],
      ] satisfies Row[]
    ).map(seedOrder),
  },
];
