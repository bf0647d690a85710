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
  const before = await database.read(async (session) => {
    const [row] = await session.rows(`select ${nowMs(session.dialect)} as now_ms`);
    return toBigInt(row?.['now_ms']) - BigInt(days) * BigInt(dayMs);
  });
  // First the record: a purge that is cut off has been decided all the same.
  await database.transact(
    audited('OUTBOX_PURGE', decision, () =>
      Promise.resolve({ subject: `deliveries of more than ${String(days)} days ago`, result: null }),
    ),
  );
  let purged = 0;
  for (const { sink, laneNo } of await database.read(lanes)) {
    let after = 0n;
    for (;;) {
      const page = await database.read((session) => sentAfter(session, sink, laneNo, after));
      const last = page[page.length - 1];
      if (last === undefined) break;
      const old = page.filter(({ sentMs }) => sentMs < before).map(({ outboxId }) => outboxId);
      if (old.length > 0) {
        const unit = repeatable('purge deliveries', async (trx) => {
          const list = oneOfIds(trx.dialect, 'outbox_id', old);
          return trx.change(`delete from delivery where ${list.sql} and sink = ? and state = 'SENT'`, [
            ...list.bindings,
            sink,
          ]);
        });
        purged += await database.transact(unit);
      }
      after = last.outboxId;
    }
  }
  return purged;
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
