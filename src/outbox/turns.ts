import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import type { Session, Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import {
  byPrimaryKey,
  fromInstant,
  joinInOrder,
  nowMs,
  oneOfIds,
  toBigInt,
  toCount,
  toInstant,
  toText,
  toTextOrNull,
  unindexed,
} from '../db/values.js';
import type { OutsideMessage } from './toEvent.js';
import type { Topic } from '../kernel/topics.js';

/** A lane that is this relay's until it gives it back, or until its time is over. */
export interface Turn {
  readonly sink: string;
  readonly laneNo: number;
  readonly turnNo: bigint;
  /** By the database's clock, when the turn was taken. */
  readonly nowMs: bigint;
}

export interface WaitingDelivery extends OutsideMessage {
  readonly outboxId: bigint;
  readonly attempts: number;
  /** Not to be tried again before. */
  readonly nextMs: bigint;
}

/** Makes the rows that say whose a lane is, once. */
export async function keepLanesOf(database: Database, sink: string, lanes: number): Promise<void> {
  const unit = repeatable('keep lanes of sink', async (trx) => {
    const rows = await trx.tuples('select lane_no from relay_lane where sink = ?', [sink]);
    const known = new Set(rows.map(([laneNo]) => toCount(laneNo)));
    const missing = Array.from({ length: lanes }, (_, laneNo) => laneNo).filter((laneNo) => !known.has(laneNo));
    await trx.insertMany(
      'relay_lane',
      ['sink', 'lane_no'],
      missing.map((laneNo) => [sink, laneNo]),
    );
  });
  await afterOthers(() => database.transact(unit));
}

/**
 * Takes a free lane in which something waits, the one that has waited longest for its turn; of two relays one gets it. Null
 * when there is none.
 */
export async function takeTurn(database: Database, sink: string, owner: string, leaseMs: number): Promise<Turn | null> {
  for (;;) {
    const found = await database.read((session) => freeLane(session, sink));
    if (found === null) return null;
    // Repeated after a lost COMMIT it finds the lane taken, by itself, and takes another; that one is free again in time.
    const taken = await database.transact(
      repeatable('take lane of sink', (trx) =>
        trx.change(
          `update relay_lane set owner = ?, turns = turns + 1, free_ms = ${nowMs(trx.dialect)} + ?
            where sink = ? and lane_no = ? and turns = ?`,
          [owner, leaseMs, sink, found.laneNo, found.turnNo],
        ),
      ),
    );
    if (taken === 1) return { ...found, turnNo: found.turnNo + 1n };
  }
}

/**
 * Free lanes, the one whose last turn is the longest ago first, each with the first message that is due in it. The look into a
 * lane is a value and not a condition: a server would make a condition on all that waits into one list first.
 */
export function freeLanesSql(dialect: Session['dialect']): string {
  const now = nowMs(dialect);
  return `select l.lane_no, l.turns, ${now},
                 (select d.outbox_id from delivery d
                   where d.sink = ? and d.state = 'NEW' and d.lane_no = l.lane_no and d.next_ms <= ${now}
                   order by d.outbox_id limit 1)
            from relay_lane l where l.sink = ? and l.free_ms <= ${now} order by l.turns, l.lane_no`;
}

async function freeLane(session: Session, sink: string): Promise<Turn | null> {
  const rows = await session.tuples(freeLanesSql(session.dialect), [sink, sink]);
  const row = rows.find(([, , , firstId]) => firstId !== null);
  if (row === undefined) return null;
  return { sink, laneNo: toCount(row[0]), turnNo: toBigInt(row[1]), nowMs: toBigInt(row[2]) };
}

/** What waits in a lane, oldest first, with what is to be said. */
export function waitingSql(dialect: Session['dialect'], limit: number): string {
  return `select d.outbox_id, d.topic, d.attempts, d.next_ms,
                 m.biz_no, m.batch_day, m.account_no, m.orders, m.payload, m.created_at
            from delivery d ${joinInOrder(dialect)} outbox m on m.id = d.outbox_id
           where d.sink = ? and d.state = 'NEW' and d.lane_no = ?
           order by d.outbox_id limit ${String(limit)}`;
}

export async function waitingIn(session: Session, turn: Turn, limit: number): Promise<WaitingDelivery[]> {
  const rows = await session.tuples(waitingSql(session.dialect, limit), [turn.sink, turn.laneNo]);
  return rows.map(
    ([outboxId, topic, attempts, nextMs, bizNo, batchDay, accountNo, orders, payload, createdAt]): WaitingDelivery => ({
      outboxId: toBigInt(outboxId),
      topic: toText(topic) as Topic,
      attempts: toCount(attempts),
      nextMs: toBigInt(nextMs),
      bizNo: toText(bizNo),
      batchDay: toText(batchDay),
      accountNo: toTextOrNull(accountNo),
      orders: toCount(orders),
      payload: toText(payload),
      createdAt: toInstant(createdAt),
    }),
  );
}

/** An attempt that the message itself failed. */
export interface Refusal {
  readonly outboxId: bigint;
  readonly attempts: number;
  readonly reason: string;
  /** Until the next attempt; null: no more, it is parked. */
  readonly retryMs: number | null;
}

/** What came of a turn. */
export interface TurnEnd {
  readonly sentIds: readonly bigint[];
  /** Of these, messages that are for others only: SENT once all of them have it. One to the ledger was so before. */
  readonly ownIds: readonly bigint[];
  readonly refusals: readonly Refusal[];
  /** Until somebody may take the lane again. */
  readonly freeInMs: number;
}

/**
 * Writes down what came of a turn, and gives the lane back. A confirmation counts whoever has the lane by now: the receiver
 * has the message. What is SENT already stays as it is.
 */
export async function endTurn(database: Database, turn: Turn, result: TurnEnd, now: string): Promise<void> {
  const unit = repeatable('note deliveries', async (trx) => {
    if (result.sentIds.length > 0) await markDelivered(trx, turn.sink, result, now);
    for (const refusal of result.refusals) await noteAttempt(trx, turn.sink, refusal);
    await trx.change(
      `update relay_lane set owner = null, free_ms = ${nowMs(trx.dialect)} + ?
        where sink = ? and lane_no = ? and turns = ?`,
      [result.freeInMs, turn.sink, turn.laneNo, turn.turnNo],
    );
  });
  await database.transact(unit);
}

async function markDelivered(
  trx: Transaction,
  sink: string,
  { sentIds, ownIds }: Pick<TurnEnd, 'sentIds' | 'ownIds'>,
  now: string,
): Promise<void> {
  const { dialect } = trx;
  const inOrder = (ids: readonly bigint[]): bigint[] => [...ids].sort((a, b) => (a < b ? -1 : 1));
  const own = inOrder(ownIds);
  // Held from here on, so that of two sinks that are the last ones at the same time the second sees the first.
  for (const id of own) await trx.change('update outbox set routed = 1 where id = ?', [id]);
  const list = oneOfIds(dialect, 'outbox_id', inOrder(sentIds));
  await trx.change(
    `update delivery ${byPrimaryKey(dialect)} set state = 'SENT', sent_ms = ${nowMs(dialect)}
      where ${list.sql} and ${unindexed(dialect, 'sink')} = ? and ${unindexed(dialect, 'state')} = 'NEW'`,
    [...list.bindings, sink],
  );
  for (const id of own) {
    const [row] = await trx.tuples(`select count(*) from delivery where outbox_id = ? and state <> 'SENT'`, [id]);
    if (toCount(row?.[0]) > 0) continue;
    await trx.change(`update outbox set state = 'SENT', sent_at = ? where id = ? and state = 'NEW'`, [
      fromInstant(dialect, now),
      id,
    ]);
  }
}

async function noteAttempt(trx: Transaction, sink: string, refusal: Refusal): Promise<void> {
  const { outboxId, attempts, reason, retryMs } = refusal;
  await trx.change(
    `update delivery set attempts = ?, last_error = ?, state = '${retryMs === null ? 'PARKED' : 'NEW'}',
            next_ms = ${nowMs(trx.dialect)} + ?
      where outbox_id = ? and sink = ? and state = 'NEW'`,
    [attempts, reason, retryMs ?? 0, outboxId, sink],
  );
}
