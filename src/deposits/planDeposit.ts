import { checkItems, type CheckItem } from './checkItems.js';
import { chooseEvent, type Choice } from './chooseEvent.js';
import { chainRulesFault, orderFault, type OrderScene } from './orderRules.js';
import type { ChainRules, DepositOrder, PlanRules, SettledTransfer, TransferEvent } from './deposit.js';
import { reviewFingerprint } from './fingerprint.js';
import { stateOf, type DepositState, type ReasonCode } from './reasons.js';
import type { Block, NodeAnswers, NodeFailure, Receipt, Transfer } from './receipt.js';

/** Everything that a plan is made from: read before, so that deciding touches nothing. */
export interface PlanFacts {
  readonly outTradeNo: string;
  readonly order: DepositOrder | null;
  /** Configured and switched on; null otherwise. */
  readonly chain: ChainRules | null;
  /** What the order's scene asks of it. */
  readonly scene: OrderScene | null;
  /** In lower case; null where none is known, or what was given is none. */
  readonly transactionHash: string | null;
  readonly logIndex: number | null;
  /** Null while nobody asked the node, since an earlier check fails. */
  readonly node: NodeAnswers | NodeFailure | null;
  /** What is settled from this transaction already, for any order, and for this order. */
  readonly settled: readonly SettledTransfer[];
  /** An earlier plan saw a receipt of this transaction. */
  readonly seenBefore: boolean;
}

export interface Check {
  readonly item: CheckItem;
  readonly result: 'pass' | 'fail' | 'skipped';
  readonly code: ReasonCode | null;
  /** Of one that is skipped: the check that must pass first; null for one that is only made when executing. */
  readonly needs: CheckItem | null;
}

export interface DepositPlan {
  readonly outTradeNo: string;
  readonly state: DepositState;
  /** The first that failed, in the order of the checks. */
  readonly reasonCode: ReasonCode | null;
  readonly reasonCodes: readonly ReasonCode[];
  readonly checks: readonly Check[];
  readonly transactionHash: string | null;
  /** What was said to be the event; null where it was chosen. */
  readonly claimedLogIndex: number | null;
  readonly event: TransferEvent | null;
  readonly candidates: readonly Transfer[];
  /** Blocks from that of the receipt to the head, both counted; null where there is no receipt. */
  readonly confirmations: bigint | null;
  readonly requiredConfirmations: number | null;
  /** What a reviewer agrees to; null where there is no order. */
  readonly reviewFingerprint: string | null;
  /** What the node's trouble was, in our words. */
  readonly detail: string | null;
}

type Failures = Map<CheckItem, readonly ReasonCode[]>;

/**
 * Decides over a deposit from facts alone. All checks that can be made are made, in their order; the state is that of the
 * weightiest reason, the primary reason the first. With `submitted` the plan is also compared with what was approved.
 */
export function planDeposit(facts: PlanFacts, rules: PlanRules, submitted: string | null = null): DepositPlan {
  const { order, chain, node } = facts;
  const failures: Failures = new Map();
  const note = (item: CheckItem, ...codes: (ReasonCode | null)[]): void => {
    const found = codes.filter((code) => code !== null);
    if (found.length > 0) failures.set(item, found);
  };
  checkOrder(facts, note);
  if (node !== null && 'failure' in node) note(7, node.failure);
  const answers = node === null || 'failure' in node ? null : node;
  if (answers !== null && chain !== null && answers.chainId !== chain.chainId) note(8, 'chain-id-mismatch');
  const isOnChain = answers !== null && !failures.has(8);
  if (isOnChain && answers.receipt === null) {
    note(9, facts.seenBefore ? 'chain-transaction-dropped' : 'chain-transaction-not-mined');
  }
  const receipt = isOnChain ? answers.receipt : null;
  let choice: Choice | null = null;
  if (receipt !== null && order !== null && chain !== null) {
    choice = checkReceipt(facts, order, receipt, note);
    checkTimes(order, chain, answers as NodeAnswers & { receipt: Receipt }, rules, note);
  }
  checkLimit(facts, note);
  const required = order?.requiredConfirmations ?? chain?.requiredConfirmations ?? null;
  const chosen = choice?.event ?? null;
  const event = chosen === null || receipt === null ? null : located(facts, receipt, chosen);
  const without = choice === null || chosen !== null ? null : itemWithout(choice);
  const before = concluded(failures, { without, executing: false });
  const { transactionHash } = facts;
  const shown = { order, chain, transactionHash, event, required, state: before.state, codes: before.codes };
  const fingerprint = order === null ? null : reviewFingerprint({ ...shown, order }, rules);
  if (submitted !== null && fingerprint !== submitted) note(20, 'review-fingerprint-mismatched');
  const { state, codes, checks } = submitted === null ? before : concluded(failures, { without, executing: true });
  return {
    outTradeNo: facts.outTradeNo,
    state,
    reasonCode: codes[0] ?? null,
    reasonCodes: codes,
    checks,
    transactionHash,
    claimedLogIndex: facts.logIndex,
    event,
    candidates: choice?.candidates ?? [],
    confirmations: receipt === null || answers === null ? null : confirmationsOf(answers.head, receipt.blockNumber),
    requiredConfirmations: required,
    reviewFingerprint: fingerprint,
    detail: node !== null && 'failure' in node ? node.detail : null,
  };
}

type Note = (item: CheckItem, ...codes: (ReasonCode | null)[]) => void;

/** Items 1 to 6: nothing is asked of a node before they pass. */
export function passesBeforeNode(facts: Omit<PlanFacts, 'node' | 'settled' | 'seenBefore'>): boolean {
  let passes = true;
  checkOrder({ ...facts, node: null, settled: [], seenBefore: false }, (_item, ...codes) => {
    if (codes.some((code) => code !== null)) passes = false;
  });
  return passes;
}

function checkOrder({ order, chain, scene, transactionHash }: PlanFacts, note: Note): void {
  if (order === null) {
    note(1, 'order-not-found');
    return;
  }
  if (order.provider !== 'web3') note(2, 'provider-not-web3');
  if (order.status === 'success') note(3, 'local-order-already-paid');
  else if (order.status !== 'pending') note(3, 'order-not-settleable');
  note(4, orderFault(order, chain, scene));
  note(5, chainRulesFault(order, chain));
  if (transactionHash === null) note(6, 'transaction-hash-invalid');
}

/** Items 10 to 16: what the receipt says, and what is settled of it. */
function checkReceipt(facts: PlanFacts, order: DepositOrder, receipt: Receipt, note: Note): Choice {
  const { node, settled, logIndex } = facts;
  const block = (node as NodeAnswers).block;
  if (block === null || block.hash !== receipt.blockHash || block.number !== receipt.blockNumber) {
    note(10, 'chain-block-not-canonical');
  }
  if (receipt.status !== 'success') {
    note(11, receipt.status === 'failure' ? 'chain-transaction-failed' : 'receipt-status-unknown');
  }
  const ofTransaction = settled.filter(({ transactionHash }) => transactionHash === receipt.transactionHash);
  if (ofTransaction.some(({ blockHash }) => blockHash !== receipt.blockHash)) {
    note(12, 'transaction-reorged-after-settlement');
  }
  const isUsed = (index: number): boolean => ofTransaction.some((one) => one.logIndex === index);
  const wanted = { token: order.token, receiver: order.receiver, amountRaw: BigInt(order.amountRaw) };
  const choice = chooseEvent(receipt, logIndex, wanted, isUsed);
  const { event, code } = choice;
  const isForOrder = ofTransaction.some(({ outTradeNo }) => outTradeNo === order.outTradeNo);
  const exists = isForOrder ? 'transaction-already-exists' : null;
  if (event === null) {
    note(itemWithout(choice), code, code === 'transfer-already-consumed' ? exists : null);
    return choice;
  }
  if (event.removed) note(14, 'transfer-removed');
  note(
    15,
    event.token === wanted.token ? null : 'token-contract-mismatch',
    event.to === wanted.receiver ? null : 'receiver-address-mismatch',
    event.value === wanted.amountRaw ? null : 'amount-mismatch',
  );
  note(16, isUsed(event.logIndex) ? 'transfer-already-consumed' : null, exists);
  return choice;
}

/** The check that says why no event was chosen. */
function itemWithout({ code }: Choice): 13 | 15 | 16 {
  if (code === 'transfer-already-consumed') return 16;
  return code?.startsWith('transfer-') === true ? 13 : 15;
}

/** Items 17 and 18: how deep the block lies, and when it was made. */
function checkTimes(
  order: DepositOrder,
  chain: ChainRules,
  { head, receipt, block, taggedHeight }: NodeAnswers & { receipt: Receipt },
  rules: PlanRules,
  note: Note,
): void {
  const required = BigInt(order.requiredConfirmations ?? chain.requiredConfirmations);
  const isDeep = confirmationsOf(head, receipt.blockNumber) >= required;
  const isFinal =
    chain.finalityTag === 'none' ||
    (taggedHeight === null ? chain.finalityFallback === 'depth' : taggedHeight >= receipt.blockNumber);
  note(
    17,
    isDeep && isFinal ? null : 'chain-confirmations-insufficient',
    head < receipt.blockNumber ? 'rpc-head-stale' : null,
  );
  if (block !== null && block.hash === receipt.blockHash) note(18, timeFault(order, block, rules));
}

/** From the block of a receipt to the head, both counted; 0 for a head that is behind it. */
export function confirmationsOf(head: bigint, blockNumber: bigint): bigint {
  return head < blockNumber ? 0n : head - blockNumber + 1n;
}

function timeFault(order: DepositOrder, block: Block, { clockSkewMs, lateGraceMs }: PlanRules): ReasonCode | null {
  const minedMs = Number(block.timestamp) * 1_000;
  if (minedMs < Date.parse(order.createdAt) - clockSkewMs) return 'transfer-before-order';
  const isLate = order.expiresAt !== null && minedMs > Date.parse(order.expiresAt) + lateGraceMs;
  return isLate ? 'order-expired-late-payment' : null;
}

function checkLimit({ order, chain }: PlanFacts, note: Note): void {
  const limit = order === null ? null : (chain?.tokens.get(order.token)?.autoSettleMaxRaw ?? null);
  if (order === null || limit === null || !/^[0-9]+$/.test(order.amountRaw)) return;
  if (BigInt(order.amountRaw) > limit) note(19, 'amount-above-auto-limit');
}

function located({ order }: PlanFacts, receipt: Receipt, transfer: Transfer): TransferEvent {
  const { transactionHash, blockNumber, blockHash } = receipt;
  return { chainName: order?.chainName ?? '', transactionHash, blockNumber, blockHash, ...transfer };
}

interface Circumstances {
  /** The item that says why there is no event; what needs one is not looked at. */
  without: CheckItem | null;
  executing: boolean;
}

/** The checks with their results, all reasons in order, and the state that they make. */
function concluded(
  failures: Failures,
  { without, executing }: Circumstances,
): { state: DepositState; codes: ReasonCode[]; checks: Check[] } {
  const results = new Map<CheckItem, Check['result']>();
  const codes: ReasonCode[] = [];
  const checks = checkItems.map(({ item, needs }): Check => {
    const failed = failures.get(item) ?? [];
    const needsEvent = without !== null && (item === 14 || item === 16) && item !== without;
    const missing = needs.find((need) => results.get(need) !== 'pass') ?? (needsEvent ? without : null);
    const isSkipped = missing !== null || (item === 20 && !executing);
    const result = isSkipped ? 'skipped' : failed.length > 0 ? 'fail' : 'pass';
    results.set(item, result);
    if (result === 'fail') codes.push(...failed);
    return { item, result, code: result === 'fail' ? (failed[0] ?? null) : null, needs: missing };
  });
  return { state: stateOf(codes), codes, checks };
}
