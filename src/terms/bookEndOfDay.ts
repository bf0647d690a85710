import type { Database } from '../db/database.js';
import type { Session, Transaction } from '../db/session.js';
import type { Unit } from '../db/transaction.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { appendOutbox } from '../outbox/append.js';
import type { SettlementMessage } from '../outbox/message.js';
import { planDayEnd, planRounding, type AccountEnd } from './endOfDay.js';
import { chargedFees, insertEffects, readDayEnd } from './endOfDayQueries.js';
import { feesWithPlanned, withPlanned, type PlannedNet } from './plannedEnd.js';
import type { TermsReason } from './termsLine.js';
import { hasTerms, reserveTerms } from './termsQueries.js';

/** What the terms of all accounts did at the end of a day, by reason and currency. */
export interface TermsTotal {
  reason: TermsReason;
  currency: string;
  effects: number;
  amountMinor: bigint;
}

export interface EndedDay {
  messages: number;
  totals: TermsTotal[];
}

/** Accounts in one transaction. */
const accountsMax = 1_000;

/**
 * Ends a day of which everything is posted, as the terms of its accounts want it: each effect is stored with a message to
 * the ledger, together or not at all, and only once however often this is done. `fence` refuses the commit to a run whose
 * lease was taken over. Returns how many messages wait to be posted, and what they
 * come to.
 */
export async function bookEndOfDay(
  database: Database,
  { id: runId, day }: { id: bigint; day: BatchDay },
  { now, fence }: { now: () => string; fence: (trx: Transaction) => Promise<void> },
): Promise<EndedDay> {
  const ends = await database.snapshot((session) => planEnds(session, day, []));
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
  return { messages: numbered.length, totals: totalsOf(ends) };
}

function messageOf(
  day: BatchDay,
  { bizNo, accountNo, currency, effects }: AccountEnd & { bizNo: string },
): SettlementMessage {
  const terms = effects.map(({ reason, amountMinor, originDay }) => ({ reason, amountMinor, originDay }));
  return { bizNo, batchDay: day, accountNo, currency, netMinor: 0n, lines: [], terms, orderIds: [] };
}

/** What would be booked if these nets were written and posted, too. Reads only. */
export async function dryEndOfDay(database: Database, day: BatchDay, nets: readonly PlannedNet[]): Promise<EndedDay> {
  const ends = await database.snapshot((session) => planEnds(session, day, nets));
  return { messages: ends.length, totals: totalsOf(ends) };
}

async function planEnds(session: Session, day: BatchDay, nets: readonly PlannedNet[]): Promise<AccountEnd[]> {
  if (!(await hasTerms(session))) return [];
  const isDry = nets.length > 0;
  const end = await readDayEnd(session, day, isDry);
  const terms = isDry ? await reserveTerms(session, [...new Set(nets.map(({ termsId }) => termsId))]) : new Map();
  const fees = feesWithPlanned(await chargedFees(session, day), nets);
  const rounding = fees.map((charged) => planRounding(day, charged)).filter(({ effects }) => effects.length > 0);
  return [...planDayEnd(withPlanned(end, nets, terms)), ...rounding];
}

function totalsOf(ends: readonly AccountEnd[]): TermsTotal[] {
  const totals = new Map<string, TermsTotal>();
  for (const { currency, effects } of ends) {
    for (const { reason, amountMinor } of effects) {
      const known = totals.get(`${reason} ${currency}`) ?? { reason, currency, effects: 0, amountMinor: 0n };
      totals.set(`${reason} ${currency}`, {
        ...known,
        effects: known.effects + 1,
        amountMinor: known.amountMinor + amountMinor,
      });
    }
  }
  return [...totals].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, total]) => total);
}
