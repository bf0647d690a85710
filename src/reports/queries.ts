import type { Session } from '../db/session.js';
import { exactSum, sumIn, toBigInt, toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { BatchState, OrderType, RunState } from '../kernel/states.js';

export interface BatchRow {
  batchDay: BatchDay;
  state: BatchState;
  cutOff: string;
  topId: bigint;
  ordersAtClose: bigint | null;
  openedAt: string;
  closedAt: string | null;
}

/** The batch of a day, or undefined. */
export async function batchOf(session: Session, day: BatchDay): Promise<BatchRow | undefined> {
  const [row] = await session.rows(
    `select batch_day, state, cut_off, top_id, orders_at_close, opened_at, closed_at from batch where batch_day = ?`,
    [day],
  );
  if (row === undefined) return undefined;
  return {
    batchDay: toText(row['batch_day']),
    state: toText(row['state']) as BatchState,
    cutOff: toInstant(row['cut_off']),
    topId: toBigInt(row['top_id']),
    ordersAtClose: row['orders_at_close'] === null ? null : toBigInt(row['orders_at_close']),
    openedAt: toInstant(row['opened_at']),
    closedAt: toInstantOrNull(row['closed_at']),
  };
}

/** Days that have a batch, newest first. */
export async function knownDays(session: Session, limit: number): Promise<BatchDay[]> {
  const rows = await session.rows(`select batch_day from batch order by batch_day desc limit ${String(limit)}`);
  return rows.map((row) => toText(row['batch_day']));
}

export interface RunRow {
  id: bigint;
  batchDay: BatchDay;
  kind: string;
  /** "2/4" for a run over a shard of the accounts. */
  shard: string | null;
  state: RunState;
  stage: string;
  reason: string | null;
  fromId: bigint;
  reachedId: bigint;
  topId: bigint;
  ordersTotal: number;
  ordersRead: number;
  ordersClaimed: number;
  ordersPosted: number;
  startedAt: string;
  heartbeatAt: string;
  finishedAt: string | null;
  cancelCode: string | null;
  cancelDetail: string | null;
  cancelStage: string | null;
  exitCode: number | null;
  errorCode: string | null;
  /** What its lanes had in hand at the last heartbeat, as JSON; null before the first. */
  atWork: string | null;
}

const runColumns = `id, batch_day, kind, shard_no, shards, state, stage, reason, from_id, reached_id, top_id, orders_total, orders_read,
  orders_claimed, orders_posted, started_at, heartbeat_at, finished_at, cancel_code, cancel_detail, cancel_stage,
  exit_code, error_code, at_work`;

/** Runs, newest first; of one day, or one run, when given. */
export async function runRows(
  session: Session,
  filter: {
    day?: BatchDay | undefined;
    id?: bigint | undefined;
    state?: RunState | undefined;
    limit?: number | undefined;
  } = {},
): Promise<RunRow[]> {
  const conditions = [
    ...(filter.day === undefined ? [] : ['batch_day = ?']),
    ...(filter.id === undefined ? [] : ['id = ?']),
    ...(filter.state === undefined ? [] : ['state = ?']),
  ];
  const rows = await session.rows(
    `select ${runColumns} from run
      ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
      order by id desc ${filter.limit === undefined ? '' : `limit ${String(filter.limit)}`}`,
    [filter.day, filter.id, filter.state].filter((value) => value !== undefined),
  );
  return rows.map((row) => ({
    id: toBigInt(row['id']),
    batchDay: toText(row['batch_day']),
    kind: toText(row['kind']),
    shard: row['shard_no'] === null ? null : `${String(toCount(row['shard_no']))}/${String(toCount(row['shards']))}`,
    state: toText(row['state']) as RunState,
    stage: toText(row['stage']),
    reason: toTextOrNull(row['reason']),
    fromId: toBigInt(row['from_id']),
    reachedId: toBigInt(row['reached_id']),
    topId: toBigInt(row['top_id']),
    ordersTotal: toCount(row['orders_total']),
    ordersRead: toCount(row['orders_read']),
    ordersClaimed: toCount(row['orders_claimed']),
    ordersPosted: toCount(row['orders_posted']),
    startedAt: toInstant(row['started_at']),
    heartbeatAt: toInstant(row['heartbeat_at']),
    finishedAt: toInstantOrNull(row['finished_at']),
    cancelCode: toTextOrNull(row['cancel_code']),
    cancelDetail: toTextOrNull(row['cancel_detail']),
    cancelStage: toTextOrNull(row['cancel_stage']),
    exitCode: row['exit_code'] === null ? null : toCount(row['exit_code']),
    errorCode: toTextOrNull(row['error_code']),
    atWork: toTextOrNull(row['at_work']),
  }));
}

/** The document of the day's last run over all accounts that ended with one, and the id of that run. */
export async function lastRunDocument(
  session: Session,
  day: BatchDay,
): Promise<{ runId: bigint; text: string } | undefined> {
  const [row] = await session.rows(
    `select id, document from run
      where batch_day = ? and shard_no is null and document is not null order by id desc limit 1`,
    [day],
  );
  return row === undefined ? undefined : { runId: toBigInt(row['id']), text: toText(row['document']) };
}

export interface SourceTotal {
  currency: string;
  type: OrderType;
  orders: number;
  amountMinor: bigint;
}

/** The frozen input of the day. */
export async function sourceTotals(session: Session, day: BatchDay): Promise<SourceTotal[]> {
  const rows = await session.rows('select currency, type, orders, amount_minor from source_total where batch_day = ?', [
    day,
  ]);
  return rows.map((row) => ({
    currency: toText(row['currency']),
    type: toText(row['type']) as OrderType,
    orders: toCount(row['orders']),
    amountMinor: toBigInt(row['amount_minor']),
  }));
}

export interface Position {
  accountNo: string;
  currency: string;
  orders: number;
  netMinor: bigint;
}

/** Net positions of a day: nets of all its chunks, summed per account and currency. In no order. */
export async function netPositions(session: Session, day: BatchDay): Promise<Position[]> {
  const rows = await session.rows(
    `select n.account_no, n.currency, sum(n.orders) as orders, ${exactSum(session.dialect, 'n.amount_minor', 'net')}
       from chunk c
       join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no
      where c.batch_day = ?
      group by n.account_no, n.currency`,
    [day],
  );
  return rows.map((row) => ({
    accountNo: toText(row['account_no']),
    currency: toText(row['currency']),
    orders: toCount(row['orders']),
    netMinor: sumIn(row, 'net'),
  }));
}

/** What was settled for a day after it had been closed, per run, account and currency. In no order. */
export async function latePositions(session: Session, day: BatchDay): Promise<(Position & { runId: bigint })[]> {
  const rows = await session.rows(
    `select n.run_id, n.account_no, n.currency, sum(n.orders) as orders,
            ${exactSum(session.dialect, 'n.amount_minor', 'net')}
       from batch b
       join chunk c on c.batch_day = b.batch_day and c.committed_at > b.closed_at
       join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no
      where b.batch_day = ?
      group by n.run_id, n.account_no, n.currency`,
    [day],
  );
  return rows.map((row) => ({
    runId: toBigInt(row['run_id']),
    accountNo: toText(row['account_no']),
    currency: toText(row['currency']),
    orders: toCount(row['orders']),
    netMinor: sumIn(row, 'net'),
  }));
}

/** The days on which that was booked, in order. */
export async function lateBookingDays(session: Session, day: BatchDay): Promise<BatchDay[]> {
  const rows = await session.rows(
    `select distinct booking_day from journal_entry
      where batch_day = ? and booking_day > batch_day and type in ('SETTLEMENT', 'TERMS') order by booking_day`,
    [day],
  );
  return rows.map((row) => toText(row['booking_day']));
}

export interface CurrencySum {
  currency: string;
  orders: number;
  netMinor: bigint;
}

/** Nets of a day per currency. */
export function netTotals(session: Session, day: BatchDay): Promise<CurrencySum[]> {
  return currencySums(session, day, 'n.orders', '');
}

/** Messages of a day per currency, by way of their nets. */
export function messageTotals(session: Session, day: BatchDay): Promise<CurrencySum[]> {
  return currencySums(session, day, 'm.orders', 'join outbox m on m.biz_no = n.biz_no');
}

async function currencySums(session: Session, day: BatchDay, orders: string, join: string): Promise<CurrencySum[]> {
  const rows = await session.rows(
    `select n.currency, sum(${orders}) as orders, ${exactSum(session.dialect, 'n.amount_minor', 'net')}
       from chunk c
       join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no
       ${join}
      where c.batch_day = ?
      group by n.currency`,
    [day],
  );
  return rows.map((row) => ({
    currency: toText(row['currency']),
    orders: toCount(row['orders']),
    netMinor: sumIn(row, 'net'),
  }));
}

/** Days whose batch is not closed, oldest first. */
export async function openDays(session: Session): Promise<BatchDay[]> {
  const rows = await session.rows(`select batch_day from batch where state <> 'CLOSED' order by batch_day`);
  return rows.map((row) => toText(row['batch_day']));
}

/** Messages of a day that are not delivered. */
export async function unsentMessages(session: Session, day: BatchDay): Promise<{ new: number; parked: number }> {
  const rows = await session.rows(
    `select state, count(*) as messages from outbox
      where state in ('NEW', 'PARKED') and batch_day = ? and topic = 'LEDGER' group by state`,
    [day],
  );
  const counts = new Map(rows.map((row) => [toText(row['state']), toCount(row['messages'])]));
  return { new: counts.get('NEW') ?? 0, parked: counts.get('PARKED') ?? 0 };
}
