import type { ChainRules } from './deposit.js';
import type { Block, NodeAnswers, NodeFailure, Receipt } from './receipt.js';
import { RpcClient, type Call, type Reply } from './rpcClient.js';
import { readBlock, readQuantity, readReceipt } from './rpcSchemas.js';
import { NodeTrouble } from './rpcTransport.js';

/** Asks a node of one chain; see `RpcClient`. */
export interface Asking {
  ask(calls: readonly Call[]): Promise<Reply[]>;
}

/** What a node says of many transactions, by hash. */
export type AskNode = (hashes: readonly string[]) => Promise<Map<string, NodeAnswers | NodeFailure>>;

/**
 * What the node says of these transactions now: chain id, head and receipts first, then the blocks at the heights of the
 * receipts, so that a reorg between the two shows. A node that fails as a whole fails for each of them; one that says
 * nonsense of one transaction fails for that one.
 */
export async function askNode(
  node: Asking,
  chain: Pick<ChainRules, 'finalityTag'>,
  hashes: readonly string[],
): Promise<Map<string, NodeAnswers | NodeFailure>> {
  try {
    return await answersOf(node, chain, hashes);
  } catch (error) {
    if (!(error instanceof NodeTrouble)) throw error;
    const failure: NodeFailure = { failure: error.code, detail: error.detail };
    return new Map(hashes.map((hash) => [hash, failure]));
  }
}

/** The id of the chain that a node is of, asked once. `url` is a secret. Throws NodeTrouble. */
export async function askChainId(
  url: string,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<bigint> {
  const client = new RpcClient({ url, timeoutMs, retries: 0, batchSize: 1, concurrency: 1 }, signal);
  try {
    const [reply] = await client.ask([{ method: 'eth_chainId', params: [] }]);
    return quantityIn(reply, 'its chain id');
  } finally {
    client.close();
  }
}

async function answersOf(
  node: Asking,
  { finalityTag }: Pick<ChainRules, 'finalityTag'>,
  hashes: readonly string[],
): Promise<Map<string, NodeAnswers | NodeFailure>> {
  const general: Call[] = [
    { method: 'eth_chainId', params: [] },
    { method: 'eth_blockNumber', params: [] },
  ];
  if (finalityTag !== 'none') general.push({ method: 'eth_getBlockByNumber', params: [finalityTag, false] });
  const first = await node.ask([
    ...general,
    ...hashes.map((hash): Call => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
  ]);
  const chainId = quantityIn(first[0], 'its chain id');
  const head = quantityIn(first[1], 'the number of its head');
  const taggedHeight = finalityTag === 'none' ? null : heightIn(first[2]);
  const receipts = new Map<string, Receipt | NodeFailure | null>(
    hashes.map((hash, at) => [hash, receiptIn(first[general.length + at], hash)]),
  );
  const blocks = await blocksAt(node, receipts.values());
  const answers = new Map<string, NodeAnswers | NodeFailure>();
  for (const [hash, receipt] of receipts) {
    if (receipt !== null && 'failure' in receipt) {
      answers.set(hash, receipt);
      continue;
    }
    const block = receipt === null ? null : (blocks.get(receipt.blockNumber) ?? null);
    if (block !== null && 'failure' in block) answers.set(hash, block);
    else answers.set(hash, { chainId, head, receipt, block, taggedHeight });
  }
  return answers;
}

/** The blocks at the heights of receipts, each asked for once. */
async function blocksAt(
  node: Asking,
  receipts: Iterable<Receipt | NodeFailure | null>,
): Promise<Map<bigint, Block | NodeFailure | null>> {
  const heights = new Set<bigint>();
  for (const receipt of receipts) if (receipt !== null && 'blockNumber' in receipt) heights.add(receipt.blockNumber);
  if (heights.size === 0) return new Map();
  const asked = [...heights];
  const replies = await node.ask(
    asked.map((height): Call => ({ method: 'eth_getBlockByNumber', params: [`0x${height.toString(16)}`, false] })),
  );
  return new Map(asked.map((height, at) => [height, blockIn(replies[at], height)]));
}

function blockIn(reply: Reply | undefined, height: bigint): Block | NodeFailure | null {
  const value = resultOf(reply);
  if (value instanceof NodeTrouble) return { failure: value.code, detail: value.detail };
  if (value === null) return null;
  const block = readBlock(value);
  return block?.number === height ? block : invalid('a block that cannot be read, or of another height');
}

function receiptIn(reply: Reply | undefined, hash: string): Receipt | NodeFailure | null {
  const value = resultOf(reply);
  if (value instanceof NodeTrouble) return { failure: value.code, detail: value.detail };
  if (value === null) return null;
  const receipt = readReceipt(value, hash);
  if (receipt === 'log-index-not-unique') {
    return { failure: receipt, detail: 'gave a receipt in which two logs have one index' };
  }
  return receipt ?? invalid('a receipt that cannot be read, or contradicts itself');
}

/** The height of a tagged block; null where the node has none, or does not know the tag. */
function heightIn(reply: Reply | undefined): bigint | null {
  const value = resultOf(reply);
  if (value instanceof NodeTrouble || value === null) return null;
  const block = readBlock(value);
  if (block === null) throw new NodeTrouble('rpc-response-invalid', 'gave a block that cannot be read', false);
  return block.number;
}

function quantityIn(reply: Reply | undefined, what: string): bigint {
  const value = resultOf(reply);
  if (value instanceof NodeTrouble) throw value;
  const quantity = readQuantity(value);
  if (quantity === null) throw new NodeTrouble('rpc-response-invalid', `did not give ${what}`, false);
  return quantity;
}

function resultOf(reply: Reply | undefined): unknown {
  if (reply === undefined) return new NodeTrouble('rpc-response-invalid', 'left a call without a reply', false);
  return 'refused' in reply ? new NodeTrouble('rpc-query-failed', reply.refused, false) : reply.result;
}

function invalid(what: string): NodeFailure {
  return { failure: 'rpc-response-invalid', detail: `gave ${what}` };
}
