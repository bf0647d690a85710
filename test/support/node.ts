import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { keccak_256 } from '@noble/hashes/sha3.js';

// A real node on this machine, for as long as a test needs it. The binary of the platform's package is started itself: what
// stands in .bin is one more process, which would outlive a kill.

const anvil = createRequire(createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')).resolve(
  `@foundry-rs/anvil-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}/bin/anvil`,
);

interface Artifact {
  contracts: Record<string, { bytecode: string; selectors: Record<string, string> }>;
}
const { contracts } = JSON.parse(readFileSync('fixtures/contracts/Contracts.json', 'utf8')) as Artifact;

export type Contract = 'Token' | 'FeeToken' | 'Payout' | 'LookAlike' | 'Collectible' | 'Unindexed';
type Argument = string | bigint | readonly (string | bigint)[];

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Where the global teardown finds processes that a killed worker has left behind. */
function pidFile(pid: number): string | null {
  const folder = process.env['SETTLE_TEST_NODES'];
  return folder === undefined ? null : join(folder, String(pid));
}

export interface ChainLog {
  address: string;
  topics: string[];
  logIndex: string;
}
export interface ChainReceipt {
  transactionHash: string;
  blockNumber: string;
  blockHash: string;
  status: string;
  contractAddress: string | null;
  logs: ChainLog[];
}
interface SendOptions {
  from?: string;
  nonce?: bigint;
  gasPrice?: bigint;
  gas?: bigint;
  wait?: boolean;
}

/** A node with accounts that sign by themselves. */
export class TestNode {
  accounts: string[] = [];
  private lastId = 0;

  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(chainId = 31_337): Promise<TestNode> {
    const options = ['--host', '127.0.0.1', '--port', '0', '--chain-id', String(chainId), '--accounts', '5'];
    const child = spawn(anvil, [...options, '--slots-in-an-epoch', '4', '--hardfork', 'paris'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    running.add(child);
    const own = pidFile(child.pid ?? 0);
    if (own !== null) writeFileSync(own, '');
    const port = await new Promise<string>((resolve, reject) => {
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        const found = /Listening on 127\.0\.0\.1:(\d+)/.exec(text)?.[1];
        if (found !== undefined) resolve(found);
      });
      child.once('exit', (code) => {
        reject(new Error(`anvil ended with ${String(code)}.`));
      });
      child.once('error', reject);
    });
    const node = new TestNode(`http://127.0.0.1:${port}/`, child);
    node.accounts = (await node.rpc<string[]>('eth_accounts')).map((account) => account.toLowerCase());
    return node;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    if (this.child.exitCode === null && this.child.kill('SIGTERM')) await ended;
    running.delete(this.child);
    const own = pidFile(this.child.pid ?? 0);
    if (own !== null) rmSync(own, { force: true });
  }

  account(at: number): string {
    return this.accounts[at] as string;
  }

  async rpc<T>(method: string, ...params: unknown[]): Promise<T> {
    this.lastId += 1;
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.lastId, method, params });
    const { result, error } = JSON.parse(await post(this.url, body)) as { result: T; error?: { message: string } };
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** Deploys a contract and gives its address in lower case. */
  async deploy(name: Contract): Promise<string> {
    const receipt = await this.receiptOf(await this.submit({ data: contracts[name]?.bytecode ?? '' }, {}));
    return (receipt.contractAddress ?? '').toLowerCase();
  }

  /** Sends a call of a contract; gives the hash of its transaction. It is mined at once unless `wait` is false. */
  async send(contract: string, method: string, args: readonly Argument[], options: SendOptions = {}): Promise<string> {
    const hash = await this.submit({ to: contract, data: encodeCall(method, args) }, options);
    if (options.wait !== false) await this.receiptOf(hash);
    return hash;
  }

  /** Calls and waits for the receipt. */
  async transact(
    contract: string,
    method: string,
    args: readonly Argument[],
    options: SendOptions = {},
  ): Promise<ChainReceipt> {
    return this.receiptOf(await this.send(contract, method, args, options));
  }

  async receiptOf(hash: string): Promise<ChainReceipt> {
    for (let tried = 0; tried < 200; tried += 1) {
      const receipt = await this.rpc<ChainReceipt | null>('eth_getTransactionReceipt', hash);
      if (receipt !== null) return receipt;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`${hash} was not mined.`);
  }

  async mine(blocks = 1): Promise<void> {
    await this.rpc('anvil_mine', `0x${blocks.toString(16)}`);
  }

  nonceOf(account: string): Promise<string> {
    return this.rpc<string>('eth_getTransactionCount', account, 'latest');
  }

  private submit(call: { to?: string; data: string }, { from, nonce, gasPrice, gas }: SendOptions): Promise<string> {
    const hex = (value: bigint): string => `0x${value.toString(16)}`;
    return this.rpc<string>('eth_sendTransaction', {
      from: from ?? this.account(0),
      // Explicit, so that a call that will be reverted is mined and not refused before.
      gas: hex(gas ?? 2_000_000n),
      gasPrice: hex(gasPrice ?? 3_000_000_000n),
      ...(nonce === undefined ? {} : { nonce: hex(nonce) }),
      ...call,
    });
  }
}

/** The call of "transfer(address,uint256)" with these arguments. */
export function encodeCall(signature: string, args: readonly Argument[]): string {
  const hash = keccak_256(new TextEncoder().encode(signature));
  const word = (value: string | bigint): string => BigInt(value).toString(16).padStart(64, '0');
  const heads: string[] = [];
  const tails: string[] = [];
  for (const argument of args) {
    if (typeof argument === 'string' || typeof argument === 'bigint') heads.push(word(argument));
    else {
      heads.push(word(BigInt(args.length * 32 + tails.length * 32)));
      tails.push(word(BigInt(argument.length)), ...argument.map(word));
    }
  }
  return `0x${Buffer.from(hash.slice(0, 4)).toString('hex')}${heads.join('')}${tails.join('')}`;
}

function post(url: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers: { 'content-type': 'application/json' } }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => {
        resolve(text);
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
