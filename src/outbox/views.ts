import type { Database } from '../db/database.js';
import { audited, requireDecision, type Decision } from '../db/operatorAction.js';
import type { Session } from '../db/session.js';
import { placeholders, toCount, toInstant, toInstantOrNull, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import { messageMoves, move, type MessageState } from '../kernel/states.js';

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

const namesMax = 500;

/**
 * Puts parked messages back in line with fresh attempts, all of them when none is named, and records who decided so.
 * Returns their business numbers, oldest first. Throws NOT_FOUND when a named one is not parked; then none is moved.
 */
export async function requeueMessages(
  database: Database,
  bizNos: readonly string[],
  decision: Decision,
): Promise<string[]> {
  requireDecision(decision);
  const to = move(messageMoves, 'PARKED', 'requeue');
  return database.transact(
    audited('OUTBOX_REQUEUE', decision, async (trx) => {
      const parked = (await parkedMessages(trx)).map((message) => message.bizNo);
      const missing = bizNos.filter((bizNo) => !parked.includes(bizNo));
      if (missing.length > 0) throw notParked(missing);
      const asked = new Set(bizNos);
      const chosen = bizNos.length === 0 ? parked : parked.filter((bizNo) => asked.has(bizNo));
      for (let start = 0; start < chosen.length; start += namesMax) {
        const part = chosen.slice(start, start + namesMax);
        await trx.change(
          `update outbox set state = ?, attempts = 0 where state = 'PARKED' and biz_no in (${placeholders(part)})`,
          [to, ...part],
        );
      }
      return { subject: chosen.length === 0 ? null : `messages ${chosen.join(', ')}`, result: chosen };
    }),
  );
}

function notParked(bizNos: readonly string[]): SettleError {
  return new SettleError('NOT_FOUND', `Not parked: ${bizNos.join(', ')}. Nothing was put back.`, {
    details: { bizNos },
    next: 'settle outbox status',
  });
}
