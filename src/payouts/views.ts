import type { Session } from '../db/session.js';
import { exactSum, sumIn, toBigInt, toCount, toInstant, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { payoutMoves, type PayoutState } from '../kernel/states.js';
import type { Payout } from './payout.js';
import { payoutColumns, toPayout } from './queries.js';

/** One row of the audit trail. */
export interface MoveView {
  at: string;
  actor: string;
  event: string;
  from: string;
  to: string;
  attempt: number;
  code: string;
  channelReference: string | null;
  responseDigest: string | null;
  reason: string | null;
}

export interface ReviewView {
  id: string;
  decision: string;
  by: string;
  reason: string;
  at: string;
  /** The review that this one confirms. */
  confirms: string | null;
}

/** What is asked of a list of payouts. */
export interface PayoutFilter {
  batchDay?: BatchDay | undefined;
  state?: string | undefined;
  account?: string | undefined;
  limit: number;
}

/** Payouts, the newest first. */
export async function listPayouts(session: Session, filter: PayoutFilter): Promise<Payout[]> {
  const conditions: string[] = [];
  const bindings: string[] = [];
  for (const [column, value] of [
    ['batch_day', filter.batchDay],
    ['state', filter.state],
    ['account_no', filter.account],
  ] as const) {
    if (value === undefined) continue;
    conditions.push(`p.${column} = ?`);
    bindings.push(value);
  }
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  const rows = await session.rows(
    `select ${payoutColumns} from payout p ${where} order by p.id desc limit ${String(filter.limit)}`,
    bindings,
  );
  return rows.map(toPayout);
}

/** A payout by its id or its key, with all that happened to it; null when there is none. */
export async function payoutStory(
  session: Session,
  idOrKey: string,
): Promise<{ payout: Payout; moves: MoveView[]; reviews: ReviewView[] } | null> {
  const isId = /^[1-9][0-9]{0,17}$/.test(idOrKey);
  const [row] = await session.rows(
    `select ${payoutColumns} from payout p where ${isId ? 'p.id' : 'p.idempotency_key'} = ?`,
    [isId ? BigInt(idOrKey) : idOrKey],
  );
  if (row === undefined) return null;
  const payout = toPayout(row);
  return { payout, moves: await movesOf(session, payout.id), reviews: await reviewsOf(session, payout.id) };
}

async function movesOf(session: Session, id: bigint): Promise<MoveView[]> {
  const rows = await session.rows(
    `select at, actor, event, from_state, to_state, attempt, code, channel_reference, response_digest, reason
       from payout_move where payout_id = ? order by id`,
    [id],
  );
  return rows.map((row) => ({
    at: toInstant(row['at']),
    actor: toText(row['actor']),
    event: toText(row['event']),
    from: toText(row['from_state']),
    to: toText(row['to_state']),
    attempt: toCount(row['attempt']),
    code: toText(row['code']),
    channelReference: toTextOrNull(row['channel_reference']),
    responseDigest: toTextOrNull(row['response_digest']),
    reason: toTextOrNull(row['reason']),
  }));
}

export async function reviewsOf(session: Session, id: bigint): Promise<ReviewView[]> {
  const rows = await session.rows(
    'select id, decision, by_name, reason, at, confirms from payout_review where payout_id = ? order by id',
    [id],
  );
  return rows.map((row) => ({
    id: String(toBigInt(row['id'])),
    decision: toText(row['decision']),
    by: toText(row['by_name']),
    reason: toText(row['reason']),
    at: toInstant(row['at']),
    confirms: row['confirms'] === null ? null : String(toBigInt(row['confirms'])),
  }));
}

/** Payouts of a day in one state and currency. */
export interface PayoutTotal {
  state: PayoutState;
  currency: string;
  payouts: number;
  amountMinor: bigint;
}

/** The payouts of a day by state and currency, in the order in which a payout goes through the states. */
export function payoutTotals(session: Session, day: BatchDay): Promise<PayoutTotal[]> {
  return payoutTotalsBetween(session, day, day);
}

/** The same for all days from one to another, both counted in. */
export async function payoutTotalsBetween(session: Session, from: BatchDay, until: BatchDay): Promise<PayoutTotal[]> {
  const rows = await session.rows(
    `select state, currency, count(*) as payouts, ${exactSum(session.dialect, 'amount_minor', 'amount')}
       from payout where batch_day between ? and ? group by state, currency order by currency`,
    [from, until],
  );
  const order = Object.keys(payoutMoves);
  return rows
    .map((row) => ({
      state: toText(row['state']) as PayoutState,
      currency: toText(row['currency']),
      payouts: toCount(row['payouts']),
      amountMinor: sumIn(row, 'amount'),
    }))
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
}

/** Something payable that is not planned, and why. */
export interface CarriedView {
  batchDay: BatchDay;
  accountNo: string;
  currency: string;
  amountMinor: bigint;
  reason: string;
}

/** What is payable and was carried forward for a reason that may pass, by account. */
export async function carriedForward(session: Session): Promise<CarriedView[]> {
  const rows = await session.rows(
    'select batch_day, account_no, currency, amount_minor, reason from payout_carried order by account_no, currency',
  );
  return rows.map((row) => ({
    batchDay: toText(row['batch_day']),
    accountNo: toText(row['account_no']),
    currency: toText(row['currency']),
    amountMinor: toBigInt(row['amount_minor']),
    reason: toText(row['reason']),
  }));
}
