import type { Database } from '../db/database.js';
import type { Binding, Session, Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import {
  byPrimaryKey,
  fromInstant,
  oneOfIds,
  placeholders,
  toBigInt,
  toCount,
  toInstant,
  toText,
  toTextOrNull,
} from '../db/values.js';
import { toJson } from '../kernel/json.js';
import { topics } from '../kernel/topics.js';
import { ledgerTopic } from './message.js';
import { deliveriesOf, outboxTopicsOf, type Routing } from './routing.js';

/** Rows that are looked at in one transaction. */
const rowsMax = 5_000;

/** Where the last look ended, by topic of the outbox. A hint that saves time: every sweep begins at 0 again. */
export type RoutingCursor = Map<string, bigint>;

/**
 * Looks at the next messages that no relay has seen, and writes down which sinks are to have them. What was seen is told by
 * the row itself: an id that becomes visible late is found by the next sweep, however many higher ones have gone out.
 * Returns the number of messages seen; 0 ends a sweep.
 */
export async function fanOut(database: Database, routing: Routing, cursor: RoutingCursor): Promise<number> {
  for (const topic of outboxTopicsOf(routing, ledgerTopic)) {
    for (;;) {
      const after = cursor.get(topic) ?? 0n;
      const { lastId, seen } = await database.transact(
        repeatable('route messages', (trx) => routePage(trx, topic, after, routing)),
      );
      if (lastId === null) break;
      cursor.set(topic, lastId);
      if (seen > 0) return seen;
    }
    cursor.delete(topic);
  }
  return 0;
}

interface UnroutedRow {
  id: bigint;
  outboxTopic: string;
  bizNo: string;
  batchDay: string;
  accountNo: string | null;
  isSent: boolean;
  head: string;
}

async function routePage(
  trx: Transaction,
  topic: string,
  after: bigint,
  routing: Routing,
): Promise<{ lastId: bigint | null; seen: number }> {
  // One relay at a time: two that saw the same message would both write it down.
  await trx.change(`update relay_lane set turns = turns + 1 where sink = '' and lane_no = 0`);
  const rows = await unroutedAfter(trx, topic, after);
  const last = rows[rows.length - 1];
  if (last === undefined) return { lastId: null, seen: 0 };
  // The ledger comes first: others hear of what is booked.
  const ready = topic === ledgerTopic ? rows.filter(({ isSent }) => isSent) : rows;
  if (ready.length === 0) return { lastId: await lastBeforeSent(trx, last.id), seen: 0 };
  await trx.insertMany('delivery', ['outbox_id', 'sink', 'topic', 'lane_no'], deliveryRows(ready, routing));
  const ids = ready.map(({ id }) => id);
  const list = oneOfIds(trx.dialect, 'id', ids);
  await trx.change(
    `update outbox ${byPrimaryKey(trx.dialect)} set routed = 1 where ${list.sql} and routed = 0`,
    list.bindings,
  );
  return { lastId: last.id, seen: ready.length };
}

function* deliveryRows(rows: readonly UnroutedRow[], routing: Routing): Generator<Binding[]> {
  for (const row of rows) {
    for (const { topic, sink, laneNo } of deliveriesOf(row, routing)) yield [row.id, sink, topic, laneNo];
  }
}

/** What no relay has seen, in the order of ids; along its index, for by id alone it would go through all that was seen. */
export function unroutedSql(dialect: Session['dialect']): string {
  const along = dialect === 'sqlite' ? 'indexed by outbox_unrouted' : 'force index (outbox_unrouted)';
  return `select id, biz_no, batch_day, account_no, state, substr(payload, 1, 60)
    from outbox ${along} where topic = ? and routed = 0 and id > ? order by id limit ${String(rowsMax)}`;
}

async function unroutedAfter(session: Session, topic: string, after: bigint): Promise<UnroutedRow[]> {
  const rows = await session.tuples(unroutedSql(session.dialect), [topic, after]);
  return rows.map(([id, bizNo, batchDay, accountNo, state, head]) => ({
    id: toBigInt(id),
    outboxTopic: topic,
    bizNo: toText(bizNo),
    batchDay: toText(batchDay),
    accountNo: toTextOrNull(accountNo),
    isSent: toText(state) === 'SENT',
    head: toText(head),
  }));
}

/** Passes over what a run has settled and not posted yet; null when nothing behind it is posted. */
async function lastBeforeSent(session: Session, after: bigint): Promise<bigint | null> {
  const [row] = await session.tuples(`select id from outbox where state = 'SENT' and id > ? order by id limit 1`, [
    after,
  ]);
  return row === undefined ? null : toBigInt(row[0]) - 1n;
}

/** Numbers that are looked up in one statement. */
const lookUpMax = 500;

/**
 * Puts a message into the outbox for each closed day that has none; asked for by a relay that has a route for it, so that a
 * batch writes nothing for it. `since` leaves out earlier days.
 */
export async function announceClosedDays(database: Database, since: string | null, now: () => string): Promise<void> {
  const closed = await database.read((session) => unannouncedDays(session, since));
  for (const { batchDay, orders, closedAt } of closed) {
    const unit = repeatable('announce closed day', async (trx) => {
      await trx.change(`update relay_lane set turns = turns + 1 where sink = '' and lane_no = 0`);
      const known = await trx.rows('select id from outbox where biz_no = ?', [numberOf(batchDay)]);
      if (known.length > 0) return;
      const [row] = await trx.tuples(
        `select count(*) from journal_entry where batch_day = ? and type in ('SETTLEMENT', 'TERMS')`,
        [batchDay],
      );
      const payload = toJson({ v: 1, closedAt, orders, settlements: toCount(row?.[0]) });
      await trx.insertMany(
        'outbox',
        ['topic', 'biz_no', 'batch_day', 'account_no', 'orders', 'payload', 'created_at'],
        [[topics.dayClosed, numberOf(batchDay), batchDay, null, 0, payload, fromInstant(trx.dialect, now())]],
      );
    });
    await database.transact(unit);
  }
}

function numberOf(batchDay: string): string {
  return `D${batchDay}`;
}

interface ClosedDay {
  batchDay: string;
  orders: number;
  closedAt: string;
}

async function unannouncedDays(session: Session, since: string | null): Promise<ClosedDay[]> {
  const rows = await session.tuples(
    `select batch_day, orders_at_close, closed_at from batch where state = 'CLOSED' and batch_day >= ? order by batch_day`,
    [since ?? '0001-01-01'],
  );
  const closed = rows.map(([batchDay, orders, closedAt]) => {
    return { batchDay: toText(batchDay), orders: toCount(orders), closedAt: toInstant(closedAt) };
  });
  const announced = new Set<string>();
  for (let at = 0; at < closed.length; at += lookUpMax) {
    const numbers = closed.slice(at, at + lookUpMax).map(({ batchDay }) => numberOf(batchDay));
    const known = await session.tuples(`select biz_no from outbox where biz_no in (${placeholders(numbers)})`, numbers);
    for (const [bizNo] of known) announced.add(toText(bizNo));
  }
  return closed.filter(({ batchDay }) => !announced.has(numberOf(batchDay)));
}
