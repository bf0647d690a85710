import { countText, durationText } from './words.js';

/** One of the longest pieces of work of a run: what one lane did in one transaction. */
export interface SlowPiece {
  lane: number;
  /** The only account of the piece, or null when it had several. */
  accountNo: string | null;
  orders: number;
  durationMs: number;
  /** Of all pieces of the run. */
  medianMs: number;
}

/** From here on the slowest piece is a tail that others wait for; below a second nobody waits. */
const tail = { times: 3, ms: 1_000 };

/**
 * The slowest piece of a run against the median, in a sentence; a long tail is called so, with its account. Null for a
 * run that had no piece of work. `slowest` is longest first.
 */
export function longTailText(slowest: readonly SlowPiece[]): string | null {
  const [piece] = slowest;
  if (piece === undefined) return null;
  const { accountNo, orders, lane, durationMs, medianMs } = piece;
  const times = durationMs / Math.max(1, medianMs);
  const whose = accountNo === null ? 'several accounts' : `account ${accountNo}`;
  const what =
    `${countText(orders)} orders of ${whose} in lane ${String(lane)} took ${durationText(durationMs)}, ` +
    `${times.toFixed(1)} times the median of ${durationText(medianMs)}.`;
  return times >= tail.times && durationMs >= tail.ms ? `A long tail: ${what}` : `No long tail: at the most ${what}`;
}
