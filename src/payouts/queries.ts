import type { Row, Session } from '../db/session.js';
import { oneOfIds, toBigInt, toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import type { PayoutState } from '../kernel/states.js';
import type { HeldCode, Payout } from './payout.js';

export const payoutColumns = `p.id, p.batch_day, p.account_no, p.currency, p.seq, p.amount_minor, p.channel, p.destination,
  p.holder, p.due_day, p.idempotency_key, p.state, p.version, p.attempts, p.check_count, p.fruitless, p.next_ms,
  p.first_sent_ms, p.last_sent_ms, p.submitted_on, p.returned_on, p.channel_reference, p.last_code, p.held_code,
  p.created_at, p.finished_at`;

export function toPayout(row: Row): Payout {
  const msOrNull = (value: unknown): bigint | null => (value === null ? null : toBigInt(value));
  return {
    id: toBigInt(row['id']),
    batchDay: toText(row['batch_day']),
    accountNo: toText(row['account_no']),
    currency: toText(row['currency']),
    seq: toCount(row['seq']),
    amountMinor: toBigInt(row['amount_minor']),
    channel: toText(row['channel']),
    destination: toText(row['destination']),
    holder: toText(row['holder']),
    dueDay: toText(row['due_day']),
    idempotencyKey: toText(row['idempotency_key']),
    state: toText(row['state']) as PayoutState,
    version: toCount(row['version']),
    attempts: toCount(row['attempts']),
    checkCount: toCount(row['check_count']),
    fruitless: toCount(row['fruitless']),
    nextMs: msOrNull(row['next_ms']),
    firstSentMs: msOrNull(row['first_sent_ms']),
    lastSentMs: msOrNull(row['last_sent_ms']),
    submittedOn: toTextOrNull(row['submitted_on']),
    returnedOn: toTextOrNull(row['returned_on']),
    channelReference: toTextOrNull(row['channel_reference']),
    lastCode: toTextOrNull(row['last_code']),
    heldCode: toTextOrNull(row['held_code']) as HeldCode | null,
    createdAt: toInstant(row['created_at']),
    finishedAt: toInstantOrNull(row['finished_at']),
  };
}

/** Payouts by id, in the order of ids. */
export async function payoutsOf(session: Session, ids: readonly bigint[]): Promise<Payout[]> {
  if (ids.length === 0) return [];
  const list = oneOfIds(session.dialect, 'p.id', ids);
  const rows = await session.rows(
    `select ${payoutColumns} from payout p where ${list.sql} order by p.id`,
    list.bindings,
  );
  return rows.map(toPayout);
}

/** The last closed day, up to which balances are made; null before the first. */
export async function lastClosedDay(session: Session): Promise<string | null> {
  const [row] = await session.rows(`select max(batch_day) as day from batch where state = 'CLOSED'`);
  return toTextOrNull(row?.['day']);
}

/** Payouts of these channels that are not final, by state: along an index, however many final ones there are. */
export async function openPayouts(session: Session, channels: readonly string[]): Promise<Record<string, number>> {
  const open: Record<string, number> = {};
  for (const channel of channels) {
    const rows = await session.tuples(
      `select state, count(*) from payout
        where channel = ? and state in ('INIT', 'PROCESSING', 'UNKNOWN', 'MANUAL') group by state order by state`,
      [channel],
    );
    for (const [state, payouts] of rows) open[toText(state)] = (open[toText(state)] ?? 0) + toCount(payouts);
  }
  return open;
}
