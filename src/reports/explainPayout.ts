import type { Session } from '../db/session.js';
import { SettleError } from '../kernel/errors.js';
import { shown } from '../kernel/printable.js';
import { balanceMoves } from '../ledger/payableViews.js';
import { messageRows } from './storyParts.js';
import { messagesFrom } from '../outbox/messageViews.js';
import { payoutCommand } from '../payouts/nextCommand.js';
import type { Payout } from '../payouts/payout.js';
import { firstPayoutsFrom, paymentFileOf } from '../payouts/storyViews.js';
import { payoutStory } from '../payouts/views.js';
import {
  amountText,
  done,
  inTimeOrder,
  moveText,
  partsText,
  row,
  shellWord,
  type Arithmetic,
  type Standing,
  type Story,
  type StoryRow,
  type Told,
} from './story.js';
import { journalRows, statedRows } from './storyParts.js';

/** All that touched a payout, and what is open of it. */
export interface PayoutLife {
  payout: Payout;
  rows: StoryRow[];
  standing: Standing;
}

/** `idOrKey`: "12", "P12" or the idempotency key. Throws NOT_FOUND. */
export async function explainPayout(session: Session, typed: string, told: Told): Promise<Story> {
  const idOrKey = /^[Pp][1-9][0-9]{0,17}$/.test(typed) ? typed.slice(1) : typed;
  // No other text is asked of the database, which would have to compare it in another character set.
  const story = /^[!-~]{1,255}$/.test(idOrKey) ? await payoutStory(session, idOrKey) : null;
  if (story === null) {
    throw new SettleError('NOT_FOUND', `There is no payout ${shown(typed)}: give its id or its key.`, {
      details: { payout: typed },
      next: 'settle payout list',
    });
  }
  const { payout } = story;
  const life = await payoutLife(session, payout, told);
  const { id, accountNo, channel, batchDay, dueDay, idempotencyKey, channelReference, attempts, checkCount } = payout;
  return {
    kind: 'payout',
    id: String(id),
    state: payout.state,
    head: [
      `Payout ${String(id)}: ${amountText(payout)} to account ${accountNo} over ${channel}, ${payout.state}.`,
      `Of batch day ${batchDay}, part ${String(payout.seq)}, due on ${dueDay}; submitted ${String(attempts)} times, asked about ${String(checkCount)} times.`,
      `Key ${idempotencyKey}${channelReference === null ? '' : `; the channel calls it ${channelReference}`}.`,
    ],
    timeline: inTimeOrder(life.rows),
    arithmetic: await payoutArithmetic(session, payout),
    ...life.standing,
  };
}

/** The rows of a payout: its plan, its moves and reviews, its file, its entries and alerts, its lines and differences. */
export async function payoutLife(session: Session, payout: Payout, told: Told): Promise<PayoutLife> {
  const { id } = payout;
  const no = String(id);
  const { moves, reviews } = (await payoutStory(session, no)) ?? { moves: [], reviews: [] };
  const file = await paymentFileOf(session, id);
  const stated = await statedRows(session, 'PAYOUT', id);
  const rows = [
    row(payout.createdAt, 'payout', `payout ${no} planned over ${payout.channel}, due on ${payout.dueDay}`, {
      amountMinor: -payout.amountMinor,
      currency: payout.currency,
    }),
    ...(file === null
      ? []
      : [
          row(file.createdAt, 'payment_file_entry', `payout ${no} goes into ${file.fileName} (${file.messageId})`),
          ...(file.writtenAt === null ? [] : [row(file.writtenAt, 'payment_file', `${file.fileName} published`)]),
        ]),
    ...moves.map((one) =>
      row(
        one.at,
        'payout_move',
        partsText([
          `payout ${no} ${one.event}: ${moveText(one.from, one.to)} (${one.code})`,
          one.channelReference,
          `by ${one.actor}`,
          one.reason,
        ]),
      ),
    ),
    ...reviews.map(({ at, by, decision, reason, confirms }) =>
      row(at, 'payout_review', `${by} ${confirms === null ? 'decided' : 'confirmed'} ${decision}: ${reason}`),
    ),
    ...(await journalRows(session, [`P${no}.SUBMITTED`, `P${no}.PAID`, `P${no}.RETURNED`])),
    ...(await messagesFrom(session, `A${no}.`)).flatMap(messageRows),
    ...stated.rows,
  ];
  const [open] = stated.open;
  return { payout, rows, standing: payoutStanding(payout, open?.id ?? null, told) };
}

const heldNext = {
  ACCOUNT_NOT_ACTIVE: { why: 'its account is not ACTIVE', next: () => 'settle import accounts FILE' },
  PAYOUT_HOLD: { why: 'the terms of its account hold payouts', next: () => 'settle import terms FILE' },
  BALANCE_TOO_LOW: {
    why: 'the account is owed less by now',
    next: ({ accountNo }: Payout) => `settle explain account ${shellWord(accountNo)}`,
  },
} as const;

/** Where a payout stands. A final one may still differ from what the statement says. */
export function payoutStanding(payout: Payout, openDiscrepancy: bigint | null, told: Told): Standing {
  const { state, heldCode, dueDay, lastCode, nextMs } = payout;
  const no = `Payout ${String(payout.id)}`;
  const next = payoutCommand(payout);
  if (state === 'INIT' && heldCode !== null) {
    const held = heldNext[heldCode];
    return { stuck: `${no} is due and held: ${held.why} (${heldCode}).`, next: held.next(payout) };
  }
  if (state === 'INIT' && !told.isOver(dueDay)) return { stuck: `${no} waits for its due day, ${dueDay}.`, next: null };
  if (state === 'INIT') return { stuck: `${no} is due and not submitted.`, next };
  if (state === 'PROCESSING') return { stuck: `${no} is with the channel, or its submitter died.`, next };
  if (state === 'MANUAL') return { stuck: `${no} needs a person's decision (${lastCode ?? '-'}).`, next };
  if (state === 'UNKNOWN') {
    const when = nextMs === null ? '' : `, to be asked about at ${new Date(Number(nextMs)).toISOString()}`;
    return { stuck: `${no} may be paid or not (${lastCode ?? '-'})${when}.`, next };
  }
  if (openDiscrepancy !== null) {
    const id = String(openDiscrepancy);
    return { stuck: `${no} is ${state}; a statement says otherwise.`, next: `settle explain discrepancy ${id}` };
  }
  if (state === 'FAILED')
    return { stuck: `${no} came back: its amount is payable again, by the next plan.`, next: null };
  return done;
}

/** From what the account was owed when its day closed to what is paid out of it. */
async function payoutArithmetic(session: Session, payout: Payout): Promise<Arithmetic[]> {
  const { accountNo, currency, batchDay } = payout;
  const moved = await balanceMoves(session, accountNo, currency, batchDay);
  const parts = await firstPayoutsFrom(session, accountNo, currency, batchDay);
  if (moved === null) return [];
  const line = (what: string, amountMinor: bigint, isTotal = false) => ({ what, orders: null, amountMinor, isTotal });
  const payableMinor = moved.openingMinor + moved.creditMinor - moved.debitMinor;
  const planned = parts.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  return [
    {
      title: `Payable to ${accountNo} in the books of ${moved.bookingDay}`,
      currency,
      lines: [
        line('payable before', moved.openingMinor),
        line('credits', moved.creditMinor),
        line('debits', -moved.debitMinor),
        line('= payable', payableMinor, true),
        ...parts.map(({ id, amountMinor, state }) => line(`- payout ${String(id)} (${state})`, -amountMinor)),
        line('= kept back: debts, earlier payouts on their way, minimum', payableMinor - planned, true),
      ],
      agrees: payableMinor === moved.closingMinor,
    },
  ];
}
