import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { deliverDeposits } from '../../src/commands/depositScenes.js';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { approved, emptyDeposits, FakeChain, filled, givenDeposits, settleNow } from '../support/deposits.js';
import { plant, withoutTriggers } from '../support/plants.js';

// Settled deposits that `settle verify` agrees with, and one change at a time that it must name.

describe.each(databaseKinds)('verify of deposits [%s]', (kind) => {
  let place: TestDatabase;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    await withoutTriggers(place.database);
  });
  beforeEach(async () => {
    await emptyDeposits(place.database);
    const chain = new FakeChain();
    await givenDeposits(place.database, [
      {},
      { outTradeNo: 'R-2', transactionHash: filled('2', 32) },
      { outTradeNo: 'R-3', transactionHash: filled('3', 32), scene: 'nothing' },
      { outTradeNo: 'R-4', transactionHash: filled('4', 32) },
    ]);
    for (const no of ['R-1', 'R-2', 'R-3']) {
      await settleNow(place.database, chain.ports(), await approved(place.database, chain.ports(), no));
    }
    await approved(place.database, chain.ports(), 'R-4');
    const { now, signal } = chain.ports();
    await deliverDeposits(place.database, { accounts: { autoRegister: true } }, now, signal);
  });
  afterAll(() => place.drop());

  const contradictions = async (): Promise<string[]> =>
    (await verifyBooks(place.database))
      .filter(({ name }) => name === 'deposit')
      .flatMap(({ contradictions: found }) => found.map(({ table, key, problem }) => `${table} ${key}: ${problem}`));

  test('agrees with deposits that are settled, approved and credited', async () => {
    expect(await contradictions()).toEqual([]);
  });

  test.each([
    [
      'an order that is pending again',
      `update deposit_order set status = 'pending', finished_at = null where out_trade_no = 'R-1'`,
    ],
    [
      'an order that is paid by nothing',
      `update deposit_order set status = 'success', finished_at = imported_at where out_trade_no = 'R-4'`,
    ],
    ['an order that is gone', `delete from deposit_order where out_trade_no = 'R-1'`],
    ['another amount in the order', `update deposit_order set amount_raw = '1' where out_trade_no = 'R-1'`],
    ['another amount in the event', `update deposit_transaction set value_raw = '1' where out_trade_no = 'R-1'`],
    ['another receiver', `update deposit_order set receiver = token where out_trade_no = 'R-2'`],
    ['another token', `update deposit_transaction set token = to_address where out_trade_no = 'R-2'`],
    ['another chain', `update deposit_order set chain_name = 'other' where out_trade_no = 'R-2'`],
    ['a second event for one order', `update deposit_transaction set out_trade_no = 'R-1' where out_trade_no = 'R-2'`],
    [
      'one transaction out of two blocks',
      `update deposit_transaction set transaction_hash = '${filled('1', 32)}', log_index = 8, block_hash = '${filled('9', 32)}' where out_trade_no = 'R-2'`,
    ],
    ['a settlement that is gone', `delete from deposit_transaction where out_trade_no = 'R-3'`],
    ['a review that is not executed', `update deposit_review set state = 'approved' where out_trade_no = 'R-1'`],
    [
      'a review that is executed without a settlement',
      `update deposit_review set state = 'executed' where out_trade_no = 'R-4'`,
    ],
    ['a review that is gone', `delete from deposit_review where out_trade_no = 'R-1'`],
    [
      'a fingerprint that nobody approved',
      `update deposit_transaction set fingerprint = '1:x' where out_trade_no = 'R-1'`,
    ],
    ['a log without the execution', `delete from deposit_log where to_state = 'executed' and out_trade_no = 'R-1'`],
    ['a message that is gone', `delete from outbox where topic = 'DEPOSIT' and account_no = 'M1'`],
    [
      'a message of something else',
      `update outbox set payload = '{"v":1,"outTradeNo":"R-9","credit":null}' where topic = 'DEPOSIT'`,
    ],
    [
      'a message that nothing called for',
      `update outbox set biz_no = 'DT999' where topic = 'DEPOSIT' and batch_day = '2026-11-29'
       and id = (select x.id from (select min(id) as id from outbox where topic = 'DEPOSIT') x)`,
    ],
    ['a credit that is gone', `delete from settlement_order`],
    ['another amount in the credit', `update settlement_order set amount_minor = amount_minor + 1`],
    ['a credit of another account', `update settlement_order set account_no = 'M9'`],
    ['a credit whose message waits', `update outbox set state = 'NEW', sent_at = null where topic = 'DEPOSIT'`],
  ])('names %s', async (_what, statement) => {
    await plant(place.database, statement);
    expect(await contradictions()).not.toEqual([]);
  });
});
