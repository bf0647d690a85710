import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { checksummed, readAddress } from '../../src/deposits/address.js';
import { amountRawMax, rawToMinor, readAmountRaw } from '../../src/deposits/amounts.js';
import { canonicalJson } from '../../src/deposits/fingerprint.js';
import type { PlanFacts } from '../../src/deposits/planDeposit.js';
import { reasonCodes, reasons, stateOf, type ReasonCode } from '../../src/deposits/reasons.js';
import type { SettledTransfer } from '../../src/deposits/deposit.js';
import {
  answersOf,
  blockHash,
  blockOf,
  chain,
  filled,
  minedAt,
  order,
  otherToken,
  payer,
  planOf,
  receiptOf,
  receiver,
  token,
  transaction,
  transferLog,
  usdt,
} from '../support/deposits.js';

// Deciding touches no database and no node: every case is facts in, a plan out.

const settledRow = (row: Partial<SettledTransfer> = {}): SettledTransfer => ({
  ...{ id: 7n, outTradeNo: 'R-0', chainName: 'test', chainId: 31_337n, transactionHash: transaction, logIndex: 0 },
  ...{ position: 0, blockNumber: 100n, blockHash, token, from: payer, to: receiver, value: 25_000_000n },
  ...{ fingerprint: '1:x', settledAt: '2026-11-29T10:15:00.000Z' },
  ...row,
});

/** "14 transfer-removed" of what failed, "16 skipped 13" of what was not looked at. */
const results = (facts: Partial<PlanFacts>): string[] =>
  planOf(facts)
    .checks.filter(({ result, item }) => result !== 'pass' && item !== 20)
    .map(({ item, code, needs }) => `${String(item)} ${code ?? `skipped ${String(needs)}`}`);

describe('a deposit that is paid as ordered', () => {
  test('is ready, with every check passed but the one that is made when executing', () => {
    const plan = planOf();
    expect(plan).toMatchObject({ state: 'ready', reasonCode: null, reasonCodes: [], confirmations: 3n });
    expect(plan.checks.map(({ result }) => result)).toEqual([...Array<string>(19).fill('pass'), 'skipped']);
    expect(plan.event).toMatchObject({
      chainName: 'test',
      transactionHash: transaction,
      logIndex: 0,
      value: 25_000_000n,
    });
    expect(planOf({}, plan.reviewFingerprint)).toMatchObject({ state: 'ready', reasonCodes: [] });
  });
});

describe('each reason', () => {
  const other = (change: Partial<typeof order>): Partial<PlanFacts> => ({ order: { ...order, ...change } });
  const node = (...given: Parameters<typeof answersOf>): Partial<PlanFacts> => ({ node: answersOf(...given) });
  const logs = (...given: Parameters<typeof receiptOf>): Partial<PlanFacts> => node({ receipt: receiptOf(...given) });
  const late = BigInt(Date.parse('2026-11-29T11:00:01Z') / 1_000);
  const limited = { ...chain, tokens: new Map([[token, { ...usdt, autoSettleMaxRaw: 24_999_999n }]]) };
  const cases: [ReasonCode, string, Partial<PlanFacts>][] = [
    ['order-not-found', 'blocked', { order: null, chain: null, scene: null, node: null }],
    ['provider-not-web3', 'blocked', { ...other({ provider: 'card' }), node: null }],
    ['local-order-already-paid', 'blocked', { ...other({ status: 'success' }), node: null }],
    ['order-not-settleable', 'blocked', { ...other({ status: 'closed' }), node: null }],
    ['order-not-settleable', 'blocked', { ...other({ status: 'refunded' }), node: null }],
    ['order-invalid', 'blocked', { ...other({ receiver: '0x12' }), node: null }],
    ['order-invalid', 'blocked', { scene: null, node: null }],
    ['order-invalid', 'blocked', { ...other({ amountRaw: '25000001' }), node: null }],
    ['order-invalid', 'blocked', { ...other({ accountNo: null }), node: null }],
    ['amount-raw-invalid', 'blocked', { ...other({ amountRaw: '0' }), node: null }],
    ['chain-not-configured', 'blocked', { chain: null, node: null }],
    ['token-not-allowed', 'blocked', { ...other({ token: otherToken }), node: null }],
    ['transaction-hash-invalid', 'blocked', { transactionHash: null, node: null }],
    ['rpc-query-failed', 'failed', { node: { failure: 'rpc-query-failed', detail: 'no answer' } }],
    ['rpc-response-invalid', 'failed', { node: { failure: 'rpc-response-invalid', detail: 'nonsense' } }],
    ['log-index-not-unique', 'blocked', { node: { failure: 'log-index-not-unique', detail: 'two' } }],
    ['chain-id-mismatch', 'blocked', node({ chainId: 1n })],
    ['chain-transaction-not-mined', 'pending', node({ receipt: null, block: null })],
    ['chain-transaction-dropped', 'blocked', { ...node({ receipt: null, block: null }), seenBefore: true }],
    ['chain-block-not-canonical', 'blocked', node({ block: blockOf(null, { hash: filled('9', 32) }) })],
    ['chain-block-not-canonical', 'blocked', node({ block: null })],
    ['chain-transaction-failed', 'blocked', logs([{}], { status: 'failure' })],
    ['receipt-status-unknown', 'blocked', logs([{}], { status: 'unknown' })],
    [
      'transaction-reorged-after-settlement',
      'blocked',
      { settled: [settledRow({ blockHash: filled('9', 32), logIndex: 5 })] },
    ],
    ['transfer-missing', 'blocked', logs([])],
    ['transfer-missing', 'blocked', { logIndex: 9 }],
    ['transfer-shape-unsupported', 'blocked', logs([{ topics: transferLog().topics.slice(0, 1) }])],
    ['transfer-ambiguous', 'review_required', logs([{}, {}])],
    ['transfer-removed', 'blocked', logs([{ removed: true }])],
    ['token-contract-mismatch', 'blocked', logs([{ address: otherToken }])],
    ['receiver-address-mismatch', 'blocked', logs([{ to: payer }])],
    ['amount-mismatch', 'blocked', logs([{ value: 24_750_000n }])],
    ['transfer-already-consumed', 'blocked', { settled: [settledRow()] }],
    [
      'transaction-already-exists',
      'blocked',
      { ...logs([{}, {}]), logIndex: 1, settled: [settledRow({ outTradeNo: 'R-1' })] },
    ],
    ['chain-confirmations-insufficient', 'confirming', node({ head: 101n })],
    ['transfer-before-order', 'blocked', node({ block: blockOf(null, { timestamp: minedAt - 700n }) })],
    ['order-expired-late-payment', 'review_required', node({ block: blockOf(null, { timestamp: late }) })],
    ['amount-above-auto-limit', 'review_required', { chain: limited }],
  ];

  test.each(cases)('%s makes it %s', (code, state, facts) => {
    expect(planOf(facts)).toMatchObject({ reasonCode: code, state });
  });

  test('a head behind the block is stale, and counts as no confirmation', () => {
    expect(planOf({ node: answersOf({ head: 99n }) })).toMatchObject({
      ...{ state: 'confirming', confirmations: 0n },
      reasonCodes: ['chain-confirmations-insufficient', 'rpc-head-stale'],
    });
  });

  test('is known with a meaning and a next step, and a check or none', () => {
    for (const code of reasonCodes) {
      const { meaning, next, item } = reasons[code];
      expect([code, meaning.length > 10, next.length > 5, item === null || item <= 20]).toEqual([
        code,
        true,
        true,
        true,
      ]);
      expect(code).toMatch(/^[a-z][a-z0-9-]{1,39}$/);
    }
    const page = readFileSync('docs/deposits.md', 'utf8');
    expect(reasonCodes.filter((code) => !page.includes(`\n| \`${code}\` | `))).toEqual([]);
    const made = new Set([...cases.map(([code]) => code), 'rpc-head-stale', 'review-fingerprint-mismatched']);
    // What no plan gives: of import, of configuration, of executing, and of audits.
    const elsewhere = [
      'address-checksum-invalid',
      'chain-id-duplicate',
      'order-update-conflict',
      'retry-attempts-exhausted',
    ];
    expect(reasonCodes.filter((code) => !made.has(code)).sort()).toEqual([...elsewhere, 'transfer-relocated'].sort());
  });
});

describe('the checks', () => {
  test('that come before the node skip all that need one', () => {
    expect(
      results({ order: { ...order, provider: 'card', status: 'closed' }, transactionHash: null, node: null }),
    ).toEqual([
      ...['2 provider-not-web3', '3 order-not-settleable', '6 transaction-hash-invalid', '7 skipped 2', '8 skipped 7'],
      ...[
        '9 skipped 8',
        '10 skipped 9',
        '11 skipped 9',
        '12 skipped 9',
        '13 skipped 9',
        '14 skipped 13',
        '15 skipped 13',
      ],
      ...['16 skipped 13', '17 skipped 9', '18 skipped 10'],
    ]);
  });

  test('go on after one failed, as far as they can', () => {
    const receipt = receiptOf([{ removed: true, value: 1n, to: payer }], { status: 'failure' });
    const facts = { node: answersOf({ receipt, head: 100n }), logIndex: 0 };
    expect(results(facts)).toEqual([
      ...['11 chain-transaction-failed', '14 transfer-removed', '15 receiver-address-mismatch'],
      '17 chain-confirmations-insufficient',
    ]);
    // One check names the first of its reasons; the plan has them all, in order.
    expect(planOf(facts).reasonCodes).toEqual([
      ...['chain-transaction-failed', 'transfer-removed', 'receiver-address-mismatch', 'amount-mismatch'],
      'chain-confirmations-insufficient',
    ]);
  });

  test('the wrong chain says nothing of what follows', () => {
    expect(results({ node: answersOf({ chainId: 5n }) }).slice(0, 3)).toEqual([
      ...['8 chain-id-mismatch', '9 skipped 8', '10 skipped 9'],
    ]);
  });

  test('where no event is chosen, those of the event are skipped for it', () => {
    expect(results({ node: answersOf({ receipt: receiptOf([{ value: 1n }]) }) })).toEqual([
      ...['14 skipped 15', '15 amount-mismatch', '16 skipped 15'],
    ]);
    expect(results({ settled: [settledRow()] })).toEqual(['14 skipped 16', '16 transfer-already-consumed']);
  });

  test('the weightiest reason makes the state, whichever comes first', () => {
    const both = { node: answersOf({ receipt: receiptOf([{}, {}]), head: 100n }) };
    expect(planOf(both)).toMatchObject({ reasonCode: 'transfer-ambiguous', state: 'confirming' });
    fc.assert(
      fc.property(fc.uniqueArray(fc.constantFrom(...reasonCodes), { minLength: 1 }), (codes) => {
        const weights = ['order', 'failed', 'chain', 'pending', 'event', 'confirming', 'review', 'none'] as const;
        const kinds = codes.map((code) => weights.indexOf(reasons[code].kind));
        const first = codes[kinds.indexOf(Math.min(...kinds))] as ReasonCode;
        expect(stateOf(codes)).toBe(stateOf([first]));
      }),
    );
  });

  test('finality by a tag is asked for beside the depth; an unknown tag blocks unless depth may do', () => {
    const tagged = { ...chain, finalityTag: 'finalized' as const };
    const at = (taggedHeight: bigint | null, finalityFallback: 'block' | 'depth' = 'block') =>
      planOf({ chain: { ...tagged, finalityFallback }, node: answersOf({ taggedHeight }) }).state;
    expect([at(100n), at(99n), at(null), at(null, 'depth')]).toEqual(['ready', 'confirming', 'confirming', 'ready']);
  });

  test('an order may ask for more confirmations than its chain', () => {
    expect(planOf({ order: { ...order, requiredConfirmations: 4 } }).reasonCode).toBe(
      'chain-confirmations-insufficient',
    );
  });

  test('the times of order and block have a skew and a grace, to the second', () => {
    const at = (seconds: bigint, lateGraceMs = 0): string | null => {
      const facts = { node: answersOf({ block: blockOf(null, { timestamp: minedAt + seconds }) }) };
      return lateGraceMs === 0 ? planOf(facts).reasonCode : null;
    };
    // Created 10:00, a minute of skew, expires 11:00; mined at 10:10 plus so many seconds.
    expect([at(-660n), at(-661n), at(3_000n), at(3_001n)]).toEqual([
      ...[null, 'transfer-before-order', null, 'order-expired-late-payment'],
    ]);
  });
});

describe('the event', () => {
  const among = (...given: NonNullable<Parameters<typeof receiptOf>[0]>[number][]) => ({
    node: answersOf({ receipt: receiptOf(given) }),
  });

  test('is narrowed by contract, receiver, amount and use; the first step that leaves none is the reason', () => {
    const noise = [{ address: otherToken, to: payer }, { to: payer }, { value: 1n }];
    expect(planOf(among(...noise, {})).event?.logIndex).toBe(3);
    expect(planOf(among(...noise)).reasonCode).toBe('amount-mismatch');
    expect(planOf(among({ address: otherToken }, { to: payer })).reasonCode).toBe('token-contract-mismatch');
    expect(planOf(among({ address: otherToken, to: payer }, { to: payer })).reasonCode).toBe(
      'receiver-address-mismatch',
    );
  });

  test('of several that fit, one that is used leaves the other; none that is used leaves a question', () => {
    expect(planOf(among({}, {})).candidates.map(({ logIndex }) => logIndex)).toEqual([0, 1]);
    expect(planOf({ ...among({}, {}), settled: [settledRow()] })).toMatchObject({
      state: 'ready',
      event: { logIndex: 1 },
    });
  });

  test('that is claimed is exactly that one', () => {
    expect(planOf({ ...among({}, {}), logIndex: 1 })).toMatchObject({ state: 'ready', event: { logIndex: 1 } });
    expect(planOf({ ...among({}, { value: 1n }), logIndex: 1 }).reasonCode).toBe('amount-mismatch');
  });

  test('is a Transfer of ERC-20 or none: NFT, unindexed, dirty addresses and short data are not read', () => {
    const good = transferLog();
    const [first = '', from = ''] = good.topics;
    const strange = [
      { topics: [...good.topics, `0x${'0'.repeat(63)}1`], data: '0x' },
      { topics: [first], data: `0x${'0'.repeat(192)}` },
      { topics: [first, from, `0x${'f'.repeat(64)}`] },
      { data: '0x01' },
    ];
    for (const log of strange) expect(planOf(among(log)).reasonCode).toBe('transfer-shape-unsupported');
    // Beside a good one they do not matter.
    expect(planOf(among(...strange, {}))).toMatchObject({ state: 'ready', event: { logIndex: 4, position: 4 } });
  });

  test('of another order of this transaction does not hinder this one; a reorg after that settlement does', () => {
    const two = among({}, { to: receiver });
    expect(planOf({ ...two, settled: [settledRow()] }).state).toBe('ready');
    const moved = settledRow({ blockHash: filled('9', 32) });
    expect(planOf({ ...two, settled: [moved] })).toMatchObject({
      ...{ state: 'blocked', reasonCode: 'transaction-reorged-after-settlement' },
    });
  });

  test('may carry any uint256, exactly', () => {
    const value = 2n ** 200n + 1n;
    const big = { ...order, scene: 'nothing', amountRaw: String(value) };
    const facts = { order: big, scene: { handler: 'none' } as const };
    expect(planOf({ ...facts, ...among({ value }) })).toMatchObject({ state: 'ready', event: { value } });
    expect(planOf({ ...facts, ...among({ value: value - 1n }) }).reasonCode).toBe('amount-mismatch');
  });
});

describe('the fingerprint', () => {
  test('holds what a reviewer was shown, and nothing that changes by itself', () => {
    const { reviewFingerprint } = planOf();
    expect(reviewFingerprint).toMatch(/^1:[0-9a-f]{64}$/);
    const same: Partial<PlanFacts>[] = [
      { node: answersOf({ head: 5_000n }) },
      { seenBefore: true },
      { logIndex: 0 },
      { node: answersOf({ taggedHeight: 3n }) },
    ];
    for (const facts of same) expect(planOf(facts).reviewFingerprint).toBe(reviewFingerprint);
    const moved = receiptOf([{}], { blockNumber: 101n, blockHash: filled('9', 32) });
    const others: Partial<PlanFacts>[] = [
      { node: answersOf({ receipt: moved, head: 109n }) },
      { node: answersOf({ receipt: receiptOf([{ logIndex: 4 }]) }) },
      { node: answersOf({ receipt: receiptOf([{ to: payer }, {}]) }), logIndex: null },
      { node: answersOf({ receipt: receiptOf([{ from: receiver }]) }) },
      { node: answersOf({ head: 101n }) },
      { order: { ...order, amountRaw: '26000000' } },
      { order: { ...order, requiredConfirmations: 2 } },
      { order: { ...order, outTradeNo: 'R-2' } },
      { order: { ...order, status: 'closed' } },
      { transactionHash: filled('2', 32) },
    ];
    const seen = others.map((facts) => planOf(facts).reviewFingerprint);
    expect(new Set([...seen, reviewFingerprint]).size).toBe(others.length + 1);
  });

  test('that was submitted must be equal', () => {
    expect(planOf({}, `1:${'0'.repeat(64)}`)).toMatchObject({
      ...{ state: 'blocked', reasonCode: 'review-fingerprint-mismatched' },
    });
    expect(planOf({}, (planOf().reviewFingerprint ?? '').replace('1:', '2:')).reasonCode).toBe(
      'review-fingerprint-mismatched',
    );
  });

  test('is made of JSON that does not depend on the order of keys', () => {
    const fields = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)));
    fc.assert(
      fc.property(fields, (given) => {
        const turned = Object.fromEntries(Object.entries(given).reverse());
        expect(canonicalJson(turned)).toBe(canonicalJson(given));
      }),
    );
    expect(canonicalJson({ b: 2n, a: null, c: true })).toBe('{"a":"","b":"2","c":"true"}');
  });
});

describe('amounts and addresses', () => {
  test('base units are whole, from 1 to 2^256 - 1', () => {
    expect(readAmountRaw(String(amountRawMax))).toBe(amountRawMax);
    for (const text of ['0', '-1', '01', '1.0', '1e3', '', ' 1', String(amountRawMax + 1n)])
      expect(readAmountRaw(text)).toBe(null);
  });

  test('become minor units exactly or not at all', () => {
    expect(rawToMinor(25_000_000n, 6, 'USD')).toBe(2_500n);
    expect(rawToMinor(25_000_001n, 6, 'USD')).toBe(null);
    expect(rawToMinor(7n, 0, 'USD')).toBe(700n);
    expect(rawToMinor(10n ** 18n, 18, 'JPY')).toBe(1n);
    expect(rawToMinor(2n ** 200n * 10n ** 6n, 6, 'USD')).toBe(null);
    fc.assert(
      fc.property(fc.bigInt(1n, 2n ** 62n), fc.integer({ min: 0, max: 30 }), (minor, decimals) => {
        const raw = decimals >= 2 ? minor * 10n ** BigInt(decimals - 2) : null;
        if (raw !== null) expect(rawToMinor(raw, decimals, 'USD')).toBe(minor);
      }),
    );
  });

  test('in mixed case carry the checksum of EIP-55', () => {
    // From the text of EIP-55.
    const samples = ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'];
    for (const text of samples) {
      expect(readAddress(text)).toBe(text.toLowerCase());
      expect(checksummed(text.toLowerCase())).toBe(text);
      expect(readAddress(text.replace('b', 'B'))).toEqual({ problem: 'address-checksum-invalid' });
    }
    expect(readAddress(filled('0', 20))).toEqual({ problem: 'order-invalid' });
    expect(readAddress('0x12')).toEqual({ problem: 'order-invalid' });
  });
});
