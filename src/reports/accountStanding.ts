import type { Session } from '../db/session.js';
import { carriedOf, firstPayoutsFrom } from '../payouts/storyViews.js';
import { quarantineOf } from '../settlement/settlementViews.js';
import type { ExplainedAccount } from './explainAccount.js';
import { payoutStanding } from './explainPayout.js';
import { carriedNext, done, shellWord, type Standing, type Told } from './story.js';
import { plural } from './words.js';

/** Where the day of an account is stuck: set aside, not posted, carried forward, or a payout of the day that is not final. */
export async function accountStanding(session: Session, found: ExplainedAccount, told: Told): Promise<Standing> {
  const { accountNo, batchDay, ordersLeft, currencies } = found;
  const active = (await quarantineOf(session, batchDay, accountNo)).find(({ isActive }) => isActive);
  if (active !== undefined) {
    return {
      stuck: `It is set aside for the day: ${active.code}. ${active.detail} Mend that first.`,
      next: `settle quarantine release ${shellWord(accountNo)} --by NAME --reason TEXT`,
    };
  }
  if (ordersLeft > 0 && told.isOver(batchDay)) {
    return {
      stuck: `${plural(ordersLeft, 'order')} of the day not posted.`,
      next: `settle run --batch-day ${batchDay}`,
    };
  }
  for (const { currency } of currencies) {
    for (const payout of await firstPayoutsFrom(session, accountNo, currency, batchDay)) {
      const standing = payoutStanding(payout, null, told);
      if (payout.batchDay === batchDay && standing.stuck !== null) return standing;
    }
    const carried = await carriedOf(session, accountNo, currency);
    if (carried?.batchDay === batchDay) {
      const next = carriedNext[carried.reason] ?? 'settle payout carried';
      return { stuck: `What is payable in ${currency} is carried forward: ${carried.reason}.`, next };
    }
  }
  return done;
}
