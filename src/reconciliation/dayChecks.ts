import type { Session } from '../db/session.js';
import { toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import { formatMinor } from '../kernel/money.js';
import { checkBalances } from './balanceVerify.js';
import type { Checklist } from './checklist.js';
import { closedWell, findBatch, type BatchRow } from './days.js';
import { dayOrders, sourceTotals, withdrawnOrders, type DayOrders } from './dayTotals.js';
import { listedMax, unbalancedEntries } from './ledgerProof.js';
import { dayOfRow, isClaimed, isOfDay, orderRows } from './orderRows.js';
import { checkOwnEntries } from './ownEntries.js';
import { checkBookingDays, type Period } from './period.js';
import { checkTermsOfDay } from './termsProof.js';

const limit = `limit ${String(listedMax)}`;

/** What can be told of a day without going through its chunks one by one. */
export async function checkDay(
  session: Session,
  checklist: Checklist,
  period: Period,
  batchDay: string,
): Promise<void> {
  const batch = await findBatch(session, batchDay);
  const orders = await dayOrders(session, batch ?? { batchDay, state: 'OPEN', topId: 0n, ordersAtClose: null });
  checklist.examine('order-chunk', orders.orders);
  await checkOrderChunks(session, checklist, batchDay);
  if (batch === undefined) await checkNoBatch(session, checklist, batchDay);
  else await checkBatch(session, checklist, batch, orders);
  await checkBalances(session, checklist, period, batchDay);
  await checkBookingDays(session, checklist, period, batchDay);
  await checkWithdrawn(session, checklist, batchDay);
  await checkJournalMessages(session, checklist, batchDay);
  await checkJournalEntries(session, checklist, batchDay);
  await checkOwnEntries(session, checklist, batchDay);
  await checkTermsOfDay(session, checklist, batchDay);
}

/** Claimed orders of no chunk, of a chunk of another day, or out of its range; and INIT orders that were touched. */
async function checkOrderChunks(session: Session, checklist: Checklist, batchDay: string): Promise<void> {
  const onDay = isOfDay(session, batchDay, 'o.batch_day');
  const rows = await session.rows(
    `select o.id, o.state, o.version, o.run_id, o.chunk_no, c.batch_day as chunk_day, c.first_id, c.last_id
       from ${orderRows(session, 'o')} left join chunk c on c.run_id = o.run_id and c.chunk_no = o.chunk_no
      where ${onDay.sql}
        and ((o.state = 'INIT' and o.version <> 0)
             or (o.run_id is not null
                 and (c.run_id is null or c.batch_day <> ? or o.id < c.first_id or o.id > c.last_id)))
      order by o.id ${limit}`,
    [...onDay.bindings, batchDay],
  );
  for (const row of rows) {
    const key = String(toBigInt(row['id']));
    const contradict = (name: 'order-state' | 'order-chunk', problem: string): void =>
      checklist.contradict(name, 'settlement_order', key, problem);
    if (toText(row['state']) === 'INIT' && row['run_id'] === null) {
      contradict('order-state', `is INIT at version ${String(toCount(row['version']))}`);
      continue;
    }
    const chunk = `chunk ${String(row['run_id'])}/${String(row['chunk_no'])}`;
    const chunkDay = toTextOrNull(row['chunk_day']);
    if (chunkDay === null) contradict('order-chunk', `names ${chunk}, which does not exist`);
    else if (chunkDay !== batchDay) contradict('order-chunk', `is of ${batchDay}, its ${chunk} of ${chunkDay}`);
    else {
      contradict('order-chunk', `lies outside ${chunk} (${String(row['first_id'])} to ${String(row['last_id'])})`);
    }
  }
}

async function checkNoBatch(session: Session, checklist: Checklist, batchDay: string): Promise<void> {
  for (const table of ['chunk', 'journal_entry', 'source_total']) {
    const [row] = await session.rows(`select count(*) as found from ${table} where batch_day = ?`, [batchDay]);
    const found = toCount(row?.['found']);
    if (found === 0) continue;
    checklist.examine('batch', 1);
    checklist.contradict('batch', table, batchDay, `has ${String(found)} rows of a day that has no batch`);
  }
}

/** What is promised of a day once it is closed. Days on their way promise nothing here. */
async function checkBatch(session: Session, checklist: Checklist, batch: BatchRow, orders: DayOrders): Promise<void> {
  checklist.examine('batch', 1);
  if (batch.ordersAtClose === null) return;
  // Orders that became visible below the top id later, or whose account was released, wait for the next run; what a
  // run settles of them is counted when it ends well.
  const settledOrHeld = orders.ordersToTop - orders.leftOrders;
  const uncounted = batch.ordersAtClose < settledOrHeld && (await closedWell(session, batch));
  // Rows of a table of others come and go; there the nets alone tell what was settled.
  if (session.source.own && (uncounted || batch.ordersAtClose > orders.ordersToTop)) {
    const problem = `counted ${String(batch.ordersAtClose)} orders at its close, ${String(orders.ordersToTop)} are there`;
    checklist.contradict('batch', 'batch', batch.batchDay, problem);
  }
  if (orders.processingOrders > 0) await checkNoClaims(session, checklist, batch.batchDay);
  await checkNoMessages(session, checklist, batch.batchDay);

  const source = await sourceTotals(session, batch.batchDay);
  const withdrawn = await withdrawnOrders(session, batch.batchDay);
  const unexplained = source.minus(orders.claimed).minus(orders.quarantined).minus(withdrawn);
  checklist.examine('source-total', source.keys().length);
  if (unexplained.isPartOf(orders.left)) return;
  for (const key of unexplained.keys()) {
    const rest = `${source.part(key)} were frozen, of which ${unexplained.part(key)} are not accounted for`;
    checklist.contradict('source-total', 'source_total', `${batch.batchDay} ${key}`, rest);
  }
}

/** Claims of a closed day are finished, unless a later run made them for orders that came late. */
async function checkNoClaims(session: Session, checklist: Checklist, batchDay: string): Promise<void> {
  const onDay = isOfDay(session, batchDay, 'o.batch_day');
  const rows = await session.rows(
    `select o.id from ${orderRows(session, 'o')}
       join batch b on b.batch_day = ?
       left join chunk c on c.run_id = o.run_id and c.chunk_no = o.chunk_no
      where ${onDay.sql} and ${isClaimed(session, 'o')} and o.state = 'PROCESSING' and (c.run_id is null or c.committed_at <= b.closed_at)
      order by o.id ${limit}`,
    [batchDay, ...onDay.bindings],
  );
  for (const row of rows) {
    checklist.contradict('batch', 'settlement_order', String(toBigInt(row['id'])), 'is PROCESSING on a closed day');
  }
}

/** So are its messages. */
async function checkNoMessages(session: Session, checklist: Checklist, batchDay: string): Promise<void> {
  const rows = await session.rows(
    `select m.biz_no, m.state from outbox m join batch b on b.batch_day = m.batch_day
      where m.batch_day = ? and m.topic = 'LEDGER' and m.state in ('NEW', 'PARKED') and m.created_at <= b.closed_at
      order by m.id ${limit}`,
    [batchDay],
  );
  for (const row of rows) {
    checklist.contradict('batch', 'outbox', toText(row['biz_no']), `is ${toText(row['state'])} on a closed day`);
  }
}

async function checkWithdrawn(session: Session, checklist: Checklist, batchDay: string): Promise<void> {
  const rows = await session.rows(
    `select w.order_id, w.order_no, o.order_no as found_no, o.state, o.batch_day as day, o.run_id
       from withdrawn_order w left join ${orderRows(session, 'o')} on o.id = w.order_id
      where w.batch_day = ? order by w.order_id`,
    [batchDay],
  );
  checklist.examine('withdrawn-order', rows.length);
  for (const row of rows) {
    const contradict = (problem: string): void =>
      checklist.contradict('withdrawn-order', 'withdrawn_order', String(toBigInt(row['order_id'])), problem);
    const [state, orderNo] = [toTextOrNull(row['state']), toText(row['order_no'])];
    if (state === null) {
      // Those who own the table may take a row out that no run has claimed.
      if (session.source.own) contradict('names an order that does not exist');
      continue;
    }
    const day = dayOfRow(session, row['day']);
    if (day !== batchDay) contradict(`is of ${batchDay}, the order of ${day}`);
    else if (orderNo !== row['found_no']) contradict(`names ${orderNo}, the order is ${String(row['found_no'])}`);
    else if (state !== 'FAILED' && state !== 'CANCELED' && session.source.own)
      contradict(`names an order that is ${state}`);
  }
}

async function checkJournalMessages(session: Session, checklist: Checklist, batchDay: string): Promise<void> {
  const rows = await session.rows(
    `select j.id, j.biz_no, m.biz_no as message from journal_entry j left join outbox m on m.id = j.id
      where j.batch_day = ? and (m.id is null or m.biz_no <> j.biz_no)
      order by j.id ${limit}`,
    [batchDay],
  );
  for (const row of rows) {
    const message = toTextOrNull(row['message']);
    const problem =
      message === null
        ? `books ${toText(row['biz_no'])}, which no message asks for`
        : `books ${toText(row['biz_no'])} in the place of message ${message}`;
    checklist.contradict('message-posted', 'journal_entry', String(toBigInt(row['id'])), problem);
  }
}

async function checkJournalEntries(session: Session, checklist: Checklist, batchDay: string): Promise<void> {
  const [count] = await session.rows('select count(*) as entries from journal_entry where batch_day = ?', [batchDay]);
  checklist.examine('journal-balance', toCount(count?.['entries']));
  for (const { journalEntryId, currency, expectedMinor, actualMinor } of await unbalancedEntries(
    session,
    batchDay,
    'batch_day',
  )) {
    const [debits, credits] = [formatMinor(expectedMinor, currency), formatMinor(actualMinor, currency)];
    const problem = `debits are ${currency} ${debits}, credits ${credits}`;
    checklist.contradict('journal-balance', 'journal_entry', String(journalEntryId), problem);
  }
  const miscounted = await session.rows(
    `select id, ledger_entries, found
       from (select j.id, j.ledger_entries,
                    (select count(*) from ledger_entry e where e.journal_entry_id = j.id) as found
               from journal_entry j where j.batch_day = ?) as counted
      where found <> ledger_entries order by id ${limit}`,
    [batchDay],
  );
  for (const row of miscounted) {
    const [told, found] = [toCount(row['ledger_entries']), toCount(row['found'])];
    const problem = `counts ${String(told)} ledger entries, ${String(found)} are there`;
    checklist.contradict('ledger-entry', 'journal_entry', String(toBigInt(row['id'])), problem);
  }
}
