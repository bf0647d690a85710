import type { Session } from '../db/session.js';
import { exactSum, sumIn, toCount, toText } from '../db/values.js';
import type { BatchRow } from './days.js';
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

/** Reads the day's orders once. */
export async function dayOrders(session: Session, batch: BatchRow): Promise<DayOrders> {
  const rows = await session.rows(
    `select o.currency, o.type, o.state,
            case when o.id <= ? then 1 else 0 end as to_top,
            case when q.id is null then 0 else 1 end as held,
            case when c.run_id is null then 0 else 1 end as chunked,
            count(*) as orders, ${exactSum(session.dialect, 'o.amount_minor', 'amount')}
       from settlement_order o
       left join quarantine q
         on o.state = 'INIT' and q.batch_day = o.batch_day and q.account_no = o.account_no and q.active = 1
       left join chunk c on c.run_id = o.run_id and c.chunk_no = o.chunk_no and c.batch_day = o.batch_day
      where o.batch_day = ?
      group by o.currency, o.type, o.state, to_top, held, chunked`,
    [batch.topId, batch.batchDay],
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
    const [orders, type, state] = [toCount(row['orders']), toText(row['type']), toText(row['state'])];
    const [toTop, held, chunked] = [toCount(row['to_top']), toCount(row['held']), toCount(row['chunked'])];
    const add = (tally: Tally): Tally =>
      tally.add(`${toText(row['currency'])} ${type}`, orders, effectOf(type, sumIn(row, 'amount')));
    found.orders += orders;
    if (toTop === 1) found.ordersToTop += orders;
    if ((state === 'PROCESSING' || state === 'SUCCESS') && chunked === 1) add(found.claimed);
    if (state === 'PROCESSING') found.processingOrders += orders;
    if (state !== 'INIT' || toTop === 0) continue;
    add(held === 1 ? found.quarantined : found.left);
    if (held === 0) found.leftOrders += orders;
  }
  return found;
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
  const rows = await session.rows(
    `select o.currency, o.type, count(*) as orders, ${exactSum(session.dialect, 'o.amount_minor', 'amount')}
       from withdrawn_order w join settlement_order o on o.id = w.order_id
      where w.batch_day = ? group by o.currency, o.type`,
    [batchDay],
  );
  const withdrawn = new Tally();
  for (const row of rows) {
    const type = toText(row['type']);
    withdrawn.add(`${toText(row['currency'])} ${type}`, toCount(row['orders']), effectOf(type, sumIn(row, 'amount')));
  }
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
  posted: Tally;
  /** Journal entries of the day, and those of them that belong to one of its nets. */
  journalEntries: number;
  journalEntriesOfNets: number;
}

/** Follows the day's chunks to their nets, messages and journal entries, and reads the payable side from the ledger. */
export async function dayBooks(session: Session, batchDay: string): Promise<DayBooks> {
  const books: DayBooks = {
    nets: new Tally(),
    outbox: new Tally(),
    waiting: new Tally(),
    posted: new Tally(),
    journalEntries: 0,
    journalEntriesOfNets: 0,
  };
  const sum = (condition: string, name: string): string =>
    `sum(case when ${condition} then m.orders else 0 end) as ${name}_orders, ` +
    exactSum(session.dialect, `case when ${condition} then n.amount_minor else 0 end`, name);
  const inOutbox = 'm.id is not null';
  const waits = `${inOutbox} and m.state <> 'SENT' and j.id is null`;
  const rows = await session.rows(
    `select n.currency, sum(n.orders) as net_orders, ${exactSum(session.dialect, 'n.amount_minor', 'net')},
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
  for (const row of rows) {
    const currency = toText(row['currency']);
    books.nets.add(currency, toCount(row['net_orders']), sumIn(row, 'net'));
    books.outbox.add(currency, toCount(row['outbox_orders']), sumIn(row, 'outbox'));
    books.waiting.add(currency, toCount(row['waiting_orders']), sumIn(row, 'waiting'));
    books.posted.add(currency, toCount(row['posted_orders']), 0n);
    books.journalEntriesOfNets += toCount(row['journal_entries']);
  }
  await addPayable(session, batchDay, books);
  return books;
}

async function addPayable(session: Session, batchDay: string, books: DayBooks): Promise<void> {
  const effects = await session.rows(
    `select e.currency, e.side, ${exactSum(session.dialect, 'e.amount_minor', 'amount')}
       from journal_entry j join ledger_entry e on e.journal_entry_id = j.id
      where j.batch_day = ? and j.type = 'SETTLEMENT' and e.ledger_account = 'MERCHANT_PAYABLE'
        and e.reason is null
      group by e.currency, e.side`,
    [batchDay],
  );
  for (const row of effects) {
    const amount = sumIn(row, 'amount');
    books.posted.add(toText(row['currency']), 0, toText(row['side']) === 'CREDIT' ? amount : -amount);
  }
  const [row] = await session.rows(
    `select count(*) as entries from journal_entry where batch_day = ? and type = 'SETTLEMENT'`,
    [batchDay],
  );
  books.journalEntries = toCount(row?.['entries']);
}
