import type { Database } from '../db/database.js';
import { audited, requireDecision, type Decision } from '../db/operatorAction.js';
import type { Session } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { nowMs, oneOfIds, toBigInt, toText } from '../db/values.js';

/** Rows in one transaction. */
const rowsMax = 1_000;

const dayMs = 86_400_000;

/**
 * Forgets which sink was sent what, where that was more than `days` days ago by the database's clock; what waits or is parked
 * stays, and so does every message itself, which the books are checked against. Returns how many were forgotten.
 */
export async function purgeDeliveries(database: Database, days: number, decision: Decision): Promise<number> {
  requireDecision(decision);
  const beforeMs = await daysAgo(database, days);
  // First the record: a purge that is cut off has been decided all the same.
  await database.transact(
    audited('OUTBOX_PURGE', decision, () =>
      Promise.resolve({ subject: `deliveries of more than ${String(days)} days ago`, result: null }),
    ),
  );
  return forgetDeliveries(database, beforeMs);
}

/** The moment so many days ago, in milliseconds since 1970 by the database's clock. */
export async function daysAgo(database: Database, days: number): Promise<bigint> {
  return database.read(async (session) => {
    const [row] = await session.rows(`select ${nowMs(session.dialect)} as now_ms`);
    return toBigInt(row?.['now_ms']) - BigInt(days) * BigInt(dayMs);
  });
}

/** Deliveries that were sent before then. */
export async function countDeliveries(database: Database, beforeMs: bigint): Promise<number> {
  let found = 0;
  for await (const { outboxIds } of sentBefore(database, beforeMs)) found += outboxIds.length;
  return found;
}

/** Forgets them, a bounded number in each transaction. Returns how many were forgotten. */
export async function forgetDeliveries(database: Database, beforeMs: bigint): Promise<number> {
  let forgotten = 0;
  for await (const { sink, outboxIds } of sentBefore(database, beforeMs)) {
    const unit = repeatable('purge deliveries', async (trx) => {
      const list = oneOfIds(trx.dialect, 'outbox_id', outboxIds);
      return trx.change(`delete from delivery where ${list.sql} and sink = ? and state = 'SENT'`, [
        ...list.bindings,
        sink,
      ]);
    });
    forgotten += await database.transact(unit);
  }
  return forgotten;
}

/** What each sink was sent before then, page by page along the index of deliveries. */
async function* sentBefore(
  database: Database,
  beforeMs: bigint,
): AsyncGenerator<{ sink: string; outboxIds: bigint[] }> {
  for (const { sink, laneNo } of await database.read(lanes)) {
    let after = 0n;
    for (;;) {
      const from = after;
      const page = await database.read((session) => sentAfter(session, sink, laneNo, from));
      const last = page[page.length - 1];
      if (last === undefined) break;
      const outboxIds = page.filter(({ sentMs }) => sentMs < beforeMs).map(({ outboxId }) => outboxId);
      if (outboxIds.length > 0) yield { sink, outboxIds };
      after = last.outboxId;
    }
  }
}

async function lanes(session: Session): Promise<{ sink: string; laneNo: bigint }[]> {
  const rows = await session.tuples(`select sink, lane_no from relay_lane where sink <> '' order by sink, lane_no`);
  return rows.map(([sink, laneNo]) => ({ sink: toText(sink), laneNo: toBigInt(laneNo) }));
}

async function sentAfter(
  session: Session,
  sink: string,
  laneNo: bigint,
  after: bigint,
): Promise<{ outboxId: bigint; sentMs: bigint }[]> {
  const rows = await session.tuples(
    `select outbox_id, sent_ms from delivery
      where sink = ? and state = 'SENT' and lane_no = ? and outbox_id > ?
      order by outbox_id limit ${String(rowsMax)}`,
    [sink, laneNo, after],
  );
  return rows.map(([outboxId, sentMs]) => ({ outboxId: toBigInt(outboxId), sentMs: toBigInt(sentMs) }));
}
