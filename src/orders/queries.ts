import type { BatchDay } from '../kernel/batchDay.js';
import type { OrderState, OrderType } from '../kernel/states.js';
import type { Binding, Row, Session, Transaction } from '../db/session.js';
import { exactSum, oneOfIds, sumIn, toBigInt, toCount, toText } from '../db/values.js';
import { andInShard, type Shard } from '../sharding/shard.js';
import { fingerprint, fingerprintSql } from './fingerprint.js';
import type { IdRange } from './idRanges.js';
import { signedAmount, type CurrencyTotal, type Order } from './order.js';
import { ordersIn } from './orderTable.js';
import { withProblem } from './rowProblems.js';

// With their siblings in this folder, the only statements of the batch on the table of orders, all of them through its
// mapping: see `orderTable`.

/** Greatest order id of the day that is visible now; 0 on a quiet day. */
export async function topOrderId(session: Session, day: BatchDay): Promise<bigint> {
  const orders = ordersIn(session);
  const onDay = orders.isOn(day);
  const [row] = await session.rows(`select max(id) as top from ${orders.from()} where ${onDay.sql}`, onDay.bindings);
  return row?.['top'] === null || row === undefined ? 0n : toBigInt(row['top']);
}

export interface SourceTotal {
  currency: string;
  type: OrderType;
  orders: number;
  amountMinor: bigint;
}

/**
 * What the day asks to settle, by currency and type: everything up to `topId` that nobody failed or cancelled, and in a
 * table of others nobody else has settled. Orders
 * that were cancelled after a run had read them stay in, as a difference that is listed row by row.
 */
export async function sourceTotals(
  session: Session,
  day: BatchDay,
  topId: bigint,
  shard: Shard | null = null,
): Promise<SourceTotal[]> {
  const orders = ordersIn(session);
  const onDay = orders.isOn(day);
  const rows = await session.rows(
    `select currency, type, count(*) as orders, ${exactSum(session.dialect, 'amount_minor', 'amount')}
       from ${orders.fromClaims()}
      where ${onDay.sql} and id <= ?
        and (${orders.isAsked()}
             or id in (select order_id from withdrawn_order where batch_day = ?))
        ${andInShard('account_no', shard)}
      group by currency, type
      order by currency, type`,
    [...onDay.bindings, topId, day],
  );
  return rows.map((row) => ({
    currency: toText(row['currency']),
    type: toText(row['type']) as OrderType,
    orders: toCount(row['orders']),
    amountMinor: sumIn(row, 'amount'),
  }));
}

/** The same by currency alone, signed. */
export function signedTotals(totals: readonly SourceTotal[]): CurrencyTotal[] {
  const byCurrency = new Map<string, CurrencyTotal>();
  for (const { currency, type, orders, amountMinor } of totals) {
    const total = byCurrency.get(currency) ?? { currency, orders: 0, netMinor: 0n };
    total.orders += orders;
    total.netMinor += signedAmount({ type, amountMinor });
    byCurrency.set(currency, total);
  }
  return [...byCurrency.values()];
}

/** The total in a row that selects currency, orders and an exact sum named "net". */
export function currencyTotalIn(row: Row): CurrencyTotal {
  return { currency: toText(row['currency']), orders: toCount(row['orders']), netMinor: sumIn(row, 'net') };
}

/** Orders that runs found withdrawn between freeze and claim, by currency, signed: what keeps them in the source. */
export async function withdrawnTotals(
  session: Session,
  day: BatchDay,
  topId: bigint,
  shard: Shard | null,
): Promise<CurrencyTotal[]> {
  const orders = ordersIn(session);
  const onDay = orders.isOn(day);
  // In a table of others, what was withdrawn may have come back.
  const gone = orders.source.own ? '' : `and state <> 'INIT' and run_id is null`;
  const rows = await session.rows(
    `select currency, count(*) as orders, ${exactSum(session.dialect, signedSql, 'net')}
       from ${orders.source.own ? orders.from() : orders.fromClaims()}
      where ${onDay.sql} and id <= ? and id in (select order_id from withdrawn_order where batch_day = ?) ${gone}
        ${andInShard('account_no', shard)}
      group by currency order by currency`,
    [...onDay.bindings, topId, day],
  );
  return rows.map(currencyTotalIn);
}

const signedSql = `case when type in ('REFUND', 'FEE') then -amount_minor else amount_minor end`;

export interface PageQuery {
  day: BatchDay;
  afterId: bigint;
  topId: bigint;
  size: number;
  /** Only these accounts; null for all. */
  accounts: readonly string[] | null;
  /** Only the accounts of this shard; null for all. */
  shard: Shard | null;
}

/** One slice of the watermark: INIT orders of the day after `afterId`, by id. Never an OFFSET. */
export async function ordersAfter(session: Session, page: PageQuery): Promise<Order[]> {
  const only = page.accounts === null ? '' : `and account_no in (${page.accounts.map(() => '?').join(',')})`;
  const orders = ordersIn(session);
  const onDay = orders.isOn(page.day, { byIndex: orders.source.instants === null });
  const problem = orders.problem === null ? '' : `, ${orders.problem}`;
  const rows = await session.tuples(
    `select id, account_no, type, amount_minor, currency, channel${problem}
       from ${orders.fromById()}
      where ${onDay.sql} and id > ? and id <= ? and ${orders.waits()} ${only} ${andInShard('account_no', page.shard)}
      order by id
      limit ${String(page.size)}`,
    [...onDay.bindings, page.afterId, page.topId, ...(page.accounts ?? [])],
  );
  const read = rows.map(([id, accountNo, type, amountMinor, currency, channel]) => ({
    id: toBigInt(id),
    accountNo: toText(accountNo),
    type: toText(type) as OrderType,
    amountMinor: toBigInt(amountMinor),
    currency: toText(currency),
    channel: toText(channel),
  }));
  return orders.problem === null ? read : read.map((order, at) => withProblem(order, rows[at]?.[6], orders.source));
}

/** The first id of the day after an id; null when nothing follows. */
export async function firstOrderId(session: Session, day: BatchDay, afterId: bigint): Promise<bigint | null> {
  const orders = ordersIn(session);
  const onDay = orders.isOn(day);
  const [row] = await session.rows(`select min(id) as first from ${orders.from()} where ${onDay.sql} and id > ?`, [
    ...onDay.bindings,
    afterId,
  ]);
  return row?.['first'] === null || row === undefined ? null : toBigInt(row['first']);
}

/** Orders that a chunk claims: ids ascending, so that no two lanes lock in opposite order. */
export interface Claim {
  runId: bigint;
  chunkNo: number;
  batchDay: BatchDay;
  orderIds: readonly bigint[];
  /** They are all INIT orders of the day from the first to the last: named by that range, which costs less. */
  isRange: boolean;
  fingerprint: bigint;
}

/**
 * Claims these orders for a chunk. False when somebody moved one since its page was read, or edited what its net is
 * made from, or added one to its range: the caller rolls back and plans again.
 */
export async function claimOrders(trx: Transaction, claim: Claim): Promise<boolean> {
  const orders = ordersIn(trx);
  const { runId, chunkNo, orderIds } = claim;
  // Without a mark in its row nobody could tell an order that came into the range from one that was read.
  const isRange = claim.isRange && orders.keepsClaims;
  const named = isRange ? idRange(orders.id, orderIds) : oneOfIds(trx.dialect, orders.id, orderIds);
  const mark = orders.also({ runId, chunkNo });
  const onDay = orders.isStillOn(claim.batchDay);
  const claimed = await trx.change(
    `update ${orders.target} set ${orders.to('PROCESSING')}${mark.sql}
      where ${named.sql} and ${orders.is('INIT')} and ${onDay.sql}`,
    [...mark.bindings, ...named.bindings, ...onDay.bindings],
  );
  if (claimed !== orderIds.length) return false;
  if (!orders.keepsClaims) {
    await trx.insertMany('claimed_order', ['order_id', 'run_id', 'chunk_no'], claimRows(claim));
  }
  const found = isRange ? idRange('id', orderIds) : oneOfIds(trx.dialect, 'id', orderIds);
  const ofChunk = orders.keepsClaims ? ' and run_id = ? and chunk_no = ?' : '';
  const [row] = await trx.rows(
    `select sum(${fingerprintSql}) as fingerprint from ${orders.keepsClaims ? orders.fromClaims() : orders.from()}
      where ${found.sql}${ofChunk}`,
    orders.keepsClaims ? [...found.bindings, runId, chunkNo] : found.bindings,
  );
  return toBigInt(row?.['fingerprint']) === claim.fingerprint;
}

function* claimRows({ runId, chunkNo, orderIds }: Claim): Generator<Binding[]> {
  for (const orderId of orderIds) yield [orderId, runId, chunkNo];
}

/** From the first of these ascending ids to the last. */
function idRange(column: string, ids: readonly bigint[]): { sql: string; bindings: Binding[] } {
  return { sql: `${column} between ? and ?`, bindings: [ids[0] as bigint, ids[ids.length - 1] as bigint] };
}

/** Those of these orders that are still as they were read: INIT, of this day, and what their nets are made from. */
export async function unchangedOrders(
  session: Session,
  day: BatchDay,
  orders: readonly Order[],
): Promise<readonly Order[]> {
  const table = ordersIn(session);
  const onDay = table.isOn(day);
  const ids = oneOfIds(
    session.dialect,
    'id',
    orders.map((order) => order.id),
  );
  const rows = await session.tuples(
    `select id, ${fingerprintSql} from ${table.from()} where ${ids.sql} and ${table.waits()} and ${onDay.sql}`,
    [...ids.bindings, ...onDay.bindings],
  );
  const found = new Map(rows.map(([id, print]) => [toBigInt(id), toBigInt(print)]));
  return orders.filter((order) => found.get(order.id) === fingerprint([order]));
}

/** Moves these orders from PROCESSING to SUCCESS and gives how many were in PROCESSING: only the ledger makes this move. */
export async function finishOrdersById(trx: Transaction, orderIds: readonly bigint[], now: string): Promise<number> {
  const orders = ordersIn(trx);
  const ids = oneOfIds(trx.dialect, orders.id, orderIds);
  const finished = orders.also({ finishedAt: orders.moment(now) });
  return trx.change(
    `update ${orders.target} set ${orders.to('SUCCESS')}${finished.sql} where ${ids.sql} and ${orders.is('PROCESSING')}`,
    [...finished.bindings, ...ids.bindings],
  );
}

/** The same for all orders of a chunk, which lie in this range. */
export async function finishChunkOrders(
  trx: Transaction,
  { runId, chunkNo, firstId, lastId }: IdRange & { runId: bigint; chunkNo: number },
  now: string,
): Promise<number> {
  const orders = ordersIn(trx);
  const ofChunk = orders.isOfChunk(runId, chunkNo);
  const finished = orders.also({ finishedAt: orders.moment(now) });
  return trx.change(
    `update ${orders.target} set ${orders.to('SUCCESS')}${finished.sql}
      where ${orders.id} between ? and ? and ${ofChunk.sql} and ${orders.is('PROCESSING')}`,
    [...finished.bindings, firstId, lastId, ...ofChunk.bindings],
  );
}

/** A state of ours, or one that the mapping does not name. */
export type FoundState = OrderState | 'OTHER';

/**
 * The orders among these that are no longer INIT, with the state they were found in, and whether somebody else moved
 * them there: PROCESSING and SUCCESS are ours when a chunk has claimed the order.
 */
export async function movedOrders(
  session: Session,
  orderIds: readonly bigint[],
): Promise<{ id: bigint; orderNo: string; state: FoundState; byOthers: boolean }[]> {
  const orders = ordersIn(session);
  const ids = oneOfIds(session.dialect, 'id', orderIds);
  const rows = await session.rows(
    `select id, order_no, state, run_id from ${orders.fromClaims()} where ${ids.sql} and state <> 'INIT'`,
    ids.bindings,
  );
  return rows.map((row) => ({
    id: toBigInt(row['id']),
    orderNo: toText(row['order_no']),
    state: toText(row['state']) as FoundState,
    byOthers: row['run_id'] === null,
  }));
}

export interface InitOrders extends CurrencyTotal {
  accountNo: string;
}

/** The sweep: INIT orders of the day at or below an id, by account and currency. The state column is the truth. */
export async function initOrders(
  session: Session,
  day: BatchDay,
  topId: bigint,
  shard: Shard | null,
): Promise<InitOrders[]> {
  const orders = ordersIn(session);
  const onDay = orders.isOn(day);
  const rows = await session.rows(
    `select account_no, currency, count(*) as orders, ${exactSum(session.dialect, signedSql, 'net')}
       from ${orders.from()}
      where ${onDay.sql} and id <= ? and ${orders.waits()} ${andInShard('account_no', shard)}
      group by account_no, currency
      order by account_no, currency`,
    [...onDay.bindings, topId],
  );
  return rows.map((row) => ({ accountNo: toText(row['account_no']), ...currencyTotalIn(row) }));
}

/** The batch day of the first order after an id; null when there is none. */
export async function dayAfterWatermark(session: Session, watermark: bigint): Promise<BatchDay | null> {
  const orders = ordersIn(session);
  const [row] = await session.rows(`select batch_day from ${orders.from()} where id > ? order by id limit 1`, [
    watermark,
  ]);
  return row === undefined ? null : orders.dayOf(row['batch_day']);
}
