import type { Session } from '../db/session.js';
import { depositStory, type DepositStory, type SettlementView } from '../deposits/storyViews.js';
import { SettleError } from '../kernel/errors.js';
import { shown } from '../kernel/printable.js';
import { orderNumbered } from '../orders/orderViews.js';
import { orderStory } from './explainOrder.js';
import {
  amountText,
  done,
  inTimeOrder,
  moveText,
  partsText,
  row,
  shellWord,
  type Standing,
  type Story,
  type StoryRow,
  type Told,
} from './story.js';

/** Throws NOT_FOUND. What the scene credits goes on as an order of the daily batch, on the same page. */
export async function explainDeposit(session: Session, outTradeNo: string, told: Told): Promise<Story> {
  const story = await depositStory(session, outTradeNo);
  if (story === null) {
    throw new SettleError('NOT_FOUND', `There is no deposit order ${shown(outTradeNo)}.`, {
      details: { outTradeNo },
      next: 'settle deposit list',
    });
  }
  const { order, twins, settlements } = story;
  const credits: Story[] = [];
  for (const { credit } of settlements) {
    const credited = credit === null ? null : await orderNumbered(session, credit.orderNo);
    if (credited !== null) credits.push(await orderStory(session, credited, told));
  }
  const claims = order.transactionHash === null ? [] : [`It names transaction ${order.transactionHash}.`];
  const wants = `${order.amountRaw} base units of ${order.token} on ${order.chainName}`;
  return {
    kind: 'deposit',
    id: outTradeNo,
    state: order.status,
    head: [
      `Deposit ${outTradeNo}: ${wants}, ${order.status}.`,
      `To ${order.receiver}, scene ${order.scene}${order.accountNo === null ? '' : ` for account ${order.accountNo}`}.`,
      ...claims,
      ...(twins > 0 ? [`Beware: ${String(twins)} more pending with this token, receiver and amount.`] : []),
      ...settlements.flatMap(creditSentence),
    ],
    timeline: inTimeOrder([...depositRows(story), ...credits.flatMap(({ timeline }) => timeline)]),
    arithmetic: credits.flatMap(({ arithmetic }) => arithmetic),
    ...depositStanding(story, credits),
  };
}

function creditSentence({ settled, credit }: SettlementView): string[] {
  if (credit === null) return [];
  return [
    `Its ${String(settled.value)} base units credit ${amountText(credit)} to account ${credit.accountNo}: order ${credit.orderNo} of ${credit.batchDay}.`,
  ];
}

function depositRows({ order, importedAt, reviews, log, settlements }: DepositStory): StoryRow[] {
  return [
    row(order.createdAt, 'deposit_order', `deposit ${order.outTradeNo} created`),
    row(importedAt, 'deposit_order', `deposit ${order.outTradeNo} imported`),
    ...reviews.flatMap((one) => {
      const { id, planState, codes, logIndex, transactionHash } = one;
      const event = `${transactionHash}${logIndex === null ? '' : `, log ${String(logIndex)}`}`;
      const what = partsText([`review ${String(id)} of ${event} opened by ${one.openedBy}: ${planState}`, ...codes]);
      return [row(one.openedAt, 'deposit_review', what)];
    }),
    ...log.map((one) =>
      row(
        one.at,
        'deposit_log',
        partsText([
          `${one.action}${one.to === null ? '' : `: ${moveText(one.from, one.to)}`}`,
          one.code,
          `by ${one.actor}`,
          one.reason,
        ]),
      ),
    ),
    ...settlements.flatMap(settlementRows),
    ...(order.expiresAt === null || order.status !== 'pending'
      ? []
      : [row(order.expiresAt, 'deposit_order', 'expires')]),
    ...(order.finishedAt === null ? [] : [row(order.finishedAt, 'deposit_order', `deposit ${order.status}`)]),
  ];
}

function settlementRows({ settled, message, delivery, findings }: SettlementView): StoryRow[] {
  const { id, chainName, transactionHash, logIndex, blockNumber, settledAt, value } = settled;
  const event = `${chainName} ${transactionHash}, log ${String(logIndex)} of block ${String(blockNumber)}`;
  const no = `DT${String(id)}`;
  return [
    row(settledAt, 'deposit_transaction', `settlement ${String(id)}: ${String(value)} base units by ${event}`),
    ...(message === null ? [] : [row(message.createdAt, 'outbox', `message ${no} (DEPOSIT)`)]),
    ...(message === null || message.sentAt === null ? [] : [row(message.sentAt, 'outbox', `message ${no} SENT`)]),
    ...(message === null || delivery !== 'PARKED'
      ? []
      : [row(message.createdAt, 'outbox', `message ${no} PARKED: ${message.lastError ?? '-'}`)]),
    ...findings.flatMap((one) => [
      row(one.foundAt, 'deposit_finding', `finding ${String(one.id)}: ${one.code} (${one.risk}), ${one.suggestion}`),
      ...(one.decidedAt === null
        ? []
        : [row(one.decidedAt, 'deposit_finding', `finding ${String(one.id)} ${one.state} by ${one.decidedBy ?? '-'}`)]),
    ]),
  ];
}

/** Where a deposit stands; once its credit is an order, where that stands. Pure. */
export function depositStanding(story: DepositStory, credits: readonly Story[]): Standing {
  const { order, reviews, settlements } = story;
  const no = shellWord(order.outTradeNo);
  const finding = settlements.flatMap(({ findings }) => findings).find(({ state }) => state === 'open');
  if (finding !== undefined) {
    return {
      stuck: `An audit found ${finding.code} (${finding.risk}): ${finding.suggestion}.`,
      next: `settle deposit recheck ${String(finding.id)}`,
    };
  }
  if (order.status === 'pending') {
    const approved = reviews.find(({ state }) => state === 'approved');
    if (approved !== undefined) {
      const last = approved.lastCode === null ? '' : `; the last try said ${approved.lastCode}`;
      return {
        stuck: `Its review is approved and not executed${last}.`,
        next: `settle deposit settle ${no} --by NAME --reason TEXT`,
      };
    }
    const open = reviews.find(({ state }) => state === 'open');
    if (open !== undefined) {
      const next = `settle deposit review approve ${no} --fingerprint ${open.fingerprint} --by NAME --reason TEXT`;
      return {
        stuck: `Review ${String(open.id)} waits for a decision: ${partsText([open.planState, ...open.codes])}.`,
        next,
      };
    }
    return { stuck: 'No payment of it has been planned.', next: `settle deposit plan ${no}` };
  }
  const waiting = settlements.find(({ delivery }) => delivery === 'NEW' || delivery === 'PARKED');
  if (waiting !== undefined) {
    const bizNo = `DT${String(waiting.settled.id)}`;
    return waiting.delivery === 'NEW'
      ? { stuck: `Message ${bizNo} waits for the handler of its scene.`, next: 'settle deposit deliver' }
      : {
          stuck: `The handler of its scene refused message ${bizNo}: ${waiting.message?.lastError ?? '-'}`,
          next: `settle outbox requeue ${bizNo} --by NAME --reason TEXT`,
        };
  }
  const credit = credits.find(({ stuck }) => stuck !== null);
  return credit === undefined ? done : { stuck: `Order ${credit.id}: ${credit.stuck ?? ''}`, next: credit.next };
}
