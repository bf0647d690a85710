import type { Session } from '../db/session.js';
import { toCount, toInstant, toInstantOrNull, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { MessageState } from '../kernel/states.js';

export interface ParkedMessage {
  bizNo: string;
  topic: string;
  batchDay: BatchDay;
  accountNo: string | null;
  orders: number;
  attempts: number;
  lastError: string;
  createdAt: string;
}

export interface OutboxStatus {
  counts: Record<MessageState, number>;
  /** The message that has waited longest, and for how long by the database's clock. */
  oldestNew: { createdAt: string; ageMs: number } | null;
  parked: ParkedMessage[];
}

/** Messages by state, the oldest that waits, and those that were given up. */
export async function outboxStatus(session: Session): Promise<OutboxStatus> {
  const counts: Record<MessageState, number> = { NEW: 0, SENT: 0, PARKED: 0 };
  for (const row of await session.rows('select state, count(*) as messages from outbox group by state')) {
    counts[toText(row['state']) as MessageState] = toCount(row['messages']);
  }
  const now = session.dialect === 'sqlite' ? `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')` : 'utc_timestamp(3)';
  const [oldest] = await session.rows(
    `select min(created_at) as created_at, cast(${now} as char) as now_at from outbox where state = 'NEW'`,
  );
  const createdAt = toInstantOrNull(oldest?.['created_at']);
  const ageMs = createdAt === null ? 0 : Date.parse(toInstant(oldest?.['now_at'])) - Date.parse(createdAt);
  return {
    counts,
    oldestNew: createdAt === null ? null : { createdAt, ageMs: Math.max(0, ageMs) },
    parked: await parkedMessages(session),
  };
}

/** Messages that were given up after bounded attempts, oldest first; of one day when given. */
export async function parkedMessages(session: Session, day?: BatchDay): Promise<ParkedMessage[]> {
  const rows = await session.rows(
    `select biz_no, topic, batch_day, account_no, orders, attempts, last_error, created_at
       from outbox where state = 'PARKED' ${day === undefined ? '' : 'and batch_day = ?'} order by id`,
    day === undefined ? [] : [day],
  );
  return rows.map((row) => ({
    bizNo: toText(row['biz_no']),
    topic: toText(row['topic']),
    batchDay: toText(row['batch_day']),
    accountNo: row['account_no'] === null ? null : toText(row['account_no']),
    orders: toCount(row['orders']),
    attempts: toCount(row['attempts']),
    lastError: toText(row['last_error']),
    createdAt: toInstant(row['created_at']),
  }));
}
