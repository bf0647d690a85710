/** A log of a receipt, with hexadecimal text in lower case. */
export interface ReceiptLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly logIndex: number;
  readonly removed: boolean;
}

export interface Receipt {
  readonly transactionHash: string;
  readonly blockNumber: bigint;
  readonly blockHash: string;
  /** `unknown` where the receipt does not say: from before Byzantium, or of a chain of its own kind. */
  readonly status: 'success' | 'failure' | 'unknown';
  readonly logs: readonly ReceiptLog[];
}

export interface Block {
  readonly number: bigint;
  readonly hash: string;
  readonly parentHash: string;
  /** Seconds since 1970. */
  readonly timestamp: bigint;
}

/** What the node of a chain said in one go. */
export interface NodeAnswers {
  readonly chainId: bigint;
  readonly head: bigint;
  readonly receipt: Receipt | null;
  /** The block at the height of the receipt; null where there is no receipt, or the node has no such block. */
  readonly block: Block | null;
  /** The height of the chain's finality tag; null where none is configured or the node does not know it. */
  readonly taggedHeight: bigint | null;
}

/** The node failed, or said what cannot be: `detail` is in our words, never in the node's. */
export interface NodeFailure {
  readonly failure: 'rpc-query-failed' | 'rpc-response-invalid' | 'log-index-not-unique';
  readonly detail: string;
}

/** keccak-256 of "Transfer(address,address,uint256)". */
export const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** A Transfer of an ERC-20 token as a log tells it. */
export interface Transfer {
  readonly logIndex: number;
  readonly position: number;
  readonly token: string;
  readonly from: string;
  readonly to: string;
  readonly value: bigint;
  readonly removed: boolean;
}

/**
 * Reads a log as a Transfer: null for another event, `unsupported` for one that has its first topic and another shape (the
 * id of an NFT in a topic, addresses that are not indexed, dirt above an address).
 */
export function readTransfer(log: ReceiptLog, position: number): Transfer | 'unsupported' | null {
  const [topic, from, to] = log.topics;
  if (topic !== transferTopic) return null;
  const address = /^0x0{24}[0-9a-f]{40}$/;
  if (from === undefined || to === undefined || log.topics.length !== 3) return 'unsupported';
  if (!address.test(from) || !address.test(to) || !/^0x[0-9a-f]{64}$/.test(log.data)) return 'unsupported';
  return {
    logIndex: log.logIndex,
    position,
    token: log.address,
    from: `0x${from.slice(26)}`,
    to: `0x${to.slice(26)}`,
    value: BigInt(log.data),
    removed: log.removed,
  };
}
