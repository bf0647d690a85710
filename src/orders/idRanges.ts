/** Ids from one to another, both included. */
export interface IdRange {
  firstId: bigint;
  lastId: bigint;
}

/** Whether the range of so many orders holds few others, so that the database finds them faster by it than one by one. */
export function liesClose({ firstId, lastId }: IdRange, orders: number): boolean {
  return lastId - firstId < 2n * BigInt(orders);
}

/**
 * Order ids as text: ascending, runs as first-last ("5-9,12,15-20"). An account's orders of a page are many small
 * numbers; this keeps a message of thousands of orders short, readable and independent of 2^53.
 */
export function toIdRanges(ids: readonly bigint[]): string {
  const parts: string[] = [];
  for (let start = 0; start < ids.length;) {
    let end = start;
    while (end + 1 < ids.length && ids[end + 1] === (ids[end] as bigint) + 1n) end += 1;
    parts.push(start === end ? String(ids[start]) : `${String(ids[start])}-${String(ids[end])}`);
    start = end + 1;
  }
  return parts.join(',');
}

const shape = /^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$/;

/** The ids again; null for a text that `toIdRanges` cannot have written, or that would hold more than `most` ids. */
export function fromIdRanges(text: string, most: number): bigint[] | null {
  if (!shape.test(text)) return null;
  const ids: bigint[] = [];
  for (const part of text.split(',')) {
    const dash = part.indexOf('-');
    if (dash < 0) ids.push(BigInt(part));
    else {
      const [first, last] = [BigInt(part.slice(0, dash)), BigInt(part.slice(dash + 1))];
      if (last < first || last - first >= BigInt(most)) return null;
      for (let id = first; id <= last; id += 1n) ids.push(id);
    }
    if (ids.length > most) return null;
  }
  return ids;
}
