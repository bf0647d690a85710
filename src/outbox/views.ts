import type { Session } from '../db/session.js';
import { joinInOrder, toBigInt, toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { MessageState } from '../kernel/states.js';
import { ledgerTopic } from './message.js';

const deliveriesShown = 100;

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

/** What a sink outside of the database waits for. */
export interface SinkStatus {
  sink: string;
  waiting: number;
  parked: number;
  /** The message that has waited longest for it. */
  oldest: { bizNo: string; createdAt: string } | null;
}

export interface ParkedDelivery {
  sink: string;
  bizNo: string;
  topic: string;
  batchDay: BatchDay;
  accountNo: string | null;
  attempts: number;
  lastError: string;
}

export interface OutboxStatus {
  /** Messages to the ledger by state; SENT are all that are done. */
  counts: Record<MessageState, number>;
  /** Messages that are for others only, and that not all of them have: alerts, closed days. */
  forOthers: number;
  /** The message that has waited longest, and for how long by the database's clock. */
  oldestNew: { createdAt: string; ageMs: number } | null;
  parked: ParkedMessage[];
  sinks: SinkStatus[];
  /** The first of those that a sink was given up for. */
  parkedDeliveries: ParkedDelivery[];
}

/** Messages by state, the oldest that waits, and those that were given up. */
export async function outboxStatus(session: Session): Promise<OutboxStatus> {
  const counts: Record<MessageState, number> = { NEW: 0, SENT: 0, PARKED: 0 };
  let forOthers = 0;
  for (const row of await session.rows(
    `select state, topic, count(*) as messages from outbox where state in ('NEW', 'PARKED') group by state, topic`,
  )) {
    const messages = toCount(row['messages']);
    if (row['topic'] === ledgerTopic) counts[toText(row['state']) as MessageState] += messages;
    else forOthers += messages;
  }
  const [sent] = await session.rows(`select count(*) as messages from outbox where state = 'SENT'`);
  counts.SENT = toCount(sent?.['messages']);
  const now = session.dialect === 'sqlite' ? `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')` : 'utc_timestamp(3)';
  const [oldest] = await session.rows(
    `select min(created_at) as created_at, cast(${now} as char) as now_at from outbox where state = 'NEW' and topic = '${ledgerTopic}'`,
  );
  const createdAt = toInstantOrNull(oldest?.['created_at']);
  const ageMs = createdAt === null ? 0 : Date.parse(toInstant(oldest?.['now_at'])) - Date.parse(createdAt);
  return {
    counts,
    forOthers,
    oldestNew: createdAt === null ? null : { createdAt, ageMs: Math.max(0, ageMs) },
    parked: await parkedMessages(session),
    sinks: await sinkStatus(session),
    parkedDeliveries: await parkedDeliveries(session, deliveriesShown),
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

/** What each sink waits for, along the index of what is not SENT. */
export async function sinkStatus(session: Session): Promise<SinkStatus[]> {
  const names = await session.tuples(`select distinct sink from relay_lane where sink <> '' order by sink`);
  const status: SinkStatus[] = [];
  for (const [name] of names) {
    const sink = toText(name);
    const counted = await session.tuples(
      `select state, count(*), min(outbox_id) from delivery where sink = ? and state in ('NEW', 'PARKED') group by state`,
      [sink],
    );
    const counts = new Map(counted.map(([state, messages]) => [toText(state), toCount(messages)]));
    const firstId = counted.find(([state]) => state === 'NEW')?.[2];
    const [first] =
      firstId === undefined
        ? []
        : await session.tuples('select biz_no, created_at from outbox where id = ?', [toBigInt(firstId)]);
    status.push({
      sink,
      waiting: counts.get('NEW') ?? 0,
      parked: counts.get('PARKED') ?? 0,
      oldest: first === undefined ? null : { bizNo: toText(first[0]), createdAt: toInstant(first[1]) },
    });
  }
  return status;
}

/** Messages that were given up for a sink, by sink, oldest first. */
export async function parkedDeliveries(session: Session, limit: number): Promise<ParkedDelivery[]> {
  const rows = await session.tuples(
    `select d.sink, m.biz_no, d.topic, m.batch_day, m.account_no, d.attempts, d.last_error
       from delivery d ${joinInOrder(session.dialect)} outbox m on m.id = d.outbox_id
      where d.sink in (select sink from relay_lane) and d.state = 'PARKED'
      order by d.sink, d.outbox_id limit ${String(limit)}`,
  );
  return rows.map(([sink, bizNo, topic, batchDay, accountNo, attempts, lastError]) => ({
    sink: toText(sink),
    bizNo: toText(bizNo),
    topic: toText(topic),
    batchDay: toText(batchDay),
    accountNo: toTextOrNull(accountNo),
    attempts: toCount(attempts),
    lastError: toText(lastError),
  }));
}
