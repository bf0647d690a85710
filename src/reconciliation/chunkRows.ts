import type { Session } from '../db/session.js';
import { toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import { readDayTerms, type DayTerms } from './dayTerms.js';
import { isOfDay, orderRows } from './orderRows.js';

export interface ChunkRow {
  runId: bigint;
  chunkNo: number;
  firstId: bigint;
  lastId: bigint;
  orders: number;
  nets: number;
}

export interface OrderRow {
  id: bigint;
  chunkNo: number;
  accountNo: string;
  currency: string;
  type: string;
  channel: string;
  amountMinor: bigint;
  state: string;
  /** Null in a table of others, who count by it what they like. */
  version: number | null;
}

/** A net with its message and the message's journal entry, as far as they exist. */
export interface NetRow {
  chunkNo: number;
  netNo: number;
  accountNo: string;
  currency: string;
  orders: number;
  amountMinor: bigint;
  bizNo: string;
  /** What the account's terms took from it: the fees, what their rounding left over, and the payments among its orders. */
  termsId: bigint | null;
  feeMinor: bigint;
  feeRest: bigint;
  paymentMinor: bigint;
  message: MessageRow | null;
  journal: { id: bigint; bizNo: string; type: string; batchDay: string } | null;
}

export interface MessageRow {
  id: bigint;
  topic: string;
  batchDay: string;
  accountNo: string | null;
  orders: number;
  payload: string;
  state: string;
}

export interface LegRow {
  ledgerAccount: string;
  subAccount: string;
  side: string;
  currency: string;
  amountMinor: bigint;
  reason: string | null;
}

/** Some chunks of one run and day with all that hangs on them. Small enough to be held, whatever the size of the day. */
export interface ChunkWindow {
  batchDay: string;
  chunks: ChunkRow[];
  orders: OrderRow[];
  nets: NetRow[];
  /** Ledger entries by journal entry id. */
  legs: Map<bigint, LegRow[]>;
  /** The terms of the day, of the accounts that have a net here. */
  terms: DayTerms;
}

const windowOrdersMax = 10_000;
const windowChunksMax = 500;

/** All chunks of a day, window by window, in the order of run and chunk number. */
export async function* chunkWindows(session: Session, batchDay: string): AsyncGenerator<ChunkWindow> {
  let [runId, chunkNo] = [-1n, -1];
  for (;;) {
    const rows = await session.rows(
      `select run_id, chunk_no, first_id, last_id, orders, nets from chunk
        where batch_day = ? and (run_id > ? or (run_id = ? and chunk_no > ?))
        order by run_id, chunk_no limit ${String(windowChunksMax)}`,
      [batchDay, runId, runId, chunkNo],
    );
    const chunks = oneWindow(
      rows.map((row) => ({
        runId: toBigInt(row['run_id']),
        chunkNo: toCount(row['chunk_no']),
        firstId: toBigInt(row['first_id']),
        lastId: toBigInt(row['last_id']),
        orders: toCount(row['orders']),
        nets: toCount(row['nets']),
      })),
    );
    const last = chunks.at(-1);
    if (last === undefined) return;
    yield await readWindow(session, batchDay, chunks);
    [runId, chunkNo] = [last.runId, last.chunkNo];
  }
}

/** The longest beginning that is of one run and not too large; one chunk at least. */
function oneWindow(chunks: ChunkRow[]): ChunkRow[] {
  let orders = 0;
  const end = chunks.findIndex((chunk, at) => {
    orders += chunk.orders;
    return at > 0 && (chunk.runId !== chunks[0]?.runId || orders > windowOrdersMax);
  });
  return end < 0 ? chunks : chunks.slice(0, end);
}

async function readWindow(session: Session, batchDay: string, chunks: ChunkRow[]): Promise<ChunkWindow> {
  const runId = chunks[0]?.runId ?? 0n;
  const [from, to] = [chunks[0]?.chunkNo ?? 0, chunks.at(-1)?.chunkNo ?? 0];
  let [firstId, lastId] = [chunks[0]?.firstId ?? 0n, 0n];
  for (const chunk of chunks) {
    if (chunk.firstId < firstId) firstId = chunk.firstId;
    if (chunk.lastId > lastId) lastId = chunk.lastId;
  }
  const window = [batchDay, runId, from, to] as const;
  const nets = await readNets(session, window);
  return {
    batchDay,
    chunks,
    orders: await readOrders(session, window, firstId, lastId),
    nets,
    legs: await readLegs(session, window),
    terms: await readDayTerms(session, batchDay, new Set(nets.map(({ accountNo }) => accountNo))),
  };
}

type WindowKey = readonly [batchDay: string, runId: bigint, from: number, to: number];

/**
 * A window's orders lie close together by id. The day is compared inside a CASE so that no optimizer takes the index of
 * the day, from which it would look each row up one by one.
 */
async function readOrders(
  session: Session,
  [batchDay, runId, from, to]: WindowKey,
  firstId: bigint,
  lastId: bigint,
): Promise<OrderRow[]> {
  const onDay = isOfDay(session, batchDay);
  const rows = await session.tuples(
    `select id, chunk_no, account_no, currency, type, channel, amount_minor, state, version
       from ${orderRows(session)}
      where id between ? and ? and run_id = ? and chunk_no between ? and ?
        and case when ${onDay.sql} then 1 else 0 end = 1
      order by id`,
    [firstId, lastId, runId, from, to, ...onDay.bindings],
  );
  return rows.map((row) => ({
    id: toBigInt(row[0]),
    chunkNo: toCount(row[1]),
    accountNo: toText(row[2]),
    currency: toText(row[3]),
    type: toText(row[4]),
    channel: toText(row[5]),
    amountMinor: toBigInt(row[6]),
    state: toText(row[7]),
    version: row[8] === null ? null : toCount(row[8]),
  }));
}

const netsOfWindow = `
  from chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no`;
const inWindow = 'where c.batch_day = ? and c.run_id = ? and c.chunk_no between ? and ?';

async function readNets(session: Session, window: WindowKey): Promise<NetRow[]> {
  const rows = await session.rows(
    `select n.chunk_no, n.net_no, n.account_no, n.currency, n.orders, n.amount_minor, n.biz_no,
            n.terms_id, n.fee_minor, n.fee_rest, n.payment_minor,
            m.id as m_id, m.topic as m_topic, m.batch_day as m_day, m.account_no as m_account, m.orders as m_orders,
            m.payload as m_payload, m.state as m_state,
            j.id as j_id, j.biz_no as j_biz_no, j.type as j_type, j.batch_day as j_day
       ${netsOfWindow}
       left join outbox m on m.biz_no = n.biz_no
       left join journal_entry j on j.id = m.id
      ${inWindow} order by n.chunk_no, n.net_no`,
    window,
  );
  return rows.map((row) => ({
    chunkNo: toCount(row['chunk_no']),
    netNo: toCount(row['net_no']),
    accountNo: toText(row['account_no']),
    currency: toText(row['currency']),
    orders: toCount(row['orders']),
    amountMinor: toBigInt(row['amount_minor']),
    bizNo: toText(row['biz_no']),
    termsId: row['terms_id'] === null ? null : toBigInt(row['terms_id']),
    feeMinor: toBigInt(row['fee_minor']),
    feeRest: toBigInt(row['fee_rest']),
    paymentMinor: toBigInt(row['payment_minor']),
    message:
      row['m_id'] === null
        ? null
        : {
            id: toBigInt(row['m_id']),
            topic: toText(row['m_topic']),
            batchDay: toText(row['m_day']),
            accountNo: toTextOrNull(row['m_account']),
            orders: toCount(row['m_orders']),
            payload: toText(row['m_payload']),
            state: toText(row['m_state']),
          },
    journal:
      row['j_id'] === null
        ? null
        : {
            id: toBigInt(row['j_id']),
            bizNo: toText(row['j_biz_no']),
            type: toText(row['j_type']),
            batchDay: toText(row['j_day']),
          },
  }));
}

async function readLegs(session: Session, window: WindowKey): Promise<Map<bigint, LegRow[]>> {
  const rows = await session.tuples(
    `select e.journal_entry_id, e.ledger_account, e.sub_account, e.side, e.currency, e.amount_minor, e.reason
       ${netsOfWindow}
       join outbox m on m.biz_no = n.biz_no
       join ledger_entry e on e.journal_entry_id = m.id
      ${inWindow}`,
    window,
  );
  const legs = new Map<bigint, LegRow[]>();
  for (const row of rows) {
    const id = toBigInt(row[0]);
    const leg = {
      ledgerAccount: toText(row[1]),
      subAccount: toText(row[2]),
      side: toText(row[3]),
      currency: toText(row[4]),
      amountMinor: toBigInt(row[5]),
      reason: toTextOrNull(row[6]),
    };
    const known = legs.get(id);
    if (known === undefined) legs.set(id, [leg]);
    else known.push(leg);
  }
  return legs;
}
