import type { Database } from '../db/database.js';
import { requireDecision, type Decision } from '../db/operatorAction.js';
import type { Session, Transaction } from '../db/session.js';
import { fromInstant, toBigInt, toCount, toText } from '../db/values.js';
import { SettleError } from '../kernel/errors.js';
import { magnitude } from '../kernel/money.js';
import type { DiscrepancyEvent, DiscrepancyState } from '../kernel/states.js';
import { bookEntries } from '../ledger/bookEntries.js';
import { openStates, type Discrepancy } from './discrepancy.js';
import { moveOn, writeMoves } from './record.js';
import { discrepancyOf } from './views.js';

export type DiscrepancyDecision = 'RESOLVE' | 'IGNORE' | 'ADJUST';

/** Amounts from which a second person must confirm, by currency. */
export type SecondPersonAbove = ReadonlyMap<string, bigint>;

export interface DecisionResult {
  readonly discrepancy: Discrepancy;
  /** PROPOSED: a second person must decide the same. REPEATED: it was decided so before. */
  readonly outcome: 'APPLIED' | 'PROPOSED' | 'REPEATED';
  /** Business number of the entry that was booked. */
  readonly adjustment: string | null;
}

/**
 * A person's decision over a difference: RESOLVE, it is explained or mended elsewhere; IGNORE, it will stay; ADJUST, the books
 * are made to say as the statement does, by an entry on the open day, which always takes two people. The record is written
 * first, then the difference moves, in one transaction. Throws NOT_FOUND, DISCREPANCY_CLOSED, SECOND_PERSON_NEEDED for the
 * person's own proposal, and ADJUSTMENT_NOT_POSSIBLE where no entry could say it.
 */
export async function decideDiscrepancy(
  database: Database,
  id: bigint,
  decision: DiscrepancyDecision,
  person: Decision,
  secondPersonAbove: SecondPersonAbove,
): Promise<DecisionResult> {
  requireDecision(person);
  return database.transact({
    name: 'decide on a discrepancy',
    work: (trx) => decide(trx, id, decision, person, secondPersonAbove),
    landed: async (session) => {
      const at = fromInstant(session.dialect, person.at);
      const own = (await reviewsOf(session, id)).find(
        (one) => one.by === person.by && one.decision === decision && one.at === at,
      );
      const discrepancy = own === undefined ? null : await discrepancyOf(session, id);
      if (discrepancy === null) return undefined;
      const outcome = isOpen(discrepancy.state) ? 'PROPOSED' : 'APPLIED';
      return { discrepancy, outcome, adjustment: discrepancy.adjustment };
    },
  });
}

async function decide(
  trx: Transaction,
  id: bigint,
  decision: DiscrepancyDecision,
  person: Decision,
  secondPersonAbove: SecondPersonAbove,
): Promise<DecisionResult> {
  // Taken first, so that of two people who decide at once the second one sees the first one's record.
  await trx.change('update discrepancy set version = version where id = ?', [id]);
  const discrepancy = await requireDiscrepancy(trx, id);
  const reviews = await reviewsOf(trx, id);
  if (!isOpen(discrepancy.state)) return repeated(discrepancy, decision, reviews);
  if (decision === 'ADJUST') requireAdjustable(discrepancy);
  const needsSecond = decision === 'ADJUST' || isLarge(discrepancy, secondPersonAbove);
  const last = reviews.at(-1);
  const proposal =
    needsSecond && last?.version === discrepancy.version && last.decision === decision ? last : undefined;
  if (proposal !== undefined && samePerson(proposal.by, person.by)) throw secondNeeded(discrepancy, proposal.by);
  const isProposal = needsSecond && proposal === undefined;
  await trx.insertMany(
    'discrepancy_review',
    ['discrepancy_id', 'decision', 'by_name', 'reason', 'at', 'discrepancy_version', 'confirms'],
    [
      [
        ...[id, decision, person.by, person.reason, fromInstant(trx.dialect, person.at), discrepancy.version],
        proposal?.id ?? null,
      ],
    ],
  );
  if (isProposal) return { discrepancy, outcome: 'PROPOSED', adjustment: null };
  const adjustment = decision === 'ADJUST' ? await adjust(trx, discrepancy, person.at) : null;
  const closing: DiscrepancyEvent = decision === 'IGNORE' ? 'ignore' : 'resolve';
  const events: DiscrepancyEvent[] = discrepancy.state === 'MANUAL' ? [closing] : ['handOver', closing];
  const actor = proposal === undefined ? person.by : `${proposal.by}, confirmed by ${person.by}`;
  const writer = { actor, now: person.at, reason: person.reason, closedBy: 'PERSON', adjustment } as const;
  if (!(await moveOn(trx, discrepancy, events, writer))) throw moved(id);
  return { discrepancy: await requireDiscrepancy(trx, id), outcome: 'APPLIED', adjustment };
}

interface StoredReview {
  id: bigint;
  decision: string;
  by: string;
  at: string;
  version: number;
}

async function reviewsOf(session: Session, id: bigint): Promise<StoredReview[]> {
  const rows = await session.rows(
    'select id, decision, by_name, at, discrepancy_version from discrepancy_review where discrepancy_id = ? order by id',
    [id],
  );
  return rows.map((row) => ({
    id: toBigInt(row['id']),
    decision: toText(row['decision']),
    by: toText(row['by_name']),
    at: toText(row['at']),
    version: toCount(row['discrepancy_version']),
  }));
}

/** Books what the statement says and the books do not: the channel's account against ADJUSTMENTS. */
async function adjust(trx: Transaction, discrepancy: Discrepancy, now: string): Promise<string> {
  const { id, batchDay, currency, adjusts } = discrepancy;
  const bizNo = `D${String(id)}.ADJUSTED.${String(discrepancy.version)}`;
  const { account, subAccount, minor } = adjusts as NonNullable<typeof adjusts>;
  const amountMinor = magnitude(minor);
  const own = { ledgerAccount: account, subAccount, amountMinor, currency: currency ?? '' };
  const other = { ledgerAccount: 'ADJUSTMENTS', subAccount: '', amountMinor, currency: currency ?? '' } as const;
  const entries = [
    { ...own, side: minor > 0n ? 'DEBIT' : 'CREDIT' } as const,
    { ...other, side: minor > 0n ? 'CREDIT' : 'DEBIT' } as const,
  ];
  await bookEntries(trx, [{ bizNo, type: 'ADJUSTMENT', batchDay, accountNo: '', entries }], now);
  return bizNo;
}

function requireAdjustable(discrepancy: Discrepancy): void {
  const { id, adjusts } = discrepancy;
  if (adjusts !== null && adjusts.minor !== 0n) return;
  throw new SettleError(
    'ADJUSTMENT_NOT_POSSIBLE',
    `No entry would settle discrepancy ${String(id)} (${discrepancy.class}): it is not one of booked money.`,
    { details: { discrepancyId: String(id) }, next: `settle discrepancy show ${String(id)}` },
  );
}

function isLarge({ currency, stakeMinor }: Discrepancy, above: SecondPersonAbove): boolean {
  const from = currency === null ? undefined : above.get(currency);
  return from !== undefined && stakeMinor >= from;
}

const stateAfter: Record<DiscrepancyDecision, DiscrepancyState> = {
  RESOLVE: 'RESOLVED',
  ADJUST: 'RESOLVED',
  IGNORE: 'IGNORED',
};

function repeated(
  discrepancy: Discrepancy,
  decision: DiscrepancyDecision,
  reviews: readonly StoredReview[],
): DecisionResult {
  const { id, state, closedBy, adjustment } = discrepancy;
  if (closedBy === 'PERSON' && reviews.at(-1)?.decision === decision && state === stateAfter[decision]) {
    return { discrepancy, outcome: 'REPEATED', adjustment };
  }
  throw new SettleError('DISCREPANCY_CLOSED', `Discrepancy ${String(id)} is ${state} already.`, {
    details: { discrepancyId: String(id), state },
    next: `settle discrepancy show ${String(id)}`,
  });
}

function isOpen(state: DiscrepancyState): boolean {
  return (openStates as readonly string[]).includes(state);
}

function samePerson(a: string, b: string): boolean {
  const plain = (name: string): string => name.normalize('NFKC').trim().toLowerCase();
  return plain(a) === plain(b);
}

function secondNeeded({ id }: Discrepancy, by: string): SettleError {
  return new SettleError('SECOND_PERSON_NEEDED', `${by} has proposed this; another person must confirm it.`, {
    details: { discrepancyId: String(id), proposedBy: by },
    next: `Another person types the same with --by THEIR_NAME: settle discrepancy show ${String(id)}`,
  });
}

async function requireDiscrepancy(session: Session, id: bigint): Promise<Discrepancy> {
  const found = await discrepancyOf(session, id);
  if (found !== null) return found;
  throw new SettleError('NOT_FOUND', `There is no discrepancy ${String(id)}.`, { next: 'settle discrepancy list' });
}

function moved(id: bigint): SettleError {
  return new SettleError('DATABASE_CONTENTION', `Discrepancy ${String(id)} is being moved by others.`);
}

/**
 * Gives a difference an owner (`assign`), who has it before them from then on, or has it looked for again by the next
 * `settle reconcile` (`retry`). Throws NOT_FOUND and DISCREPANCY_CLOSED.
 */
export async function directDiscrepancy(
  database: Database,
  id: bigint,
  what: { readonly assign: string } | 'retry',
  person: Decision,
): Promise<Discrepancy> {
  requireDecision(person);
  return database.transact({
    name: 'direct a discrepancy',
    work: async (trx) => {
      const found = await requireDiscrepancy(trx, id);
      if (!isOpen(found.state)) return repeated(found, 'RESOLVE', []).discrepancy;
      const writer = { actor: person.by, now: person.at, reason: person.reason };
      const to = what === 'retry' ? 'RETRYING' : 'MANUAL';
      if (found.state !== to) {
        if (!(await moveOn(trx, found, [what === 'retry' ? 'retry' : 'handOver'], writer))) throw moved(id);
      } else {
        const event = what === 'retry' ? 'attempt' : 'assign';
        await writeMoves(trx, [{ id, event, from: found.state, to: found.state }], writer);
      }
      if (what === 'retry') await trx.change('update discrepancy set next_ms = 0 where id = ?', [id]);
      else await trx.change('update discrepancy set owner = ? where id = ?', [what.assign, id]);
      return requireDiscrepancy(trx, id);
    },
    landed: async (session) => {
      const rows = await session.rows(
        'select id from discrepancy_move where discrepancy_id = ? and at = ? and actor = ? and reason = ?',
        [id, fromInstant(session.dialect, person.at), person.by, person.reason],
      );
      return rows.length === 0 ? undefined : requireDiscrepancy(session, id);
    },
  });
}
