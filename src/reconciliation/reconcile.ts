import { formatMinor } from '../kernel/money.js';
import type { Database } from '../db/database.js';
import type { Session } from '../db/session.js';
import { toBigInt, toCount, toText } from '../db/values.js';
import { balanceCheck, bookedWith } from './balanceCheck.js';
import { sidesOf } from './balances.js';
import { requireBatch, type BatchRow } from './days.js';
import {
  byCurrency,
  dayBooks,
  dayOrders,
  sourceTotals,
  withdrawnOrders,
  type DayBooks,
  type DayOrders,
} from './dayTotals.js';
import { amountsText, listedMax, sidesAgree, unbalancedEntries, type Sides } from './ledgerProof.js';
import { isClaimed, isOfDay, orderRows } from './orderRows.js';
import { isClosed, readPeriod } from './period.js';
import { termsSides } from './termsSides.js';
import type { CurrencyTotal, Tally } from './tally.js';

/** One thing that two independently kept records say differently. */
export interface Difference {
  what: string;
  key: string;
  expected: string;
  actual: string;
}

export type CheckName = 'batch-totals' | 'orders-left' | 'sub-ledger' | 'terms' | 'trial-balance' | 'balances';

export interface Check {
  name: CheckName;
  ok: boolean;
  expected: string;
  actual: string;
  /** At most 20 of each kind. */
  differences: Difference[];
}

export interface Reconciliation {
  batchDay: string;
  /** UNFINISHED: every difference is explained by work that is still to be done. */
  outcome: 'OK' | 'UNFINISHED' | 'CONTRADICTION';
  checks: Check[];
  /** Rows of the day at or below its top id that are settled, ended or set aside: all that this proof covers. */
  orders: number;
  totals: Record<'source' | 'claimed' | 'outbox' | 'posted', CurrencyTotal[]>;
}

/**
 * The reconciliations of a batch day: batch totals, orders left, sub-ledger against control account, trial balance, balances.
 * Reads everything from one snapshot, so that a commit in between can neither show a false difference nor hide one.
 * Errors: NOT_FOUND when the day has no batch.
 */
export async function reconcileDay(database: Database, batchDay: string): Promise<Reconciliation> {
  return database.snapshot((session) => reconcileIn(session, batchDay));
}

/** The same inside a snapshot that the caller holds. */
export async function reconcileIn(session: Session, batchDay: string): Promise<Reconciliation> {
  const batch = await requireBatch(session, batchDay);
  const stages = await readStages(session, batch);
  const left = await ordersLeft(session, batch, stages.orders);
  const totals = batchTotals(stages);
  const booked = await bookedWith(session, batchDay);
  const trial = await trialBalanceOf(session, batchDay, sidesOf(booked.flatMap(({ movements }) => movements)));
  const { check: balances, stale } = await balanceCheck(session, booked);
  const explained = stale !== null && !isClosed(await readPeriod(session), stale);
  const checks = [totals, left, subLedger(stages.books), trial, balances];
  const terms = await termsBooked(session, batchDay);
  if (terms !== null) checks.push(terms);
  return {
    batchDay,
    outcome: outcomeOf(batch, stages, checks, explained),
    checks,
    orders: stages.orders.ordersToTop - stages.orders.leftOrders,
    totals: {
      source: stages.source.totals(),
      claimed: stages.claimed.totals(),
      outbox: stages.books.outbox.totals(),
      posted: stages.books.posted.totals(),
    },
  };
}

interface Stages {
  source: Tally;
  /** Source without what was set aside or withdrawn: what must have been claimed. */
  due: Tally;
  claimed: Tally;
  orders: DayOrders;
  books: DayBooks;
}

async function readStages(session: Session, batch: BatchRow): Promise<Stages> {
  const source = await sourceTotals(session, batch.batchDay);
  const orders = await dayOrders(session, batch);
  const withdrawn = await withdrawnOrders(session, batch.batchDay);
  return {
    source: byCurrency(source),
    due: byCurrency(source.minus(orders.quarantined).minus(withdrawn)),
    claimed: byCurrency(orders.claimed),
    orders,
    books: await dayBooks(session, batch.batchDay),
  };
}

/** Source less what was set aside or withdrawn = claimed = nets = outbox = posted, per currency. */
function batchTotals({ due, claimed, books }: Stages): Check {
  const differences: Difference[] = [];
  let actual = due.text();
  let before = due;
  for (const [what, stage] of stagesAfterSource(claimed, books)) {
    for (const currency of stage.differing(before)) {
      differences.push({ what, key: currency, expected: before.part(currency), actual: stage.part(currency) });
    }
    if (!stage.equals(before) && actual === due.text()) actual = `${what} ${stage.text()}`;
    before = stage;
  }
  if (books.journalEntries !== books.journalEntriesOfNets) {
    const [expected, entries] = [String(books.journalEntriesOfNets), String(books.journalEntries)];
    differences.push({ what: 'posted', key: 'journal entries', expected, actual: entries });
    if (actual === due.text()) actual = `posted ${entries} journal entries for ${expected} nets`;
  }
  return { name: 'batch-totals', ok: differences.length === 0, expected: due.text(), actual, differences };
}

function stagesAfterSource(claimed: Tally, books: DayBooks): [string, Tally][] {
  return [
    ['claimed', claimed],
    ['nets', books.nets],
    ['outbox', books.outbox],
    ['posted', books.posted],
  ];
}

/** No order and no message of the day waits for anything, except orders of accounts in active quarantine. */
async function ordersLeft(session: Session, batch: BatchRow, orders: DayOrders): Promise<Check> {
  const differences: Difference[] = [];
  if (orders.leftOrders + orders.processingOrders > 0) {
    const onDay = isOfDay(session, batch.batchDay, 'o.batch_day');
    const rows = await session.rows(
      `select o.id, o.state from ${orderRows(session, 'o')}
         left join quarantine q
           on o.state = 'INIT' and q.batch_day = ? and q.account_no = o.account_no and q.active = 1
        where ${onDay.sql} and ((${isClaimed(session, 'o')} and o.state = 'PROCESSING') or (o.state = 'INIT' and o.id <= ? and q.id is null))
        order by o.id limit ${String(listedMax)}`,
      [batch.batchDay, ...onDay.bindings, batch.topId],
    );
    for (const row of rows) {
      const key = String(toBigInt(row['id']));
      differences.push({ what: 'order', key, expected: 'SUCCESS', actual: toText(row['state']) });
    }
  }
  const messages = { NEW: 0, PARKED: 0 };
  const counted = await session.rows(
    `select state, count(*) as messages from outbox
      where state in ('NEW', 'PARKED') and batch_day = ? and topic = 'LEDGER' group by state`,
    [batch.batchDay],
  );
  for (const row of counted) messages[toText(row['state']) as 'NEW' | 'PARKED'] = toCount(row['messages']);
  if (messages.NEW + messages.PARKED > 0) {
    const rows = await session.rows(
      `select biz_no, state from outbox where state in ('NEW', 'PARKED') and batch_day = ? and topic = 'LEDGER'
        order by id limit ${String(listedMax)}`,
      [batch.batchDay],
    );
    for (const row of rows) {
      differences.push({ what: 'message', key: toText(row['biz_no']), expected: 'SENT', actual: toText(row['state']) });
    }
  }
  const text = (init: number, processing: number, fresh: number, parked: number): string =>
    `${String(init)} INIT, ${String(processing)} PROCESSING, ${String(fresh)} NEW, ${String(parked)} PARKED`;
  return {
    name: 'orders-left',
    ok: differences.length === 0,
    expected: text(0, 0, 0, 0),
    actual: text(orders.leftOrders, orders.processingOrders, messages.NEW, messages.PARKED),
    differences,
  };
}

/** Posted nets = what the day changed of the merchants' control account, in total and account by account. */
function subLedger({ subLedger: { control, differing: accounts } }: DayBooks): Check {
  return {
    name: 'sub-ledger',
    ok: control.every(sidesAgree) && accounts.length === 0,
    expected: amountsText(control, 'expectedMinor'),
    actual: amountsText(control, 'actualMinor'),
    differences: [
      ...control
        .filter((side) => !sidesAgree(side))
        .map((side) => ({ what: 'control account', key: side.currency, ...amounts(side) })),
      ...accounts.map((side) => ({ what: 'account', key: `${side.accountNo} ${side.currency}`, ...amounts(side) })),
    ],
  };
}

/** What terms took and gave that day = what the ledger booked for them, by reason; null for a day without terms. */
async function termsBooked(session: Session, batchDay: string): Promise<Check | null> {
  const sides = await termsSides(session, batchDay);
  if (sides.length === 0) return null;
  return {
    name: 'terms',
    ok: sides.every(sidesAgree),
    expected: amountsText(sides, 'expectedMinor'),
    actual: amountsText(sides, 'actualMinor'),
    differences: sides
      .filter((side) => !sidesAgree(side))
      .map((side) => ({ what: side.reason, key: side.currency, ...amounts(side) })),
  };
}

/** Debits = credits in the books of the day, and within each journal entry of its business. */
async function trialBalanceOf(session: Session, batchDay: string, ledger: readonly Sides[]): Promise<Check> {
  const entries = await unbalancedEntries(session, batchDay, 'batch_day');
  if (!ledger.every(sidesAgree)) {
    const known = new Set(entries.map(({ journalEntryId }) => journalEntryId));
    const booked = await unbalancedEntries(session, batchDay, 'booking_day');
    entries.push(...booked.filter(({ journalEntryId }) => !known.has(journalEntryId)));
  }
  return {
    name: 'trial-balance',
    ok: ledger.every(sidesAgree) && entries.length === 0,
    expected: amountsText(ledger, 'expectedMinor'),
    actual: amountsText(ledger, 'actualMinor'),
    differences: [
      ...ledger
        .filter((side) => !sidesAgree(side))
        .map((side) => ({ what: 'ledger', key: side.currency, ...amounts(side) })),
      ...entries.map((side) => ({
        what: 'journal entry',
        key: `${String(side.journalEntryId)} ${side.currency}`,
        ...amounts(side),
      })),
    ],
  };
}

function amounts(side: { currency: string; expectedMinor: bigint; actualMinor: bigint }): {
  expected: string;
  actual: string;
} {
  return {
    expected: formatMinor(side.expectedMinor, side.currency),
    actual: formatMinor(side.actualMinor, side.currency),
  };
}

/**
 * A day on its way differs from its source by what is not claimed yet, and from its outbox by what is not posted yet.
 * Balances may have been made before the last entry came. Anything else, and any difference of a day on which nothing is
 * left, contradicts the books.
 */
function outcomeOf(
  batch: BatchRow,
  stages: Stages,
  checks: readonly Check[],
  balancesExplained: boolean,
): Reconciliation['outcome'] {
  if (checks.every((check) => check.ok)) return 'OK';
  const { claimed, books, orders } = stages;
  const onItsWay = batch.state === 'OPEN' || batch.state === 'SETTLING' || batch.state === 'POSTING';
  const sourceExplained = onItsWay || stages.due.minus(claimed).isPartOf(byCurrency(orders.left));
  const followsChunks = claimed.equals(books.nets) && books.nets.equals(books.outbox);
  const postedExplained =
    books.posted.plus(books.waiting).equals(books.outbox) && books.journalEntries === books.journalEntriesOfNets;
  const ledgerHolds = checks.every(
    ({ name, ok }) =>
      ok || name === 'batch-totals' || name === 'orders-left' || (name === 'balances' && balancesExplained),
  );
  return sourceExplained && followsChunks && postedExplained && ledgerHolds ? 'UNFINISHED' : 'CONTRADICTION';
}
