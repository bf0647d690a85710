import type { Database } from '../../src/db/database.js';
import { migrateUp } from '../../src/db/schema.js';
import { repeatable } from '../../src/db/transaction.js';
import { minorMax } from '../../src/kernel/money.js';
import { releaseAccount } from '../../src/settlement/releaseAccount.js';
import { day, givenAccounts, givenOrders, runDay, type TestOrder } from '../support/day.js';

export const earlierDay = '2026-11-28';

/** So small that a few orders make several pages, several chunks a lane, and pieces of an elephant. */
export const tuning = ['--page-size', '12', '--chunk-size', '4', '--lanes', '2'];

/** The least that passes every branch of a run: each order is here for one. */
const orders: TestOrder[] = [
  ...[1, 2, 3, 4, 5].map((at) => ({ orderNo: `E${String(at)}`, accountNo: 'ELEPHANT', minor: at * 1_000 })),
  { orderNo: 'F1', accountNo: 'FROZEN', minor: 900 },
  // Cancelled by the trigger below, after the page that holds both was read and before W1 can be claimed.
  { orderNo: 'W1', accountNo: 'WITHDRAWN', minor: 70 },
  { orderNo: 'W2', accountNo: 'WITHDRAWN', minor: 7 },
  { orderNo: 'A1', accountNo: 'A', minor: 12_345 },
  { orderNo: 'A2', accountNo: 'A', minor: 500, currency: 'JPY' },
  // Together more than 64 bits hold: an elephant by its money.
  { orderNo: 'B1', accountNo: 'BIG', minor: minorMax, currency: 'KWD' },
  { orderNo: 'B2', accountNo: 'BIG', minor: minorMax - 1n, currency: 'KWD' },
  { orderNo: 'C1', accountNo: 'CLOSED', minor: 5 },
  { orderNo: 'R1', accountNo: 'REFUSED', minor: 11 },
  { orderNo: 'Z1', accountNo: 'ZERO', minor: 4_000 },
  { orderNo: 'Z2', accountNo: 'ZERO', type: 'REFUND', minor: 4_000 },
  { orderNo: 'T1', accountNo: 'TWICE', minor: 21 },
  { orderNo: 'N1', accountNo: 'NEGATIVE', type: 'REFUND', minor: 250, channel: 'BANK' },
  { orderNo: 'A3', accountNo: 'A', type: 'FEE', minor: 45 },
  { orderNo: 'A4', accountNo: 'A', type: 'ADJUSTMENT', minor: -5 },
  { orderNo: 'O1', accountNo: 'NOTHING', minor: 0 },
];

/**
 * A day before which another is closed, with a late order and a released account on it; on it accounts that are
 * frozen, closed, unknown and refused by the database, and a message that the ledger takes only at the second try.
 */
export async function givenCrashDay(database: Database): Promise<void> {
  await migrateUp(database);
  await givenAccounts(database, { FROZEN: 'FROZEN', CLOSED: 'CLOSED', RELEASED: 'FROZEN' });
  await givenOrders(database, [
    { orderNo: 'P1', accountNo: 'A', minor: 100, batchDay: earlierDay },
    { orderNo: 'P2', accountNo: 'RELEASED', minor: 8, batchDay: earlierDay },
  ]);
  await runDay(database, { target: earlierDay });
  await givenAccounts(database, { RELEASED: 'ACTIVE' });
  await releaseAccount(database, 'RELEASED', undefined, {
    by: 'Ann',
    reason: 'checked',
    at: '2026-11-29T09:00:00.000Z',
  });
  await givenOrders(database, [{ orderNo: 'P3', accountNo: 'A', type: 'FEE', minor: 3, batchDay: earlierDay }]);
  await givenOrders(database, orders);
  await givenOrders(database, [{ orderNo: 'U1', accountNo: 'NOBODY', minor: 6 }], false);
  await triggers(database, [
    {
      name: 'withdraw',
      on: 'after insert on quarantine',
      when: `new.account_no = 'FROZEN' and new.batch_day = '${day}'`,
      then: { sql: cancelOrder('W1') },
    },
    { name: 'refuse_net', on: 'before insert on net', when: `new.account_no = 'REFUSED'`, then: 'no net for REFUSED' },
    {
      name: 'refuse_once',
      on: 'before insert on ledger_entry',
      when: `new.sub_account = 'TWICE' and (select attempts from outbox where id = new.journal_entry_id) = 0`,
      then: 'not yet',
    },
  ]);
}

/** The same order cancelled before any run has read it: how the day looks when the first run died right after. */
export function cancelOrder(orderNo: string): string {
  return `update settlement_order set state = 'CANCELED', cancel_code = 'TEST', version = version + 1,
                 finished_at = '2026-11-30 01:00:00.000' where order_no = '${orderNo}' and state = 'INIT'`;
}

/** A day that cannot be closed: the ledger never takes the messages of one account, which are parked. */
export async function givenParkedDay(database: Database): Promise<void> {
  await migrateUp(database);
  await givenOrders(database, [
    { orderNo: 'K1', accountNo: 'PARKED', minor: 10 },
    { orderNo: 'K2', accountNo: 'A', minor: 20 },
  ]);
  await triggers(database, [
    {
      name: 'refuse_entry',
      on: 'before insert on ledger_entry',
      when: `new.sub_account = 'PARKED'`,
      then: 'never',
    },
  ]);
}

interface Trigger {
  name: string;
  on: string;
  when: string;
  /** A statement, or the words of a refusal. */
  then: { sql: string } | string;
}

async function triggers(database: Database, all: readonly Trigger[]): Promise<void> {
  const isSqlite = database.target.dialect === 'sqlite';
  for (const { name, on, when, then } of all) {
    const refusal = (words: string): string =>
      isSqlite ? `select raise(abort, '${words}')` : `signal sqlstate '45000' set message_text = '${words}'`;
    const deed = typeof then === 'string' ? refusal(then) : then.sql;
    const sql = isSqlite
      ? `create trigger ${name} ${on} when ${when} begin ${deed}; end`
      : `create trigger ${name} ${on} for each row if ${when} then ${deed}; end if`;
    await database.transact(repeatable('trigger', (trx) => trx.change(sql)));
  }
}
