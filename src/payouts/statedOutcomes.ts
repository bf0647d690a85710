import type { Session, Transaction } from '../db/session.js';
import { placeholders, toBigInt, toText, toTextOrNull, unindexed } from '../db/values.js';
import { SettleError } from '../kernel/errors.js';
import type { PayoutState } from '../kernel/states.js';
import type { ChannelAnswer, ChannelRules } from './channel.js';
import { decideLate } from './decide.js';
import type { Payout } from './payout.js';
import { payoutColumns, payoutsOf, toPayout } from './queries.js';
import { databaseMs, factsOf, transitionOf } from './recorder.js';
import { applyTransitions } from './transitions.js';

// What a channel's statement says of payouts, for the matching of its lines.

const listMax = 1_000;

/** A payout as far as matching needs it: of a day there are as many as lines. */
export type StatedPayout = Pick<
  Payout,
  'id' | 'batchDay' | 'amountMinor' | 'currency' | 'state' | 'idempotencyKey' | 'channelReference'
>;

const statedColumns = 'p.id, p.batch_day, p.amount_minor, p.currency, p.state, p.idempotency_key, p.channel_reference';

function toStated([id, batchDay, amount, currency, state, key, reference]: readonly unknown[]): StatedPayout {
  return {
    id: toBigInt(id),
    batchDay: toText(batchDay),
    amountMinor: toBigInt(amount),
    currency: toText(currency),
    state: toText(state) as PayoutState,
    idempotencyKey: toText(key),
    channelReference: toTextOrNull(reference),
  };
}

/** Payouts of a channel by their idempotency keys, or by the references that the channel gave back. */
export async function payoutsNamed(
  session: Session,
  channel: string,
  by: 'idempotency_key' | 'channel_reference',
  names: readonly string[],
): Promise<StatedPayout[]> {
  // A key names its payout better than the channel does; a reference is looked up under its channel.
  const ofChannel = by === 'idempotency_key' ? unindexed(session.dialect, 'p.channel') : 'p.channel';
  const payouts: StatedPayout[] = [];
  for (let at = 0; at < names.length; at += listMax) {
    const some = names.slice(at, at + listMax);
    const rows = await session.tuples(
      `select ${statedColumns} from payout p where ${ofChannel} = ? and p.${by} in (${placeholders(some)})`,
      [channel, ...some],
    );
    for (const row of rows) payouts.push(toStated(row));
  }
  return payouts;
}

/** Payouts of one currency in the payment file of this message id, in the order of ids. */
export async function payoutsInFile(
  session: Session,
  channel: string,
  messageId: string,
  currency: string,
): Promise<StatedPayout[]> {
  const rows = await session.tuples(
    `select ${statedColumns} from payment_file f
       join payment_file_entry e on e.channel = f.channel and e.file_no = f.file_no
       join payout p on p.id = e.payout_id
      where f.channel = ? and f.message_id = ? and p.currency = ? order by p.id`,
    [channel, messageId, currency],
  );
  return rows.map(toStated);
}

/** Where a list goes on: after this payout, by the moment at which it was first sent. */
export interface SentPlace {
  readonly ms: bigint;
  readonly id: bigint;
}

/**
 * Payouts that no statement line has moved, in one of these states, first sent after this place and before a moment, in the
 * order in which they were sent.
 */
export async function payoutsNotStated(
  session: Session,
  filter: { channel: string; states: readonly string[]; after: SentPlace; beforeMs: bigint; limit: number },
): Promise<Payout[]> {
  const { channel, states, after, beforeMs, limit } = filter;
  const rows = await session.rows(
    `select ${payoutColumns} from payout p
      where p.channel = ? and p.first_sent_ms >= ? and p.first_sent_ms < ? and (p.first_sent_ms > ? or p.id > ?)
        and p.state in (${placeholders(states)})
        and not exists (select 1 from statement_match m where m.ours = 'PAYOUT' and m.ours_id = p.id and m.role in ('MOVED', 'REFUSED'))
      order by p.first_sent_ms, p.id limit ${String(limit)}`,
    [channel, after.ms, beforeMs, after.ms, after.id, ...states],
  );
  return rows.map(toPayout);
}

/** What a line says of one payout. */
export interface Stated {
  readonly payoutId: bigint;
  readonly answer: Extract<ChannelAnswer, { kind: 'PAID' | 'REFUSED' }>;
}

/** "Paid" and "refused" move a payout by themselves: no pause and no count of these rules bears on them. */
const noPauses: ChannelRules = {
  ...{ keyLifetimeMs: 0, settlingHorizonMs: 0, checkAfterMs: [0], checks: 1, attempts: 1 },
  ...{ perSecond: 1, concurrency: 1, timeoutMs: 0, currencies: null, maximum: new Map() },
};
const roundsMax = 5;

/**
 * Moves payouts whose outcome was not known to what the statement says of them: the same decisions and moves as of a late
 * answer of the channel. Others stay as they are: what is final is, and what a person has before them is theirs. Gives the
 * payouts as they are then, by id.
 */
export async function applyStated(
  trx: Transaction,
  stated: readonly Stated[],
  actor: string,
  now: string,
): Promise<Map<bigint, Payout>> {
  // The first thing that is said of a payout is what moves it.
  const answers = new Map([...stated].reverse().map(({ payoutId, answer }) => [payoutId, answer]));
  const ids = [...answers.keys()].sort((a, b) => (a < b ? -1 : 1));
  let left = (await payoutsOf(trx, ids)).filter(isOpen);
  for (let round = 0; left.length > 0; round += 1) {
    if (round === roundsMax) {
      throw new SettleError(
        'DATABASE_CONTENTION',
        'The payouts of the statement are being moved by others all the time.',
      );
    }
    const at = await databaseMs(trx);
    const transitions = left.map((payout) => {
      const answer = answers.get(payout.id) as ChannelAnswer;
      return transitionOf(payout, answer, decideLate(factsOf(payout, at), answer, noPauses), at, actor);
    });
    const lost = await applyTransitions(trx, transitions, now);
    left = (
      await payoutsOf(
        trx,
        lost.map(({ payout }) => payout.id).sort((a, b) => (a < b ? -1 : 1)),
      )
    ).filter(isOpen);
  }
  return new Map((await payoutsOf(trx, ids)).map((payout) => [payout.id, payout]));
}

function isOpen({ state }: Payout): boolean {
  return state === 'PROCESSING' || state === 'UNKNOWN';
}
