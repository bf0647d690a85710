import type { ChainRules, SettledTransfer } from './deposit.js';
import { confirmationsOf } from './planDeposit.js';
import type { ReasonCode } from './reasons.js';
import { readTransfer, type NodeAnswers, type NodeFailure, type Receipt, type Transfer } from './receipt.js';

export type Risk = 'none' | 'low' | 'medium' | 'high';

export const suggestions = [
  'mark-resolved',
  'wait-confirmations',
  'recheck-later',
  'manual-compensation',
  'manual-review',
] as const;
export type Suggestion = (typeof suggestions)[number];

/** What an audit says of one settlement. It changes nothing. */
export interface AuditEntry {
  readonly settled: SettledTransfer;
  /** The weightiest first; empty where all is as it was settled. */
  readonly codes: readonly ReasonCode[];
  readonly risk: Risk;
  /** Only on positive evidence: a receipt that is gone, another block, a removed log. Never because a node failed. */
  readonly chainReorgSuspected: boolean;
  readonly suggestion: Suggestion | null;
  /** Where the event is now, when it moved. */
  readonly now: { readonly blockNumber: bigint; readonly blockHash: string; readonly logIndex: number } | null;
  readonly confirmations: bigint | null;
}

interface Verdict {
  code: ReasonCode;
  risk: Exclude<Risk, 'none'>;
  suggestion: Suggestion;
  reorg: boolean;
}

const rank: Record<Risk, number> = { none: 0, low: 1, medium: 2, high: 3 };

/** Compares a settlement with what the chain says of it now. */
export function auditSettlement(
  settled: SettledTransfer,
  chain: ChainRules | null,
  required: number | null,
  node: NodeAnswers | NodeFailure | null,
): AuditEntry {
  const found: Verdict[] = [];
  const say = (code: ReasonCode, risk: Verdict['risk'], suggestion: Suggestion, reorg = false): void => {
    found.push({ code, risk, suggestion, reorg });
  };
  let moved: AuditEntry['now'] = null;
  let confirmations: bigint | null = null;
  if (chain === null) say('chain-not-configured', 'low', 'manual-review');
  else if (node === null) say('rpc-query-failed', 'low', 'recheck-later');
  else if ('failure' in node) say(node.failure, 'low', 'recheck-later');
  else if (node.chainId !== settled.chainId) say('chain-id-mismatch', 'low', 'recheck-later');
  else if (node.receipt === null) {
    // A node that is behind has no receipt either; that is no reorg.
    if (node.head < settled.blockNumber) say('rpc-head-stale', 'low', 'recheck-later');
    else say('chain-transaction-dropped', 'high', 'manual-compensation', true);
  } else {
    confirmations = confirmationsOf(node.head, node.receipt.blockNumber);
    const isDeep = confirmations >= BigInt(required ?? chain.requiredConfirmations);
    moved = auditReceipt(settled, node, node.receipt, isDeep, say);
  }
  const sorted = [...found].sort((a, b) => rank[b.risk] - rank[a.risk]);
  return {
    settled,
    codes: sorted.map(({ code }) => code),
    risk: sorted[0]?.risk ?? 'none',
    chainReorgSuspected: found.some(({ reorg }) => reorg),
    suggestion: sorted[0]?.suggestion ?? null,
    now: moved,
    confirmations,
  };
}

type Say = (code: ReasonCode, risk: Verdict['risk'], suggestion: Suggestion, reorg?: boolean) => void;

function auditReceipt(
  settled: SettledTransfer,
  { block, head }: NodeAnswers,
  receipt: Receipt,
  isDeep: boolean,
  say: Say,
): AuditEntry['now'] {
  const isElsewhere = receipt.blockHash !== settled.blockHash;
  if (receipt.status === 'failure') say('chain-transaction-failed', 'high', 'manual-compensation', isElsewhere);
  else if (receipt.status === 'unknown') say('receipt-status-unknown', 'medium', 'manual-review', isElsewhere);
  if (head < receipt.blockNumber) say('rpc-head-stale', 'low', 'recheck-later');
  else if (!isDeep) say('chain-confirmations-insufficient', 'low', 'wait-confirmations');
  if (block !== null && block.hash !== receipt.blockHash)
    say('chain-block-not-canonical', 'medium', 'recheck-later', true);
  if (receipt.status === 'failure') return null;
  const transfer = sameTransfer(settled, receipt);
  if (transfer === null) {
    say(differenceAt(settled, receipt), 'high', 'manual-compensation', isElsewhere);
    return null;
  }
  if (transfer.removed) say('transfer-removed', 'high', 'manual-compensation', true);
  if (!isElsewhere && transfer.logIndex === settled.logIndex) return null;
  // The payment is there, in another place: nothing is lost, and its old coordinate may be somebody else's now.
  say('transfer-relocated', 'medium', isDeep ? 'mark-resolved' : 'wait-confirmations', isElsewhere);
  return { blockNumber: receipt.blockNumber, blockHash: receipt.blockHash, logIndex: transfer.logIndex };
}

function isSame(settled: SettledTransfer, transfer: Transfer): boolean {
  const { token, from, to, value } = transfer;
  return token === settled.token && from === settled.from && to === settled.to && value === settled.value;
}

/** The settled event in a receipt: at its place among the logs first, which a reorg leaves as it is, else by its content. */
function sameTransfer(settled: SettledTransfer, receipt: Receipt): Transfer | null {
  const transfers = receipt.logs
    .map(readTransfer)
    .filter((transfer) => transfer !== null && transfer !== 'unsupported')
    .filter((transfer) => isSame(settled, transfer));
  return transfers.find(({ position }) => position === settled.position) ?? transfers[0] ?? null;
}

/** What is different at the place where the event was. */
function differenceAt(settled: SettledTransfer, receipt: Receipt): ReasonCode {
  const log = receipt.logs[settled.position];
  const transfer = log === undefined ? null : readTransfer(log, settled.position);
  if (transfer === null || transfer === 'unsupported') return 'transfer-missing';
  if (transfer.token !== settled.token) return 'token-contract-mismatch';
  return transfer.to === settled.to ? 'amount-mismatch' : 'receiver-address-mismatch';
}
