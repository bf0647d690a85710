import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Database } from '../../src/db/database.js';
import { parseDatabaseUrl } from '../../src/db/url.js';
import { triggerSql } from '../../src/db/appendOnly.js';
import { repeatable } from '../../src/db/transaction.js';
import { deliverDeposits } from '../../src/commands/depositScenes.js';
import { planOne, planPending } from '../../src/deposits/planner.js';
import type { Review } from '../../src/deposits/reviewQueries.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { day, runDay } from '../support/day.js';
import {
  answersOf,
  approved,
  depositLines,
  depositRows,
  emptyDeposits,
  FakeChain,
  filled,
  givenDeposits,
  payer,
  receiptOf,
  settleNow,
  transaction,
} from '../support/deposits.js';
import { plant, withoutTriggers } from '../support/plants.js';
import { startProxy } from '../support/proxy.js';

// One approved review, one transaction, one settlement: whoever else is at it, and whatever happens in between.

describe.each(databaseKinds)('settling [%s]', (kind) => {
  let place: TestDatabase;
  let chain: FakeChain;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    await withoutTriggers(place.database);
  });
  beforeEach(async () => {
    await emptyDeposits(place.database);
    chain = new FakeChain();
  });
  afterAll(() => place.drop());

  const change = (sql: string): Promise<unknown> =>
    place.database.transact(repeatable('change', (trx) => trx.change(sql)));
  const scalar = async (sql: string): Promise<string> =>
    String((await place.database.read((session) => session.tuples(sql)))[0]?.[0]);
  const deliver = (database = place.database) =>
    deliverDeposits(database, { accounts: { autoRegister: true } }, chain.ports().now, chain.ports().signal);

  test('moves the order, keeps the event, closes the review and leaves a message, together', async () => {
    await givenDeposits(place.database, [{}]);
    const review = await approved(place.database, chain.ports());
    expect(review).toMatchObject({ state: 'approved', planState: 'ready', decidedBy: 'alice' });
    const outcome = await settleNow(place.database, chain.ports(), review);
    expect(outcome).toMatchObject({ outcome: 'settled' });
    expect(await depositLines(place.database)).toEqual(['R-1 success 0x1111:0']);
    const log = await place.database.read((session) =>
      session.tuples('select action, from_state, to_state from deposit_log order by id'),
    );
    expect(log.map((row) => row.map(String).join(' '))).toEqual(['approve open approved', 'settle approved executed']);
    expect(await scalar(`select count(*) from operator_action where action = 'DEPOSIT_SETTLE'`)).toBe('1');
    expect(await scalar(`select state from outbox where topic = 'DEPOSIT'`)).toBe('NEW');
    expect(await scalar('select value_raw from deposit_transaction')).toBe('25000000');
  });

  test('a second time says that it was before, and writes nothing', async () => {
    await givenDeposits(place.database, [{}]);
    const review = await approved(place.database, chain.ports());
    await settleNow(place.database, chain.ports(), review);
    const before = await depositRows(place.database);
    expect(await settleNow(place.database, chain.ports(), review)).toMatchObject({ outcome: 'already-settled' });
    expect(await depositRows(place.database)).toEqual(before);
  });

  test('asks the node anew: what has changed since the approval is not settled', async () => {
    await givenDeposits(place.database, [{}]);
    const review = await approved(place.database, chain.ports());
    const asked = chain.asked;
    const moved = receiptOf([{ logIndex: 3 }], { blockHash: filled('9', 32), blockNumber: 101n });
    chain.usual = answersOf({ receipt: moved, head: 110n });
    const before = await depositRows(place.database);
    expect(await settleNow(place.database, chain.ports(), review)).toMatchObject({
      ...{ outcome: 'skipped', code: 'review-fingerprint-mismatched' },
    });
    expect(chain.asked).toBe(asked + 1);
    chain.usual = { failure: 'rpc-query-failed', detail: 'no answer' };
    expect(await settleNow(place.database, chain.ports(), review)).toMatchObject({ code: 'rpc-query-failed' });
    expect(await depositRows(place.database)).toEqual(before);
  });

  test.each([
    ['closed', `update deposit_order set status = 'closed', finished_at = imported_at`, 'order-not-settleable'],
    [
      'paid elsewhere',
      `update deposit_order set status = 'success', finished_at = imported_at`,
      'local-order-already-paid',
    ],
    ['of another amount', `update deposit_order set amount_raw = '1'`, 'order-update-conflict'],
    ['for another receiver', `update deposit_order set receiver = token`, 'order-update-conflict'],
    ['changed in any way', `update deposit_order set version = version + 1`, 'order-update-conflict'],
    ['refused', `update deposit_review set state = 'rejected', decided_at = opened_at`, 'order-update-conflict'],
  ])('an order that is %s between plan and transaction stays as it is', async (_what, sql, code) => {
    await givenDeposits(place.database, [{}]);
    const review = await approved(place.database, chain.ports());
    chain.before = async () => {
      chain.before = () => Promise.resolve();
      await change(sql);
    };
    expect(await settleNow(place.database, chain.ports(), review)).toMatchObject({ outcome: 'skipped', code });
    expect(await scalar('select count(*) from deposit_transaction')).toBe('0');
    expect(await scalar(`select count(*) from outbox where topic = 'DEPOSIT'`)).toBe('0');
  });

  test('a plan that has become too old is made anew, a bounded number of times', async () => {
    await givenDeposits(place.database, [{}]);
    const review = await approved(place.database, chain.ports());
    let now = 0;
    const slowly = (steps: number) =>
      chain.ports({ planMaxAgeMs: 1_000, monotonicMs: () => (now += steps-- > 0 ? 1_001 : 0) });
    const before = chain.asked;
    expect(await settleNow(place.database, slowly(100), review)).toMatchObject({ code: 'order-update-conflict' });
    expect(chain.asked - before).toBe(3);
    expect(await settleNow(place.database, slowly(2), review)).toMatchObject({ outcome: 'settled' });
  });

  test('sixteen at once, one event, two orders: one settlement, and everybody is told the truth', async () => {
    await givenDeposits(place.database, [{}, { outTradeNo: 'R-2' }]);
    const reviews = [
      await approved(place.database, chain.ports()),
      await approved(place.database, chain.ports(), 'R-2'),
    ];
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, async (_, at) => {
        const review = reviews[at % 2] as Review;
        const outcome = await settleNow(place.database, chain.ports(), review);
        return { no: review.outTradeNo, told: outcome.outcome === 'skipped' ? outcome.code : outcome.outcome };
      }),
    );
    const settled = outcomes.filter(({ told }) => told === 'settled');
    expect(settled).toHaveLength(1);
    const winner = settled[0]?.no;
    for (const { no, told } of outcomes) {
      const may =
        no === winner ? ['settled', 'already-settled'] : ['transfer-already-consumed', 'review-fingerprint-mismatched'];
      expect(may).toContain(told);
    }
    expect(await scalar('select count(*) from deposit_transaction')).toBe('1');
    expect(await scalar(`select count(*) from outbox where topic = 'DEPOSIT'`)).toBe('1');
    expect(await scalar(`select count(*) from deposit_order where status = 'success'`)).toBe('1');
    const again = await settleNow(place.database, chain.ports(), reviews[winner === 'R-1' ? 1 : 0] as Review);
    expect(again).toMatchObject({ outcome: 'skipped', code: 'transfer-already-consumed' });
  });

  test('sixteen at once on one order with two events that would each do: it is paid once', async () => {
    await givenDeposits(place.database, [{}]);
    chain.usual = answersOf({ receipt: receiptOf([{}, {}]) });
    const reviews = [
      await approved(place.database, chain.ports(), 'R-1', 0),
      await approved(place.database, chain.ports(), 'R-1', 1),
    ];
    const told = await Promise.all(
      Array.from({ length: 16 }, (_, at) => settleNow(place.database, chain.ports(), reviews[at % 2] as Review)),
    );
    expect(told.filter(({ outcome }) => outcome === 'settled')).toHaveLength(1);
    const skipped = told.flatMap((one) => (one.outcome === 'skipped' ? [one.code] : []));
    expect(new Set(skipped)).toEqual(new Set(['local-order-already-paid']));
    expect(await scalar('select count(*) from deposit_transaction')).toBe('1');
  });

  test('two Transfers of one transaction pay two orders; the transaction alone says nothing', async () => {
    await givenDeposits(place.database, [
      { logIndex: 0 },
      { outTradeNo: 'R-2', logIndex: 1 },
      { outTradeNo: 'R-3', logIndex: 1 },
    ]);
    chain.usual = answersOf({ receipt: receiptOf([{}, {}, { to: payer }]) });
    for (const no of ['R-1', 'R-2']) {
      const review = await approved(place.database, chain.ports(), no);
      expect(await settleNow(place.database, chain.ports(), review)).toMatchObject({ outcome: 'settled' });
    }
    expect(await planOne(place.database, chain.ports(), { outTradeNo: 'R-3' })).toMatchObject({
      reasonCode: 'transfer-already-consumed',
    });
    expect(await depositLines(place.database)).toEqual(['R-1 success 0x1111:0', 'R-2 success 0x1111:1', 'R-3 pending']);
  });

  test('a chain that was called otherwise before is the same chain: its events are not paid again', async () => {
    await givenDeposits(place.database, [{}, { outTradeNo: 'R-2' }]);
    const review = await approved(place.database, chain.ports());
    const second = await approved(place.database, chain.ports(), 'R-2');
    await settleNow(place.database, chain.ports(), review);
    await plant(place.database, `update deposit_transaction set chain_name = 'formerly'`);
    expect(await planOne(place.database, chain.ports(), { outTradeNo: 'R-2' })).toMatchObject({
      reasonCode: 'transfer-already-consumed',
    });
    expect(await settleNow(place.database, chain.ports(), second)).toMatchObject({ outcome: 'skipped' });
  });

  test('a message whose order is there with other content is parked, and the order stays', async () => {
    await givenDeposits(place.database, [{}]);
    await settleNow(place.database, chain.ports(), await approved(place.database, chain.ports()));
    await deliver();
    await change(`update outbox set state = 'NEW', sent_at = null where topic = 'DEPOSIT'`);
    await change(`update settlement_order set amount_minor = 1`);
    expect(await deliver()).toEqual({ delivered: 0, parked: 1 });
    expect(await scalar('select amount_minor from settlement_order')).toBe('1');
  });

  test('pages of pending orders are planned whole, whatever their number', async () => {
    const orders = Array.from({ length: 450 }, (_, at) => ({
      outTradeNo: `P-${String(at)}`,
      transactionHash: at % 3 === 0 ? null : `0x${at.toString(16).padStart(64, '0')}`,
    }));
    await givenDeposits(place.database, orders);
    const seen: string[] = [];
    const counts = await planPending(place.database, chain.ports(), (plans) => {
      seen.push(...plans.map(({ outTradeNo, state }) => `${outTradeNo} ${state}`));
      return Promise.resolve();
    });
    expect(counts).toEqual({ planned: 300, waiting: 150 });
    const expected = orders.filter((one) => one.transactionHash !== null).map((one) => `${one.outTradeNo} ready`);
    expect(seen).toEqual(expected);
  });

  if (kind === 'server') {
    test('an answer to COMMIT that is lost is looked up by the coordinate, and nothing is done twice', async () => {
      await givenDeposits(place.database, [{}]);
      const review = await approved(place.database, chain.ports());
      const proxy = await startProxy(place.url);
      const through = await Database.open(parseDatabaseUrl(proxy.url), { connections: 2 });
      try {
        proxy.next(/^commit/, 'dropAnswer');
        expect(await settleNow(through, chain.ports(), review)).toMatchObject({ outcome: 'settled' });
        expect(proxy.struck()).toBe(1);
      } finally {
        await through.close();
        await proxy.close();
      }
      expect(await scalar('select count(*) from deposit_transaction')).toBe('1');
      expect(await scalar(`select count(*) from deposit_log where action = 'settle'`)).toBe('1');
    });
  }

  test('the database itself refuses one event twice, in any case, and a change of what is settled', async () => {
    await givenDeposits(place.database, [{}]);
    await settleNow(place.database, chain.ports(), await approved(place.database, chain.ports()));
    const columns = `out_trade_no, type, chain_name, chain_id, transaction_hash, log_index, position, block_number,
      block_hash, token, from_address, to_address, value_raw, review_id, fingerprint, actor, settled_at`;
    const copy = (values: string): Promise<unknown> =>
      change(`insert into deposit_transaction (${columns}) select ${values} from deposit_transaction`);
    const as = (changes: Record<string, string>): string =>
      columns
        .split(',')
        .map((name) => changes[name.trim()] ?? name)
        .join(',');
    await expect(copy(as({ out_trade_no: `'R-9'` }))).rejects.toThrow();
    await expect(copy(as({ out_trade_no: `'R-9'`, chain_name: `'renamed'` }))).rejects.toThrow();
    await expect(copy(as({ out_trade_no: `'R-9'`, type: `'other'` }))).rejects.toThrow();
    await expect(copy(as({ log_index: '5' }))).rejects.toThrow();
    const upper = transaction.replace('0x1', '0xA');
    await expect(copy(as({ out_trade_no: `'R-9'`, transaction_hash: `'${upper}'` }))).rejects.toThrow();
    for (const name of ['deposit_transaction_no_update', 'deposit_log_no_delete']) {
      await place.database.read((session) => session.change(triggerSql(place.database.engine, name)));
    }
    await expect(change(`update deposit_transaction set log_index = 9`)).rejects.toThrow(/append-only/);
    await expect(change(`delete from deposit_log`)).rejects.toThrow(/append-only/);
    await withoutTriggers(place.database);
    await expect(change(`update deposit_order set amount_raw = '1e9'`)).rejects.toThrow();
  });

  // The last of its suite: it closes a day.
  test('the order that a scene makes is netted and posted by the daily batch, once', async () => {
    await givenDeposits(place.database, [
      {},
      { outTradeNo: 'R-2', scene: 'nothing', transactionHash: filled('2', 32) },
    ]);
    for (const no of ['R-1', 'R-2']) {
      await settleNow(place.database, chain.ports(), await approved(place.database, chain.ports(), no));
    }
    const both = await Promise.all([deliver(), deliver()]);
    expect(both[0].delivered + both[1].delivered).toBeGreaterThanOrEqual(2);
    expect(await deliver()).toEqual({ delivered: 0, parked: 0 });
    expect(await scalar('select count(*) from settlement_order')).toBe('1');
    const { outcome } = await runDay(place.database, { target: day });
    expect(outcome).toBe('OK');
    expect(await scalar(`select amount_minor from ledger_entry where ledger_account = 'MERCHANT_PAYABLE'`)).toBe(
      '2500',
    );
    expect(await scalar(`select state from settlement_order where order_no like 'DEPOSIT-%'`)).toBe('SUCCESS');
  });
});
