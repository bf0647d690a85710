import type { Session } from '../db/session.js';
import { exactSum, sumIn, toBigInt, toCount, toInstant, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { OrderType } from '../kernel/states.js';
import { ordersIn } from './orderTable.js';

/** The effect of an order on its account, as SQL. */
const signedAmount = `case when o.type in ('REFUND', 'FEE') then -o.amount_minor else o.amount_minor end`;

export interface SettledTotal {
  currency: string;
  type: OrderType;
  /** PROCESSING or SUCCESS, and of these the ones already posted. */
  orders: number;
  posted: number;
  amountMinor: bigint;
  postedMinor: bigint;
}

/** Orders of a day that a chunk has claimed, per currency and type: count and sum of amounts as stored (unsigned for fees and refunds). */
export async function settledTotals(session: Session, day: BatchDay): Promise<SettledTotal[]> {
  const orders = ordersIn(session);
  const onDay = orders.isOn(day, { alias: 'o' });
  const rows = await session.rows(
    `select o.currency, o.type, count(*) as orders,
            sum(case when o.state = 'SUCCESS' then 1 else 0 end) as posted,
            ${exactSum(session.dialect, 'o.amount_minor', 'amount')},
            ${exactSum(session.dialect, `case when o.state = 'SUCCESS' then o.amount_minor else 0 end`, 'posted_amount')}
       from ${orders.fromClaims('o')}
      where ${onDay.sql} and ${orders.isClaimed('o')}
      group by o.currency, o.type`,
    onDay.bindings,
  );
  return rows.map((row) => ({
    currency: toText(row['currency']),
    type: toText(row['type']) as OrderType,
    orders: toCount(row['orders']),
    posted: toCount(row['posted']),
    amountMinor: sumIn(row, 'amount'),
    postedMinor: sumIn(row, 'posted_amount'),
  }));
}

export interface WaitingTotal {
  currency: string;
  /** Whether the account is in active quarantine for the day. */
  setAside: boolean;
  orders: number;
  netMinor: bigint;
}

/** Orders of a day at or below an id that nothing has claimed: of accounts set aside, and all others. Signed sums. */
export async function waitingTotals(session: Session, day: BatchDay, topId: bigint): Promise<WaitingTotal[]> {
  const orders = ordersIn(session);
  const onDay = orders.isOn(day, { alias: 'o' });
  const rows = await session.rows(
    `select o.currency, case when q.id is null then 0 else 1 end as set_aside, count(*) as orders,
            ${exactSum(session.dialect, signedAmount, 'net')}
       from ${orders.from('o')}
       left join quarantine q on q.batch_day = ? and q.account_no = o.account_no and q.active = 1
      where ${onDay.sql} and o.id <= ? and ${orders.waits('o')}
      group by o.currency, case when q.id is null then 0 else 1 end`,
    [day, ...onDay.bindings, topId],
  );
  return rows.map((row) => ({
    currency: toText(row['currency']),
    setAside: toBigInt(row['set_aside']) === 1n,
    orders: toCount(row['orders']),
    netMinor: sumIn(row, 'net'),
  }));
}

export interface WithdrawnOrder {
  orderId: bigint;
  orderNo: string;
  accountNo: string;
  type: OrderType;
  currency: string;
  amountMinor: bigint;
  foundState: string;
  noticedAt: string;
}

/** Orders of a day that somebody else moved between freeze and claim, in order of id. */
export async function withdrawnOrders(session: Session, day: BatchDay): Promise<WithdrawnOrder[]> {
  const rows = await session.rows(
    `select w.order_id, w.order_no, o.account_no, o.type, o.currency, o.amount_minor, w.found_state, w.noticed_at
       from withdrawn_order w
       join ${ordersIn(session).from('o')} on o.id = w.order_id
      where w.batch_day = ?
      order by w.order_id`,
    [day],
  );
  return rows.map((row) => ({
    orderId: toBigInt(row['order_id']),
    orderNo: toText(row['order_no']),
    accountNo: toText(row['account_no']),
    type: toText(row['type']) as OrderType,
    currency: toText(row['currency']),
    amountMinor: toBigInt(row['amount_minor']),
    foundState: toText(row['found_state']),
    noticedAt: toInstant(row['noticed_at']),
  }));
}

export interface LeftOrders {
  batchDay: BatchDay;
  /** INIT, at or below the batch's top id, of accounts that are not set aside. */
  waiting: number;
  processing: number;
}

/** What the open batches still have to do, by day. */
export async function ordersLeft(session: Session): Promise<LeftOrders[]> {
  if (session.source.instants !== null) return leftDayByDay(session);
  const orders = ordersIn(session);
  const rows = await session.rows(
    `select b.batch_day,
            sum(case when o.state = 'INIT' and q.id is null then 1 else 0 end) as waiting,
            sum(case when o.state = 'PROCESSING' then 1 else 0 end) as processing
       from batch b
       join ${orders.fromClaims('o')} on o.batch_day = b.batch_day and o.id <= b.top_id
       left join quarantine q on q.batch_day = o.batch_day and q.account_no = o.account_no and q.active = 1
      where b.state <> 'CLOSED' and ${orders.isOwed('o')}
      group by b.batch_day
      order by b.batch_day`,
  );
  return rows.map((row) => ({
    batchDay: toText(row['batch_day']),
    waiting: toCount(row['waiting']),
    processing: toCount(row['processing']),
  }));
}

/** The same of a table whose rows tell their day by an instant, which no join compares with a batch. */
async function leftDayByDay(session: Session): Promise<LeftOrders[]> {
  const orders = ordersIn(session);
  const left: LeftOrders[] = [];
  for (const batch of await session.rows(
    `select batch_day, top_id from batch where state <> 'CLOSED' order by batch_day`,
  )) {
    const batchDay = toText(batch['batch_day']);
    const onDay = orders.isOn(batchDay, { alias: 'o' });
    const [row] = await session.rows(
      `select coalesce(sum(case when o.state = 'INIT' and q.id is null then 1 else 0 end), 0) as waiting,
              coalesce(sum(case when o.state = 'PROCESSING' then 1 else 0 end), 0) as processing
         from ${orders.fromClaims('o')}
         left join quarantine q on q.batch_day = ? and q.account_no = o.account_no and q.active = 1
        where ${onDay.sql} and o.id <= ? and ${orders.isOwed('o')}`,
      [batchDay, ...onDay.bindings, toBigInt(batch['top_id'])],
    );
    const [waiting, processing] = [toCount(row?.['waiting']), toCount(row?.['processing'])];
    if (waiting + processing > 0) left.push({ batchDay, waiting, processing });
  }
  return left;
}

export interface AccountOrders {
  currency: string;
  type: OrderType;
  channel: string;
  orders: number;
  /** Signed: what they do to what the account is owed. */
  netMinor: bigint;
}

/** An account's posted orders of a day, by currency, type and channel. */
export async function accountOrders(session: Session, day: BatchDay, accountNo: string): Promise<AccountOrders[]> {
  const orders = ordersIn(session);
  const onDay = orders.isOn(day, { alias: 'o' });
  const rows = await session.rows(
    `select o.currency, o.type, o.channel, count(*) as orders, ${exactSum(session.dialect, signedAmount, 'net')}
       from ${orders.fromClaims('o')}
      where ${onDay.sql} and o.account_no = ? and ${orders.posted('o')}
      group by o.currency, o.type, o.channel order by o.currency, o.type, o.channel`,
    [...onDay.bindings, accountNo],
  );
  return rows.map((row) => ({
    currency: toText(row['currency']),
    type: toText(row['type']) as OrderType,
    channel: toText(row['channel']),
    orders: toCount(row['orders']),
    netMinor: sumIn(row, 'net'),
  }));
}

/** How many of an account's orders of a day are not posted, and neither failed nor cancelled. */
export async function accountOrdersLeft(session: Session, day: BatchDay, accountNo: string): Promise<number> {
  const orders = ordersIn(session);
  const onDay = orders.isOn(day, { alias: 'o' });
  const [row] = await session.rows(
    `select count(*) as orders from ${orders.fromClaims('o')}
      where ${onDay.sql} and o.account_no = ? and ${orders.isOwed('o')}`,
    [...onDay.bindings, accountNo],
  );
  return toCount(row?.['orders']);
}
