import { beforeEach, describe, expect, test } from '@jest/globals';
import { verifyChecks } from '../src/reconciliation/checklist.js';
import { expectedLegs, namesExactly } from '../src/reconciliation/payload.js';
import { verifyBooks } from '../src/reconciliation/verify.js';
import { emptyBooks, smallDays, writeBooks } from './support/books.js';
import { onEachDatabase } from './support/databases.js';
import { plant } from './support/plants.js';
import { settleInside as settle } from './support/inside.js';

const checks = Object.keys(verifyChecks).length;

onEachDatabase('settle verify', (current) => {
  const change = (sql: string): Promise<void> => plant(current().database, sql);
  const run = (...args: string[]): ReturnType<typeof settle> => settle(args, { url: current().url });

  beforeEach(async () => {
    await emptyBooks(current().database);
    await writeBooks(current().database, smallDays);
  });

  test('finds nothing in books that agree, and has looked at every table', async () => {
    const checks = await verifyBooks(current().database);
    expect(checks.flatMap((check) => check.contradictions)).toEqual([]);
    expect(Object.fromEntries(checks.map((check) => [check.name, check.examined]))).toEqual({
      period: 1,
      payout: 0,
      'payout-transit': 0,
      deposit: 0,
      statement: 0,
      'statement-match': 0,
      discrepancy: 0,
      'order-state': 16,
      'order-chunk': 20,
      chunk: 3,
      net: 10,
      'net-message': 20,
      payload: 10,
      'message-posted': 10,
      'journal-entry': 10,
      'journal-balance': 10,
      'ledger-entry': 24,
      batch: 2,
      reversal: 0,
      'source-total': 9,
      'withdrawn-order': 1,
      'sub-ledger': 3,
      balance: 16,
      'hash-chain': 10,
      'append-only': 1,
      terms: 0,
      'trial-balance': 3,
    });
  });

  test('looks at one day only when asked to', async () => {
    await change('update settlement_order set amount_minor = 101 where id = 900');
    const wrong = async (batchDay: string): Promise<string[]> =>
      (await verifyBooks(current().database, { batchDay })).filter((check) => !check.ok).map((check) => check.name);
    expect(await wrong('2026-11-29')).toEqual([]);
    expect(await wrong('2026-11-28')).toEqual(['net', 'payload', 'source-total']);
  });

  test('lists at most twenty contradictions of a check', async () => {
    await emptyBooks(current().database);
    const orders = Array.from({ length: 30 }, (_, at) => ({
      ...{ id: at + 1, accountNo: `A${String(at)}`, type: 'PAYMENT' as const, channel: 'CARD', currency: 'USD' },
      ...{ amountMinor: 1n, chunkNo: at + 1 },
    }));
    await writeBooks(current().database, [{ batchDay: '2026-11-29', runId: 7, topId: 30, firstMessageId: 1, orders }]);
    await change('update net set amount_minor = 2');
    const checks = await verifyBooks(current().database);
    expect(checks.find((check) => check.name === 'net')).toMatchObject({ ok: false, examined: 30 });
    expect(checks.find((check) => check.name === 'net')?.contradictions).toHaveLength(20);
  });

  test('stops when asked to', async () => {
    const controller = new AbortController();
    controller.abort(new Error('enough'));
    await expect(verifyBooks(current().database, { signal: controller.signal })).rejects.toThrow('enough');
  });

  test('ends with 0 and a line for each check when the books agree', async () => {
    const { code, stdout } = await run('verify');
    expect(code).toBe(0);
    expect(stdout).toContain(`The books agree with themselves: ${String(checks)} checks, no contradiction.\n`);
    for (const name of Object.keys(verifyChecks))
      expect(stdout).toMatch(new RegExp(`^ok +${name} +[0-9]+ examined$`, 'm'));
  });

  test('ends with 4, says which check, table and row, and prints all checks', async () => {
    await change(`update net set amount_minor = 1586 where biz_no = 'S7.1.2'`);
    const { code, stdout } = await run('verify');
    expect(code).toBe(4);
    expect(stdout).toMatch(/^The books contradict themselves: net, payload, journal-entry, sub-ledger\.\n/);
    expect(stdout).toContain('net 7/1/2: is USD 15.86, its orders add up to USD 15.85');
    expect(stdout.match(/examined$/gm)).toHaveLength(checks);
  });

  test('--json is one document of the agreed form', async () => {
    await change('delete from journal_entry where id = 506');
    const { code, stdout } = await run('verify', '--batch-day', '2026-11-29', '--json');
    expect(code).toBe(4);
    const document = JSON.parse(stdout) as { checks: { name: string }[] };
    expect(document).toMatchObject({ schema: 'settle.verify', schemaVersion: 1, ok: false, batchDay: '2026-11-29' });
    expect(document.checks.map((check) => check.name)).toEqual(Object.keys(verifyChecks));
    expect(document.checks.find((check) => check.name === 'message-posted')).toEqual({
      name: 'message-posted',
      ok: false,
      examined: 8,
      contradictions: [
        { table: 'outbox', key: 'S7.2.3', problem: 'is SENT, but the ledger has no journal entry for it' },
      ],
    });
  });

  test('refuses a day that has no batch with 2, and names the days that there are', async () => {
    const { code, stdout, stderr } = await run('verify', '--batch-day', '2026-11-01', '--json');
    expect([code, stdout]).toEqual([2, '']);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'NOT_FOUND', details: { days: ['2026-11-28', '2026-11-29'] }, exitCode: 2 },
    });
  });

  test('agrees on an empty database', async () => {
    await emptyBooks(current().database);
    expect((await run('verify')).code).toBe(0);
  });

  describe('settle reconcile', () => {
    test('repeats the reconciliations of the latest day and ends with 0', async () => {
      const { code, stdout } = await run('reconcile', '--json');
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        ...{ schema: 'settle.reconcile', schemaVersion: 1, batchDay: '2026-11-29', ok: true, outcome: 'OK' },
        checks: ['batch-totals', 'orders-left', 'sub-ledger', 'trial-balance', 'balances'].map((name) => ({ name })),
        totals: { claimed: [{}, { currency: 'KWD', orders: 2, netMinor: '-5000' }, {}] },
      });
    });

    test('ends with 3 while orders are left', async () => {
      await change(`update quarantine set active = null, released_at = '2026-11-30'`);
      const { code, stdout } = await run('reconcile', '--batch-day', '2026-11-29');
      expect(code).toBe(3);
      expect(stdout).toMatch(/^2026-11-29 is not finished; what is done agrees\.\n/);
      expect(stdout).toMatch(/^open {2}orders-left {3}expected 0 INIT/m);
      expect(stdout).toContain('order 1130: expected SUCCESS, found INIT');
    });

    test('ends with 4 on a contradiction and names it', async () => {
      await change(`update net set amount_minor = 1586 where biz_no = 'S7.1.2'`);
      const { code, stdout } = await run('reconcile');
      expect(code).toBe(4);
      expect(stdout).toMatch(/^2026-11-29 does not reconcile\.\n/);
      expect(stdout).toContain('nets USD: expected 8 orders 16.26, found 8 orders 16.27');
      expect(stdout).toContain('account M1 USD: expected 15.87, found 15.86');
    });

    test('says so when no day has been run', async () => {
      await emptyBooks(current().database);
      const { code, stderr } = await run('reconcile');
      expect(code).toBe(2);
      expect(stderr).toContain('No batch has been run yet.');
    });
  });
});

describe('a payload', () => {
  test.each([
    ['5-9,12', [5n, 6n, 7n, 8n, 9n, 12n], true],
    ['5', [5n], true],
    ['5-9,12', [5n, 6n, 7n, 8n, 9n], false],
    ['5-9', [5n, 6n, 7n, 8n, 9n, 12n], false],
    ['9-5', [], false],
    ['1-9223372036854775807', [1n, 2n], false],
    ['6,5', [5n, 6n], false],
  ])('%s names exactly %p: %p', (text, ids, exact) => {
    expect(namesExactly(text, ids)).toBe(exact);
  });

  test('of every kind of order calls for these ledger entries', () => {
    const line = (type: string, amountMinor: bigint): Parameters<typeof expectedLegs>[1][number] => ({
      ...{ type, channel: 'CARD', orders: 1, amountMinor },
    });
    const lines = [
      line('PAYMENT', 100n),
      line('REFUND', 30n),
      line('FEE', 4n),
      line('ADJUSTMENT', 7n),
      line('ADJUSTMENT', -2n),
    ];
    expect(Object.fromEntries(expectedLegs('M1', lines))).toEqual({
      'DEBIT CHANNEL_RECEIVABLE/CARD': 100n,
      'CREDIT CHANNEL_RECEIVABLE/CARD': 30n,
      'CREDIT FEE_INCOME': 4n,
      'DEBIT ADJUSTMENTS': 7n,
      'CREDIT ADJUSTMENTS': 2n,
      'CREDIT MERCHANT_PAYABLE/M1': 107n,
      'DEBIT MERCHANT_PAYABLE/M1': 36n,
    });
  });
});
