import type { Session, Transaction } from '../db/session.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { ChannelRules, PayoutChannel } from './channel.js';
import { isKeyExpired } from './decide.js';
import { reservePlaces, takePace } from './pace.js';
import type { HeldCode, Payout } from './payout.js';
import type { PayoutTerms } from './planAccount.js';
import { payableAt, positionKey, reservedSince, statesOf } from './positions.js';
import { lastClosedDay, payoutColumns, payoutsOf, toPayout } from './queries.js';
import { applyTransitions, type Transition } from './transitions.js';

/** Payouts of one claim, in the order of their places in the channel's pace. */
export interface Claim {
  readonly payouts: readonly Payout[];
  /** The place of the first one, by the database's clock. */
  readonly firstPlaceMs: number;
  /** They are this process's to send for so long, from before the claim on. */
  readonly sendableMs: number;
}

/** Where the last claim of a process ended, so that what is held is looked at once a run. */
export interface ClaimCursor {
  dueDay: BatchDay;
  id: bigint;
}

export const claimStart: ClaimCursor = { dueDay: '0000-01-01', id: 0n };

export interface SubmissionPorts {
  actor: string;
  now: () => string;
  /** Payouts that are due up to this day. */
  dueUpTo: BatchDay;
  termsOn(session: Session, day: BatchDay, accountNos: readonly string[]): Promise<(accountNo: string) => PayoutTerms>;
}

export interface SubmissionClaim extends Claim {
  /** Looked at, claimed or not; 0: nothing more is due. */
  readonly seen: number;
  readonly held: number;
  readonly next: ClaimCursor;
}

/** From a claim to the first of its places, so that none of them has passed when the claim is committed. */
const claimLeadMs = 40;

/** How long a process may go on to send what it claimed: until the channel's pace lets it, with room to spare. */
function sendableMs({ perSecond }: ChannelRules, payouts: number): number {
  return Math.ceil((payouts * 1_000) / perSecond) + 20_000;
}

/** How long it has what it claimed: until all of it is sent, answered, and the answer written down. */
function claimMs(rules: ChannelRules, payouts: number): number {
  return sendableMs(rules, payouts) + 2 * rules.timeoutMs + 10_000;
}

/**
 * Claims payouts of a channel for submission: those that were found unpaid, then those that are due. What each stands on
 * is asked again, account, hold and balance; one that may not go is held, with the reason, and looked at by the next run.
 * All of it is stored before anything is sent: state, attempt, and the amount in transit.
 */
export async function claimSubmissions(
  trx: Transaction,
  { name, rules }: Pick<PayoutChannel, 'name' | 'rules'>,
  limit: number,
  cursor: ClaimCursor,
  ports: SubmissionPorts,
): Promise<SubmissionClaim> {
  const nowMs = await takePace(trx, name);
  const again = await unclaimed(trx, name, limit);
  const due = await dueAfter(trx, name, ports.dueUpTo, cursor, limit - again.length);
  const held = await heldAmong(trx, due, ports);
  await noteHeld(trx, due, held);
  const last = due[due.length - 1];
  const next = last === undefined ? cursor : { dueDay: last.dueDay, id: last.id };
  const nextMs = nowMs + BigInt(claimMs(rules, limit));
  // When exactly each is sent nobody stores: the lifetime of its key counts from the claim, the horizon from the last moment.
  const sent = { sentMs: nowMs, sentUntilMs: nowMs + BigInt(sendableMs(rules, limit)) };
  const transitions = [
    ...again.map((payout) => sendAgain(payout, rules, sent, nextMs, ports.actor)),
    ...due
      .filter(({ id }) => !held.has(id))
      .map((payout): Transition => {
        return { payout, events: ['submit'], code: 'DUE', actor: ports.actor, nextMs, ...sent };
      }),
  ];
  const lost = new Set(await applyTransitions(trx, transitions, ports.now()));
  const ids = transitions
    .filter((one) => !lost.has(one) && one.sentMs !== undefined)
    .map(({ payout }) => payout.id)
    .sort((a, b) => (a < b ? -1 : 1));
  const seen = { seen: again.length + due.length, held: held.size, next };
  return { ...(await withPlaces(trx, { name, rules }, ids, limit)), ...seen };
}

async function withPlaces(
  trx: Transaction,
  { name, rules }: Pick<PayoutChannel, 'name' | 'rules'>,
  ids: readonly bigint[],
  limit: number,
): Promise<Claim> {
  const payouts = await payoutsOf(trx, ids);
  const places = { requests: ids.length, perSecond: rules.perSecond, leadMs: claimLeadMs };
  const firstPlaceMs = ids.length === 0 ? 0 : await reservePlaces(trx, name, places);
  return { payouts, firstPlaceMs, sendableMs: sendableMs(rules, limit) };
}

/** A payout that the channel called unpaid goes out under its key again, unless the channel may have forgotten the key. */
function sendAgain(
  payout: Payout,
  rules: ChannelRules,
  sent: { sentMs: bigint; sentUntilMs: bigint },
  nextMs: bigint,
  actor: string,
): Transition {
  const sinceFirstSentMs = Number(sent.sentMs - (payout.firstSentMs ?? sent.sentMs));
  if (isKeyExpired({ sinceFirstSentMs }, rules)) {
    return { payout, events: ['loseTrack', 'giveUp'], code: 'KEY_EXPIRED', actor, nextMs: null };
  }
  return { payout, events: [], code: 'SENT_AGAIN', actor, nextMs, ...sent };
}

async function unclaimed(session: Session, channel: string, limit: number): Promise<Payout[]> {
  const rows = await session.rows(
    `select ${payoutColumns} from payout p
      where p.channel = ? and p.state = 'PROCESSING' and p.next_ms is null order by p.id limit ${String(limit)}`,
    [channel],
  );
  return rows.map(toPayout);
}

async function dueAfter(
  session: Session,
  channel: string,
  dueUpTo: BatchDay,
  { dueDay, id }: ClaimCursor,
  limit: number,
): Promise<Payout[]> {
  if (limit <= 0) return [];
  const rows = await session.rows(
    `select ${payoutColumns} from payout p
      where p.channel = ? and p.state = 'INIT' and p.due_day >= ? and p.due_day <= ? and (p.due_day > ? or p.id > ?)
      order by p.due_day, p.id limit ${String(limit)}`,
    [channel, dueDay, dueUpTo, dueDay, id],
  );
  return rows.map(toPayout);
}

/** Which of these may not go now, and why: the account, its terms and its balance are as they are today. */
async function heldAmong(
  session: Session,
  due: readonly Payout[],
  ports: SubmissionPorts,
): Promise<Map<bigint, HeldCode>> {
  const held = new Map<bigint, HeldCode>();
  const day = await lastClosedDay(session);
  if (due.length === 0 || day === null) return held;
  const accountNos = [...new Set(due.map(({ accountNo }) => accountNo))];
  const states = await statesOf(session, accountNos);
  const terms = await ports.termsOn(session, day, accountNos);
  const left = new Map<string, bigint>();
  for (const { accountNo, currency, payableMinor } of await payableAt(session, day, accountNos)) {
    left.set(positionKey(accountNo, currency), payableMinor);
  }
  for (const [key, reservedMinor] of await reservedSince(session, day, accountNos, false)) {
    left.set(key, (left.get(key) ?? 0n) - reservedMinor);
  }
  for (const { id, accountNo, currency, amountMinor } of due) {
    const key = positionKey(accountNo, currency);
    const availableMinor = left.get(key) ?? 0n;
    if (states.get(accountNo) !== 'ACTIVE') held.set(id, 'ACCOUNT_NOT_ACTIVE');
    else if (terms(accountNo).payoutHold) held.set(id, 'PAYOUT_HOLD');
    else if (availableMinor < amountMinor) held.set(id, 'BALANCE_TOO_LOW');
    else left.set(key, availableMinor - amountMinor);
  }
  return held;
}

async function noteHeld(trx: Transaction, due: readonly Payout[], held: ReadonlyMap<bigint, HeldCode>): Promise<void> {
  for (const { id, heldCode } of due) {
    const code = held.get(id);
    if (code === undefined || code === heldCode) continue;
    await trx.change(`update payout set held_code = ? where id = ? and state = 'INIT'`, [code, id]);
  }
}

/** Claims UNKNOWN payouts of a channel that are due for a check: of two checkers one gets each. */
export async function claimChecks(
  trx: Transaction,
  { name, rules }: Pick<PayoutChannel, 'name' | 'rules'>,
  limit: number,
): Promise<Claim> {
  const nowMs = await takePace(trx, name);
  const rows = await trx.rows(
    `select ${payoutColumns} from payout p
      where p.channel = ? and p.state = 'UNKNOWN' and p.next_ms <= ? order by p.next_ms, p.id limit ${String(limit)}`,
    [name, nowMs],
  );
  const due = rows.map(toPayout).sort((a, b) => (a.id < b.id ? -1 : 1));
  const nextMs = nowMs + BigInt(claimMs(rules, limit));
  const claimed: bigint[] = [];
  for (const { id, checkCount } of due) {
    const taken = await trx.change(
      `update payout set check_count = check_count + 1, version = version + 1, next_ms = ?
        where id = ? and check_count = ? and state = 'UNKNOWN'`,
      [nextMs, id, checkCount],
    );
    if (taken === 1) claimed.push(id);
  }
  return withPlaces(trx, { name, rules }, claimed, limit);
}

/**
 * Takes payouts from submitters that were not heard of again: what became of them is not known. Returns how many; fewer
 * than `limit` when there are no more.
 */
export async function loseStale(
  trx: Transaction,
  { name, rules }: Pick<PayoutChannel, 'name' | 'rules'>,
  limit: number,
  { actor, now }: Pick<SubmissionPorts, 'actor' | 'now'>,
): Promise<number> {
  const nowMs = await takePace(trx, name);
  const rows = await trx.rows(
    `select ${payoutColumns} from payout p
      where p.channel = ? and p.state = 'PROCESSING' and p.next_ms < ? order by p.next_ms, p.id limit ${String(limit)}`,
    [name, nowMs],
  );
  const nextMs = nowMs + BigInt(rules.checkAfterMs[0] ?? 0);
  const stale = rows.map(toPayout);
  await applyTransitions(
    trx,
    stale.map((payout) => ({ payout, events: ['loseTrack'], code: 'SUBMITTER_LOST', actor, nextMs, fruitless: 0 })),
    now(),
  );
  return stale.length;
}
