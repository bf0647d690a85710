import type { Database } from '../db/database.js';
import { instantText } from '../kernel/clock.js';
import { planPayouts, type PayoutPlan } from '../payouts/planPayouts.js';
import type { CommandContext } from './context.js';
import { payoutTermsOn, paysOut, routesOf } from './payoutChannels.js';

/** Makes the payout tasks of the last closed day; null where nothing is paid out or no day is closed. */
export async function planClosedDay(context: CommandContext, database: Database): Promise<PayoutPlan | null> {
  if (!paysOut(context.config)) return null;
  return planPayouts(database, {
    namespace: context.config.payouts.namespace,
    now: () => instantText(context.clock.now()),
    termsOn: payoutTermsOn,
    routesOf: (session, accountNos) => routesOf(context.config, session, accountNos),
    signal: context.signal,
  });
}
