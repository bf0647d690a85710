import type { Row, Session } from '../db/session.js';
import { placeholders, toBigInt, toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import type { MessageState } from '../kernel/states.js';

/** A message with where it was delivered to. */
export interface MessageView {
  readonly id: bigint;
  readonly topic: string;
  readonly bizNo: string;
  readonly state: MessageState;
  readonly orders: number;
  readonly payload: string;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly createdAt: string;
  readonly sentAt: string | null;
  readonly deliveries: readonly DeliveryView[];
}

export interface DeliveryView {
  readonly sink: string;
  readonly state: MessageState;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly sentAt: string | null;
}

const columns = 'id, topic, biz_no, state, orders, payload, attempts, last_error, created_at, sent_at';

/** Messages by their business numbers, in the order in which they were written. */
export async function messagesNumbered(session: Session, bizNos: readonly string[]): Promise<MessageView[]> {
  if (bizNos.length === 0) return [];
  const rows = await session.rows(
    `select ${columns} from outbox where biz_no in (${placeholders(bizNos)}) order by id`,
    bizNos,
  );
  return withDeliveries(session, rows);
}

/** Messages whose business number begins like this ("A12."), in the order in which they were written. */
export async function messagesFrom(session: Session, start: string): Promise<MessageView[]> {
  const after = start.slice(0, -1) + String.fromCharCode(start.charCodeAt(start.length - 1) + 1);
  const rows = await session.rows(`select ${columns} from outbox where biz_no >= ? and biz_no < ? order by id`, [
    start,
    after,
  ]);
  return withDeliveries(session, rows);
}

async function withDeliveries(session: Session, rows: readonly Row[]): Promise<MessageView[]> {
  const views: MessageView[] = [];
  for (const row of rows) {
    const id = toBigInt(row['id']);
    views.push({
      id,
      topic: toText(row['topic']),
      bizNo: toText(row['biz_no']),
      state: toText(row['state']) as MessageState,
      orders: toCount(row['orders']),
      payload: toText(row['payload']),
      attempts: toCount(row['attempts']),
      lastError: toTextOrNull(row['last_error']),
      createdAt: toInstant(row['created_at']),
      sentAt: toInstantOrNull(row['sent_at']),
      deliveries: await deliveriesOf(session, id),
    });
  }
  return views;
}

async function deliveriesOf(session: Session, id: bigint): Promise<DeliveryView[]> {
  const rows = await session.rows(
    'select sink, state, attempts, last_error, sent_ms from delivery where outbox_id = ? order by sink',
    [id],
  );
  return rows.map((row) => ({
    sink: toText(row['sink']),
    state: toText(row['state']) as MessageState,
    attempts: toCount(row['attempts']),
    lastError: toTextOrNull(row['last_error']),
    sentAt: row['sent_ms'] === null ? null : new Date(toCount(row['sent_ms'])).toISOString(),
  }));
}
