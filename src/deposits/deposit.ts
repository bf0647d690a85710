import type { DepositOrderStatus } from '../kernel/states.js';

/** A local order that waits to be paid on a chain. Addresses and hashes are in lower case, instants RFC 3339 in UTC. */
export interface DepositOrder {
  readonly id: bigint;
  readonly outTradeNo: string;
  /** `web3`, or whoever else is to take the payment. */
  readonly provider: string;
  readonly chainName: string;
  readonly token: string;
  readonly receiver: string;
  /** Base units of the token, decimal text as it is stored. */
  readonly amountRaw: string;
  /** What this order asks for; null for what its chain is configured with. */
  readonly requiredConfirmations: number | null;
  readonly scene: string;
  /** The account that a scene credits; null where none does. */
  readonly accountNo: string | null;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly status: DepositOrderStatus;
  readonly version: number;
  /** What the payer says has paid it. */
  readonly transactionHash: string | null;
  readonly logIndex: number | null;
}

/** A token of a chain, as configured. `currency` is what it stands for, one to one. */
export interface TokenRules {
  readonly name: string;
  readonly address: string;
  readonly decimals: number;
  readonly currency: string | null;
  /** Above this a person decides; null for no limit. */
  readonly autoSettleMaxRaw: bigint | null;
}

/** A chain, as configured, without where its node is. */
export interface ChainRules {
  readonly name: string;
  readonly chainId: bigint;
  readonly requiredConfirmations: number;
  readonly finalityTag: 'none' | 'safe' | 'finalized';
  /** What holds where the node does not know the tag. */
  readonly finalityFallback: 'block' | 'depth';
  /** By address. Only these are accepted. */
  readonly tokens: ReadonlyMap<string, TokenRules>;
  /** Beginning of the link to a transaction in a block explorer; null for none. */
  readonly explorer: string | null;
}

export interface PlanRules {
  readonly rulesVersion: number;
  readonly clockSkewMs: number;
  readonly lateGraceMs: number;
}

/** The event that may pay an order: one Transfer log of a receipt. */
export interface TransferEvent {
  readonly chainName: string;
  readonly transactionHash: string;
  readonly logIndex: number;
  /** Its place among the logs of its receipt, from 0: what a reorg leaves as it is. */
  readonly position: number;
  readonly blockNumber: bigint;
  readonly blockHash: string;
  readonly token: string;
  readonly from: string;
  readonly to: string;
  readonly value: bigint;
  readonly removed: boolean;
}

/** A settlement as its row says it. */
export interface SettledTransfer extends Omit<TransferEvent, 'removed'> {
  readonly id: bigint;
  readonly outTradeNo: string;
  readonly chainId: bigint;
  readonly fingerprint: string;
  readonly settledAt: string;
}

export const settlementType = 'web3-settlement';

/** Link to a transaction for people, or null. */
export function explorerLink(
  chain: Pick<ChainRules, 'explorer'> | null,
  transactionHash: string | null,
): string | null {
  const explorer = chain?.explorer ?? null;
  return explorer === null || transactionHash === null ? null : `${explorer}${transactionHash}`;
}
