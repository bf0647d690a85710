import type { Database } from '../db/database.js';
import { repeatable } from '../db/transaction.js';
import { throwIfCancelled } from '../kernel/cancellation.js';
import { appendAlerts, type Alert } from '../outbox/append.js';
import { explorerLink } from './deposit.js';
import type { DepositPlan } from './planDeposit.js';
import { planOne } from './planner.js';
import { retryable, type ReasonCode } from './reasons.js';
import { decideByTime } from './reviews.js';
import { log, reviewsIn, reviewsToRetry, type Review } from './reviewQueries.js';
import { isExecutable, settleReview, type Executor, type SettleOutcome, type SettlePorts } from './settleDeposit.js';

export interface AutoRules {
  readonly timeoutMs: number;
  readonly action: 'auto-approve' | 'auto-reject';
  readonly executeApproved: boolean;
  readonly reviewLimit: number;
  readonly maxAttempts: number;
  readonly retryLimit: number;
}

export interface AutoResult {
  approved: number;
  rejected: number;
  /** Could not be decided, since a node did not answer: the next call does. */
  postponed: number;
  settled: number;
  skipped: { outTradeNo: string; code: ReasonCode }[];
  exhausted: number;
}

const executor = (action: Executor['action'], reason: string): Executor => ({
  by: 'settle deposit auto',
  action,
  reason,
});

/**
 * What needs no person: decides over reviews that waited too long, as configured, and settles approved ones whose last
 * attempt failed for what may pass. Both settle by the same function as a person does. Safe to run twice at once.
 */
export async function runAuto(database: Database, ports: SettlePorts, rules: AutoRules): Promise<AutoResult> {
  const result: AutoResult = { approved: 0, rejected: 0, postponed: 0, settled: 0, skipped: [], exhausted: 0 };
  await decideTimedOut(database, ports, rules, result);
  const includeAuto = rules.executeApproved;
  const waiting = await database.read((session) =>
    reviewsToRetry(session, [...retryable], includeAuto, rules.retryLimit),
  );
  for (const review of waiting) {
    throwIfCancelled(ports.signal);
    if (review.attempts >= rules.maxAttempts) {
      await giveUp(database, ports, review);
      result.exhausted += 1;
      continue;
    }
    const action = review.attempts === 0 && review.lastCode === null ? 'auto-execute' : 'auto-retry';
    const outcome = await settleReview(
      database,
      ports,
      review,
      executor(action, `after ${review.lastCode ?? 'approval'}`),
    );
    if (outcome.outcome !== 'skipped') result.settled += 1;
    else {
      result.skipped.push({ outTradeNo: review.outTradeNo, code: outcome.code });
      await noteSkip(database, ports, review, outcome, action);
    }
  }
  return result;
}

async function decideTimedOut(
  database: Database,
  ports: SettlePorts,
  rules: AutoRules,
  result: AutoResult,
): Promise<void> {
  const at = ports.now();
  const until = new Date(Date.parse(at) - rules.timeoutMs).toISOString();
  const timedOut = await database.read((session) => reviewsIn(session, 'open', rules.reviewLimit, until));
  for (const review of timedOut) {
    throwIfCancelled(ports.signal);
    const decision = {
      by: 'settle deposit auto',
      reason: `nobody decided within ${String(rules.timeoutMs / 60_000)} min`,
      at,
    };
    if (rules.action === 'auto-reject') {
      if (await decideByTime(database, review, 'reject', 'timeout', decision)) result.rejected += 1;
      continue;
    }
    const { outTradeNo, transactionHash, logIndex, fingerprint } = review;
    const plan = await planOne(database, ports, { outTradeNo, transactionHash, logIndex }, fingerprint);
    if (plan.state === 'failed') {
      result.postponed += 1;
      continue;
    }
    // The time approves what is ready and nothing else: what asks for a person is never its to approve.
    const isGood = plan.state === 'ready' && isExecutable(plan);
    const code = isGood ? 'timeout' : (plan.reasonCode ?? 'timeout');
    if (!(await decideByTime(database, review, isGood ? 'approve' : 'reject', code, decision))) continue;
    if (isGood) result.approved += 1;
    else result.rejected += 1;
  }
}

/**
 * Keeps why an approved review was not settled: a line of the log, the count of automatic attempts, and an alert where no
 * automatic attempt will help.
 */
export async function noteSkip(
  database: Database,
  ports: SettlePorts,
  review: Review,
  { code, plan }: Extract<SettleOutcome, { outcome: 'skipped' }>,
  action: Executor['action'],
  actor = 'settle deposit auto',
): Promise<void> {
  const now = ports.now();
  const { id, outTradeNo, fingerprint } = review;
  const isAuto = action !== 'settle';
  const unit = repeatable('note a skipped deposit', async (trx) => {
    const noted = await trx.change(
      `update deposit_review set last_code = ?, attempts = attempts + ?, version = version + 1
        where id = ? and state = 'approved' and version = ?`,
      [code, isAuto ? 1 : 0, id, review.version],
    );
    if (noted === 0) return;
    await log(trx, { outTradeNo, reviewId: id, actor, action, code, fingerprint, reason: 'skipped' }, now);
    if (isAuto && !retryable.has(code)) await appendAlerts(trx, [alertOf(ports, review, plan, code)], now);
  });
  await database.transact(unit);
}

/** Says once that the automatic attempts are used up; the review stays approved for a person to settle. */
async function giveUp(database: Database, ports: SettlePorts, review: Review): Promise<void> {
  const code: ReasonCode = 'retry-attempts-exhausted';
  const { id, outTradeNo, fingerprint } = review;
  const now = ports.now();
  const unit = repeatable('give a deposit up', async (trx) => {
    const noted = await trx.change(
      `update deposit_review set last_code = ?, version = version + 1 where id = ? and state = 'approved' and version = ?`,
      [code, id, review.version],
    );
    if (noted === 0) return;
    const line = { outTradeNo, reviewId: id, actor: 'settle deposit auto', action: 'auto-retry', code, fingerprint };
    await log(trx, { ...line, reason: `last: ${review.lastCode ?? ''}` }, now);
    await appendAlerts(trx, [alertOf(ports, review, null, code)], now);
  });
  await database.transact(unit);
}

/** What a person is told: order, chain, transaction and reason. Never where a node is, nor what it said. */
function alertOf(ports: SettlePorts, review: Review, plan: DepositPlan | null, code: ReasonCode): Alert {
  const { id, outTradeNo, transactionHash } = review;
  const chainName = plan?.event?.chainName ?? null;
  const chain = chainName === null ? null : (ports.chain(chainName)?.rules ?? null);
  return {
    bizNo: `DR${String(id)}.${code === 'retry-attempts-exhausted' ? 'EXHAUSTED' : 'SKIPPED'}`,
    batchDay: ports.openDay(),
    accountNo: '',
    content: {
      code,
      outTradeNo,
      chainName,
      transactionHash,
      explorer: explorerLink(chain, transactionHash),
      suggestedAction: `settle deposit show ${outTradeNo}`,
    },
  };
}
