/** Orders that one transaction of the floor takes: the ids `first` … `last`. */
export interface Range {
  chunkNo: number;
  first: number;
  last: number;
}

/**
 * The ids 1 … `orders`, each in one range, for several connections to take the next one from. Messages get ids from a
 * range's `first` on, and there are never more of them than orders, so that no two ranges make the same id.
 */
export function* dealRanges(orders: number, rangeOrders: number): Generator<Range, void> {
  for (let first = 1, chunkNo = 1; first <= orders; first += rangeOrders, chunkNo += 1) {
    yield { chunkNo, first, last: Math.min(first + rangeOrders - 1, orders) };
  }
}
