import type { Database } from '../db/database.js';
import { afterOthers } from '../db/afterOthers.js';
import type { Session, Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { nowMs, toBigInt } from '../db/values.js';

/** Makes the row that keeps a channel's pace, once. */
export async function keepPaceOf(database: Database, channel: string): Promise<void> {
  const unit = repeatable('keep pace of channel', async (trx) => {
    const known = await trx.rows('select channel from channel_pace where channel = ?', [channel]);
    if (known.length === 0) await trx.insertMany('channel_pace', ['channel', 'claims', 'next_us'], [[channel, 0, 0]]);
  });
  await afterOthers(() => database.transact(unit));
}

/**
 * Takes a channel's pace for this transaction: whoever claims for the same channel waits, so that two processes share its
 * work and its rate. Gives the database's clock in milliseconds.
 */
export async function takePace(trx: Transaction, channel: string): Promise<bigint> {
  await trx.change('update channel_pace set claims = claims + 1 where channel = ?', [channel]);
  return clockMs(trx);
}

/** The database's clock beside this process's own, so that what is agreed on in the one is kept by the other. */
export interface ClockReading {
  databaseMs: number;
  /** Of `performance.now()`. */
  localMs: number;
}

/** Reads both clocks; of several readings the one that took least, since the truth lies anywhere within it. */
export async function readClocks(database: Database): Promise<ClockReading> {
  let best: ClockReading & { tookMs: number } = { databaseMs: 0, localMs: 0, tookMs: Infinity };
  for (let reading = 0; reading < 3 && best.tookMs > 2; reading += 1) {
    const startMs = performance.now();
    const databaseMs = await database.read(clockMs);
    const tookMs = performance.now() - startMs;
    if (tookMs < best.tookMs) best = { databaseMs: Number(databaseMs), localMs: startMs + tookMs / 2, tookMs };
  }
  return best;
}

async function clockMs(session: Session): Promise<bigint> {
  const [row] = await session.rows(`select ${nowMs(session.dialect)} as now_ms`);
  return toBigInt(row?.['now_ms']);
}

/** Of what a channel takes, so much is used: requests that are told apart by milliseconds here may arrive closer together. */
const used = 0.96;

/** Requests a second at which places follow one another. */
export function paceOf(perSecond: number): number {
  return perSecond * used;
}

/**
 * Reserves the next `requests` places of a channel, which lie 1 / `paceOf` s apart; gives when the first one is, in
 * milliseconds of the database's clock, not before `leadMs` from now. After `takePace`, in the same transaction.
 */
export async function reservePlaces(
  trx: Transaction,
  channel: string,
  { requests, perSecond, leadMs }: { requests: number; perSecond: number; leadMs: number },
): Promise<number> {
  const [row] = await trx.rows('select next_us from channel_pace where channel = ?', [channel]);
  const [earliestUs, nextUs] = [((await clockMs(trx)) + BigInt(leadMs)) * 1_000n, toBigInt(row?.['next_us'])];
  const startUs = nextUs > earliestUs ? nextUs : earliestUs;
  const endUs = startUs + BigInt(Math.ceil((requests * 1_000_000) / paceOf(perSecond)));
  await trx.change('update channel_pace set next_us = ? where channel = ?', [endUs, channel]);
  return Number(startUs) / 1_000;
}
