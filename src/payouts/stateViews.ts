import type { Session } from '../db/session.js';
import { toCount, toText, toTextOrNull } from '../db/values.js';
import type { PayoutState } from '../kernel/states.js';

export interface PayoutCount {
  channel: string;
  currency: string;
  state: PayoutState;
  payouts: number;
}

/** States that a payout does not stay in, and FAILED, of which somebody is to know. SUCCESS grows for ever and is not counted. */
export const countedPayoutStates = ['INIT', 'PROCESSING', 'UNKNOWN', 'MANUAL', 'FAILED'] as const;

/** Payouts that are not done, by channel, state and currency: channel by channel along the index, past all that are paid. */
export async function payoutCounts(session: Session): Promise<PayoutCount[]> {
  const counts: PayoutCount[] = [];
  const states = countedPayoutStates.map((state) => `'${state}'`).join(', ');
  for (
    let channel = await channelAfter(session, '');
    channel !== null;
    channel = await channelAfter(session, channel)
  ) {
    const rows = await session.tuples(
      `select state, currency, count(*) from payout where channel = ? and state in (${states}) group by state, currency`,
      [channel],
    );
    for (const [state, currency, payouts] of rows) {
      counts.push({
        channel,
        currency: toText(currency),
        state: toText(state) as PayoutState,
        payouts: toCount(payouts),
      });
    }
  }
  return counts;
}

async function channelAfter(session: Session, channel: string): Promise<string | null> {
  const [row] = await session.tuples('select min(channel) from payout where channel > ?', [channel]);
  return toTextOrNull(row?.[0]);
}
