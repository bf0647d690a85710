import { setTimeout as sleep } from 'node:timers/promises';
import { NodeTrouble, RpcTransport } from './rpcTransport.js';

/** What is asked of a node: it is only ever read. */
export type ReadMethod =
  | 'eth_chainId'
  | 'eth_blockNumber'
  | 'eth_getBlockByNumber'
  | 'eth_getBlockByHash'
  | 'eth_getTransactionReceipt'
  | 'eth_getTransactionByHash';

export interface Call {
  readonly method: ReadMethod;
  readonly params: readonly (string | boolean)[];
}

/** The result of a call as the node gave it, or that it refused this one; its own words are not kept. */
export type Reply = { readonly result: unknown } | { readonly refused: string };

export interface RpcOptions {
  /** With its key: a secret. */
  url: string;
  timeoutMs: number;
  retries: number;
  /** Calls in one request. */
  batchSize: number;
  /** Requests at the same time. */
  concurrency: number;
}

/** Errors by which a node says that it is too busy, and not that the question was wrong. */
const busyCodes = new Set([-32005, -32016, -32603, 429]);

/**
 * JSON-RPC to one node, by arrays of calls. Replies are matched by their id and never by their place; a reply that is
 * missing, doubled or of another id makes the whole answer invalid. No reply is kept for a later question.
 */
export class RpcClient {
  private readonly transport: RpcTransport;
  private readonly waiting: (() => void)[] = [];
  private running = 0;
  private lastId = 0;

  constructor(
    private readonly options: RpcOptions,
    private readonly signal: AbortSignal,
  ) {
    this.transport = new RpcTransport({ ...options, connections: options.concurrency });
  }

  close(): void {
    this.transport.close();
  }

  /** Replies in the order of the calls. Throws NodeTrouble once the retries are used up. */
  async ask(calls: readonly Call[]): Promise<Reply[]> {
    const batches: (readonly Call[])[] = [];
    for (let at = 0; at < calls.length; at += this.options.batchSize) {
      batches.push(calls.slice(at, at + this.options.batchSize));
    }
    return (await Promise.all(batches.map((batch) => this.inTurn(batch)))).flat();
  }

  private async inTurn(batch: readonly Call[]): Promise<Reply[]> {
    if (this.running >= this.options.concurrency) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running += 1;
    try {
      return await this.retrying(batch);
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }

  private async retrying(batch: readonly Call[]): Promise<Reply[]> {
    for (let tried = 0; ; tried += 1) {
      try {
        return await this.once(batch);
      } catch (error) {
        if (!(error instanceof NodeTrouble) || !error.mayRetry || tried >= this.options.retries) throw error;
        await sleep(Math.min(2_000, 100 * 2 ** tried) * (0.5 + Math.random() / 2), undefined, { signal: this.signal });
      }
    }
  }

  private async once(batch: readonly Call[]): Promise<Reply[]> {
    const firstId = this.lastId + 1;
    this.lastId += batch.length;
    const requests = batch.map(({ method, params }, at) => ({ jsonrpc: '2.0', id: firstId + at, method, params }));
    const answer = await this.transport.post(JSON.stringify(requests), this.signal);
    return matched(answer, firstId, batch.length);
  }
}

/** The replies of an answer in the order of ids `firstId`, `firstId` + 1 … Throws NodeTrouble. */
export function matched(answer: unknown, firstId: number, count: number): Reply[] {
  // A node that is over its limit answers an array with one error.
  if (!Array.isArray(answer)) {
    const refusal = refusalIn(answer);
    if (refusal !== null) throw refusal;
    throw new NodeTrouble('rpc-response-invalid', 'answered an array of calls with something else', false);
  }
  const replies = new Map<number, Reply>();
  for (const one of answer as unknown[]) {
    const { id, ...rest } = asObject(one);
    const at = typeof id === 'number' ? id - firstId : -1;
    if (!Number.isInteger(at) || at < 0 || at >= count || replies.has(at)) {
      throw new NodeTrouble('rpc-response-invalid', 'answered with an id that was not asked for, or twice', false);
    }
    replies.set(at, replyOf(rest));
  }
  return Array.from({ length: count }, (_, at) => {
    const reply = replies.get(at);
    if (reply === undefined) throw new NodeTrouble('rpc-response-invalid', 'left a call without a reply', false);
    return reply;
  });
}

function replyOf(rest: Record<string, unknown>): Reply {
  const refusal = refusalIn(rest);
  if (refusal?.mayRetry === true) throw refusal;
  if (refusal !== null) return { refused: refusal.detail };
  if (!Object.hasOwn(rest, 'result')) {
    throw new NodeTrouble('rpc-response-invalid', 'answered with neither a result nor an error', false);
  }
  return { result: rest['result'] };
}

/** The error that a reply holds, by its number alone; null where it holds none. */
function refusalIn(reply: unknown): NodeTrouble | null {
  const { error } = asObject(reply);
  if (error === undefined || error === null) return null;
  const { code } = asObject(error);
  const number = typeof code === 'number' && Number.isInteger(code) ? String(code) : 'without a code';
  const mayRetry = typeof code === 'number' && busyCodes.has(code);
  return new NodeTrouble('rpc-query-failed', `refused with error ${number}`, mayRetry);
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
