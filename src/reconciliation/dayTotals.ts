import type { Row, Session } from '../db/session.js';
import { exactSum, sumIn, toCount, toText } from '../db/values.js';
import type { BatchRow } from './days.js';
import { halves, parts, subLedgerSides, type SubLedger } from './ledgerProof.js';
import { isOfDay, orderRows } from './orderRows.js';
import { effectOf, Tally } from './tally.js';

/** A day's orders, counted by what became of them. Keys are "USD PAYMENT"; `byCurrency` drops the type. */
export interface DayOrders {
  /** In PROCESSING or SUCCESS, in a chunk of this day. */
  claimed: Tally;
  /** INIT at or below the top id, of an account in active quarantine. */
  quarantined: Tally;
  /** INIT at or below the top id that nothing holds back. */
  left: Tally;
  leftOrders: number;
  processingOrders: number;
  /** All rows of the day, and those at or below the top id. */
  orders: number;
  ordersToTop: number;
}

/** Reads the day's orders once, and once more those in INIT if there are any. */
export async function dayOrders(session: Session, batch: BatchRow): Promise<DayOrders> {
  const { dialect } = session;
  const { own } = session.source;
  const onDay = isOfDay(session, batch.batchDay);
  const [upper, lower] = halves(dialect, 'amount_minor');
  // Grouped by chunk first, so that a chunk is looked up once and not for each of its orders.
  const rows = await session.rows(
    `select o.currency, o.type, o.state, o.to_top, case when c.run_id is null then 0 else 1 end as chunked,
            sum(o.order_count) as orders, ${parts(dialect, 'amount', 'sum')}
       from (select currency, type, state, case when id <= ? then 1 else 0 end as to_top, run_id, chunk_no,
                    count(*) as order_count, ${upper} as amount_upper, ${lower} as amount_lower
               from ${orderRows(session)} where ${onDay.sql} group by currency, type, state, to_top, run_id, chunk_no) o
       left join chunk c on c.run_id = o.run_id and c.chunk_no = o.chunk_no and c.batch_day = ?
      group by o.currency, o.type, o.state, o.to_top, chunked`,
    [batch.topId, ...onDay.bindings, batch.batchDay],
  );
  const found: DayOrders = {
    claimed: new Tally(),
    quarantined: new Tally(),
    left: new Tally(),
    leftOrders: 0,
    processingOrders: 0,
    orders: 0,
    ordersToTop: 0,
  };
  for (const row of rows) {
    const [orders, state, toTop] = [toCount(row['orders']), toText(row['state']), toCount(row['to_top']) === 1];
    const isChunked = toCount(row['chunked']) === 1;
    // What others have done with rows of their own table, before or instead of a run, is none of the day's business.
    if (!own && !isChunked && state !== 'INIT') continue;
    found.orders += orders;
    if (toTop) found.ordersToTop += orders;
    if ((state === 'PROCESSING' || state === 'SUCCESS') && isChunked) add(found.claimed, row);
    if (state === 'PROCESSING') found.processingOrders += orders;
    if (state !== 'INIT' || !toTop) continue;
    add(found.left, row);
    found.leftOrders += orders;
  }
  return found.leftOrders === 0 ? found : withoutHeld(session, batch, found);
}

function add(tally: Tally, row: Row): void {
  const type = toText(row['type']);
  tally.add(`${toText(row['currency'])} ${type}`, toCount(row['orders']), effectOf(type, sumIn(row, 'amount')));
}

/** Of the orders that are left, those whose account is in active quarantine are held back. */
async function withoutHeld(session: Session, batch: BatchRow, found: DayOrders): Promise<DayOrders> {
  const onDay = isOfDay(session, batch.batchDay, 'o.batch_day');
  const rows = await session.rows(
    `select o.currency, o.type, count(*) as orders, ${exactSum(session.dialect, 'o.amount_minor', 'amount')}
       from ${orderRows(session, 'o')}
       join quarantine q on q.batch_day = ? and q.account_no = o.account_no and q.active = 1
      where ${onDay.sql} and o.id <= ? and o.state = 'INIT'
      group by o.currency, o.type`,
    [batch.batchDay, ...onDay.bindings, batch.topId],
  );
  for (const row of rows) add(found.quarantined, row);
  const held = rows.reduce((sum, row) => sum + toCount(row['orders']), 0);
  return { ...found, left: found.left.minus(found.quarantined), leftOrders: found.leftOrders - held };
}

/** What the last freeze wrote down, by currency and type. */
export async function sourceTotals(session: Session, batchDay: string): Promise<Tally> {
  const tally = new Tally();
  const rows = await session.rows(
    'select currency, type, orders, amount_minor from source_total where batch_day = ? order by currency, type',
    [batchDay],
  );
  for (const row of rows) {
    const type = toText(row['type']);
    const amount = BigInt(String(row['amount_minor']));
    tally.add(`${toText(row['currency'])} ${type}`, toCount(row['orders']), effectOf(type, amount));
  }
  return tally;
}

/**
 * Orders that were frozen and then withdrawn before a run could claim them. Every freeze goes on counting those that are
 * listed, so they explain the gap between the source and what was settled or set aside, whichever run listed them.
 */
export async function withdrawnOrders(session: Session, batchDay: string): Promise<Tally> {
  // In a table of others, what was withdrawn may have come back.
  const gone = session.source.own ? '' : `and o.state <> 'INIT' and o.run_id is null`;
  const rows = await session.rows(
    `select o.currency, o.type, count(*) as orders, ${exactSum(session.dialect, 'o.amount_minor', 'amount')}
       from withdrawn_order w join ${orderRows(session, 'o')} on o.id = w.order_id
      where w.batch_day = ? ${gone} group by o.currency, o.type`,
    [batchDay],
  );
  const withdrawn = new Tally();
  for (const row of rows) add(withdrawn, row);
  return withdrawn;
}

export function byCurrency(tally: Tally): Tally {
  return tally.regrouped((key) => key.slice(0, 3));
}

/** A day's nets, their messages and their journal entries, by currency. */
export interface DayBooks {
  nets: Tally;
  outbox: Tally;
  /** Messages that are neither SENT nor posted. */
  waiting: Tally;
  /** Orders of the messages that are posted, and what that changed of the control account. */
  posted: Tally;
  /** Journal entries of the day, and those of them that belong to one of its nets. */
  journalEntries: number;
  journalEntriesOfNets: number;
  /** The day's part of the control account, account by account. */
  subLedger: SubLedger;
}

/** Follows the day's chunks to their nets, messages and journal entries, and reads the payable side from the ledger. */
export async function dayBooks(session: Session, batchDay: string): Promise<DayBooks> {
  const sum = (condition: string, name: string): string =>
    `sum(case when ${condition} then m.orders else 0 end) as ${name}_orders, ` +
    exactSum(session.dialect, `case when ${condition} then n.amount_minor else 0 end`, name);
  const inOutbox = 'm.id is not null';
  const waits = `${inOutbox} and m.state <> 'SENT' and j.id is null`;
  const rows = await session.rows(
    `select n.currency, count(*) as nets, sum(n.orders) as net_orders, ${exactSum(session.dialect, 'n.amount_minor', 'net')},
            ${sum(inOutbox, 'outbox')}, ${sum(waits, 'waiting')},
            sum(case when j.id is null then 0 else m.orders end) as posted_orders,
            sum(case when j.id is null then 0 else 1 end) as journal_entries
       from chunk c
       join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no
       left join outbox m on m.biz_no = n.biz_no and m.batch_day = c.batch_day
       left join journal_entry j on j.id = m.id and j.biz_no = m.biz_no and j.batch_day = c.batch_day
      where c.batch_day = ? group by n.currency`,
    [batchDay],
  );
  const [nets, outbox, waiting, posted] = [new Tally(), new Tally(), new Tally(), new Tally()];
  let [netCount, journalEntriesOfNets] = [0, 0];
  for (const row of rows) {
    const currency = toText(row['currency']);
    nets.add(currency, toCount(row['net_orders']), sumIn(row, 'net'));
    outbox.add(currency, toCount(row['outbox_orders']), sumIn(row, 'outbox'));
    waiting.add(currency, toCount(row['waiting_orders']), sumIn(row, 'waiting'));
    posted.add(currency, toCount(row['posted_orders']), 0n);
    netCount += toCount(row['nets']);
    journalEntriesOfNets += toCount(row['journal_entries']);
  }
  const subLedger = await subLedgerSides(session, { batchDay, allPosted: netCount === journalEntriesOfNets });
  for (const { currency, actualMinor } of subLedger.control) posted.add(currency, 0, actualMinor);
  const journalEntries = await settlementsOf(session, batchDay);
  return { nets, outbox, waiting, posted, journalEntries, journalEntriesOfNets, subLedger };
}

async function settlementsOf(session: Session, batchDay: string): Promise<number> {
  const [row] = await session.rows(
    `select count(*) as entries from journal_entry where batch_day = ? and type = 'SETTLEMENT'`,
    [batchDay],
  );
  return toCount(row?.['entries']);
}
