import type { Database } from '../db/database.js';
import { isUniqueViolation } from '../db/failure.js';
import type { Session } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { nowMs, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { DayOutcome } from '../kernel/dayOutcome.js';

/** A day and what it has come to. */
export interface Standing {
  batchDay: BatchDay;
  outcome: DayOutcome;
}

/** What a target was last told, by day; empty for a target that has never been told anything. */
export async function toldTo(session: Session, target: string): Promise<Map<BatchDay, DayOutcome | null>> {
  const rows = await session.rows('select batch_day, told from notification where target = ?', [target]);
  return new Map(rows.map((row) => [toText(row['batch_day']), toTextOrNull(row['told']) as DayOutcome | null]));
}

/**
 * What of the standings is news to a target. One that is new here is told of the newest day only: the days before it
 * ended when nobody had asked to be told.
 */
export function newsFor(
  standings: readonly Standing[],
  told: ReadonlyMap<BatchDay, DayOutcome | null>,
): { tell: Standing[]; passOver: Standing[] } {
  const news = standings.filter(({ batchDay, outcome }) => told.get(batchDay) !== outcome);
  return told.size > 0 ? { tell: news, passOver: [] } : { tell: news.slice(-1), passOver: news.slice(0, -1) };
}

/** Notes days as told that ended before the target was configured. */
export async function passOver(database: Database, target: string, standings: readonly Standing[]): Promise<void> {
  if (standings.length === 0) return;
  for (const { batchDay } of standings) await addRow(database, batchDay, target);
  await database.transact(
    repeatable('pass over old days', async (trx) => {
      for (const { batchDay, outcome } of standings) {
        await trx.change(
          `update notification set told = ?, told_ms = ${nowMs(trx.dialect)}
            where batch_day = ? and target = ? and told is null`,
          [outcome, batchDay, target],
        );
      }
    }),
  );
}

/** The right to tell a target of a day, until it is over. */
export interface Claim {
  batchDay: BatchDay;
  target: string;
  claimNo: bigint;
  /** What was told before. */
  previous: DayOutcome | null;
  /** Deliveries so far. */
  changes: number;
}

export type Claiming =
  { kind: 'claimed'; claim: Claim } | { kind: 'told' } | { kind: 'waiting'; /** Until its claim ends. */ ms: number };

/**
 * Asks for the right to tell: given to one process at a time, so that those that share a day do not all tell of it. It ends
 * by itself after `ms`, for its holder may be dead.
 */
export async function claimTelling(
  database: Database,
  target: string,
  standing: Standing,
  ms: number,
): Promise<Claiming> {
  const { batchDay, outcome } = standing;
  await addRow(database, batchDay, target);
  return database.transact(
    // Repeated after a lost COMMIT it meets its own claim and waits for its end: told later, and not twice.
    repeatable('claim notification', async (trx): Promise<Claiming> => {
      const now = nowMs(trx.dialect);
      const [row] = await trx.rows(
        `select told, changes, claim_no, claim_ms - ${now} as left_ms from notification where batch_day = ? and target = ?`,
        [batchDay, target],
      );
      const previous = toTextOrNull(row?.['told']) as DayOutcome | null;
      if (previous === outcome) return { kind: 'told' };
      const leftMs = Number(toBigInt(row?.['left_ms']));
      if (leftMs > 0) return { kind: 'waiting', ms: leftMs };
      const before = toBigInt(row?.['claim_no']);
      const claimed = await trx.change(
        `update notification set claim_no = claim_no + 1, claim_ms = ${now} + ?
          where batch_day = ? and target = ? and claim_no = ?`,
        [ms, batchDay, target, before],
      );
      if (claimed !== 1) return { kind: 'waiting', ms };
      return {
        kind: 'claimed',
        claim: { batchDay, target, claimNo: before + 1n, previous, changes: toCount(row?.['changes']) },
      };
    }),
  );
}

/** Notes that the target has it; without an outcome, gives the claim back, so that the next run tells it. */
export async function endClaim(database: Database, claim: Claim, told: DayOutcome | null): Promise<void> {
  const { batchDay, target, claimNo } = claim;
  await database.transact(
    repeatable('end of notification', (trx) =>
      told === null
        ? trx.change(`update notification set claim_ms = 0 where batch_day = ? and target = ? and claim_no = ?`, [
            batchDay,
            target,
            claimNo,
          ])
        : trx.change(
            `update notification set told = ?, told_ms = ${nowMs(trx.dialect)}, changes = ?, claim_ms = 0
              where batch_day = ? and target = ? and claim_no = ?`,
            [told, claim.changes + 1, batchDay, target, claimNo],
          ),
    ),
  );
}

async function addRow(database: Database, batchDay: BatchDay, target: string): Promise<void> {
  const key = [batchDay, target];
  try {
    await database.transact(
      repeatable('day to be told', async (trx) => {
        const known = await trx.rows('select batch_day from notification where batch_day = ? and target = ?', key);
        if (known.length === 0) await trx.change('insert into notification (batch_day, target) values (?, ?)', key);
      }),
    );
  } catch (error) {
    // Another process was faster.
    if (!isUniqueViolation(error)) throw error;
  }
}
