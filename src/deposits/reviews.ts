import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import { audited, requireDecision, type Decision } from '../db/operatorAction.js';
import type { Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { fromInstant } from '../db/values.js';
import { SettleError } from '../kernel/errors.js';
import { toJson } from '../kernel/json.js';
import { depositReviewMoves, move } from '../kernel/states.js';
import type { DepositPlan } from './planDeposit.js';
import { planOne, type PlannerPorts, type PlanRequest } from './planner.js';
import { log, reviewOf, type Review } from './reviewQueries.js';

/** What a reviewer was shown, as it is kept: nothing of a node but what it said of the chain. */
export function evidenceOf(plan: DepositPlan): string {
  const { state, reasonCodes, checks, event, candidates, confirmations, requiredConfirmations } = plan;
  return toJson({ state, reasonCodes, checks, event, candidates, confirmations, requiredConfirmations });
}

/** A plan that a person can decide on: it may settle, or needs no more than a decision. */
export function isReviewable({ state, reviewFingerprint, transactionHash }: DepositPlan): boolean {
  return (state === 'ready' || state === 'review_required') && reviewFingerprint !== null && transactionHash !== null;
}

/** Puts plans before people, each once for its order and fingerprint. Returns those that were not there before. */
export async function openReviews(
  database: Database,
  plans: readonly DepositPlan[],
  actor: string,
  now: string,
): Promise<DepositPlan[]> {
  const open = plans.filter(isReviewable);
  if (open.length === 0) return [];
  const unit = repeatable('open deposit reviews', async (trx) => {
    const opened: DepositPlan[] = [];
    for (const plan of open) {
      if ((await reviewOf(trx, plan.outTradeNo, plan.reviewFingerprint ?? '')) !== null) continue;
      const id = await insertReview(trx, plan, actor, now);
      const { outTradeNo, reviewFingerprint: fingerprint, reasonCode: code } = plan;
      await log(trx, { outTradeNo, reviewId: id, actor, action: 'open', to: 'open', code, fingerprint }, now);
      opened.push(plan);
    }
    return opened;
  });
  return afterOthers(() => database.transact(unit));
}

async function insertReview(trx: Transaction, plan: DepositPlan, actor: string, now: string): Promise<bigint> {
  return trx.insert(
    `insert into deposit_review
       (out_trade_no, fingerprint, transaction_hash, log_index, plan_state, codes, evidence, opened_at, opened_by)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      ...[plan.outTradeNo, plan.reviewFingerprint, plan.transactionHash, plan.claimedLogIndex, plan.state],
      ...[plan.reasonCodes.join(','), evidenceOf(plan), fromInstant(trx.dialect, now), actor],
    ],
  );
}

export interface Decided {
  readonly review: Review;
  /** `repeated` when it was decided so before. */
  readonly outcome: 'applied' | 'repeated';
}

/**
 * A person's approval of what they were shown: the plan is made anew, and only if it still has the fingerprint that was
 * submitted is it approved. Nothing is settled yet. Throws DEPOSIT_FINGERPRINT_DIFFERS, DEPOSIT_NOT_APPROVABLE.
 */
export async function approveReview(
  database: Database,
  ports: PlannerPorts,
  request: PlanRequest & { readonly fingerprint: string },
  person: Decision,
): Promise<Decided> {
  requireDecision(person);
  const { outTradeNo, fingerprint } = request;
  const known = await database.read((session) => reviewOf(session, outTradeNo, fingerprint));
  if (known?.state === 'approved' || known?.state === 'executed') return { review: known, outcome: 'repeated' };
  const place =
    known === null ? request : { outTradeNo, transactionHash: known.transactionHash, logIndex: known.logIndex };
  const plan = await planOne(database, ports, place);
  requireApprovable(plan, fingerprint);
  const unit = audited('DEPOSIT_APPROVE', person, async (trx) => {
    const before = await reviewOf(trx, outTradeNo, fingerprint);
    const id = before?.id ?? (await insertReview(trx, plan, person.by, person.at));
    const from = before?.state ?? 'open';
    if (from === 'approved' || from === 'executed') return { subject: null, result: false };
    requireDecided(await decide(trx, { id, outTradeNo, fingerprint, from }, 'approve', person, null), outTradeNo);
    return { subject: `deposit ${outTradeNo}`, result: true };
  });
  const applied = await afterOthers(() => database.transact(unit));
  return { review: await mustBe(database, outTradeNo, fingerprint), outcome: applied ? 'applied' : 'repeated' };
}

/** A person's refusal of a plan. One that was approved and not executed yet is taken back by it. Throws NOT_FOUND. */
export async function rejectReview(
  database: Database,
  outTradeNo: string,
  fingerprint: string,
  person: Decision,
): Promise<Decided> {
  requireDecision(person);
  const unit = audited('DEPOSIT_REJECT', person, async (trx) => {
    const before = await reviewOf(trx, outTradeNo, fingerprint);
    if (before === null) throw noReview(outTradeNo);
    if (before.state === 'rejected') return { subject: null, result: false };
    if (before.state === 'executed') {
      throw new SettleError('DEPOSIT_NOT_APPROVABLE', `Deposit ${outTradeNo} is settled already.`, {
        details: { outTradeNo },
        next: `settle deposit show ${outTradeNo}`,
      });
    }
    requireDecided(await decide(trx, { ...before, from: before.state }, 'reject', person, null), outTradeNo);
    return { subject: `deposit ${outTradeNo}`, result: true };
  });
  const applied = await database.transact(unit);
  return { review: await mustBe(database, outTradeNo, fingerprint), outcome: applied ? 'applied' : 'repeated' };
}

/** What the time decides over a review that nobody decided; false when somebody did meanwhile. */
export async function decideByTime(
  database: Database,
  review: Review,
  event: 'approve' | 'reject',
  code: string,
  decision: Decision,
): Promise<boolean> {
  const unit = repeatable('decide a deposit review by time', async (trx) => {
    const before = await reviewOf(trx, review.outTradeNo, review.fingerprint);
    return before?.state === 'open' && decide(trx, { ...before, from: 'open' }, event, decision, code);
  });
  return database.transact(unit);
}

type Target = Pick<Review, 'id' | 'outTradeNo' | 'fingerprint'> & { from: Review['state'] };

/**
 * `code` is null for a person, and the reason of the time otherwise. False, with nothing written, when somebody else has
 * moved the review since it was read.
 */
async function decide(
  trx: Transaction,
  { id, outTradeNo, fingerprint, from }: Target,
  event: 'approve' | 'reject',
  { by, reason, at }: Decision,
  code: string | null,
): Promise<boolean> {
  const to = move(depositReviewMoves, from, event);
  const moved = await trx.change(
    `update deposit_review set state = ?, version = version + 1, decided_at = ?, decided_by = ?, is_auto = ?,
       last_code = null
      where id = ? and state = ?`,
    [to, fromInstant(trx.dialect, at), by, code === null ? 0 : 1, id, from],
  );
  if (moved !== 1) return false;
  const action = code === null ? event : `auto-${event}`;
  await log(trx, { outTradeNo, reviewId: id, actor: by, action, from, to, code, fingerprint, reason }, at);
  return true;
}

function requireDecided(isDecided: boolean, outTradeNo: string): void {
  if (isDecided) return;
  throw new SettleError('DEPOSIT_NOT_APPROVABLE', `Somebody else decided over deposit ${outTradeNo} in this moment.`, {
    details: { outTradeNo },
    next: `settle deposit show ${outTradeNo}`,
  });
}

function requireApprovable(plan: DepositPlan, fingerprint: string): void {
  const { outTradeNo, reviewFingerprint, state, reasonCode, event } = plan;
  const details = { outTradeNo, state, reasonCode, reviewFingerprint };
  if (reviewFingerprint !== fingerprint) {
    throw new SettleError(
      'DEPOSIT_FINGERPRINT_DIFFERS',
      `review-fingerprint-mismatched: deposit ${outTradeNo} is not what it was when this fingerprint was made; it is ${state} now.`,
      { details, next: `settle deposit plan ${outTradeNo}, then approve what it shows` },
    );
  }
  if (!isReviewable(plan)) {
    const why = `Deposit ${outTradeNo} is ${state} (${reasonCode ?? ''}): only ready and review_required are approved.`;
    throw new SettleError('DEPOSIT_NOT_APPROVABLE', why, { details, next: `settle deposit plan ${outTradeNo}` });
  }
  if (event === null) {
    throw new SettleError(
      'DEPOSIT_NOT_APPROVABLE',
      `Several Transfers fit deposit ${outTradeNo}: say which is meant.`,
      {
        details,
        next: `settle deposit plan ${outTradeNo} --tx HASH --log-index N, then approve what it shows`,
      },
    );
  }
}

async function mustBe(database: Database, outTradeNo: string, fingerprint: string): Promise<Review> {
  const review = await database.read((session) => reviewOf(session, outTradeNo, fingerprint));
  if (review === null) throw noReview(outTradeNo);
  return review;
}

function noReview(outTradeNo: string): SettleError {
  return new SettleError('NOT_FOUND', `There is no review of deposit ${outTradeNo} under this fingerprint.`, {
    details: { outTradeNo },
    next: 'settle deposit review list',
  });
}
