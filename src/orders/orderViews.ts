import type { Row, Session } from '../db/session.js';
import { oneOfIds, toBigInt, toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { OrderState, OrderType } from '../kernel/states.js';
import { signedAmount } from './order.js';

/** How a story names the rows of orders. */
export const orderTable = 'settlement_order';

/** An order as it is stored, with its effect on its account. */
export interface OrderView {
  readonly id: bigint;
  readonly orderNo: string;
  readonly accountNo: string;
  readonly batchDay: BatchDay;
  readonly type: OrderType;
  /** Signed: what it does to what the account is owed. */
  readonly effectMinor: bigint;
  readonly currency: string;
  readonly channel: string;
  readonly occurredAt: string;
  readonly reversalOf: string | null;
  readonly state: OrderState;
  readonly runId: bigint | null;
  readonly chunkNo: number | null;
  readonly finishedAt: string | null;
  readonly cancelCode: string | null;
}

const columns = `o.id, o.order_no, o.account_no, o.batch_day, o.type, o.amount_minor, o.currency, o.channel, o.occurred_at,
  o.reversal_of, o.state, o.run_id, o.chunk_no, o.finished_at, o.cancel_code`;

function toView(row: Row): OrderView {
  const type = toText(row['type']) as OrderType;
  return {
    id: toBigInt(row['id']),
    orderNo: toText(row['order_no']),
    accountNo: toText(row['account_no']),
    batchDay: toText(row['batch_day']),
    type,
    effectMinor: signedAmount({ type, amountMinor: toBigInt(row['amount_minor']) }),
    currency: toText(row['currency']),
    channel: toText(row['channel']),
    occurredAt: toInstant(row['occurred_at']),
    reversalOf: toTextOrNull(row['reversal_of']),
    state: toText(row['state']) as OrderState,
    runId: row['run_id'] === null ? null : toBigInt(row['run_id']),
    chunkNo: row['chunk_no'] === null ? null : toCount(row['chunk_no']),
    finishedAt: toInstantOrNull(row['finished_at']),
    cancelCode: toTextOrNull(row['cancel_code']),
  };
}

/** An order by its number, or null. */
export async function orderNumbered(session: Session, orderNo: string): Promise<OrderView | null> {
  const [row] = await session.rows(`select ${columns} from settlement_order o where o.order_no = ?`, [orderNo]);
  return row === undefined ? null : toView(row);
}

export async function orderWithId(session: Session, id: bigint): Promise<OrderView | null> {
  const { sql, bindings } = oneOfIds(session.dialect, 'o.id', [id]);
  const [row] = await session.rows(`select ${columns} from settlement_order o where ${sql}`, bindings);
  return row === undefined ? null : toView(row);
}

/** Orders that take an order back, wholly or in part, in the order of ids. */
export async function reversalsOf(session: Session, orderNo: string, limit: number): Promise<OrderView[]> {
  const rows = await session.rows(
    `select ${columns} from settlement_order o where o.reversal_of = ? order by o.id limit ${String(limit)}`,
    [orderNo],
  );
  return rows.map(toView);
}

/** Order numbers that begin like this, in their order. */
export async function orderNosFrom(session: Session, start: string, limit: number): Promise<string[]> {
  const rows = await session.tuples(
    `select order_no from settlement_order where order_no >= ? order by order_no limit ${String(limit)}`,
    [start],
  );
  return rows.map(([orderNo]) => toText(orderNo)).filter((orderNo) => orderNo.startsWith(start));
}

/** The state of an account; null for one that is not registered. */
export async function accountStateOf(session: Session, accountNo: string): Promise<string | null> {
  const [row] = await session.rows('select state from account where account_no = ?', [accountNo]);
  return toTextOrNull(row?.['state']);
}
