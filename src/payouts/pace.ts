import type { Database } from '../db/database.js';
import { afterOthers } from '../db/afterOthers.js';
import type { Transaction } from '../db/session.js';
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
  const [row] = await trx.rows(`select ${nowMs(trx.dialect)} as now_ms`);
  return toBigInt(row?.['now_ms']);
}

/**
 * Reserves the next `requests` places of a channel that takes `perSecond`; gives how long from now the first one is.
 * After `takePace`, in the same transaction.
 */
export async function reservePlaces(
  trx: Transaction,
  channel: string,
  now: bigint,
  { requests, perSecond }: { requests: number; perSecond: number },
): Promise<number> {
  const [row] = await trx.rows('select next_us from channel_pace where channel = ?', [channel]);
  const [nowUs, nextUs] = [now * 1_000n, toBigInt(row?.['next_us'])];
  const startUs = nextUs > nowUs ? nextUs : nowUs;
  const endUs = startUs + BigInt(Math.ceil((requests * 1_000_000) / perSecond));
  await trx.change('update channel_pace set next_us = ? where channel = ?', [endUs, channel]);
  return Number(startUs - nowUs) / 1_000;
}
