import type { Session } from '../db/session.js';
import { SettleError } from '../kernel/errors.js';
import { shown } from '../kernel/printable.js';
import { entriesNumbered } from '../ledger/entryViews.js';
import { signedAmount } from '../orders/order.js';
import { orderNumbered, reversalsOf, type OrderView } from '../orders/orderViews.js';
import { decodePayload } from '../outbox/message.js';
import { messagesNumbered, type MessageView } from '../outbox/messageViews.js';
import { carriedOf, firstPayoutsFrom } from '../payouts/storyViews.js';
import {
  chunkOf,
  netIn,
  quarantineOf,
  withdrawalOf,
  type NetView,
  type QuarantineView,
} from '../settlement/settlementViews.js';
import { payableEffect } from '../terms/termsLine.js';
import { payoutLife, type PayoutLife } from './explainPayout.js';
import { batchOf, runRows, type BatchRow, type RunRow } from './queries.js';
import {
  amountText,
  carriedNext,
  done,
  inTimeOrder,
  partsText,
  row,
  shellWord,
  type Arithmetic,
  type Standing,
  type Story,
  type StoryRow,
  type Told,
} from './story.js';
import { journalRows, messageRows, statedRows } from './storyParts.js';

const reversalsShown = 100;

/** What is known of an order beside its row. */
export interface OrderFacts {
  order: OrderView;
  batch: BatchRow | undefined;
  run: RunRow | undefined;
  quarantine: readonly QuarantineView[];
  net: NetView | null;
  message: MessageView | null;
  payouts: readonly PayoutLife[];
  carried: { reason: string } | null;
  openDiscrepancy: bigint | null;
}

/** Throws NOT_FOUND. */
export async function explainOrder(session: Session, orderNo: string, told: Told): Promise<Story> {
  const order = await orderNumbered(session, orderNo);
  if (order === null) {
    throw new SettleError('NOT_FOUND', `There is no order ${shown(orderNo)}.`, {
      details: { orderNo },
      next: 'settle import orders FILE',
    });
  }
  return orderStory(session, order, told);
}

/** The whole life of an order that was read. */
export async function orderStory(session: Session, order: OrderView, told: Told): Promise<Story> {
  const { orderNo, accountNo, type, channel, batchDay, state } = order;
  const { facts, rows } = await orderLife(session, order, told);
  const reversed = await reversalsOf(session, orderNo, reversalsShown);
  const amount = { amountMinor: order.effectMinor, currency: order.currency };
  const reversal = order.reversalOf === null ? '' : `, which takes back order ${order.reversalOf}`;
  const head = [
    `Order ${orderNo}: ${type} over ${channel}, ${amountText(amount)} to account ${accountNo}${reversal}.`,
    `Batch day ${batchDay}, ${state}${order.cancelCode === null ? '' : ` (${order.cancelCode})`}.`,
    ...reversed.map((one) => {
      const taken = amountText({ amountMinor: one.effectMinor, currency: one.currency });
      return `Taken back by order ${one.orderNo}: ${taken}, batch day ${one.batchDay}, ${one.state}.`;
    }),
  ];
  const takenBack = reversed.map((one) =>
    row(one.occurredAt, one.table, `order ${one.orderNo} takes it back (${one.state})`, {
      amountMinor: one.effectMinor,
      currency: one.currency,
    }),
  );
  return {
    kind: 'order',
    id: orderNo,
    state,
    head,
    timeline: inTimeOrder([...rows, ...takenBack]),
    arithmetic: netArithmetic(facts),
    ...orderStanding(facts, told),
  };
}

/** Rows from the capture of the order to its payout and what statements say, each found by key. */
async function orderLife(
  session: Session,
  order: OrderView,
  told: Told,
): Promise<{ facts: OrderFacts; rows: StoryRow[] }> {
  const { id, orderNo, accountNo, batchDay, currency, runId, chunkNo } = order;
  const batch = await batchOf(session, batchDay);
  const quarantine = await quarantineOf(session, batchDay, accountNo);
  const withdrawal = await withdrawalOf(session, id);
  const [run] = runId === null ? [] : await runRows(session, { id: runId, limit: 1 });
  const place = runId === null || chunkNo === null ? null : { runId, chunkNo };
  const chunk = place === null ? null : await chunkOf(session, place.runId, place.chunkNo);
  const net = place === null ? null : await netIn(session, place, accountNo, currency);
  const [message = null] = net === null ? [] : await messagesNumbered(session, [net.bizNo]);
  const [entry] = net === null ? [] : await entriesNumbered(session, [net.bizNo]);
  const stated = await statedRows(session, 'ORDER', id);
  const payouts: PayoutLife[] = [];
  if (entry !== undefined) {
    // Booked on a later day where its own was closed, it is payable from that one on.
    for (const payout of await firstPayoutsFrom(session, accountNo, currency, entry.bookingDay)) {
      payouts.push(await payoutLife(session, payout, told));
    }
  }
  const carried = await carriedOf(session, accountNo, currency);
  const amount = { amountMinor: order.effectMinor, currency };
  const rows = [
    row(order.occurredAt, order.table, `order ${orderNo} captured: ${order.type} over ${order.channel}`, amount),
    ...(batch === undefined
      ? []
      : [row(batch.openedAt, 'batch', `batch day ${batchDay} opened, up to order id ${String(batch.topId)}`)]),
    ...quarantine.flatMap(quarantineRows),
    ...(run === undefined ? [] : [row(run.startedAt, 'run', `run ${String(run.id)} (${run.kind}) began`)]),
    ...(chunk === null || place === null
      ? []
      : [
          row(
            chunk.committedAt,
            'chunk',
            `claimed with ${String(chunk.orders)} orders by run ${String(place.runId)} in chunk ${String(place.chunkNo)}, lane ${chunk.lane}`,
          ),
        ]),
    ...(net === null || chunk === null
      ? []
      : [
          row(chunk.committedAt, 'net', `net ${net.bizNo} of ${String(net.orders)} orders of the account`, {
            amountMinor: net.amountMinor,
            currency,
          }),
        ]),
    ...(withdrawal === null
      ? []
      : [
          row(
            withdrawal.noticedAt,
            'withdrawn_order',
            `run ${String(withdrawal.runId)} found it ${withdrawal.foundState}`,
          ),
        ]),
    ...(message === null ? [] : messageRows(message)),
    ...(net === null ? [] : await journalRows(session, [net.bizNo])),
    ...(order.finishedAt === null
      ? []
      : [
          row(
            order.finishedAt,
            order.table,
            `order ${orderNo} ${order.state}${order.cancelCode === null ? '' : ` (${order.cancelCode})`}`,
          ),
        ]),
    ...(batch === undefined || batch.closedAt === null
      ? []
      : [row(batch.closedAt, 'batch', `batch day ${batchDay} closed`)]),
    ...payouts.flatMap((life) => life.rows),
    ...stated.rows,
  ];
  const openDiscrepancy = stated.open[0]?.id ?? null;
  return { facts: { order, batch, run, quarantine, net, message, payouts, carried, openDiscrepancy }, rows };
}

function quarantineRows(one: QuarantineView): StoryRow[] {
  const released = partsText([`released by ${one.releasedBy ?? '-'}`, one.releaseReason]);
  return [
    row(one.since, 'quarantine', `account set aside: ${one.code}. ${one.detail}`),
    ...(one.releasedAt === null ? [] : [row(one.releasedAt, 'quarantine', released)]),
  ];
}

/** The net from its orders by type and channel, as the message of it says, and what terms took. */
function netArithmetic({ order, net, message }: OrderFacts): Arithmetic[] {
  const decoded = message === null ? null : decodePayload(message.bizNo, message.payload, message.orders);
  if (net === null || decoded === null) return [];
  const lines = decoded.lines.map((one) => ({
    what: `${one.type} over ${one.channel}`,
    orders: one.orders,
    amountMinor: signedAmount(one),
    isTotal: false,
  }));
  const sum = lines.reduce((total, { amountMinor }) => total + amountMinor, 0n);
  const counted = decoded.lines.reduce((total, { orders }) => total + orders, 0);
  const terms = (decoded.terms ?? []).map((one) => ({
    what: one.reason,
    orders: null,
    amountMinor: payableEffect(one),
    isTotal: false,
  }));
  const payable = terms.reduce((total, { amountMinor }) => total + amountMinor, net.amountMinor);
  return [
    {
      title: `Net ${net.bizNo} of account ${order.accountNo}, with this order among ${String(net.orders)}`,
      currency: order.currency,
      lines: [
        ...lines,
        { what: `= net ${net.bizNo}`, orders: net.orders, amountMinor: net.amountMinor, isTotal: true },
        ...terms,
        ...(terms.length === 0
          ? []
          : [{ what: '= payable of the net', orders: null, amountMinor: payable, isTotal: true }]),
      ],
      agrees: sum === net.amountMinor && counted === net.orders && decoded.orderIds.includes(order.id),
    },
  ];
}

/** Where an order is stuck, and the command that moves it. Pure. */
export function orderStanding(facts: OrderFacts, told: Told): Standing {
  const { order, openDiscrepancy, payouts, carried, batch } = facts;
  const { state, batchDay, accountNo, currency } = order;
  if (state === 'INIT') return unclaimedStanding(facts, told);
  if (state === 'PROCESSING') return unpostedStanding(facts);
  if (state === 'FAILED' || state === 'CANCELED') return done;
  if (openDiscrepancy !== null) {
    const next = `settle explain discrepancy ${String(openDiscrepancy)}`;
    return { stuck: 'It is settled; a statement says otherwise.', next };
  }
  const open = payouts.find(({ standing }) => standing.stuck !== null);
  if (open !== undefined) return open.standing;
  if (payouts.length > 0) return done;
  if (batch !== undefined && batch.state !== 'CLOSED') {
    return { stuck: `It is posted; batch day ${batchDay} is ${batch.state}.`, next: 'settle run' };
  }
  if (carried !== null) {
    const next = carriedNext[carried.reason] ?? 'settle payout carried';
    return { stuck: `It is settled; what is payable in ${currency} is carried forward: ${carried.reason}.`, next };
  }
  const next = `settle explain account ${shellWord(accountNo)} --batch-day ${batchDay}`;
  return { stuck: `It is settled, and not paid out: the account's day says what is due.`, next };
}

function unclaimedStanding({ order, quarantine, batch }: OrderFacts, told: Told): Standing {
  const { batchDay, accountNo, id } = order;
  const active = quarantine.find(({ isActive }) => isActive);
  if (active !== undefined) {
    return {
      stuck: `Its account is set aside for the day: ${active.code}. ${active.detail} Mend that first.`,
      next: `settle quarantine release ${shellWord(accountNo)} --by NAME --reason TEXT`,
    };
  }
  if (batch === undefined && !told.isOver(batchDay)) {
    return { stuck: `It waits for the end of its day, ${batchDay}.`, next: null };
  }
  const next = `settle run --batch-day ${batchDay}`;
  if (batch === undefined) return { stuck: `No run has begun ${batchDay}.`, next };
  if (batch.state === 'CLOSED')
    return { stuck: `It came after ${batchDay} was closed: the next run settles it as late.`, next };
  const late = id > batch.topId ? ', and it came after its input was frozen' : '';
  return { stuck: `Batch day ${batchDay} is ${batch.state}, and it is not claimed${late}.`, next };
}

function unpostedStanding({ order, message, run, net }: OrderFacts): Standing {
  if (message === null || net === null) {
    return {
      stuck: 'It is claimed, and its net or message is not there.',
      next: `settle verify --batch-day ${order.batchDay}`,
    };
  }
  if (message.state === 'PARKED') {
    return {
      stuck: `The ledger refused message ${message.bizNo}: ${message.lastError ?? '-'}`,
      next: `settle outbox requeue ${message.bizNo} --by NAME --reason TEXT`,
    };
  }
  if (message.state === 'SENT') {
    return {
      stuck: `Message ${message.bizNo} is delivered, and the order is not posted.`,
      next: `settle verify --batch-day ${order.batchDay}`,
    };
  }
  if (run?.state === 'RUNNING')
    return { stuck: `Run ${String(run.id)} has it: claimed, and not posted yet.`, next: 'settle status' };
  return { stuck: `Message ${message.bizNo} waits for the ledger.`, next: 'settle resume' };
}
