import { invariant } from './invariant.js';

/**
 * The state machines, one table each: state → event → next state. What is not listed is forbidden.
 * The migrations mirror the state names as CHECK constraints; a test compares both.
 */
export const orderMoves = {
  INIT: { claim: 'PROCESSING', fail: 'FAILED', cancel: 'CANCELED' },
  PROCESSING: { post: 'SUCCESS', fail: 'FAILED', cancel: 'CANCELED' },
  SUCCESS: {}, // final: a correction is a new order that names this one
  FAILED: {},
  CANCELED: {},
} as const;

export const batchMoves = {
  OPEN: { settle: 'SETTLING' },
  SETTLING: { post: 'POSTING' },
  POSTING: { reconcile: 'RECONCILING' },
  RECONCILING: { close: 'CLOSED' },
  CLOSED: {}, // late orders of a closed day are booked under that day without reopening it
} as const;

export const runMoves = {
  RUNNING: {
    finish: 'OK',
    leave: 'PARTIAL',
    contradict: 'INTEGRITY',
    interrupt: 'INTERRUPTED',
    abandon: 'ABANDONED', // found dead by the next run
  },
  OK: {},
  PARTIAL: {},
  INTEGRITY: {},
  INTERRUPTED: {},
  ABANDONED: {},
} as const;

export const messageMoves = {
  NEW: { confirm: 'SENT', park: 'PARKED' },
  PARKED: { requeue: 'NEW' },
  SENT: {},
} as const;

/** A payout whose outcome is not known is UNKNOWN and never failed; only the channel's own word or a person moves it on. */
export const payoutMoves = {
  INIT: { submit: 'PROCESSING' },
  PROCESSING: { confirm: 'SUCCESS', refuse: 'FAILED', loseTrack: 'UNKNOWN' },
  UNKNOWN: { confirm: 'SUCCESS', provenUnpaid: 'PROCESSING', giveUp: 'MANUAL' }, // no plain submit: it may be paid
  MANUAL: { approve: 'SUCCESS', reject: 'FAILED', retry: 'PROCESSING' }, // by a recorded review
  SUCCESS: {},
  FAILED: {},
} as const;

/** A local order that is paid on a chain, in the words of its source. One that is paid never waits again. */
export const depositOrderMoves = {
  pending: { pay: 'success', close: 'closed' },
  success: { refund: 'refunded' },
  closed: {},
  refunded: {},
} as const;

/** What people, or the time, say of a plan: only what is approved is ever executed, once. */
export const depositReviewMoves = {
  open: { approve: 'approved', reject: 'rejected' },
  approved: { execute: 'executed', reject: 'rejected' },
  rejected: { approve: 'approved' }, // by a person who comes after the time did
  executed: {},
} as const;

/** What an audit of settled deposits found. Closing one moves no money. */
export const depositFindingMoves = {
  open: { resolve: 'resolved', ignore: 'ignored' },
  resolved: {},
  ignored: {},
} as const;

/**
 * A difference between two records of the same money. Looked for again while it may clear by itself (RETRYING), then a
 * person's (MANUAL). One that cleared and is found again is the same row; what a person has closed stays closed.
 */
export const discrepancyMoves = {
  OPEN: { retry: 'RETRYING', handOver: 'MANUAL', clear: 'RESOLVED' },
  RETRYING: { handOver: 'MANUAL', clear: 'RESOLVED' },
  MANUAL: { retry: 'RETRYING', clear: 'RESOLVED', resolve: 'RESOLVED', ignore: 'IGNORED' },
  RESOLVED: { recur: 'OPEN' },
  IGNORED: {},
} as const;

/** A file of a channel: STAGED while it is read, when nothing of it counts; FLAGGED is readable but contradicts itself or its neighbours. */
export const statementFileMoves = {
  STAGED: { book: 'BOOKED', flag: 'FLAGGED' },
  BOOKED: {},
  FLAGGED: {},
} as const;

export type DiscrepancyState = keyof typeof discrepancyMoves;
export type StatementFileState = keyof typeof statementFileMoves;
export type DiscrepancyEvent = EventOf<typeof discrepancyMoves>;
export type OrderState = keyof typeof orderMoves;
export type BatchState = keyof typeof batchMoves;
export type RunState = keyof typeof runMoves;
export type MessageState = keyof typeof messageMoves;
export type PayoutState = keyof typeof payoutMoves;
export type DepositOrderStatus = keyof typeof depositOrderMoves;
export type DepositReviewState = keyof typeof depositReviewMoves;
export type DepositFindingState = keyof typeof depositFindingMoves;
type EventOf<M> = { [State in keyof M]: keyof M[State] }[keyof M];
export type PayoutEvent = EventOf<typeof payoutMoves>;

export const orderTypes = ['PAYMENT', 'REFUND', 'FEE', 'ADJUSTMENT'] as const;
export type OrderType = (typeof orderTypes)[number];

export const accountStates = ['ACTIVE', 'FROZEN', 'CLOSED'] as const;
export type AccountState = (typeof accountStates)[number];

/** Kinds of discrepancies. MISSING_OURS: theirs has it, ours has not. GAP and BALANCE: between statements, or against our cash. */
export const discrepancyClasses = [
  'MISSING_OURS',
  'MISSING_THEIRS',
  'AMOUNT',
  'CURRENCY',
  'FEE',
  'STATE',
  'DUPLICATE',
  'GAP',
  'BALANCE',
  'STATEMENT',
  'BOOKS',
] as const;
export type DiscrepancyClass = (typeof discrepancyClasses)[number];

type Machine = Record<string, Record<string, string>>;

/** The state that `event` leads to; a move that the table does not list is a bug and stops the run. */
export function move<M extends Machine>(machine: M, from: keyof M & string, event: string): keyof M & string {
  const row = Object.hasOwn(machine, from) ? machine[from] : undefined;
  // Own keys only: "constructor" or "toString" is a member of every object, and no move.
  const to = row !== undefined && Object.hasOwn(row, event) ? row[event] : undefined;
  invariant(to !== undefined, 'STATE_MOVE_FORBIDDEN', `${from} has no move "${event}".`, { from, event });
  return to;
}
