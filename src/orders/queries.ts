import type { BatchDay } from '../kernel/batchDay.js';
import type { AccountState, OrderState, OrderType } from '../kernel/states.js';
import type { Row, Session, Transaction } from '../db/session.js';
import { exactSum, fromInstant, oneOfIds, sumIn, toBigInt, toCount, toText } from '../db/values.js';
import { andInShard, type Shard } from '../sharding/shard.js';
import { fingerprint, fingerprintSql } from './fingerprint.js';
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

/** One page of the watermark: INIT orders of the day after `afterId`, by id. Never an OFFSET. */
export async function ordersAfter(session: Session, page: PageQuery): Promise<Order[]> {
  const only = page.accounts === null ? '' : `and o.account_no in (${page.accounts.map(() => '?').join(',')})`;
  const rows = await session.tuples(
    `select o.id, o.account_no, o.type, o.amount_minor, o.currency, o.channel, a.state
       from settlement_order o
       left join account a on a.account_no = o.account_no
      where o.batch_day = ? and o.id > ? and o.id <= ? and o.state = 'INIT' ${only} ${andInShard('o.account_no', page.shard)}
      order by o.id
      limit ${String(page.size)}`,
    [page.day, page.afterId, page.topId, ...(page.accounts ?? [])],
  );
  const shared = new Map<string, string>();
  return rows.map(([id, accountNo, type, amountMinor, currency, channel, accountState]) => ({
    id: toBigInt(id),
    accountNo: sharedText(shared, accountNo),
    type: sharedText(shared, type) as OrderType,
    amountMinor: toBigInt(amountMinor),
    currency: sharedText(shared, currency),
    channel: sharedText(shared, channel),
    accountState: accountState === null ? 'UNKNOWN' : (sharedText(shared, accountState) as AccountState),
  }));
}

/** One copy of each text in a page instead of one a row: pages stay small in memory. */
function sharedText(shared: Map<string, string>, value: unknown): string {
  const text = toText(value);
  const known = shared.get(text);
  if (known !== undefined) return known;
  shared.set(text, text);
  return text;
}

/**
 * Claims these orders (ids ascending, so that no two lanes lock in opposite order) for a chunk. False when somebody moved
 * one since its page was read, or edited what its net is made from: the caller rolls back and plans again.
 */
export async function claimOrders(
  trx: Transaction,
  orderIds: readonly bigint[],
  chunk: { runId: bigint; chunkNo: number; batchDay: BatchDay; fingerprint: bigint },
): Promise<boolean> {
  const ids = oneOfIds(trx.dialect, 'id', orderIds);
  const claimed = await trx.change(
    `update settlement_order set state = 'PROCESSING', version = version + 1, run_id = ?, chunk_no = ?
      where ${ids.sql} and state = 'INIT' and batch_day = ?`,
    [chunk.runId, chunk.chunkNo, ...ids.bindings, chunk.batchDay],
  );
  if (claimed !== orderIds.length) return false;
  const [row] = await trx.rows(
    `select sum(${fingerprintSql}) as fingerprint from settlement_order where ${ids.sql}`,
    ids.bindings,
  );
  return toBigInt(row?.['fingerprint']) === chunk.fingerprint;
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

/** Moves posted orders to SUCCESS; the count must equal the number of ids, since only the ledger makes this move. */
export async function finishOrders(trx: Transaction, orderIds: readonly bigint[], now: string): Promise<number> {
  const ids = oneOfIds(trx.dialect, 'id', orderIds);
  return trx.change(
    `update settlement_order set state = 'SUCCESS', version = version + 1, finished_at = ?
      where ${ids.sql} and state = 'PROCESSING'`,
    [fromInstant(trx.dialect, now), ...ids.bindings],
  );
}

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
