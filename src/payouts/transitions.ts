import { setImmediate } from 'node:timers/promises';
import type { Binding, Transaction } from '../db/session.js';
import { fromInstant } from '../db/values.js';
import { move, payoutMoves, type PayoutEvent, type PayoutState } from '../kernel/states.js';
import { bookEntries, bookingDay, type OwnEntry } from '../ledger/bookEntries.js';
import { appendAlerts, type Alert } from '../outbox/append.js';
import type { Payout } from './payout.js';

const turnAfter = 20;

/** What is to happen to a payout, and what made it happen. */
export interface Transition {
  /** As it was read: it moves only while nobody else has moved it. */
  readonly payout: Payout;
  /** Moves one after the other, all or none. None: an answer that is only written down. */
  readonly events: readonly PayoutEvent[];
  readonly code: string;
  /** Who or what: a command with its process, or a person. */
  readonly actor: string;
  readonly channelReference?: string | null;
  readonly responseDigest?: string | null;
  readonly reason?: string | null;
  /** What changes with it; the rest stays. */
  readonly nextMs: bigint | null;
  readonly fruitless?: number;
  readonly checkCount?: number;
  /** With a submission, by the database's clock: it is sent after the one moment and before the other. */
  readonly sentMs?: bigint;
  readonly sentUntilMs?: bigint;
  /** With an answer: by then it had been sent. */
  readonly heardMs?: bigint;
  /** A person must look at it, although it does not move; a payout that is given up alarms in any case. */
  readonly alarms?: boolean;
}

/**
 * The one way in which payouts move: submitter, checker, statement and review all go through here. Each moves by
 * compare-and-swap over state and version; with the move its audit rows, its journal entries, and its alert are written,
 * together or not at all. Returns those that somebody else had moved before: to be read and decided again.
 */
export async function applyTransitions(
  trx: Transaction,
  transitions: readonly Transition[],
  now: string,
): Promise<Transition[]> {
  const sorted = [...transitions].sort((a, b) => (a.payout.id < b.payout.id ? -1 : 1));
  const day = sorted.some(({ events }) => events.some((event) => booked[event] !== undefined))
    ? await bookingDay(trx)
    : null;
  const moved: Transition[] = [];
  const lost: Transition[] = [];
  for (const [at, transition] of sorted.entries()) {
    // Statements of the embedded database are no pause for the process, and requests must go out at their moment.
    if (at % turnAfter === turnAfter - 1) await setImmediate();
    const states = statesOf(transition);
    ((await compareAndSwap(trx, transition, states, day, now)) ? moved : lost).push(transition);
  }
  await trx.insertMany('payout_move', moveColumns, moveRows(moved, fromInstant(trx.dialect, now)));
  await setImmediate();
  await bookEntries(trx, moved.flatMap(entriesOf), now);
  const alarming = moved.filter(({ events, alarms }) => alarms === true || events.includes('giveUp'));
  await appendAlerts(trx, alarming.map(alertOf), now);
  return lost;
}

/** The state before, and the one after each event. Throws STATE_MOVE_FORBIDDEN. */
function statesOf({ payout, events }: Transition): [PayoutState, ...PayoutState[]] {
  const states: [PayoutState, ...PayoutState[]] = [payout.state];
  for (const event of events) states.push(move(payoutMoves, states[states.length - 1] as PayoutState, event));
  return states;
}

async function compareAndSwap(
  trx: Transaction,
  transition: Transition,
  states: readonly PayoutState[],
  day: string | null,
  now: string,
): Promise<boolean> {
  const { payout, events, code, channelReference, nextMs, fruitless, checkCount, sentMs } = transition;
  const to = states[states.length - 1] as PayoutState;
  const isFinal = to === 'SUCCESS' || to === 'FAILED';
  const changed = await trx.change(
    `update payout set state = ?, version = version + ?, last_code = ?, next_ms = ?, fruitless = ?, check_count = ?,
            attempts = ?, first_sent_ms = ?, last_sent_ms = ?, channel_reference = ?, held_code = null,
            submitted_on = ?, returned_on = ?, finished_at = ?
      where id = ? and state = ? and version = ?`,
    [
      ...[to, Math.max(1, events.length), code, nextMs, fruitless ?? payout.fruitless],
      ...[checkCount ?? payout.checkCount, payout.attempts + (sentMs === undefined ? 0 : 1)],
      ...[payout.firstSentMs ?? sentMs ?? null, lastSentMs(transition)],
      channelReference ?? payout.channelReference,
      ...[events.includes('submit') ? day : payout.submittedOn, to === 'FAILED' ? day : null],
      isFinal ? fromInstant(trx.dialect, now) : null,
      ...[payout.id, payout.state, payout.version],
    ],
  );
  return changed === 1;
}

/** The latest moment at which the last submission can have left. */
function lastSentMs({ payout, sentUntilMs, heardMs }: Transition): bigint | null {
  const latest = sentUntilMs ?? payout.lastSentMs;
  return latest !== null && heardMs !== undefined && heardMs < latest ? heardMs : latest;
}

const moveColumns = ['payout_id', 'at', 'actor', 'event', 'from_state', 'to_state', 'attempt', 'code'];
moveColumns.push('channel_reference', 'response_digest', 'reason');

function* moveRows(transitions: readonly Transition[], at: string): Generator<Binding[]> {
  for (const transition of transitions) {
    const { payout, events, code, actor, sentMs } = transition;
    const states = statesOf(transition);
    const attempt = payout.attempts + (sentMs === undefined ? 0 : 1);
    const said = [transition.channelReference ?? null, transition.responseDigest ?? null, transition.reason ?? null];
    if (events.length === 0) yield [payout.id, at, actor, 'note', payout.state, payout.state, attempt, code, ...said];
    for (const [step, event] of events.entries()) {
      const [from, to] = [states[step] as PayoutState, states[step + 1] as PayoutState];
      yield [payout.id, at, actor, event, from, to, attempt, code, ...said];
    }
  }
}

/** What is booked with a move: each once in the life of a payout, whatever happens in between. */
const booked: Partial<Record<PayoutEvent, 'SUBMITTED' | 'PAID' | 'RETURNED'>> = {
  submit: 'SUBMITTED',
  confirm: 'PAID',
  approve: 'PAID',
  refuse: 'RETURNED',
  reject: 'RETURNED',
};

function entriesOf({ payout, events }: Transition): OwnEntry[] {
  return events.flatMap((event) => {
    const kind = booked[event];
    return kind === undefined ? [] : [payoutEntry(payout, kind)];
  });
}

/**
 * Submitted: Dr merchant payable / Cr payouts in transit. Paid: Dr payouts in transit / Cr channel cash. Returned: the
 * reverse of submitted.
 */
function payoutEntry(payout: Payout, kind: 'SUBMITTED' | 'PAID' | 'RETURNED'): OwnEntry {
  const { id, batchDay, accountNo, amountMinor, currency, channel } = payout;
  const inTransit = { ledgerAccount: 'PAYOUT_IN_TRANSIT', subAccount: accountNo, amountMinor, currency } as const;
  const payable = { ledgerAccount: 'MERCHANT_PAYABLE', subAccount: accountNo, amountMinor, currency } as const;
  const cash = { ledgerAccount: 'CHANNEL_CASH', subAccount: channel, amountMinor, currency } as const;
  const [debited, credited] = {
    SUBMITTED: [payable, inTransit],
    PAID: [inTransit, cash],
    RETURNED: [inTransit, payable],
  }[kind] as [typeof payable, typeof payable];
  return {
    bizNo: `P${String(id)}.${kind}`,
    type: 'PAYOUT',
    batchDay,
    accountNo,
    entries: [
      { ...debited, side: 'DEBIT' },
      { ...credited, side: 'CREDIT' },
    ],
  };
}

function alertOf({ payout, code, channelReference }: Transition): Alert {
  const id = String(payout.id);
  return {
    bizNo: `A${id}.${code}`,
    batchDay: payout.batchDay,
    accountNo: payout.accountNo,
    content: {
      code,
      payoutId: id,
      idempotencyKey: payout.idempotencyKey,
      channel: payout.channel,
      channelReference: channelReference ?? payout.channelReference,
      suggestedAction: `settle payout show ${id}`,
    },
  };
}
