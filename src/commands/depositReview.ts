import { hostname } from 'node:os';
import type { Database } from '../db/database.js';
import { runAuto, type AutoResult } from '../deposits/auto.js';
import type { DepositPlan } from '../deposits/planDeposit.js';
import { planOne, planPending } from '../deposits/planner.js';
import { approveReview, isReviewable, openReviews, rejectReview, type Decided } from '../deposits/reviews.js';
import { reviewsIn, type Review } from '../deposits/reviewQueries.js';
import { instantText } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { printable } from '../kernel/printable.js';
import { depositReviewMoves, type DepositReviewState } from '../kernel/states.js';
import { textTable } from '../reports/tables.js';
import { countText, momentText, plural } from '../reports/words.js';
import { requireLimit } from './arguments.js';
import { withDatabase, type Command, type CommandContext } from './context.js';
import { planRequest } from './deposit.js';
import { withChains } from './depositChains.js';
import { deliverDeposits, type Delivered } from './depositScenes.js';

/** A review as documents show it. */
export function reviewDocument(review: Review): Record<string, unknown> {
  const { id, outTradeNo, fingerprint, transactionHash, logIndex, planState, codes, state } = review;
  const { openedAt, openedBy, decidedAt, decidedBy, isAuto, attempts, lastCode } = review;
  return {
    ...{ reviewId: String(id), outTradeNo, state, planState, reasonCodes: codes, reviewFingerprint: fingerprint },
    ...{ transactionHash, logIndex, openedAt, openedBy, decidedAt, decidedBy, automatic: isAuto, attempts, lastCode },
  };
}

/** `settle deposit review list`: what waits for a decision, the oldest first. */
export const list: Command<{ state?: string; all?: boolean; limit?: number }> = (context, options) => {
  const state = options.state ?? (options.all === true ? null : 'open');
  if (state !== null && !Object.hasOwn(depositReviewMoves, state)) {
    throw new SettleError('USAGE', `--state must be one of ${Object.keys(depositReviewMoves).join(', ')}.`);
  }
  const limit = requireLimit(options.limit, 1_000);
  return withDatabase(context, async (database) => {
    const reviews = await database.read((session) => reviewsIn(session, state as DepositReviewState | null, limit));
    if (context.output !== 'text') {
      await context.document({ schema: 'settle.depositReviews', reviews: reviews.map(reviewDocument) });
    } else await context.print(reviews.length === 0 ? 'No such review.' : reviewsText(reviews));
    return exitCodes.OK;
  });
};

export function reviewsText(reviews: readonly Review[]): string {
  const titles = ['order', 'state', 'plan', 'why', 'transaction', 'opened', 'decided by', 'last', 'fingerprint'];
  const columns = titles.map((title) => ({ title }));
  return textTable(
    columns,
    reviews.map((review) => [
      ...[review.outTradeNo, review.state, review.planState, review.codes.join(', ') || '-'],
      ...[`${review.transactionHash.slice(0, 10)}…`, momentText(review.openedAt)],
      ...[review.decidedBy ?? '-', review.lastCode ?? '-', review.fingerprint],
    ]),
  );
}

interface Place {
  tx?: string;
  logIndex?: number;
}

/** `settle deposit review open [ORDER]`: puts plans that a person can decide on before people; of all orders that wait, when none is named. */
export const open: Command<Place & { outTradeNo?: string }> = (context, options) =>
  withDatabase(
    context,
    (database) =>
      withChains(context, async (ports) => {
        const actor = `settle deposit review open (${hostname()})`;
        const counts = { planned: 0, opened: 0, known: 0, notReviewable: 0 };
        const take = async (plans: readonly DepositPlan[]): Promise<void> => {
          const opened = (await openReviews(database, plans, actor, ports.now())).length;
          const reviewable = plans.filter(isReviewable).length;
          counts.planned += plans.length;
          counts.opened += opened;
          counts.known += reviewable - opened;
          counts.notReviewable += plans.length - reviewable;
        };
        const { outTradeNo } = options;
        if (outTradeNo === undefined) await planPending(database, ports, take);
        else {
          const plan = await planOne(database, ports, planRequest({ ...options, outTradeNo }));
          await take([plan]);
          if (!isReviewable(plan)) context.say(`Deposit ${outTradeNo} is ${plan.state}: ${plan.reasonCode ?? ''}.`);
        }
        if (context.output !== 'text') await context.document({ schema: 'settle.depositReviewOpen', ...counts });
        else {
          await context.print(
            `${countText(counts.planned)} planned: ${countText(counts.opened)} put before people, ` +
              `${countText(counts.known)} known, ${countText(counts.notReviewable)} not to be decided`,
          );
        }
        return counts.notReviewable > 0 && outTradeNo !== undefined ? exitCodes.PARTIAL : exitCodes.OK;
      }),
    { connections: 4 },
  );

interface DecideOptions extends Place {
  outTradeNo: string;
  fingerprint: string;
  by: string;
  reason: string;
}

/** `settle deposit review approve ORDER --fingerprint F`: a person agrees to exactly what they were shown. Settles nothing yet. */
export const approve: Command<DecideOptions> = (context, options) =>
  withDatabase(context, (database) =>
    withChains(context, async (ports) => {
      const request = { ...planRequest(options), fingerprint: options.fingerprint };
      const decided = await approveReview(database, ports, request, person(context, options));
      return tell(context, decided, `Next: settle deposit settle ${options.outTradeNo} --by NAME --reason TEXT`);
    }),
  );

/** `settle deposit review reject ORDER --fingerprint F`: a person refuses it. Nothing is settled, and nothing is refunded by it. */
export const reject: Command<DecideOptions> = (context, options) =>
  withDatabase(context, async (database) => {
    const { outTradeNo, fingerprint } = options;
    const decided = await rejectReview(database, outTradeNo, fingerprint, person(context, options));
    return tell(context, decided, 'The payment stays where it is; a refund is made by hand.');
  });

function person(context: CommandContext, { by, reason }: DecideOptions): { by: string; reason: string; at: string } {
  return { by, reason, at: instantText(context.clock.now()) };
}

async function tell(context: CommandContext, { review, outcome }: Decided, next: string): Promise<number> {
  if (context.output !== 'text') {
    await context.document({ schema: 'settle.depositReview', outcome, review: reviewDocument(review) });
    return exitCodes.OK;
  }
  const was = outcome === 'repeated' ? ' It was before; nothing was changed.' : '';
  await context.print(printable(`The review of deposit ${review.outTradeNo} is ${review.state}.${was}`));
  await context.print(printable(next));
  return exitCodes.OK;
}

/** `settle deposit auto`: timed-out reviews as configured, bounded retries, and what scenes still have to do. For cron. */
export const auto: Command<object> = (context) =>
  withDatabase(context, (database) =>
    withChains(context, async (ports) => {
      const { review, retry } = context.config.deposits;
      const result = await runAuto(database, ports, {
        timeoutMs: review.timeout,
        action: review.action,
        executeApproved: review.executeApproved,
        reviewLimit: review.limit,
        maxAttempts: retry.maxAttempts,
        retryLimit: retry.limit,
      });
      const delivered = await deliverDeposits(database, context.config, ports.now, context.signal);
      return tellAuto(context, result, delivered);
    }),
  );

async function tellAuto(context: CommandContext, result: AutoResult, delivered: Delivered): Promise<number> {
  if (context.output !== 'text') await context.document({ schema: 'settle.depositAuto', ...result, ...delivered });
  else {
    await context.print(
      `reviews  ${countText(result.approved)} approved and ${countText(result.rejected)} rejected by time, ` +
        `${countText(result.postponed)} postponed\n` +
        `settled  ${countText(result.settled)}; ${plural(result.exhausted, 'deposit')} out of attempts\n` +
        `scenes   ${countText(delivered.delivered)} done, ${countText(delivered.parked)} parked`,
    );
    for (const { outTradeNo, code } of result.skipped)
      await context.print(printable(`skipped  ${outTradeNo}: ${code}`));
  }
  const left = result.skipped.length + result.exhausted + result.postponed + delivered.parked;
  return left > 0 ? exitCodes.PARTIAL : exitCodes.OK;
}

/** `settle deposit deliver`: acts on settled deposits by their scenes; what `settle` and `auto` do themselves when they are not cut off. */
export const deliver: Command<object> = (context) =>
  withDatabase(context, async (database: Database) => {
    const now = (): string => instantText(context.clock.now());
    const result = await deliverDeposits(database, context.config, now, context.signal);
    if (context.output !== 'text') await context.document({ schema: 'settle.depositDeliver', ...result });
    else await context.print(`scenes   ${countText(result.delivered)} done, ${countText(result.parked)} parked`);
    return result.parked > 0 ? exitCodes.PARTIAL : exitCodes.OK;
  });
