import type { Session } from '../db/session.js';
import { fromInstant, toCount, toInstant, toText } from '../db/values.js';
import { ledgerTopic } from './message.js';

/** What the ledger waits for. An order is PROCESSING until its message is SENT. */
export interface LedgerLag {
  waiting: number;
  parked: number;
  /** When the oldest message that waits was written; null where none does. */
  oldestAt: string | null;
  /** Of messages that were written before a moment and are not delivered. */
  stuckOrders: number;
}

/** Along the index of what is not SENT, however many messages are; rows are read only where one is older than `before`. */
export async function ledgerLag(session: Session, before: string): Promise<LedgerLag> {
  const counts = new Map<string, number>();
  for (const row of await session.rows(
    `select state, count(*) as messages from outbox where state in ('NEW', 'PARKED') group by state`,
  )) {
    counts.set(toText(row['state']), toCount(row['messages']));
  }
  const oldest: string[] = [];
  for (const state of counts.keys()) {
    const [row] = await session.rows(
      `select created_at from outbox where state = ? and topic = '${ledgerTopic}' order by id limit 1`,
      [state],
    );
    if (row !== undefined) oldest.push(toInstant(row['created_at']));
  }
  const [oldestAt = null] = oldest.sort();
  const isStuck = oldestAt !== null && oldestAt < before;
  const [stuck] = !isStuck
    ? []
    : await session.rows(
        `select coalesce(sum(orders), 0) as orders from outbox
          where state in ('NEW', 'PARKED') and topic = '${ledgerTopic}' and created_at < ?`,
        [fromInstant(session.dialect, before)],
      );
  return {
    waiting: counts.get('NEW') ?? 0,
    parked: counts.get('PARKED') ?? 0,
    oldestAt,
    stuckOrders: toCount(stuck?.['orders'] ?? 0),
  };
}
