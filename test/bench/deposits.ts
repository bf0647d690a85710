import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { migrateUp } from '../../src/db/schema.js';
import { RpcTransport } from '../../src/deposits/rpcTransport.js';
import { storeDeposits } from '../../src/deposits/importDeposits.js';
import type { DepositRow } from '../../src/deposits/depositRow.js';
import { encodeCall, TestNode } from '../support/node.js';
import { median } from './median.js';
import { privateFilePlace, privateServerPlace, withDatabase, type Place } from './place.js';
import { peakOf } from './peakMemory.js';

const help = `npm run bench:deposits -- [options]

Plans deposits against a node on this machine, and compares the rate with that at which plain arrays of 50 receipts are
fetched from it. The whole of settle deposit plan counts: start, reading, asking, deciding, printing.

  --deposits N       deposits, each a transaction of its own (10000)
  --rounds N         rounds, of which the median counts (3)
  --engine E         server, sqlite or both (both)
  --memory N,N       instead of this the peak memory with so many pending orders, whose transactions are not mined
`;

const settleBin = fileURLToPath(new URL('../../../bin/settle.js', import.meta.url));
const perBlock = 100;
const perArray = 50;
const amount = 25_000_000n;

/** So many payments on the chain; gives their hashes. Arrays, since one call each would take longer than the benchmark. */
async function payments(node: TestNode, token: string, receiver: string, count: number): Promise<string[]> {
  await node.rpc('evm_setAutomine', false);
  const transport = new RpcTransport({ url: node.url, timeoutMs: 60_000, connections: 1 });
  const { signal } = new AbortController();
  const nonce = Number(await node.nonceOf(node.account(0)));
  const data = encodeCall('transfer(address,uint256)', [receiver, amount]);
  const hashes: string[] = [];
  while (hashes.length < count) {
    const size = Math.min(perBlock, count - hashes.length);
    const calls = Array.from({ length: size }, (_, at) => ({
      ...{ jsonrpc: '2.0', id: at, method: 'eth_sendTransaction' },
      params: [
        {
          ...{ from: node.account(0), to: token, data, gas: '0x186a0', gasPrice: '0xb2d05e00' },
          nonce: `0x${(nonce + hashes.length + at).toString(16)}`,
        },
      ],
    }));
    const replies = (await transport.post(JSON.stringify(calls), signal)) as { id: number; result: string }[];
    hashes.push(...replies.sort((a, b) => a.id - b.id).map(({ result }) => result));
    await node.mine();
  }
  transport.close();
  await node.rpc('evm_setAutomine', true);
  await node.mine(2);
  return hashes;
}

/** Milliseconds for the receipts of these transactions in plain arrays, so many on their way at once: parsed, and not looked at. */
async function plainArrays(node: TestNode, hashes: readonly string[], atOnce: number): Promise<number> {
  const transport = new RpcTransport({ url: node.url, timeoutMs: 60_000, connections: atOnce });
  const { signal } = new AbortController();
  const startedAt = performance.now();
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < hashes.length) {
      const part = hashes.slice(next, (next += perArray));
      const calls = part.map((hash, id) => ({
        jsonrpc: '2.0',
        id,
        method: 'eth_getTransactionReceipt',
        params: [hash],
      }));
      const replies = (await transport.post(JSON.stringify(calls), signal)) as { result: object | null }[];
      if (replies.some(({ result }) => result === null)) throw new Error('A payment has no receipt.');
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  transport.close();
  return performance.now() - startedAt;
}

function writeSettings(folder: string, url: string, token: string): void {
  writeFileSync(join(folder, 'rpc'), url);
  const tokens = `{ usdt: { address: '${token}', decimals: 6, currency: USD } }`;
  const local = `{ chainId: 31337, url: { file: rpc }, requiredConfirmations: 2, tokens: ${tokens} }`;
  writeFileSync(
    join(folder, 'settle.yaml'),
    `chains: { local: ${local} }\ndeposits: { scenes: { none: { handler: none } } }\n`,
  );
}

async function fill(place: Place, token: string, receiver: string, hashes: Iterable<string>): Promise<void> {
  await withDatabase(place.target, {}, async (database) => {
    await migrateUp(database);
    let rows: { line: number; row: DepositRow }[] = [];
    const flush = async (): Promise<void> => {
      await storeDeposits(database, rows, '2026-11-29T08:00:00.000Z');
      rows = [];
    };
    let at = 0;
    for (const transactionHash of hashes) {
      at += 1;
      const row: DepositRow = {
        ...{ outTradeNo: `R-${String(at)}`, provider: 'web3', chainName: 'local', token, receiver, scene: 'none' },
        ...{ amountRaw: String(amount), requiredConfirmations: null, accountNo: null, expiresAt: null, logIndex: null },
        ...{ createdAt: '2020-01-01T00:00:00.000000Z', transactionHash },
      };
      rows.push({ line: at, row });
      if (rows.length === 2_000) await flush();
    }
    if (rows.length > 0) await flush();
  });
}

interface Planned {
  ms: number;
  peakMegabytes: number;
  planned: number;
  states: Record<string, number>;
}

/** Types `settle deposit plan` and waits for its end. */
async function plan(place: Place, folder: string): Promise<Planned> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [settleBin, 'deposit', 'plan', '--json'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], SETTLE_DATABASE_URL: place.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (part: Buffer) => (text += part.toString()));
  let peak = 0;
  const poll = setInterval(() => (peak = Math.max(peak, peakOf(child.pid))), 25);
  await new Promise((resolve) => child.on('close', resolve));
  clearInterval(poll);
  const { planned, states } = JSON.parse(text) as Pick<Planned, 'planned' | 'states'>;
  return { ms: performance.now() - startedAt, peakMegabytes: peak / 2 ** 20, planned, states };
}

async function speed(engine: string, node: TestNode, deposits: number, rounds: number): Promise<boolean> {
  const place = engine === 'sqlite' ? privateFilePlace() : await privateServerPlace();
  const folder = mkdtempSync(join(tmpdir(), 'settle-bench-'));
  try {
    const token = await node.deploy('Token');
    await node.send(token, 'mint(address,uint256)', [node.account(0), amount * BigInt(deposits)]);
    const hashes = await payments(node, token, node.account(1), deposits);
    writeSettings(folder, node.url, token);
    await fill(place, token, node.account(1), hashes);
    const figures: { plain: number; four: number; planned: number; megabytes: number }[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const plain = await plainArrays(node, hashes, 1);
      const four = await plainArrays(node, hashes, 4);
      const { ms, planned, states, peakMegabytes } = await plan(place, folder);
      if (planned !== deposits || states['ready'] !== deposits) throw new Error(`Planned: ${JSON.stringify(states)}`);
      // The first round warms the node and the files up.
      if (round > 0) figures.push({ plain, four, planned: ms, megabytes: peakMegabytes });
    }
    const rate = (key: 'plain' | 'four' | 'planned'): number =>
      (deposits * 1_000) / median(figures.map((figure) => figure[key]));
    const ratio = rate('planned') / rate('plain');
    process.stdout.write(
      `${engine}: ${String(deposits)} deposits planned at ${rate('planned').toFixed(0)}/s; plain arrays of ${String(perArray)} receipts at ` +
        `${rate('plain').toFixed(0)}/s one by one (${ratio.toFixed(2)}), ${rate('four').toFixed(0)}/s four at once ` +
        `(${(rate('planned') / rate('four')).toFixed(2)}); ${median(figures.map(({ megabytes }) => megabytes)).toFixed(0)} MB\n`,
    );
    return ratio >= 0.7;
  } finally {
    await place.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

function* unminedHashes(count: number): Generator<string> {
  for (let at = 1; at <= count; at += 1) yield `0x${at.toString(16).padStart(64, '0')}`;
}

async function memory(engine: string, node: TestNode, orders: number): Promise<void> {
  const place = engine === 'sqlite' ? privateFilePlace() : await privateServerPlace();
  const folder = mkdtempSync(join(tmpdir(), 'settle-bench-'));
  try {
    const token = await node.deploy('Token');
    writeSettings(folder, node.url, token);
    await fill(place, token, node.account(1), unminedHashes(orders));
    const { ms, peakMegabytes, planned } = await plan(place, folder);
    const figures = `${peakMegabytes.toFixed(0)} MB, ${(ms / 1_000).toFixed(1)} s`;
    process.stdout.write(`${engine}: ${String(planned)} pending orders: ${figures}\n`);
  } finally {
    await place.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<number> {
  const options = {
    deposits: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '3' },
    engine: { type: 'string', default: 'both' },
    memory: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help === true) {
    process.stdout.write(help);
    return 0;
  }
  const node = await TestNode.start();
  let kept = true;
  try {
    for (const engine of values.engine === 'both' ? ['sqlite', 'server'] : [values.engine]) {
      if (values.memory === undefined) {
        kept = (await speed(engine, node, Number(values.deposits), Number(values.rounds))) && kept;
      } else for (const orders of values.memory.split(',').map(Number)) await memory(engine, node, orders);
    }
  } finally {
    await node.stop();
  }
  return kept ? 0 : 1;
}

process.exitCode = await main();
