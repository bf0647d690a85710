import type { Session } from '../db/session.js';
import { toBigInt, toCount, toText } from '../db/values.js';

/** Payouts that are not final, over all channels. */
export interface OpenPayouts {
  INIT: number;
  PROCESSING: number;
  UNKNOWN: number;
  MANUAL: number;
  /** PROCESSING, and last sent before a moment. */
  stuck: number;
  /** When the first of them was last sent. */
  stuckSinceMs: number | null;
}

/** Along the index of channels and states, however many payouts are final. `beforeMs` is of the database's clock. */
export async function payoutsNotFinal(session: Session, beforeMs: number): Promise<OpenPayouts> {
  const found: OpenPayouts = { INIT: 0, PROCESSING: 0, UNKNOWN: 0, MANUAL: 0, stuck: 0, stuckSinceMs: null };
  for (const [channel] of await session.tuples('select distinct channel from payout')) {
    const name = toText(channel);
    const counted = await session.tuples(
      `select state, count(*) from payout
        where channel = ? and state in ('INIT', 'PROCESSING', 'UNKNOWN', 'MANUAL') group by state`,
      [name],
    );
    for (const [state, payouts] of counted) found[toText(state) as 'INIT'] += toCount(payouts);
    const [stuck] = await session.tuples(
      `select count(*), min(last_sent_ms) from payout where channel = ? and state = 'PROCESSING' and last_sent_ms < ?`,
      [name, BigInt(beforeMs)],
    );
    found.stuck += toCount(stuck?.[0]);
    const since = stuck?.[1] === null || stuck === undefined ? null : Number(toBigInt(stuck[1]));
    if (since !== null) found.stuckSinceMs = Math.min(found.stuckSinceMs ?? since, since);
  }
  return found;
}
