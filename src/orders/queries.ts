import type { BatchDay } from '../kernel/batchDay.js';
import type { OrderState, OrderType } from '../kernel/states.js';
import type { Binding, Row, Session, Transaction } from '../db/session.js';
import { exactSum, fromInstant, oneOfIds, sumIn, toBigInt, toCount, toText, unindexed } from '../db/values.js';
import { andInShard, type Shard } from '../sharding/shard.js';
import { fingerprint, fingerprintSql } from './fingerprint.js';
import type { IdRange } from './idRanges.js';
import { signedAmount, type CurrencyTotal, type Order } from './order.js';

// With their siblings in this folder, the only statements of the batch that name the order table.

/** Greatest order id of the day that is visible now; 0 on a quiet day. */
export async function topOrderId(session: Session, day: BatchDay): Promise<bigint> {
  const [row] = await session.rows('select max(id) as top from settlement_order where batch_day = ?', [day]);
  return row?.['top'] === null || row === undefined ? 0n : toBigInt(row['top']);
}

export interface SourceTotal {
  currency: string;
  type: OrderType;
  orders: number;
  amountMinor: bigint;
}

/**
 * What the day asks to settle, by currency and type: everything up to `topId` that nobody failed or cancelled. Orders
 * that were cancelled after a run had read them stay in, as a difference that is listed row by row.
 */
export async function sourceTotals(
  session: Session,
  day: BatchDay,
  topId: bigint,
  shard: Shard | null = null,
): Promise<SourceTotal[]> {
  const rows = await session.rows(
    `select currency, type, count(*) as orders, ${exactSum(session.dialect, 'amount_minor', 'amount')}
       from settlement_order
      where batch_day = ? and id <= ?
        and (state in ('INIT', 'PROCESSING', 'SUCCESS')
             or id in (select order_id from withdrawn_order where batch_day = ?))
        ${andInShard('account_no', shard)}
      group by currency, type
      order by currency, type`,
    [day, topId, day],
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
  const rows = await session.rows(
    `select currency, count(*) as orders, ${exactSum(session.dialect, signedSql, 'net')}
       from settlement_order
      where batch_day = ? and id <= ? and id in (select order_id from withdrawn_order where batch_day = ?)
        ${andInShard('account_no', shard)}
      group by currency order by currency`,
    [day, topId, day],
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
  const rows = await session.tuples(
    `select id, account_no, type, amount_minor, currency, channel
       from settlement_order
      where batch_day = ? and id > ? and id <= ? and state = 'INIT' ${only} ${andInShard('account_no', page.shard)}
      order by id
      limit ${String(page.size)}`,
    [page.day, page.afterId, page.topId, ...(page.accounts ?? [])],
  );
  return rows.map(([id, accountNo, type, amountMinor, currency, channel]) => ({
    id: toBigInt(id),
    accountNo: toText(accountNo),
    type: toText(type) as OrderType,
    amountMinor: toBigInt(amountMinor),
    currency: toText(currency),
    channel: toText(channel),
  }));
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
  const { orderIds } = claim;
  const named = claim.isRange ? idRange(orderIds) : oneOfIds(trx.dialect, 'id', orderIds);
  const claimed = await trx.change(
    `update settlement_order set state = 'PROCESSING', version = version + 1, run_id = ?, chunk_no = ?
      where ${named.sql} and state = 'INIT' and ${unindexed(trx.dialect, 'batch_day')} = ?`,
    [claim.runId, claim.chunkNo, ...named.bindings, claim.batchDay],
  );
  if (claimed !== orderIds.length) return false;
  const [row] = await trx.rows(
    `select sum(${fingerprintSql}) as fingerprint from settlement_order
      where ${named.sql} and run_id = ? and chunk_no = ?`,
    [...named.bindings, claim.runId, claim.chunkNo],
  );
  return toBigInt(row?.['fingerprint']) === claim.fingerprint;
}

/** From the first of these ascending ids to the last. */
function idRange(ids: readonly bigint[]): { sql: string; bindings: Binding[] } {
  return { sql: 'id between ? and ?', bindings: [ids[0] as bigint, ids[ids.length - 1] as bigint] };
}

/** Those of these orders that are still as they were read: INIT, of this day, and what their nets are made from. */
export async function unchangedOrders(
  session: Session,
  day: BatchDay,
  orders: readonly Order[],
): Promise<readonly Order[]> {
  const ids = oneOfIds(
    session.dialect,
    'id',
    orders.map((order) => order.id),
  );
  const rows = await session.tuples(
    `select id, ${fingerprintSql} from settlement_order where ${ids.sql} and state = 'INIT' and batch_day = ?`,
    [...ids.bindings, day],
  );
  const found = new Map(rows.map(([id, print]) => [toBigInt(id), toBigInt(print)]));
  return orders.filter((order) => found.get(order.id) === fingerprint([order]));
}

/** Moves these orders from PROCESSING to SUCCESS and gives how many were in PROCESSING: only the ledger makes this move. */
export async function finishOrdersById(trx: Transaction, orderIds: readonly bigint[], now: string): Promise<number> {
  const ids = oneOfIds(trx.dialect, 'id', orderIds);
  return trx.change(`${finishSql} where ${ids.sql} and state = 'PROCESSING'`, [
    fromInstant(trx.dialect, now),
    ...ids.bindings,
  ]);
}

/** The same for all orders of a chunk, which lie in this range. */
export async function finishChunkOrders(
  trx: Transaction,
  { runId, chunkNo, firstId, lastId }: IdRange & { runId: bigint; chunkNo: number },
  now: string,
): Promise<number> {
  return trx.change(`${finishSql} where id between ? and ? and run_id = ? and chunk_no = ? and state = 'PROCESSING'`, [
    fromInstant(trx.dialect, now),
    firstId,
    lastId,
    runId,
    chunkNo,
  ]);
}

const finishSql = `update settlement_order set state = 'SUCCESS', version = version + 1, finished_at = ?`;

/** The orders among these that are no longer INIT, with the state they were found in. */
export async function movedOrders(
  session: Session,
  orderIds: readonly bigint[],
): Promise<{ id: bigint; orderNo: string; state: OrderState }[]> {
  const ids = oneOfIds(session.dialect, 'id', orderIds);
  const rows = await session.rows(
    `select id, order_no, state from settlement_order where ${ids.sql} and state <> 'INIT'`,
    ids.bindings,
  );
  return rows.map((row) => ({
    id: toBigInt(row['id']),
    orderNo: toText(row['order_no']),
    state: toText(row['state']) as OrderState,
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
  const rows = await session.rows(
    `select account_no, currency, count(*) as orders, ${exactSum(session.dialect, signedSql, 'net')}
       from settlement_order
      where batch_day = ? and id <= ? and state = 'INIT' ${andInShard('account_no', shard)}
      group by account_no, currency
      order by account_no, currency`,
    [day, topId],
  );
  return rows.map((row) => ({ accountNo: toText(row['account_no']), ...currencyTotalIn(row) }));
}

/** Rows of the day at or below an id, whatever their state; without an id, all of them. From the index alone. */
export async function ordersOfDay(session: Session, day: BatchDay, topId?: bigint): Promise<number> {
  const [row] = await session.rows(
    `select count(*) as orders from settlement_order where batch_day = ? ${topId === undefined ? '' : 'and id <= ?'}`,
    topId === undefined ? [day] : [day, topId],
  );
  return toCount(row?.['orders']);
}

/** Rows of each day in [from, before). From the index alone. */
export async function ordersByDay(session: Session, from: BatchDay, before: BatchDay): Promise<Map<BatchDay, number>> {
  const rows = await session.rows(
    `select batch_day, count(*) as orders from settlement_order
      where batch_day >= ? and batch_day < ? group by batch_day order by batch_day`,
    [from, before],
  );
  return new Map(rows.map((row) => [toText(row['batch_day']), toCount(row['orders'])]));
}

/** The batch day of the first order after an id; null when there is none. */
export async function dayAfterWatermark(session: Session, watermark: bigint): Promise<BatchDay | null> {
  const [row] = await session.rows('select batch_day from settlement_order where id > ? order by id limit 1', [
    watermark,
  ]);
  return row === undefined ? null : toText(row['batch_day']);
}
