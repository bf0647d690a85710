import type { Database } from '../../src/db/database.js';
import { repeatable } from '../../src/db/transaction.js';
import { deliverDeposits } from '../../src/commands/depositScenes.js';
import { cancelOrders } from '../../src/orders/cancelOrders.js';
import { addDays } from '../../src/kernel/batchDay.js';
import { day, givenAccounts, givenOrders, runDay } from './day.js';
import { approved, FakeChain, givenDeposits, settleNow } from './deposits.js';
import { importFeePlans, importTerms } from './importing.js';
import { importText, match, statementText } from './matching.js';
import { lost, paid, plan, ScriptedChannel, submit } from './payouts.js';

/**
 * A day with one thing of each kind: orders that were netted with a fee, set aside, cancelled and are still to come; a deposit
 * that an account was credited with; payouts that were paid and are UNKNOWN; a statement with another amount than was paid.
 */
export async function givenOneOfEach(database: Database): Promise<void> {
  await importFeePlans(database, 'fee_plan,valid_from,type,basis_points\nP,2026-01-01,PAYMENT,100\n');
  await importTerms(database, 'account_no,valid_from,fee_plan,payout_delay_days\nA1,2026-01-01,P,0\n');
  await givenAccounts(database, { F1: 'FROZEN' });
  await givenOrders(database, [
    { orderNo: 'O-1001', accountNo: 'A1', minor: 10_000 },
    { orderNo: 'O-1002', accountNo: 'A1', type: 'REFUND', minor: 2_000 },
    { orderNo: 'O-1003', accountNo: 'A1', minor: 300, currency: 'JPY' },
    { orderNo: 'O-2001', accountNo: 'A2', minor: 700 },
    { orderNo: 'F-1', accountNo: 'F1', minor: 50 },
    { orderNo: 'C-1', accountNo: 'A2', minor: 60 },
    { orderNo: 'N-1', accountNo: 'A2', minor: 70, batchDay: addDays(day, 1) },
    { orderNo: 'O "x" 1', accountNo: 'A 3', minor: 5 },
  ]);
  await cancelOrders(database, ['C-1'], { by: 'bob', reason: 'captured twice', at: '2026-11-29T12:00:00.000Z' });
  const chain = new FakeChain();
  await givenDeposits(database, [{}, { outTradeNo: 'R-2', transactionHash: null, receiver: `0x${'9'.repeat(40)}` }]);
  await settleNow(database, chain.ports(), await approved(database, chain.ports()));
  await deliverDeposits(database, { accounts: { autoRegister: true } }, chain.ports().now, chain.ports().signal);
  await runDay(database);
  await plan(database);
  const bank = new ScriptedChannel();
  bank.rules = { ...bank.rules, concurrency: 1, checkAfterMs: [3_600_000] };
  bank.submits = [paid, paid, paid, lost, paid];
  await submit(database, bank);
  const today = new Date().toISOString().slice(0, 10);
  const lines = bank.book.entries.map(({ key, amountMinor, currency }) => ({
    ...{ minor: currency === 'JPY' ? amountMinor + 5n : amountMinor, our: key, currency },
  }));
  await importText(database, statementText({ account: 'X', from: addDays(today, -1), to: addDays(today, 1), lines }));
  await match(database, { matches: { payouts: true, orders: false } });
  await database.transact(
    repeatable('delivery', (trx) =>
      trx.change(
        `insert into delivery (outbox_id, sink, topic, lane_no, state, attempts, last_error)
         select id, 'mq', topic, 0, 'NEW', 2, 'no answer' from outbox where topic = 'LEDGER'`,
      ),
    ),
  );
}
