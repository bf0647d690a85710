import type { Session } from '../db/session.js';
import { nowMs, toBigInt, toCount, toInstant, toText } from '../db/values.js';
import { sinkStatus } from './views.js';

export interface Backlog {
  /** "LEDGER", or what is told to others; of a sink, its name. */
  name: string;
  waiting: number;
  parked: number;
  /** Age of the message that has waited longest, by the database's clock; 0 when none waits. */
  oldestMs: number;
  /** Failed tries of what waits or is parked. */
  retries: number;
}

/** What waits in the outbox, by topic, along the index of states: what is delivered is not looked at. */
export async function topicBacklog(session: Session): Promise<Backlog[]> {
  const rows = await session.tuples(
    `select topic, sum(case when state = 'NEW' then 1 else 0 end), sum(case when state = 'PARKED' then 1 else 0 end),
            min(case when state = 'NEW' then created_at end), sum(attempts)
       from outbox where state in ('NEW', 'PARKED') group by topic order by topic`,
  );
  const now = await databaseNow(session);
  return rows.map(([topic, waiting, parked, oldest, retries]) => ({
    name: toText(topic),
    waiting: toCount(waiting),
    parked: toCount(parked),
    oldestMs: oldest === null ? 0 : ageMs(now, toInstant(oldest)),
    retries: toCount(retries),
  }));
}

/** What each sink outside of the database waits for. */
export async function sinkBacklog(session: Session): Promise<Backlog[]> {
  const now = await databaseNow(session);
  const backlog: Backlog[] = [];
  for (const { sink, waiting, parked, oldest } of await sinkStatus(session)) {
    const [row] = await session.tuples(
      `select coalesce(sum(attempts), 0) from delivery where sink = ? and state in ('NEW', 'PARKED')`,
      [sink],
    );
    const oldestMs = oldest === null ? 0 : ageMs(now, oldest.createdAt);
    backlog.push({ name: sink, waiting, parked, oldestMs, retries: toCount(row?.[0]) });
  }
  return backlog;
}

async function databaseNow(session: Session): Promise<number> {
  const [row] = await session.tuples(`select ${nowMs(session.dialect)}`);
  return Number(toBigInt(row?.[0]));
}

function ageMs(now: number, since: string): number {
  return Math.max(0, now - Date.parse(since));
}
