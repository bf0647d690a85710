import type { Database } from '../db/database.js';
import { requireDecision, type Decision } from '../db/operatorAction.js';
import type { Session, Transaction } from '../db/session.js';
import { fromInstant, nowMs, toBigInt, toCount, toText } from '../db/values.js';
import { SettleError } from '../kernel/errors.js';
import type { PayoutEvent, PayoutState } from '../kernel/states.js';
import type { ChannelRules } from './channel.js';
import { isKeyExpired } from './decide.js';
import type { Payout } from './payout.js';
import { payoutsOf } from './queries.js';
import { applyTransitions } from './transitions.js';

export type ReviewDecision = 'APPROVE' | 'REJECT' | 'RETRY';

const eventOf = { APPROVE: 'approve', REJECT: 'reject', RETRY: 'retry' } as const satisfies Record<
  ReviewDecision,
  PayoutEvent
>;
const stateAfter = { APPROVE: 'SUCCESS', REJECT: 'FAILED', RETRY: 'PROCESSING' } as const satisfies Record<
  ReviewDecision,
  PayoutState
>;

export interface ReviewRules {
  /** Amounts from which a second person must confirm, by currency. */
  secondPersonAbove: ReadonlyMap<string, bigint>;
  /** The rules of a channel that is configured; null of one that is not. */
  rulesOf(channel: string): Pick<ChannelRules, 'keyLifetimeMs'> | null;
}

export interface ReviewResult {
  payout: Payout;
  /** PROPOSED: a second person must decide the same. */
  outcome: 'APPLIED' | 'PROPOSED' | 'REPEATED';
  state: PayoutState;
}

/**
 * A person's decision over a MANUAL payout: APPROVE, it was paid; REJECT, it was not and goes back to the payable; RETRY, it
 * was not and is submitted again under its key. The record is written first, then the payout moves, in one transaction.
 * Throws NOT_FOUND, PAYOUT_NOT_MANUAL, SECOND_PERSON_NEEDED for the person's own proposal, and PAYOUT_KEY_EXPIRED.
 */
export async function reviewPayout(
  database: Database,
  id: bigint,
  decision: ReviewDecision,
  person: Decision,
  rules: ReviewRules,
): Promise<ReviewResult> {
  requireDecision(person);
  return database.transact({
    name: 'review payout',
    work: (trx) => review(trx, id, decision, person, rules),
    landed: async (session) => {
      const [payout] = await payoutsOf(session, [id]);
      const own = (await reviewsOf(session, id)).find(
        (one) =>
          one.by === person.by && one.decision === decision && one.at === fromInstant(session.dialect, person.at),
      );
      if (own === undefined || payout === undefined) return undefined;
      return { payout, outcome: payout.state === 'MANUAL' ? 'PROPOSED' : 'APPLIED', state: payout.state };
    },
  });
}

async function review(
  trx: Transaction,
  id: bigint,
  decision: ReviewDecision,
  person: Decision,
  rules: ReviewRules,
): Promise<ReviewResult> {
  // Taken first, so that of two people who decide at once the second one sees the first one's record.
  await trx.change('update payout set version = version where id = ?', [id]);
  const [payout] = await payoutsOf(trx, [id]);
  if (payout === undefined) throw notFound(id);
  const reviews = await reviewsOf(trx, id);
  if (payout.state !== 'MANUAL') return repeated(payout, decision, reviews);
  if (decision === 'RETRY') await requireKnownKey(trx, payout, rules);
  const proposal = needsSecond(payout, rules) ? openProposal(payout, decision, reviews) : null;
  if (proposal !== null && isSamePerson(proposal.by, person.by)) throw secondNeeded(payout, proposal.by);
  const isProposal = needsSecond(payout, rules) && proposal === null;
  await trx.insertMany(
    'payout_review',
    ['payout_id', 'decision', 'by_name', 'reason', 'at', 'payout_version', 'confirms'],
    [
      [
        ...[id, decision, person.by, person.reason, fromInstant(trx.dialect, person.at), payout.version],
        proposal?.id ?? null,
      ],
    ],
  );
  if (isProposal) return { payout, outcome: 'PROPOSED', state: 'MANUAL' };
  const people = proposal === null ? person.by : `${proposal.by}, confirmed by ${person.by}`;
  await applyTransitions(
    trx,
    [
      {
        payout,
        events: [eventOf[decision]],
        code: `REVIEW_${decision}`,
        actor: people,
        reason: person.reason,
        nextMs: null,
        fruitless: 0,
      },
    ],
    person.at,
  );
  return { payout, outcome: 'APPLIED', state: stateAfter[decision] };
}

interface StoredReview {
  id: bigint;
  decision: string;
  by: string;
  at: string;
  payoutVersion: number;
}

async function reviewsOf(session: Session, id: bigint): Promise<StoredReview[]> {
  const rows = await session.rows(
    'select id, decision, by_name, at, payout_version from payout_review where payout_id = ? order by id',
    [id],
  );
  return rows.map((row) => ({
    id: toBigInt(row['id']),
    decision: toText(row['decision']),
    by: toText(row['by_name']),
    at: toText(row['at']),
    payoutVersion: toCount(row['payout_version']),
  }));
}

/** Decided before, and nothing was left to do; anything else cannot be decided any more. */
function repeated(payout: Payout, decision: ReviewDecision, reviews: readonly StoredReview[]): ReviewResult {
  const last = reviews[reviews.length - 1];
  if (last?.decision === decision && payout.state === stateAfter[decision]) {
    return { payout, outcome: 'REPEATED', state: payout.state };
  }
  throw new SettleError(
    'PAYOUT_NOT_MANUAL',
    `Payout ${String(payout.id)} is ${payout.state}: only MANUAL ones are reviewed.`,
    {
      details: { payoutId: String(payout.id), state: payout.state },
      next: `settle payout show ${String(payout.id)}`,
    },
  );
}

async function requireKnownKey(trx: Transaction, payout: Payout, { rulesOf }: ReviewRules): Promise<void> {
  const [row] = await trx.rows(`select ${nowMs(trx.dialect)} as now_ms`);
  const sinceFirstSentMs = Number(toBigInt(row?.['now_ms']) - (payout.firstSentMs ?? 0n));
  const rules = rulesOf(payout.channel);
  if (rules !== null && !isKeyExpired({ sinceFirstSentMs }, rules)) return;
  const why = rules === null ? 'its channel is not configured' : 'the channel may have forgotten its key';
  throw new SettleError('PAYOUT_KEY_EXPIRED', `Payout ${String(payout.id)} cannot be submitted again: ${why}.`, {
    details: { payoutId: String(payout.id), channel: payout.channel },
    next: `If it was not paid: settle payout review ${String(payout.id)} --reject. The amount is paid with the next day then.`,
  });
}

function needsSecond({ amountMinor, currency }: Payout, { secondPersonAbove }: ReviewRules): boolean {
  const from = secondPersonAbove.get(currency);
  return from !== undefined && amountMinor >= from;
}

/** The last proposal since the payout became MANUAL, if it says the same. */
function openProposal(payout: Payout, decision: ReviewDecision, reviews: readonly StoredReview[]): StoredReview | null {
  const last = reviews[reviews.length - 1];
  return last?.payoutVersion === payout.version && last.decision === decision ? last : null;
}

function isSamePerson(a: string, b: string): boolean {
  const plain = (name: string): string => name.normalize('NFKC').trim().toLowerCase();
  return plain(a) === plain(b);
}

function notFound(id: bigint): SettleError {
  return new SettleError('NOT_FOUND', `There is no payout ${String(id)}.`, { next: 'settle payout list' });
}

function secondNeeded({ id }: Payout, by: string): SettleError {
  return new SettleError('SECOND_PERSON_NEEDED', `${by} has proposed this; another person must confirm it.`, {
    details: { payoutId: String(id), proposedBy: by },
    next: `Another person types: settle payout review ${String(id)} … --by THEIR_NAME --reason TEXT`,
  });
}
