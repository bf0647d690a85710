import type { Row, Session } from '../db/session.js';
import { oneOfIds, placeholders, toBigInt, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { OrderState, OrderType } from '../kernel/states.js';
import { signedAmount } from './order.js';

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
    const rows = await session.rows(
      `select ${columns}, o.channel from settlement_order o where o.order_no in (${placeholders(some)})`,
      some,
    );
    orders.push(...rows.filter((row) => toText(row['channel']) === channel).map(toOrder));
  }
  return orders;
}

/** Orders by id. */
export async function ordersById(session: Session, ids: readonly bigint[]): Promise<StatedOrder[]> {
  if (ids.length === 0) return [];
  const list = oneOfIds(session.dialect, 'o.id', ids);
  return (await session.rows(`select ${columns} from settlement_order o where ${list.sql}`, list.bindings)).map(
    toOrder,
  );
}

/**
 * Payments and refunds of a channel and day that no statement line has moved, in the order of ids: what a statement of the
 * day ought to have. Orders of nothing, and those that failed or were cancelled, are not expected there.
 */
export async function ordersNotStated(
  session: Session,
  filter: { channel: string; batchDay: BatchDay; afterId: bigint; limit: number },
): Promise<StatedOrder[]> {
  const rows = await session.rows(
    `select ${columns} from settlement_order o
      where o.batch_day = ? and o.id > ? and o.channel = ? and o.type in ('PAYMENT', 'REFUND') and o.amount_minor <> 0
        and o.state in ('INIT', 'PROCESSING', 'SUCCESS')
        and not exists (select 1 from statement_match m where m.ours = 'ORDER' and m.ours_id = o.id and m.role in ('MOVED', 'REFUSED'))
      order by o.id limit ${String(filter.limit)}`,
    [filter.batchDay, filter.afterId, filter.channel],
  );
  return rows.map(toOrder);
}

function toOrder(row: Row): StatedOrder {
  const type = toText(row['type']) as OrderType;
  const amountMinor = toBigInt(row['amount_minor']);
  return {
    id: toBigInt(row['id']),
    orderNo: toText(row['order_no']),
    batchDay: toText(row['batch_day']),
    type,
    currency: toText(row['currency']),
    movesMinor: signedAmount({ type, amountMinor }),
    state: toText(row['state']) as OrderState,
  };
}
