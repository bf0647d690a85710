import { instantText } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { formatMinorGrouped } from '../kernel/money.js';
import { printable } from '../kernel/printable.js';
import { payoutMoves } from '../kernel/states.js';
import { payoutCommand } from '../payouts/nextCommand.js';
import type { Payout } from '../payouts/payout.js';
import { reviewPayout, type ReviewDecision } from '../payouts/review.js';
import { carriedForward, listPayouts, payoutStory, type MoveView, type ReviewView } from '../payouts/views.js';
import { textTable } from '../reports/tables.js';
import { momentText } from '../reports/words.js';
import { requireBatchDay } from './arguments.js';
import { withDatabase, type Command } from './context.js';
import { rulesOf } from './payoutChannels.js';

/** A payout as documents show it: without where the money goes. */
function payoutDocument(payout: Payout): Record<string, unknown> {
  return {
    payoutId: String(payout.id),
    batchDay: payout.batchDay,
    accountNo: payout.accountNo,
    currency: payout.currency,
    sequence: payout.seq,
    amountMinor: payout.amountMinor,
    channel: payout.channel,
    state: payout.state,
    idempotencyKey: payout.idempotencyKey,
    dueDay: payout.dueDay,
    attempts: payout.attempts,
    checks: payout.checkCount,
    nextCheckAt: payout.state === 'UNKNOWN' && payout.nextMs !== null ? atMs(payout.nextMs) : null,
    channelReference: payout.channelReference,
    lastCode: payout.lastCode,
    heldCode: payout.heldCode,
    createdAt: payout.createdAt,
    finishedAt: payout.finishedAt,
  };
}

function atMs(ms: bigint): string {
  return new Date(Number(ms)).toISOString();
}

interface ListOptions {
  batchDay?: string;
  state?: string;
  account?: string;
  limit?: number;
}

/** `settle payout list`: payouts, the newest first. */
export const list: Command<ListOptions> = (context, options) => {
  const batchDay = requireBatchDay(options.batchDay);
  const state = options.state?.toUpperCase();
  if (state !== undefined && !Object.hasOwn(payoutMoves, state)) {
    throw new SettleError('USAGE', `--state must be one of ${Object.keys(payoutMoves).join(', ')}.`);
  }
  return withDatabase(context, async (database) => {
    const filter = { batchDay, state, account: options.account, limit: options.limit ?? 1_000 };
    const payouts = await database.read((session) => listPayouts(session, filter));
    if (context.output !== 'text') {
      await context.document({ schema: 'settle.payouts', payouts: payouts.map(payoutDocument) });
    } else await context.print(payouts.length === 0 ? 'No such payout.' : listText(payouts));
    return exitCodes.OK;
  });
};

function listText(payouts: readonly Payout[]): string {
  const columns = [
    { title: 'id', align: 'right' as const },
    { title: 'batch day' },
    { title: 'account' },
    { title: 'amount', align: 'right' as const },
    { title: '' },
    { title: 'channel' },
    { title: 'state' },
    { title: 'why' },
    { title: 'attempts', align: 'right' as const },
    { title: 'checks', align: 'right' as const },
  ];
  const rows = payouts.map((payout) => [
    ...[String(payout.id), payout.batchDay, payout.accountNo],
    ...[formatMinorGrouped(payout.amountMinor, payout.currency), payout.currency, payout.channel, payout.state],
    ...[payout.heldCode ?? payout.lastCode ?? '-', String(payout.attempts), String(payout.checkCount)],
  ]);
  return textTable(columns, rows);
}

/** `settle payout carried`: what is payable and is not planned, account by account, and why. */
export const carried: Command<object> = (context) =>
  withDatabase(context, async (database) => {
    const accounts = await database.read(carriedForward);
    if (context.output !== 'text') await context.document({ schema: 'settle.payoutCarried', accounts });
    else if (accounts.length === 0) await context.print('Nothing is carried forward but what is below its minimum.');
    else {
      const columns = [
        ...[{ title: 'account' }, { title: 'amount', align: 'right' as const }, { title: '' }],
        ...[{ title: 'why' }, { title: 'batch day' }],
      ];
      const rows = accounts.map(({ accountNo, amountMinor, currency, reason, batchDay }) => [
        ...[accountNo, formatMinorGrouped(amountMinor, currency), currency, reason, batchDay],
      ]);
      await context.print(textTable(columns, rows));
    }
    return exitCodes.OK;
  });

/** `settle payout show ID`: one payout by id or idempotency key, and all that happened to it. */
export const show: Command<{ payout: string }> = (context, options) =>
  withDatabase(context, async (database) => {
    const story = await database.snapshot((session) => payoutStory(session, options.payout));
    if (story === null) {
      throw new SettleError('NOT_FOUND', `There is no payout ${options.payout}.`, { next: 'settle payout list' });
    }
    const { payout, moves, reviews } = story;
    if (context.output === 'text') await context.print(storyText(payout, moves, reviews));
    else await context.document({ schema: 'settle.payout', payout: payoutDocument(payout), moves, reviews });
    return exitCodes.OK;
  });

function storyText(payout: Payout, moves: readonly MoveView[], reviews: readonly ReviewView[]): string {
  const { id, accountNo, currency, amountMinor, state, channel, batchDay, dueDay, idempotencyKey } = payout;
  const lines = [
    `payout      ${String(id)}, ${accountNo}, ${formatMinorGrouped(amountMinor, currency)} ${currency} over ${channel}`,
    `state       ${state}${payout.heldCode === null ? '' : `, held: ${payout.heldCode}`}`,
    `batch day   ${batchDay}, due ${dueDay}`,
    `key         ${idempotencyKey}`,
    `reference   ${payout.channelReference ?? '-'}`,
    `attempts    ${String(payout.attempts)}, checks ${String(payout.checkCount)}`,
  ];
  if (state === 'UNKNOWN' && payout.nextMs !== null) lines.push(`next check  ${momentText(atMs(payout.nextMs))}`);
  const columns = ['at', 'event', 'from', 'to', 'code', 'reference', 'by', 'reason'].map((title) => ({ title }));
  const rows = moves.map((one) => [
    ...[momentText(one.at), one.event, one.from, one.to, one.code, one.channelReference ?? '-', one.actor],
    one.reason ?? '-',
  ]);
  if (rows.length > 0) lines.push('', textTable(columns, rows));
  for (const { at, by, decision, reason, confirms } of reviews) {
    lines.push(`${momentText(at)}  ${by} ${confirms === null ? 'decided' : 'confirmed'} ${decision}: ${reason}`);
  }
  const next = payoutCommand(payout);
  if (next !== null) lines.push('', `Next: ${next}`);
  return lines.map((line) => (line.includes('\n') ? line : printable(line))).join('\n');
}

interface ReviewOptions {
  payout: string;
  approve?: boolean;
  reject?: boolean;
  retry?: boolean;
  by: string;
  reason: string;
}

/** `settle payout review ID`: a person's decision over a MANUAL payout; recorded. */
export const review: Command<ReviewOptions> = (context, options) => {
  const decisions: ReviewDecision[] = [];
  if (options.approve === true) decisions.push('APPROVE');
  if (options.reject === true) decisions.push('REJECT');
  if (options.retry === true) decisions.push('RETRY');
  const [decision] = decisions;
  if (decision === undefined || decisions.length > 1) {
    throw new SettleError(
      'USAGE',
      'Decide one of --approve (it was paid), --reject (it was not), --retry (submit again).',
    );
  }
  if (!/^[1-9][0-9]{0,17}$/.test(options.payout))
    throw new SettleError('USAGE', `"${options.payout}" is no payout id.`);
  return withDatabase(context, async (database) => {
    const person = { by: options.by, reason: options.reason, at: instantText(context.clock.now()) };
    const { channels, payouts } = context.config;
    const { payout, outcome, state } = await reviewPayout(database, BigInt(options.payout), decision, person, {
      secondPersonAbove: payouts.secondPersonAbove ?? new Map<string, bigint>(),
      rulesOf: (name) => (channels[name] === undefined ? null : rulesOf(channels[name])),
    });
    if (context.output !== 'text') {
      await context.document({
        schema: 'settle.payoutReview',
        payout: payoutDocument({ ...payout, state }),
        decision,
        outcome,
      });
    } else {
      await context.print(reviewText(payout, decision, outcome, state));
    }
    return outcome === 'PROPOSED' ? exitCodes.PARTIAL : exitCodes.OK;
  });
};

function reviewText({ id }: Payout, decision: ReviewDecision, outcome: string, state: string): string {
  if (outcome === 'REPEATED') return `Payout ${String(id)} was decided before: ${state}. Nothing was changed.`;
  if (outcome === 'APPLIED') {
    return `Payout ${String(id)} is ${state}.${state === 'PROCESSING' ? '\nNext: settle payout run' : ''}`;
  }
  const flag = `--${decision.toLowerCase()}`;
  return (
    `Payout ${String(id)}: proposed, and still MANUAL, since its amount needs a second person.\n` +
    `Next, by another person: settle payout review ${String(id)} ${flag} --by NAME --reason TEXT`
  );
}
