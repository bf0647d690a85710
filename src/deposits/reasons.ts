/**
 * What a reason does to a deposit. In the order of precedence: where several hold at once, the state is that of the
 * first. `none` is told by itself and decides no state.
 */
export const reasonKinds = ['order', 'failed', 'chain', 'pending', 'event', 'confirming', 'review', 'none'] as const;
export type ReasonKind = (typeof reasonKinds)[number];

/** Where a deposit stands. `settling` is the moment of the one transaction; it is never stored. */
export const depositStates = [
  'pending',
  'confirming',
  'review_required',
  'ready',
  'settling',
  'settled',
  'blocked',
  'failed',
] as const;
export type DepositState = (typeof depositStates)[number];

/** The state that a plan has by the weightiest kind among its reasons. */
export const stateOfKind: Readonly<Record<ReasonKind, DepositState>> = {
  order: 'blocked',
  failed: 'failed',
  chain: 'blocked',
  pending: 'pending',
  event: 'blocked',
  confirming: 'confirming',
  review: 'review_required',
  none: 'ready',
};

interface Reason {
  kind: ReasonKind;
  /** The check item that gives it; null for what no check gives. */
  item: number | null;
  meaning: string;
  next: string;
}

const reason = (kind: ReasonKind, item: number | null, meaning: string, next: string): Reason => {
  return { kind, item, meaning, next };
};

const lookAgain = 'settle deposit plan ORDER';
const audit = 'settle deposit audit, then settle deposit compensation candidates';

/** Every reason code, in the order of the checks. A code is a promise: never renamed, never reused. */
export const reasons = {
  'order-not-found': reason('order', 1, 'no deposit order has this number', 'settle deposit import FILE'),
  'provider-not-web3': reason(
    'order',
    2,
    'the order is paid by another way than a chain',
    'settle it where it is paid',
  ),
  'local-order-already-paid': reason('order', 3, 'the order is paid already', 'settle deposit show ORDER'),
  'order-not-settleable': reason('order', 3, 'the order is closed or refunded', 'settle deposit show ORDER'),
  'order-invalid': reason(
    'order',
    4,
    'an address of the order is none, its dates contradict each other, or its scene cannot credit this amount exactly',
    'mend the order at its source and import it under a new number',
  ),
  'address-checksum-invalid': reason(
    'order',
    4,
    'an address in mixed case has a wrong EIP-55 checksum: a digit is mistyped',
    'correct the address in the file and import it again',
  ),
  'amount-raw-invalid': reason(
    'order',
    4,
    'amount_raw is not a whole number from 1 to 2^256 - 1 in plain digits',
    'correct the amount in the file and import it again',
  ),
  'chain-not-configured': reason(
    'order',
    5,
    'the chain of the order is not configured, or is switched off',
    'add it under chains in settle.yaml',
  ),
  'token-not-allowed': reason(
    'order',
    5,
    'the token is not configured for this chain, or not on its list',
    'add the token under chains.NAME.tokens, if it is to be accepted',
  ),
  'chain-id-duplicate': reason(
    'order',
    5,
    'two configured chains have one chain id, so that one event would have two names',
    'leave one of them in settle.yaml',
  ),
  'transaction-hash-invalid': reason(
    'order',
    6,
    'the transaction hash is not 32 bytes',
    'settle deposit plan ORDER --tx HASH',
  ),
  'rpc-query-failed': reason(
    'failed',
    7,
    'the node did not answer; this says nothing about the payment',
    'look after the node, then settle deposit plan ORDER',
  ),
  'rpc-response-invalid': reason(
    'failed',
    7,
    'the node answered what no node of a chain should, or contradicts itself',
    'look after the node, then settle deposit plan ORDER',
  ),
  'log-index-not-unique': reason(
    'event',
    7,
    'two logs of the receipt have one index: the event cannot be named',
    'ask another node of this chain',
  ),
  'chain-id-mismatch': reason('chain', 8, 'the node is on another chain than configured', 'correct chains.NAME.url'),
  'chain-transaction-not-mined': reason('pending', 9, 'the transaction has no receipt yet: ask again', lookAgain),
  'chain-transaction-dropped': reason(
    'event',
    9,
    'the transaction had a receipt before and has none now: a reorg took it',
    'wait for it to be mined again, or for another payment',
  ),
  'chain-block-not-canonical': reason(
    'event',
    10,
    'the block of the receipt is not the block at its height: a reorg is going on',
    lookAgain,
  ),
  'chain-transaction-failed': reason('event', 11, 'the transaction was reverted: nothing was moved', 'ask the payer'),
  'receipt-status-unknown': reason('event', 11, 'the receipt does not say whether it succeeded', 'ask another node'),
  'transaction-reorged-after-settlement': reason(
    'event',
    12,
    'this transaction was settled in another block: the same payment under new coordinates must not be paid again',
    audit,
  ),
  'transfer-missing': reason('event', 13, 'the receipt has no such Transfer', 'check --tx and --log-index'),
  'transfer-shape-unsupported': reason(
    'event',
    13,
    'the Transfer is not that of an ERC-20 token: not three topics, 32 data bytes and clean addresses',
    'a person checks the token; it is never guessed',
  ),
  'transfer-ambiguous': reason(
    'review',
    13,
    'several Transfers fit, and nothing says which is meant',
    'settle deposit plan ORDER --tx HASH --log-index N',
  ),
  'transfer-removed': reason('event', 14, 'the log is marked as removed by a reorg', lookAgain),
  'token-contract-mismatch': reason('event', 15, 'the receiver was paid by another contract', 'ask the payer'),
  'receiver-address-mismatch': reason('event', 15, 'the token went to another address', 'ask the payer'),
  'amount-mismatch': reason(
    'event',
    15,
    'another amount arrived: less, more, or less a fee of the token',
    'refund or agree on a new order; nothing is credited in part',
  ),
  'transfer-already-consumed': reason(
    'event',
    16,
    'this event has paid another order',
    'settle deposit list --tx HASH',
  ),
  'transaction-already-exists': reason(
    'event',
    16,
    'this order has a settlement from this transaction already',
    'settle deposit show ORDER',
  ),
  'chain-confirmations-insufficient': reason(
    'confirming',
    17,
    'too few blocks on top of it, or not final yet',
    lookAgain,
  ),
  'rpc-head-stale': reason('confirming', 17, 'the node is behind the block of the receipt', lookAgain),
  'transfer-before-order': reason(
    'event',
    18,
    'the payment is older than the order: it was made for something else',
    'ask the payer for the right transaction',
  ),
  'order-expired-late-payment': reason(
    'review',
    18,
    'the payment came after the order had expired',
    'settle deposit review approve ORDER, or refund it',
  ),
  'amount-above-auto-limit': reason(
    'review',
    19,
    'the amount is above what is settled without a person',
    'settle deposit review approve ORDER',
  ),
  'review-fingerprint-mismatched': reason(
    'event',
    20,
    'what was approved is not what the chain and the order say now',
    'settle deposit plan ORDER, then approve what it shows',
  ),
  'order-update-conflict': reason(
    'failed',
    null,
    'somebody changed the order or its review in the same moment; nothing was written',
    'settle deposit settle ORDER',
  ),
  'retry-attempts-exhausted': reason(
    'failed',
    null,
    'the automatic attempts of this order and fingerprint are used up',
    'settle deposit settle ORDER, by a person',
  ),
  'transfer-relocated': reason(
    'none',
    null,
    'the settled event is in another block or under another index now, with the same content',
    audit,
  ),
} as const satisfies Record<string, Reason>;

export type ReasonCode = keyof typeof reasons;

export const reasonCodes = Object.keys(reasons) as ReasonCode[];

/** The state by the weightiest of these reasons; ready where there is none. */
export function stateOf(codes: readonly ReasonCode[]): DepositState {
  const kinds = new Set<ReasonKind>(codes.map((code) => reasons[code].kind));
  return stateOfKind[reasonKinds.find((kind) => kinds.has(kind)) ?? 'none'];
}

/** Failures that may pass by themselves; everything else is a person's. */
export const retryable: ReadonlySet<ReasonCode> = new Set([
  'rpc-query-failed',
  'rpc-head-stale',
  'order-update-conflict',
] satisfies ReasonCode[]);
