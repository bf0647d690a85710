import type { Database } from '../db/database.js';
import { addDays, type BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import { daysOwedByOrders } from '../orders/lateViews.js';
import { releasedDays } from '../settlement/quarantine.js';
import { batchesBefore, batchOf } from './batchQueries.js';
import { unendedDays } from './runQueries.js';

/**
 * The days to settle, in order: what is owed of the look-back before `target`, then `target` itself if anything of it is
 * owed. A closed day is owed again when orders came to it since it was closed, an account of it was released, or its last
 * run did not end well (it died after closing, or found a contradiction).
 * A day still open from before the look-back is refused with EARLIER_DAY_OPEN: its gap must not be forgotten.
 */
export async function planDays(database: Database, target: BatchDay, lookBackDays: number): Promise<BatchDay[]> {
  const from = addDays(target, -lookBackDays);
  return database.snapshot(async (session) => {
    const batches = await batchesBefore(session, from, target);
    const forgotten = batches.find((batch) => batch.day < from);
    if (forgotten !== undefined) {
      throw new SettleError('EARLIER_DAY_OPEN', `Batch day ${forgotten.day} is still ${forgotten.state}.`, {
        details: { batchDay: forgotten.day, state: forgotten.state },
        next: `settle run --batch-day ${forgotten.day}`,
      });
    }
    const owed = new Set(await releasedDays(session, from, target));
    for (const day of await unendedDays(session, from, target)) owed.add(day);
    const closedWith = new Map<BatchDay, number>();
    for (const batch of batches) {
      if (batch.state === 'CLOSED') closedWith.set(batch.day, batch.ordersAtClose ?? 0);
      else owed.add(batch.day);
    }
    const own = await batchOf(session, target);
    if (own?.state === 'CLOSED') closedWith.set(target, own.ordersAtClose ?? 0);
    else owed.add(target);
    for (const day of await daysOwedByOrders(session, from, target, closedWith)) owed.add(day);
    return [...owed].sort();
  });
}
