import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { auditSettlements, recheckFinding } from '../../src/deposits/audit.js';
import { runAuto, type AutoRules } from '../../src/deposits/auto.js';
import { stepsOf } from '../../src/deposits/compensation.js';
import { markFindings, openFindings, type Finding } from '../../src/deposits/findings.js';
import { planOne } from '../../src/deposits/planner.js';
import { approveReview, openReviews, rejectReview } from '../../src/deposits/reviews.js';
import { reviewOf, reviewsIn, type Review } from '../../src/deposits/reviewQueries.js';
import type { SettlePorts } from '../../src/deposits/settleDeposit.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import {
  answersOf,
  approved,
  blockOf,
  depositLines,
  depositRows,
  emptyDeposits,
  FakeChain,
  filled,
  givenDeposits,
  receiptOf,
  settleNow,
} from '../support/deposits.js';
import { alerts } from '../support/payouts.js';
import { withoutTriggers } from '../support/plants.js';

// What people, and the time, say of plans; what an audit says of what is settled.

const later = '2026-11-29T11:00:00.000Z';

describe.each(databaseKinds)('reviews [%s]', (kind) => {
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

  const bob = { by: 'bob', reason: 'looked at it', at: later };
  const ports = (overrides: Partial<SettlePorts> = {}) => chain.ports({ now: () => later, ...overrides });
  const planned = (outTradeNo = 'R-1') => planOne(place.database, chain.ports(), { outTradeNo });
  const opened = async (outTradeNo = 'R-1') => {
    const plan = await planned(outTradeNo);
    await openReviews(place.database, [plan], 'test', chain.ports().now());
    return plan.reviewFingerprint ?? '';
  };
  const review = (fingerprint: string) => place.database.read((session) => reviewOf(session, 'R-1', fingerprint));
  const usual: AutoRules = {
    ...{ timeoutMs: 1_800_000, action: 'auto-reject', executeApproved: false },
    ...{ reviewLimit: 50, maxAttempts: 3, retryLimit: 50 },
  };
  const auto = (rules: Partial<AutoRules> = {}) => runAuto(place.database, ports(), { ...usual, ...rules });

  test('are opened once for an order and fingerprint, and only of what a person can decide', async () => {
    await givenDeposits(place.database, [{}]);
    const plan = await planned();
    const open = () => openReviews(place.database, [plan], 'test', later);
    expect([(await open()).length, (await open()).length]).toEqual([1, 0]);
    chain.usual = answersOf({ head: 100n });
    expect(await openReviews(place.database, [await planned()], 'test', later)).toEqual([]);
    await Promise.all(Array.from({ length: 8 }, open));
    expect(await place.database.read((session) => reviewsIn(session, 'open', 10))).toHaveLength(1);
  });

  test('approve exactly what was shown, once', async () => {
    await givenDeposits(place.database, [{}]);
    const fingerprint = await opened();
    const approve = (of = fingerprint) =>
      approveReview(place.database, ports(), { outTradeNo: 'R-1', fingerprint: of }, bob);
    expect(await approve()).toMatchObject({ outcome: 'applied', review: { state: 'approved', isAuto: false } });
    expect(await approve()).toMatchObject({ outcome: 'repeated' });
    await expect(approve(`1:${'0'.repeat(64)}`)).rejects.toMatchObject({ code: 'DEPOSIT_FINGERPRINT_DIFFERS' });
    expect(await rejectReview(place.database, 'R-1', fingerprint, bob)).toMatchObject({
      review: { state: 'rejected' },
    });
    expect(await rejectReview(place.database, 'R-1', fingerprint, bob)).toMatchObject({ outcome: 'repeated' });
    // A person may think better of it, as long as nothing has changed.
    expect(await approve()).toMatchObject({ outcome: 'applied', review: { state: 'approved' } });
    chain.usual = answersOf({ receipt: receiptOf([{ logIndex: 4 }]) });
    await rejectReview(place.database, 'R-1', fingerprint, bob);
    await expect(approve()).rejects.toMatchObject({ code: 'DEPOSIT_FINGERPRINT_DIFFERS' });
  });

  test('are not for what is confirming or blocked, nor for several events without a choice', async () => {
    await givenDeposits(place.database, [{}]);
    const refusal = async (): Promise<unknown> => {
      const fingerprint = (await planned()).reviewFingerprint ?? '';
      return approveReview(place.database, ports(), { outTradeNo: 'R-1', fingerprint }, bob).catch(
        (error: unknown) => error,
      );
    };
    for (const answers of [
      answersOf({ head: 100n }),
      answersOf({ chainId: 5n }),
      answersOf({ receipt: receiptOf([{}, {}]) }),
    ]) {
      chain.usual = answers;
      expect(await refusal()).toMatchObject({ code: 'DEPOSIT_NOT_APPROVABLE' });
    }
    await expect(rejectReview(place.database, 'R-1', '1:none', bob)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('of what needs a person are settled once a person approved just that', async () => {
    await givenDeposits(place.database, [{ expiresAt: '2026-11-29T10:05:00.000000Z' }]);
    expect(await planned()).toMatchObject({ state: 'review_required', reasonCode: 'order-expired-late-payment' });
    const own = await approved(place.database, chain.ports());
    expect(await settleNow(place.database, chain.ports(), own)).toMatchObject({ outcome: 'settled' });
  });

  test('that nobody decided in time are rejected, unless configured otherwise; a later person still may', async () => {
    await givenDeposits(place.database, [{}]);
    const fingerprint = await opened();
    expect(await auto({ timeoutMs: 7_200_000 })).toMatchObject({ approved: 0, rejected: 0 });
    expect(await auto()).toMatchObject({ approved: 0, rejected: 1, settled: 0 });
    expect(await auto()).toMatchObject({ rejected: 0 });
    expect(await review(fingerprint)).toMatchObject({ state: 'rejected', isAuto: true });
    expect(await approveReview(place.database, ports(), { outTradeNo: 'R-1', fingerprint }, bob)).toMatchObject({
      outcome: 'applied',
    });
  });

  test('are approved by time when configured, and settled only when that is configured too', async () => {
    await givenDeposits(place.database, [{}]);
    await opened();
    const approving = { action: 'auto-approve' as const };
    expect(await auto(approving)).toMatchObject({ approved: 1, settled: 0 });
    expect(await auto(approving)).toMatchObject({ approved: 0, settled: 0 });
    expect(await auto({ ...approving, executeApproved: true })).toMatchObject({ settled: 1, skipped: [] });
    expect(await depositLines(place.database)).toEqual(['R-1 success 0x1111:0']);
  });

  test('are never approved by time where a person is asked for, or the chain has moved', async () => {
    await givenDeposits(place.database, [{ expiresAt: '2026-11-29T10:05:00.000000Z' }, { outTradeNo: 'R-2' }]);
    await opened();
    await opened('R-2');
    chain.usual = answersOf({ head: 200n, receipt: receiptOf([{ logIndex: 9 }]) });
    expect(await auto({ action: 'auto-approve', executeApproved: true })).toMatchObject({
      approved: 0,
      rejected: 2,
      settled: 0,
    });
    expect(await depositLines(place.database)).toEqual(['R-1 pending', 'R-2 pending']);
  });

  test('are left for the next time while a node does not answer', async () => {
    await givenDeposits(place.database, [{}]);
    const fingerprint = await opened();
    chain.usual = { failure: 'rpc-query-failed', detail: 'no answer' };
    expect(await auto({ action: 'auto-approve' })).toMatchObject({ postponed: 1 });
    expect(await review(fingerprint)).toMatchObject({ state: 'open' });
  });

  test('that failed for what may pass are tried again so often, then given up with one alert', async () => {
    await givenDeposits(place.database, [{}]);
    await opened();
    const rules = { action: 'auto-approve', executeApproved: true } as const;
    await auto({ ...rules, executeApproved: false });
    chain.usual = { failure: 'rpc-query-failed', detail: 'no answer' };
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      expect((await auto(rules)).skipped).toEqual([{ outTradeNo: 'R-1', code: 'rpc-query-failed' }]);
    }
    expect(await alerts(place.database)).toEqual([]);
    expect(await auto(rules)).toMatchObject({ exhausted: 1, skipped: [] });
    expect(await auto(rules)).toMatchObject({ exhausted: 0, skipped: [] });
    const [alert, ...others] = await alerts(place.database);
    expect(others).toEqual([]);
    expect(alert).toContain('retry-attempts-exhausted');
    // The node is well again: that does not give attempts back, a person settles it.
    chain.usual = answersOf();
    expect(await auto(rules)).toMatchObject({ settled: 0 });
    const [left] = await place.database.read((session) => reviewsIn(session, 'approved', 1));
    expect(await settleNow(place.database, ports(), left as Review)).toMatchObject({ outcome: 'settled' });
  });

  test('that failed for what will not pass are not tried again, and told once', async () => {
    await givenDeposits(place.database, [{}]);
    await opened();
    await auto({ action: 'auto-approve' });
    chain.usual = answersOf({ receipt: receiptOf([{}], { status: 'failure' }) });
    const rules = { action: 'auto-approve', executeApproved: true } as const;
    expect((await auto(rules)).skipped).toEqual([{ outTradeNo: 'R-1', code: 'chain-transaction-failed' }]);
    expect((await auto(rules)).skipped).toEqual([]);
    const told = await alerts(place.database);
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('"explorer":"https://explorer.example/tx/0x1111');
  });

  test('are settled once by any number of automatics at the same time', async () => {
    const orders = ['R-1', 'R-2', 'R-3', 'R-4'].map((outTradeNo, at) => ({
      outTradeNo,
      transactionHash: filled(String(at + 1), 32),
    }));
    await givenDeposits(place.database, orders);
    for (const { outTradeNo } of orders) await opened(outTradeNo);
    const rules = { action: 'auto-approve', executeApproved: true } as const;
    await Promise.all(Array.from({ length: 6 }, () => auto(rules)));
    await auto(rules);
    expect((await depositLines(place.database)).map((line) => line.split(' ')[1])).toEqual(Array(4).fill('success'));
    const lines = await place.database.read((session) =>
      session.tuples(`select out_trade_no from deposit_log where to_state = 'executed' order by out_trade_no`),
    );
    expect(lines.flat()).toEqual(['R-1', 'R-2', 'R-3', 'R-4']);
  });

  describe('an audit', () => {
    const request = {
      until: later,
      chainName: null,
      limit: 50,
      requiredConfirmations: null,
      now: later,
      openDay: '2026-11-29',
    };
    const audit = (overrides: Partial<typeof request> = {}) =>
      auditSettlements(place.database, ports(), { ...request, ...overrides });
    const told = async (): Promise<string[]> =>
      (await audit()).map(({ codes, risk, chainReorgSuspected, suggestion }) =>
        [codes.join('+') || '-', risk, chainReorgSuspected ? 'reorg' : '-', suggestion ?? '-'].join(' '),
      );
    beforeEach(async () => {
      await givenDeposits(place.database, [{}]);
      await settleNow(place.database, chain.ports(), await approved(place.database, chain.ports()));
    });
    const elsewhere = receiptOf([{ to: filled('9', 20) }, {}], { blockHash: filled('9', 32), blockNumber: 101n });

    test.each([
      ['is as it was', answersOf(), '- none - -'],
      [
        'is gone',
        answersOf({ receipt: null, block: null }),
        'chain-transaction-dropped high reorg manual-compensation',
      ],
      [
        'is not told, by a node that is behind',
        answersOf({ receipt: null, block: null, head: 9n }),
        'rpc-head-stale low - recheck-later',
      ],
      [
        'is reverted',
        answersOf({ receipt: receiptOf([], { status: 'failure' }) }),
        'chain-transaction-failed high - manual-compensation',
      ],
      [
        'is removed',
        answersOf({ receipt: receiptOf([{ removed: true }]) }),
        'transfer-removed high reorg manual-compensation',
      ],
      [
        'is of another amount',
        answersOf({ receipt: receiptOf([{ value: 1n }]) }),
        'amount-mismatch high - manual-compensation',
      ],
      [
        'is to somebody else',
        answersOf({ receipt: receiptOf([{ to: filled('9', 20) }]) }),
        'receiver-address-mismatch high - manual-compensation',
      ],
      ['is no Transfer', answersOf({ receipt: receiptOf([]) }), 'transfer-missing high - manual-compensation'],
      [
        'is in another block',
        answersOf({ receipt: elsewhere, head: 110n }),
        'transfer-relocated medium reorg mark-resolved',
      ],
      [
        'is in another block, not deep yet',
        answersOf({ receipt: elsewhere, head: 101n }),
        'transfer-relocated+chain-confirmations-insufficient medium reorg wait-confirmations',
      ],
      [
        'is in a block that lost',
        answersOf({ block: blockOf(null, { hash: filled('7', 32) }) }),
        'chain-block-not-canonical medium reorg recheck-later',
      ],
      ['is not told', { failure: 'rpc-query-failed' as const, detail: '' }, 'rpc-query-failed low - recheck-later'],
      ['is asked of another chain', answersOf({ chainId: 5n }), 'chain-id-mismatch low - recheck-later'],
    ])('of a payment that %s', async (_what, answers, expected) => {
      chain.usual = answers;
      const settled = await depositLines(place.database);
      expect(await told()).toEqual([expected]);
      expect(await depositLines(place.database)).toEqual(settled);
    });

    test('writes one finding however often it sees it, alerts once, and marking moves nothing else', async () => {
      chain.usual = answersOf({ receipt: null, block: null });
      for (let round = 0; round < 3; round += 1) await audit();
      const [first, ...others] = await place.database.read((session) => openFindings(session, 10));
      expect(others).toEqual([]);
      const finding = first as Finding;
      expect(finding).toMatchObject({
        code: 'chain-transaction-dropped',
        seen: 3,
        chainReorgSuspected: true,
        risk: 'high',
      });
      expect(await alerts(place.database)).toHaveLength(1);
      expect(stepsOf(finding).map(({ action }) => action)).toEqual(['recheck-later', 'manual-compensation']);
      expect(await recheckFinding(place.database, ports(), finding.id)).toMatchObject({ stillRisky: true });
      chain.usual = answersOf();
      const before = await depositRows(place.database);
      expect(await recheckFinding(place.database, ports(), finding.id)).toMatchObject({ stillRisky: false });
      expect(await depositRows(place.database)).toEqual(before);
      await expect(markFindings(place.database, [finding.id, 999n], 'resolve', bob)).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
      expect((await markFindings(place.database, [finding.id], 'resolve', bob)).marked).toHaveLength(1);
      expect((await markFindings(place.database, [finding.id], 'ignore', bob)).already).toHaveLength(1);
      const unchanged = (rows: string[]) => rows.filter((row) => !/^deposit_(finding|log)/.test(row));
      expect(unchanged(await depositRows(place.database))).toEqual(unchanged(before));
      chain.usual = answersOf({ receipt: null, block: null });
      await audit();
      expect(await place.database.read((session) => openFindings(session, 10))).toHaveLength(1);
    });

    test('goes on where the last one stopped, and begins again at the end', async () => {
      const more = Array.from({ length: 4 }, (_, at) => ({
        outTradeNo: `S-${String(at)}`,
        transactionHash: filled(String(at + 2), 32),
      }));
      await givenDeposits(place.database, more);
      for (const { outTradeNo } of more) {
        await settleNow(place.database, chain.ports(), await approved(place.database, chain.ports(), outTradeNo));
      }
      const page = async (): Promise<string> =>
        (await audit({ limit: 2 })).map(({ settled }) => settled.outTradeNo).join(' ');
      expect([await page(), await page(), await page(), await page()]).toEqual([
        'R-1 S-0',
        'S-1 S-2',
        'S-3',
        'R-1 S-0',
      ]);
      expect(await audit({ until: '2020-01-01T00:00:00.000Z' })).toEqual([]);
    });
  });
});
