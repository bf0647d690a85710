import type { Database } from '../db/database.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { invariant } from '../kernel/invariant.js';
import type { Order } from './order.js';
import { ordersAfter } from './queries.js';

export interface Page {
  orders: readonly Order[];
  /** Everything of the day up to this id is in this page or an earlier one. */
  lastId: bigint;
}

export interface PageRange {
  day: BatchDay;
  fromId: bigint;
  topId: bigint;
  pageSize: number;
  accounts: readonly string[] | null;
}

/**
 * The day's INIT orders in pages by id watermark. Ends after `topId`; when told to stop, ends after the page at hand.
 * The last page always reaches `topId`, also when it is empty, so that the watermark does.
 */
export async function* readOrderPages(database: Database, range: PageRange, signal: AbortSignal): AsyncGenerator<Page> {
  let afterId = range.fromId;
  while (afterId < range.topId && !signal.aborted) {
    const orders = await database.read((session) =>
      ordersAfter(session, {
        day: range.day,
        afterId,
        topId: range.topId,
        size: range.pageSize,
        accounts: range.accounts,
      }),
    );
    const last = orders[orders.length - 1];
    const lastId = orders.length < range.pageSize || last === undefined ? range.topId : last.id;
    invariant(lastId > afterId, 'WATERMARK_WENT_BACK', 'A page ended before it began.', { afterId, lastId });
    yield { orders, lastId };
    afterId = lastId;
  }
}
