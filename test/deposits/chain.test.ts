import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { askNode } from '../../src/deposits/chainNode.js';
import type { ChainRules, DepositOrder } from '../../src/deposits/deposit.js';
import { planDeposit, type DepositPlan } from '../../src/deposits/planDeposit.js';
import { RpcClient, type RpcOptions } from '../../src/deposits/rpcClient.js';
import type { OrderScene } from '../../src/deposits/orderRules.js';
import { auditSettlement } from '../../src/deposits/auditDecide.js';
import type { SettledTransfer, TransferEvent } from '../../src/deposits/deposit.js';
import { chain as usualChain, creditScene, order as usualOrder, planRules, usdt } from '../support/deposits.js';
import { TestNode } from '../support/node.js';
import { startNodeProxy, type NodeProxy } from '../support/nodeProxy.js';

// What a real node says of real contracts, and what a node that misbehaves says instead.

let node: TestNode;
let proxy: NodeProxy;
const address: Record<'token' | 'other' | 'fee' | 'payout' | 'lookAlike' | 'collectible' | 'unindexed', string> = {
  ...{ token: '', other: '', fee: '', payout: '', lookAlike: '', collectible: '', unindexed: '' },
};
let [payer, receiver, stranger] = ['', '', ''];
const clients: RpcClient[] = [];
const amount = 25_000_000n;

beforeAll(async () => {
  node = await TestNode.start();
  proxy = await startNodeProxy(node.url);
  [payer = '', receiver = '', stranger = ''] = node.accounts;
  const kinds = {
    ...({ token: 'Token', other: 'Token', fee: 'FeeToken', payout: 'Payout' } as const),
    ...({ lookAlike: 'LookAlike', collectible: 'Collectible', unindexed: 'Unindexed' } as const),
  };
  for (const [name, kind] of Object.entries(kinds)) address[name as keyof typeof address] = await node.deploy(kind);
  for (const holder of [payer, address.payout, node.account(3)]) {
    for (const token of [address.token, address.other, address.fee]) {
      await node.send(token, 'mint(address,uint256)', [holder, 2n ** 220n]);
    }
  }
}, 60_000);
afterAll(async () => {
  for (const client of clients) client.close();
  await proxy.close();
  await node.stop();
});
afterEach(() => {
  proxy.be({});
});

const client = (options: Partial<RpcOptions> = {}): RpcClient => {
  const usual = { url: proxy.url, timeoutMs: 2_000, retries: 0, batchSize: 50, concurrency: 4 };
  const made = new RpcClient({ ...usual, ...options }, new AbortController().signal);
  clients.push(made);
  return made;
};

interface Asked extends Partial<DepositOrder> {
  rules?: Partial<ChainRules>;
  options?: Partial<RpcOptions>;
  seenBefore?: boolean;
  settled?: SettledTransfer[];
}

/** The plan of an order that this transaction is said to have paid. */
async function planOf(
  transactionHash: string,
  asked: Asked = {},
  scene: OrderScene = creditScene,
): Promise<DepositPlan> {
  const { rules, options, seenBefore = false, settled = [], ...change } = asked;
  const token = change.token ?? address.token;
  const tokens = new Map([[token, { ...usdt, address: token }]]);
  const chain: ChainRules = { ...usualChain, requiredConfirmations: 1, tokens, ...rules };
  const order: DepositOrder = {
    ...usualOrder,
    ...{ token, receiver, amountRaw: String(amount), createdAt: '2020-01-01T00:00:00.000000Z', expiresAt: null },
    ...change,
  };
  const answers = await askNode(client(options), chain, [transactionHash]);
  return planDeposit(
    {
      ...{ outTradeNo: order.outTradeNo, order, chain, scene, transactionHash, logIndex: order.logIndex },
      ...{ node: answers.get(transactionHash) ?? null, settled, seenBefore },
    },
    planRules,
  );
}

const paid = async (to = receiver, value = amount, token = address.token): Promise<string> =>
  (await node.transact(token, 'transfer(address,uint256)', [to, value])).transactionHash;

test('the artifact is what the source compiles to', async () => {
  const { compile } = (await import('../support/compileContracts.mjs' as string)) as { compile(): unknown };
  expect(JSON.parse(readFileSync('fixtures/contracts/Contracts.json', 'utf8'))).toEqual(compile());
}, 60_000);

describe('on a real node', () => {
  test('a plain transfer is ready', async () => {
    const plan = await planOf(await paid());
    expect(plan).toMatchObject({ state: 'ready', event: { from: payer, to: receiver, value: amount, position: 0 } });
  });

  test('several Transfers in one transaction are told apart; two alike are a question, unless one is claimed', async () => {
    const pay = async (to: string[], value: bigint[]): Promise<string> => {
      const args = [address.token, to, value];
      return (await node.transact(address.payout, 'pay(address,address[],uint256[])', args)).transactionHash;
    };
    const distinct = await pay([stranger, receiver, receiver], [amount, 1n, amount]);
    expect(await planOf(distinct)).toMatchObject({ state: 'ready', event: { logIndex: 2, position: 2 } });
    const alike = await pay([receiver, stranger, receiver], [amount, 5n, amount]);
    const plan = await planOf(alike);
    expect(plan).toMatchObject({ state: 'review_required', reasonCode: 'transfer-ambiguous', event: null });
    expect(plan.candidates.map(({ logIndex }) => logIndex)).toEqual([0, 2]);
    expect(await planOf(alike, { logIndex: 2 })).toMatchObject({ state: 'ready', event: { logIndex: 2 } });
    expect(await planOf(alike, { logIndex: 1 })).toMatchObject({ reasonCode: 'receiver-address-mismatch' });
  });

  test('a failed transaction has a receipt and paid nothing', async () => {
    const transfer = 'transferFrom(address,address,uint256)';
    const receipt = await node.transact(address.token, transfer, [stranger, receiver, amount]);
    expect(receipt).toMatchObject({ status: '0x0', logs: [] });
    expect(await planOf(receipt.transactionHash)).toMatchObject({
      ...{ state: 'blocked', reasonCode: 'chain-transaction-failed' },
      reasonCodes: ['chain-transaction-failed', 'transfer-missing'],
    });
  });

  test.each<[string, string, () => Promise<string>]>([
    ['to another address', 'receiver-address-mismatch', () => paid(stranger)],
    ['of another token', 'token-contract-mismatch', () => paid(receiver, amount, address.other)],
    ['of less', 'amount-mismatch', () => paid(receiver, amount - 1n)],
    ['of more', 'amount-mismatch', () => paid(receiver, amount + 1n)],
    [
      'that a look-alike pretends',
      'token-contract-mismatch',
      async () => {
        const pretend = 'pretend(address,address,uint256)';
        return (await node.transact(address.lookAlike, pretend, [payer, receiver, amount])).transactionHash;
      },
    ],
  ])('a transfer %s is %s', async (_what, code, pay) => {
    expect(await planOf(await pay())).toMatchObject({ state: 'blocked', reasonCode: code });
  });

  test('of a token that keeps a fee, less arrives than was sent: it is the amount that counts', async () => {
    const hash = await paid(receiver, amount, address.fee);
    expect(await planOf(hash, { token: address.fee })).toMatchObject({ reasonCode: 'amount-mismatch' });
    const net = (amount - amount / 100n).toString();
    const plan = await planOf(hash, { token: address.fee, amountRaw: net });
    expect(plan).toMatchObject({ state: 'ready', event: { position: 1, value: BigInt(net) } });
  });

  test.each(['collectible', 'unindexed'] as const)(
    'the Transfer of a %s is of another shape, and not read',
    async (kind) => {
      const [method, name] = [kind === 'unindexed' ? 'transfer' : 'give', address[kind]];
      const { transactionHash } = await node.transact(name, `${method}(address,uint256)`, [receiver, amount]);
      expect(await planOf(transactionHash, { token: name })).toMatchObject({
        reasonCode: 'transfer-shape-unsupported',
      });
      // Of an order for another token it is no Transfer at all.
      expect(await planOf(transactionHash)).toMatchObject({ state: 'blocked', reasonCode: 'transfer-missing' });
    },
  );

  test('2^200 + 1 is exact', async () => {
    const value = 2n ** 200n + 1n;
    const hash = await paid(receiver, value);
    // No account can be credited with that much; an order that credits none can be paid with it.
    expect(await planOf(hash, { amountRaw: String(value) })).toMatchObject({ reasonCode: 'order-invalid' });
    const none = { scene: { handler: 'none' } } as const;
    const plan = await planOf(hash, { amountRaw: String(value) }, none.scene);
    expect(plan).toMatchObject({ state: 'ready', event: { value } });
    const less = await planOf(hash, { amountRaw: String(value - 1n) }, none.scene);
    expect(less).toMatchObject({ state: 'blocked', reasonCode: 'amount-mismatch' });
  });

  test('it is confirmed by depth, and by a tag where one is asked for', async () => {
    const hash = await paid();
    const deep: Asked = { rules: { requiredConfirmations: 4 } };
    expect(await planOf(hash, deep)).toMatchObject({ state: 'confirming', confirmations: 1n });
    await node.mine(3);
    expect(await planOf(hash, deep)).toMatchObject({ state: 'ready', confirmations: 4n });
    const final: Asked = { rules: { ...deep.rules, finalityTag: 'finalized' } };
    expect(await planOf(hash, final)).toMatchObject({ state: 'confirming' });
    await node.mine(6);
    expect(await planOf(hash, final)).toMatchObject({ state: 'ready' });
  });

  test('an order that is younger than the payment, and one that had expired', async () => {
    const hash = await paid();
    expect(await planOf(hash, { createdAt: '2099-01-01T00:00:00.000000Z' })).toMatchObject({
      reasonCode: 'transfer-before-order',
    });
    const expired = { createdAt: '2020-01-01T00:00:00.000000Z', expiresAt: '2021-01-01T00:00:00.000000Z' };
    expect(await planOf(hash, expired)).toMatchObject({
      state: 'review_required',
      reasonCode: 'order-expired-late-payment',
    });
  });

  test('an unknown transaction is not mined yet', async () => {
    expect(await planOf(`0x${'7'.repeat(64)}`)).toMatchObject({
      state: 'pending',
      reasonCode: 'chain-transaction-not-mined',
    });
  });

  test('a node of another chain says so', async () => {
    const hash = await paid();
    const wrong = await planOf(hash, { rules: { chainId: 1n } });
    expect(wrong).toMatchObject({ state: 'blocked', reasonCode: 'chain-id-mismatch', event: null });
  });
});

describe('a reorg', () => {
  /** Sends a payment of which another block can hold the same: the same nonce and price make the same hash. */
  const sendPayment = async (nonce: bigint): Promise<string> =>
    node.send(address.token, 'transfer(address,uint256)', [receiver, amount], { nonce, wait: false });
  const settledAs = (event: TransferEvent): SettledTransfer => ({
    ...{ id: 1n, outTradeNo: 'R-1', chainId: 31_337n, fingerprint: '1:x', settledAt: '2026-11-29T10:00:00.000Z' },
    ...event,
  });
  const audit = async (settled: SettledTransfer) => {
    const answers = await askNode(client(), usualChain, [settled.transactionHash]);
    return auditSettlement(settled, usualChain, 1, answers.get(settled.transactionHash) ?? null);
  };

  test('moves the same transaction to another block and log index: it is never settled a second time', async () => {
    await node.rpc('evm_setAutomine', false);
    try {
      const nonce = BigInt(await node.nonceOf(payer));
      const snapshot = await node.rpc<string>('evm_snapshot');
      const hash = await sendPayment(nonce);
      await node.mine();
      const before = await planOf(hash);
      expect(before).toMatchObject({ state: 'ready', event: { logIndex: 0, position: 0 } });
      const settled = settledAs(before.event as TransferEvent);
      expect((await audit(settled)).codes).toEqual([]);

      await node.rpc('evm_revert', snapshot);
      expect(await planOf(hash, { seenBefore: true })).toMatchObject({
        state: 'blocked',
        reasonCode: 'chain-transaction-dropped',
      });
      await node.mine(2);
      expect(await audit(settled)).toMatchObject({
        ...{ codes: ['chain-transaction-dropped'], risk: 'high', chainReorgSuspected: true },
        suggestion: 'manual-compensation',
      });

      // Somebody who pays more for the block comes first in it: with two logs, so that ours is the third.
      const first = [address.token, [stranger, stranger], [1n, 2n]];
      const priority = { from: node.account(3), gasPrice: 90_000_000_000n, wait: false };
      await node.send(address.payout, 'pay(address,address[],uint256[])', first, priority);
      expect(await sendPayment(nonce)).toBe(hash);
      await node.mine();
      const after = await planOf(hash);
      expect(after).toMatchObject({ state: 'ready', event: { logIndex: 2, position: 0 } });
      expect(after.event?.blockNumber).not.toBe(before.event?.blockNumber);
      // An approval of the plan before is void, and what was settled is not paid again, under whatever order.
      expect(after.reviewFingerprint).not.toBe(before.reviewFingerprint);
      for (const outTradeNo of ['R-1', 'R-2']) {
        expect(await planOf(hash, { outTradeNo, settled: [settled] })).toMatchObject({
          ...{ state: 'blocked', reasonCode: 'transaction-reorged-after-settlement' },
        });
      }
      expect(await audit(settled)).toMatchObject({
        ...{ codes: ['transfer-relocated'], risk: 'medium', chainReorgSuspected: true, suggestion: 'mark-resolved' },
        now: { logIndex: 2 },
      });
    } finally {
      await node.rpc('evm_setAutomine', true);
    }
  });

  test('drops a transaction for good', async () => {
    const hash = await paid();
    const { event } = await planOf(hash);
    await node.rpc('anvil_reorg', 1, []);
    expect(await planOf(hash, { seenBefore: true })).toMatchObject({ reasonCode: 'chain-transaction-dropped' });
    expect(await audit(settledAs(event as TransferEvent))).toMatchObject({ risk: 'high', chainReorgSuspected: true });
  });
});

describe('a node that misbehaves', () => {
  let hash: string;
  beforeAll(async () => {
    hash = await paid();
  });
  type Reply = { result?: unknown };
  const onReceipt = (
    change: (receipt: { logs: Record<string, unknown>[] } & Record<string, unknown>) => unknown,
  ): void => {
    proxy.be({
      rewrite: (call, reply) =>
        call.method === 'eth_getTransactionReceipt' ? { ...reply, result: change(reply.result as never) } : reply,
    });
  };
  const onMethod = (method: string, result: unknown): void => {
    proxy.be({ rewrite: (call, reply) => (call.method === method ? { ...reply, result } : reply) });
  };

  test('marks a log as removed', async () => {
    onReceipt((receipt) => ({ ...receipt, logs: receipt.logs.map((log) => ({ ...log, removed: true })) }));
    expect(await planOf(hash)).toMatchObject({ state: 'blocked', reasonCode: 'transfer-removed' });
  });

  test('leaves the mark out, which means the same as false', async () => {
    onReceipt((receipt) => ({ ...receipt, logs: receipt.logs.map(({ removed: _removed, ...log }) => log) }));
    expect(await planOf(hash)).toMatchObject({ state: 'ready' });
  });

  test('has no receipt for a moment', async () => {
    onReceipt(() => null);
    expect(await planOf(hash)).toMatchObject({ state: 'pending', reasonCode: 'chain-transaction-not-mined' });
  });

  test('is behind', async () => {
    onMethod('eth_blockNumber', '0x1');
    expect(await planOf(hash)).toMatchObject({ state: 'confirming', confirmations: 0n });
    expect((await planOf(hash)).reasonCodes).toContain('rpc-head-stale');
  });

  test('gives a receipt of a block that lost', async () => {
    onReceipt((receipt) => {
      const blockHash = `0x${'9'.repeat(64)}`;
      return { ...receipt, blockHash, logs: receipt.logs.map((log) => ({ ...log, blockHash })) };
    });
    expect(await planOf(hash)).toMatchObject({ state: 'blocked', reasonCode: 'chain-block-not-canonical' });
  });

  test.each<[string, (receipt: { logs: Record<string, unknown>[] } & Record<string, unknown>) => unknown, string]>([
    ['of another transaction', (r) => ({ ...r, transactionHash: `0x${'1'.repeat(64)}` }), 'rpc-response-invalid'],
    ['with logs of another block', (r) => ({ ...r, blockHash: `0x${'9'.repeat(64)}` }), 'rpc-response-invalid'],
    ['without a block', (r) => ({ ...r, blockNumber: null }), 'rpc-response-invalid'],
    ['without anything', () => ({}), 'rpc-response-invalid'],
    [
      'without log indexes',
      (r) => ({ ...r, logs: r.logs.map((log) => ({ ...log, logIndex: null })) }),
      'rpc-response-invalid',
    ],
    ['with one index twice', (r) => ({ ...r, logs: [...r.logs, ...r.logs] }), 'log-index-not-unique'],
    ['without a status', (r) => ({ ...r, status: undefined }), 'receipt-status-unknown'],
  ])('gives a receipt %s', async (_what, change, code) => {
    onReceipt(change);
    expect(await planOf(hash)).toMatchObject({ reasonCode: code });
  });

  test('answers in another order, which does not matter: replies are matched by their ids', async () => {
    proxy.be({ reverses: true });
    expect(await planOf(hash)).toMatchObject({ state: 'ready' });
  });

  const wrongIds: [string, (reply: Reply) => Reply | null][] = [
    ['another id', (reply) => ({ ...reply, id: 999 })],
    ['an id as text', (reply) => ({ ...reply, id: '1' })],
    ['no reply to one call', () => null],
  ];
  test.each(wrongIds)('gives %s', async (_what, change) => {
    proxy.be({
      rewrite: (call, reply) => (call.method === 'eth_blockNumber' ? (change(reply) as typeof reply | null) : reply),
    });
    expect(await planOf(hash)).toMatchObject({ state: 'failed', reasonCode: 'rpc-response-invalid' });
  });

  test.each<[string, Parameters<NodeProxy['be']>[0], string]>([
    ['never answers', { hangs: true }, 'rpc-query-failed'],
    ['is over its limit', { status: 429 }, 'rpc-query-failed'],
    ['is broken', { status: 500 }, 'rpc-query-failed'],
    ['does not know the key', { status: 403 }, 'rpc-query-failed'],
    ['cuts its answer off', { cuts: true }, 'rpc-query-failed'],
    ['answers with a page', { text: '<html>s3cretBody</html>' }, 'rpc-response-invalid'],
    [
      'answers an array with one error',
      { text: '{"jsonrpc":"2.0","id":null,"error":{"code":-32005}}' },
      'rpc-query-failed',
    ],
    [
      'answers an array with something else',
      { text: '{"jsonrpc":"2.0","id":1,"result":"0x1"}' },
      'rpc-response-invalid',
    ],
  ])('%s: a failure, and never "not paid"', async (_what, misbehaviour, code) => {
    proxy.be(misbehaviour);
    const plan = await planOf(hash, { options: { timeoutMs: 300 } });
    expect(plan).toMatchObject({ state: 'failed', reasonCode: code, event: null });
    const told = JSON.stringify(plan, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    for (const hidden of ['s3cret', '127.0.0.1', 'html']) expect(told).not.toContain(hidden);
  });

  test('is asked again what may pass, so often and no more; what it got wrong is not', async () => {
    const asked = async (misbehaviour: Parameters<NodeProxy['be']>[0]): Promise<[number, string]> => {
      proxy.be(misbehaviour);
      const before = proxy.bodies.length;
      const { state } = await planOf(hash, { options: { retries: 2, timeoutMs: 300 } });
      return [proxy.bodies.length - before, state];
    };
    expect(await asked({ status: 429, times: 2 })).toEqual([4, 'ready']);
    expect(await asked({ status: 503 })).toEqual([3, 'failed']);
    expect(await asked({ hangs: true, times: 1 })).toEqual([3, 'ready']);
    expect(await asked({ status: 403 })).toEqual([1, 'failed']);
    expect(await asked({ text: 'nonsense' })).toEqual([1, 'failed']);
  });

  test('is asked in arrays of bounded length, and never from what it said before', async () => {
    const before = proxy.bodies.length;
    const chain = { ...usualChain, requiredConfirmations: 1 };
    const hashes = Array.from({ length: 7 }, (_, at) => `0x${String(at).repeat(64)}`);
    await askNode(client({ batchSize: 4 }), chain, hashes);
    const sizes = proxy.bodies.slice(before).map((body) => (JSON.parse(body) as unknown[]).length);
    expect(sizes.sort()).toEqual([1, 4, 4]);
    const same = client();
    const first = (await askNode(same, chain, [hash])).get(hash);
    await node.mine();
    const second = (await askNode(same, chain, [hash])).get(hash);
    expect(
      first !== undefined && 'head' in first && second !== undefined && 'head' in second && second.head - first.head,
    ).toBe(1n);
  });
});
