import type { Row, Session } from '../db/session.js';
import { oneOfIds, placeholders, toBigInt, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { OrderState, OrderType } from '../kernel/states.js';
import { signedAmount } from './order.js';
import { ordersIn } from './orderTable.js';

// Orders as the matching of statement lines needs them.

export interface StatedOrder {
  readonly id: bigint;
  readonly orderNo: string;
  readonly batchDay: BatchDay;
  readonly type: OrderType;
  readonly currency: string;
  /** The money that the channel moves for it: in is positive. */
  readonly movesMinor: bigint;
  readonly state: OrderState;
}

const listMax = 1_000;
const columns = 'o.id, o.order_no, o.batch_day, o.type, o.amount_minor, o.currency, o.state';

/** Orders of a channel by their numbers. */
export async function ordersNamed(
  session: Session,
  channel: string,
  orderNos: readonly string[],
): Promise<StatedOrder[]> {
  const orders: StatedOrder[] = [];
  for (let at = 0; at < orderNos.length; at += listMax) {
    const some = orderNos.slice(at, at + listMax);
    // A table of others may find "abc" for "ABC".
    const isNamed = (row: Row): boolean => toText(row['channel']) === channel && some.includes(toText(row['order_no']));
    const rows = await session.rows(
      `select ${columns}, o.channel from ${ordersIn(session).from('o')} where o.order_no in (${placeholders(some)})`,
      some,
    );
    orders.push(...rows.filter(isNamed).map((row) => toOrder(session, row)));
  }
  return orders;
}

/** Orders by id. */
export async function ordersById(session: Session, ids: readonly bigint[]): Promise<StatedOrder[]> {
  if (ids.length === 0) return [];
  const list = oneOfIds(session.dialect, 'o.id', ids);
  const rows = await session.rows(
    `select ${columns} from ${ordersIn(session).from('o')} where ${list.sql}`,
    list.bindings,
  );
  return rows.map((row) => toOrder(session, row));
}

/**
 * Payments and refunds of a channel and day that no statement line has moved, in the order of ids: what a statement of the
 * day ought to have. Orders of nothing, and those that failed or were cancelled, are not expected there.
 */
export async function ordersNotStated(
  session: Session,
  filter: { channel: string; batchDay: BatchDay; afterId: bigint; limit: number },
): Promise<StatedOrder[]> {
  const orders = ordersIn(session);
  const onDay = orders.isOn(filter.batchDay, { alias: 'o' });
  const rows = await session.rows(
    `select ${columns} from ${orders.from('o')}
      where ${onDay.sql} and o.id > ? and o.channel = ? and o.type in ('PAYMENT', 'REFUND') and o.amount_minor <> 0
        and o.state in ('INIT', 'PROCESSING', 'SUCCESS')
        and not exists (select 1 from statement_match m where m.ours = 'ORDER' and m.ours_id = o.id and m.role in ('MOVED', 'REFUSED'))
      order by o.id limit ${String(filter.limit)}`,
    [...onDay.bindings, filter.afterId, filter.channel],
  );
  return rows.map((row) => toOrder(session, row));
}

function toOrder(session: Session, row: Row): StatedOrder {
  const type = toText(row['type']) as OrderType;
  const amountMinor = toBigInt(row['amount_minor']);
  return {
    id: toBigInt(row['id']),
    orderNo: toText(row['order_no']),
    batchDay: ordersIn(session).dayOf(row['batch_day']),
    type,
    currency: toText(row['currency']),
    movesMinor: signedAmount({ type, amountMinor }),
    state: toText(row['state']) as OrderState,
  };
}
