import { createHash } from 'node:crypto';
import type { ChainRules, DepositOrder, PlanRules, TransferEvent } from './deposit.js';
import type { DepositState, ReasonCode } from './reasons.js';

/** Raised when what is in a fingerprint changes; one of another format never equals one of this. */
const format = 1;

/** All that a reviewer is shown and agrees to. */
export interface Reviewed {
  readonly order: DepositOrder;
  readonly chain: ChainRules | null;
  readonly transactionHash: string | null;
  readonly event: TransferEvent | null;
  readonly required: number | null;
  readonly state: DepositState;
  readonly codes: readonly ReasonCode[];
}

/**
 * SHA-256 over the canonical JSON of what a reviewer was shown, with the number of its format before it. Head, number of
 * confirmations, clock and node are left out: they change without a reason to look again.
 */
export function reviewFingerprint(reviewed: Reviewed, { rulesVersion }: Pick<PlanRules, 'rulesVersion'>): string {
  const { order, chain, transactionHash, event, required, state, codes } = reviewed;
  const text = canonicalJson({
    rulesVersion,
    outTradeNo: order.outTradeNo,
    chainName: order.chainName,
    chainId: chain?.chainId ?? null,
    token: order.token,
    receiver: order.receiver,
    amountRaw: order.amountRaw,
    requiredConfirmations: required,
    orderStatus: order.status,
    transactionHash,
    blockNumber: event?.blockNumber ?? null,
    blockHash: event?.blockHash ?? null,
    logIndex: event?.logIndex ?? null,
    position: event?.position ?? null,
    from: event?.from ?? null,
    to: event?.to ?? null,
    value: event?.value ?? null,
    removed: event?.removed ?? null,
    state,
    reasonCodes: codes.length === 0 ? '' : [...new Set(codes)].sort().join(','),
  });
  return `${String(format)}:${createHash('sha256').update(text).digest('hex')}`;
}

/** JSON with its keys in the order of their letters and every value as text; what is absent is an empty text. */
export function canonicalJson(fields: Readonly<Record<string, string | number | bigint | boolean | null>>): string {
  const parts = Object.keys(fields)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify(String(fields[key] ?? ''))}`);
  return `{${parts.join(',')}}`;
}
