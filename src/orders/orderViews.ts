import type { Binding, Row, Session } from '../db/session.js';
import { oneOfIds, toBigInt, toCount, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { OrderState, OrderType } from '../kernel/states.js';
import { sourceName } from '../kernel/orderSource.js';
import { signedAmount } from './order.js';
import { ordersIn, type OrderTable } from './orderTable.js';

/** An order as it is stored, with its effect on its account. */
export interface OrderView {
  /** Where its row is. */
  readonly table: string;
  readonly id: bigint;
  readonly orderNo: string;
  readonly accountNo: string;
  readonly batchDay: BatchDay;
  readonly type: OrderType;
  /** Signed: what it does to what the account is owed. */
  readonly effectMinor: bigint;
  readonly currency: string;
  readonly channel: string;
  /** Null where the table is not ours, and so for `finishedAt` and `cancelCode`. */
  readonly occurredAt: string | null;
  readonly reversalOf: string | null;
  readonly state: OrderState;
  readonly runId: bigint | null;
  readonly chunkNo: number | null;
  readonly finishedAt: string | null;
  readonly cancelCode: string | null;
}

const concepts = `o.id, o.order_no, o.account_no, o.batch_day, o.type, o.amount_minor, o.currency, o.channel,
  o.reversal_of, o.state, o.run_id, o.chunk_no`;

async function viewsWhere(session: Session, condition: string, bindings: readonly Binding[]): Promise<OrderView[]> {
  const orders = ordersIn(session);
  const ours = session.source.own ? ', o.occurred_at, o.finished_at, o.cancel_code' : '';
  const rows = await session.rows(
    `select ${concepts}${ours} from ${orders.fromClaims('o')} where ${condition}`,
    bindings,
  );
  return rows.map((row) => toView(row, orders));
}

function toView(row: Row, orders: OrderTable): OrderView {
  const type = toText(row['type']) as OrderType;
  return {
    table: sourceName(orders.source),
    id: toBigInt(row['id']),
    orderNo: toText(row['order_no']),
    accountNo: toText(row['account_no']),
    batchDay: orders.dayOf(row['batch_day']),
    type,
    effectMinor: signedAmount({ type, amountMinor: toBigInt(row['amount_minor']) }),
    currency: toText(row['currency']),
    channel: toText(row['channel']),
    occurredAt: toInstantOrNull(row['occurred_at'] ?? null),
    reversalOf: toTextOrNull(row['reversal_of']),
    state: toText(row['state']) as OrderState,
    runId: row['run_id'] === null ? null : toBigInt(row['run_id']),
    chunkNo: row['chunk_no'] === null ? null : toCount(row['chunk_no']),
    finishedAt: toInstantOrNull(row['finished_at'] ?? null),
    cancelCode: toTextOrNull(row['cancel_code'] ?? null),
  };
}

/** An order by its number, or null. */
export async function orderNumbered(session: Session, orderNo: string): Promise<OrderView | null> {
  const [order = null] = await viewsWhere(session, 'o.order_no = ?', [orderNo]);
  return order;
}

export async function orderWithId(session: Session, id: bigint): Promise<OrderView | null> {
  const { sql, bindings } = oneOfIds(session.dialect, 'o.id', [id]);
  const [order = null] = await viewsWhere(session, sql, bindings);
  return order;
}

/** Orders that take an order back, wholly or in part, in the order of ids. */
export function reversalsOf(session: Session, orderNo: string, limit: number): Promise<OrderView[]> {
  const key = ordersIn(session).reversalKey;
  return viewsWhere(session, `o.${key} = ? order by o.id limit ${String(limit)}`, [orderNo]);
}

/** Order numbers that begin like this, in their order. */
export async function orderNosFrom(session: Session, start: string, limit: number): Promise<string[]> {
  const rows = await session.tuples(
    `select o.order_no from ${ordersIn(session).from('o')} where o.order_no >= ? order by o.order_no limit ${String(limit)}`,
    [start],
  );
  return rows.map(([orderNo]) => toText(orderNo)).filter((orderNo) => orderNo.startsWith(start));
}

/** The state of an account; null for one that is not registered. */
export async function accountStateOf(session: Session, accountNo: string): Promise<string | null> {
  const [row] = await session.rows('select state from account where account_no = ?', [accountNo]);
  return toTextOrNull(row?.['state']);
}
