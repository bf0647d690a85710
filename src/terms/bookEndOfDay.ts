import type { Database } from '../db/database.js';
import type { Transaction } from '../db/session.js';
import type { Unit } from '../db/transaction.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { appendOutbox } from '../outbox/append.js';
import type { SettlementMessage } from '../outbox/message.js';
import { planDayEnd, planRounding, type AccountEnd } from './endOfDay.js';
import { chargedFees, insertEffects, readDayEnd } from './endOfDayQueries.js';
import { hasTerms } from './termsQueries.js';

/** Accounts in one transaction. */
const accountsMax = 1_000;

/**
 * Ends a day of which everything is posted, as the terms of its accounts want it: each effect is stored with a message to
 * the ledger, together or not at all, and only once however often this is done. `fence` refuses the commit to a run whose
 * lease was taken over. Returns how many messages wait to be posted.
 */
export async function bookEndOfDay(
  database: Database,
  { id: runId, day }: { id: bigint; day: BatchDay },
  { now, fence }: { now: () => string; fence: (trx: Transaction) => Promise<void> },
): Promise<number> {
  const ends = await database.snapshot(async (session) => {
    if (!(await hasTerms(session))) return [];
    const rounding = (await chargedFees(session, day)).map((fees) => planRounding(day, fees));
    return [...planDayEnd(await readDayEnd(session, day)), ...rounding.filter(({ effects }) => effects.length > 0)];
  });
  const numbered = ends.map((end, at) => ({ ...end, bizNo: `T${String(runId)}.${String(at + 1)}` }));
  for (let start = 0; start < numbered.length; start += accountsMax) {
    const part = numbered.slice(start, start + accountsMax);
    const unit: Unit<number> = {
      name: 'end day by terms',
      work: async (trx) => {
        await insertEffects(trx, day, part);
        await appendOutbox(
          trx,
          part.map((end) => messageOf(day, end)),
          now(),
        );
        await fence(trx);
        return part.length;
      },
      landed: async (session) => {
        const [row] = await session.rows('select id from outbox where biz_no = ?', [part[0]?.bizNo ?? '']);
        return row === undefined ? undefined : part.length;
      },
    };
    await database.transact(unit);
  }
  return numbered.length;
}

function messageOf(
  day: BatchDay,
  { bizNo, accountNo, currency, effects }: AccountEnd & { bizNo: string },
): SettlementMessage {
  const terms = effects.map(({ reason, amountMinor, originDay }) => ({ reason, amountMinor, originDay }));
  return { bizNo, batchDay: day, accountNo, currency, netMinor: 0n, lines: [], terms, orderIds: [] };
}
