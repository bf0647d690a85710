import type { Session } from '../db/session.js';
import { toCount, toText } from '../db/values.js';
import { addDays, type BatchDay } from '../kernel/batchDay.js';
import { ordersIn } from './orderTable.js';

// Orders that came to days which runs have been through. Nobody takes a row out of our own table, so counting the day's
// rows by its index tells that some came. In a table of others rows come and go: there, what waits is looked for itself.

/**
 * Days in [from, upTo] that orders make owed: other rows than the count at the day's close (`closedWith`), which of our
 * own table is all rows, or orders in INIT of an account that is not set aside. A day that is not closed may be left out.
 */
export async function daysOwedByOrders(
  session: Session,
  from: BatchDay,
  upTo: BatchDay,
  closedWith: ReadonlyMap<BatchDay, number>,
): Promise<BatchDay[]> {
  if (!session.source.own) return (await waitingByDay(session, from, upTo)).map(({ batchDay }) => batchDay);
  const owed: BatchDay[] = [];
  for (const [day, orders] of await ordersByDay(session, from, upTo)) {
    if (closedWith.get(day) !== orders) owed.push(day);
  }
  if (closedWith.has(upTo) && closedWith.get(upTo) !== (await ordersOfDay(session, upTo))) owed.push(upTo);
  return owed;
}

/** Rows of the day, whatever their state. From the index alone. */
async function ordersOfDay(session: Session, day: BatchDay): Promise<number> {
  const [row] = await session.rows(`select count(*) as orders from ${ordersIn(session).from()} where batch_day = ?`, [
    day,
  ]);
  return toCount(row?.['orders']);
}

/** Rows of each day in [from, before). From the index alone. */
async function ordersByDay(session: Session, from: BatchDay, before: BatchDay): Promise<Map<BatchDay, number>> {
  const rows = await session.rows(
    `select batch_day, count(*) as orders from ${ordersIn(session).from()}
      where batch_day >= ? and batch_day < ? group by batch_day order by batch_day`,
    [from, before],
  );
  return new Map(rows.map((row) => [toText(row['batch_day']), toCount(row['orders'])]));
}

export interface OwedDay {
  batchDay: BatchDay;
  orders: number;
}

/**
 * Days up to one on which orders wait that no open batch holds: no run has begun the day, or they came after it was
 * closed. Of our own table counted from the index alone.
 */
export async function owedDays(session: Session, upTo: BatchDay): Promise<OwedDay[]> {
  if (!session.source.own) return owedElsewhere(session, upTo);
  const rows = await session.rows(
    `select d.batch_day, d.orders - coalesce(b.orders_at_close, 0) as orders
       from (select batch_day, count(*) as orders from ${ordersIn(session).from()} where batch_day <= ? group by batch_day) d
       left join batch b on b.batch_day = d.batch_day
      where b.batch_day is null or (b.state = 'CLOSED' and d.orders > b.orders_at_close)
      order by d.batch_day`,
    [upTo],
  );
  return rows.map((row) => ({ batchDay: toText(row['batch_day']), orders: toCount(row['orders']) }));
}

async function owedElsewhere(session: Session, upTo: BatchDay): Promise<OwedDay[]> {
  const open = await session.rows(`select batch_day from batch where state <> 'CLOSED'`);
  const held = new Set(open.map((row) => toText(row['batch_day'])));
  return (await waitingByDay(session, firstDay, upTo)).filter(({ batchDay }) => !held.has(batchDay));
}

const firstDay: BatchDay = '1000-01-02';

/** Orders in INIT of each day in [from, upTo], of accounts that are not set aside for it. */
async function waitingByDay(session: Session, from: BatchDay, upTo: BatchDay): Promise<OwedDay[]> {
  const orders = ordersIn(session);
  const within = orders.isBetween(from, addDays(upTo, 1));
  const [row] = await session.rows(
    `select min(batch_day) as first, max(batch_day) as last from ${orders.from()}
      where ${within.sql} and ${orders.waits()}`,
    within.bindings,
  );
  if (row?.['first'] === null || row === undefined) return [];
  const found: OwedDay[] = [];
  const last = orders.dayOf(row['last']);
  for (let day = orders.dayOf(row['first']); day <= last; day = addDays(day, 1)) {
    const waiting = await waitingOn(session, day);
    if (waiting > 0) found.push({ batchDay: day, orders: waiting });
  }
  return found;
}

async function waitingOn(session: Session, day: BatchDay): Promise<number> {
  const orders = ordersIn(session);
  const onDay = orders.isOn(day, { alias: 'o' });
  const [row] = await session.rows(
    `select count(*) as orders from ${orders.from('o')}
       left join quarantine q on q.batch_day = ? and q.account_no = o.account_no and q.active = 1
      where ${onDay.sql} and ${orders.waits('o')} and q.id is null`,
    [day, ...onDay.bindings],
  );
  return toCount(row?.['orders']);
}
