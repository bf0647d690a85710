import type { Database } from '../db/database.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { invariant } from '../kernel/invariant.js';
import type { Shard } from '../sharding/shard.js';
import { OrderPage } from './orderPage.js';
import { firstOrderId, ordersAfter } from './queries.js';

export interface Page {
  orders: OrderPage;
  /** Everything of the day up to this id is in this page or an earlier one. */
  lastId: bigint;
}

export interface PageRange {
  day: BatchDay;
  fromId: bigint;
  topId: bigint;
  pageSize: number;
  accounts: readonly string[] | null;
  shard: Shard | null;
}

/** Rows asked for at once: a page is read in slices, so that the driver's rows are forgotten while they are young. */
const sliceSize = 2_000;

/**
 * The day's INIT orders in pages by id watermark. Ends after `topId`; when told to stop, ends after the page at hand.
 * The last page always reaches `topId`, also when it is empty, so that the watermark does.
 */
export async function* readOrderPages(database: Database, range: PageRange, signal: AbortSignal): AsyncGenerator<Page> {
  let lastId = await beforeFirst(database, range);
  while (lastId < range.topId && !signal.aborted) {
    const page: Page = await readPage(database, range, lastId);
    invariant(page.lastId > lastId, 'WATERMARK_WENT_BACK', 'A page ended before it began.', {
      afterId: lastId,
      lastId: page.lastId,
    });
    yield page;
    lastId = page.lastId;
  }
}

/** Where reading starts: ids that are gone through one by one are not, as far as none of the day is there. */
async function beforeFirst(database: Database, { day, fromId, topId }: PageRange): Promise<bigint> {
  if (fromId >= topId) return fromId;
  if (database.source.instants === null) return fromId;
  const first = await database.read((session) => firstOrderId(session, day, fromId));
  return first === null || first > topId ? fromId : first - 1n;
}

async function readPage(database: Database, range: PageRange, fromId: bigint): Promise<Page> {
  const { day, topId, accounts, shard, pageSize } = range;
  const capacity = topId - fromId < BigInt(pageSize) ? Number(topId - fromId) : pageSize;
  const orders = new OrderPage(capacity, accounts === null && shard === null);
  let afterId = fromId;
  while (orders.length < pageSize) {
    const size = Math.min(sliceSize, pageSize - orders.length);
    const slice = await database.read((session) =>
      ordersAfter(session, { day, afterId, topId, size, accounts, shard }),
    );
    for (const order of slice) orders.add(order);
    const last = slice[slice.length - 1];
    if (slice.length < size || last === undefined) return { orders, lastId: topId };
    afterId = last.id;
  }
  return { orders, lastId: afterId };
}
