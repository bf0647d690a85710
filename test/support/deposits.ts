import type { Database } from '../../src/db/database.js';
import { repeatable } from '../../src/db/transaction.js';
import { toText } from '../../src/db/values.js';
import type { ChainRules, DepositOrder, PlanRules, TokenRules } from '../../src/deposits/deposit.js';
import type { DepositRow } from '../../src/deposits/depositRow.js';
import { storeDeposits } from '../../src/deposits/importDeposits.js';
import type { OrderScene } from '../../src/deposits/orderRules.js';
import { planDeposit, type DepositPlan, type PlanFacts } from '../../src/deposits/planDeposit.js';
import { approveReview } from '../../src/deposits/reviews.js';
import { planOne } from '../../src/deposits/planner.js';
import { reviewOf, type Review } from '../../src/deposits/reviewQueries.js';
import type { Block, NodeAnswers, NodeFailure, Receipt, ReceiptLog } from '../../src/deposits/receipt.js';
import { transferTopic } from '../../src/deposits/receipt.js';
import { settleReview, type SettleOutcome, type SettlePorts } from '../../src/deposits/settleDeposit.js';

/** "0x1111…" of so many bytes. */
export const filled = (digit: string, bytes: number): string => `0x${digit.repeat(bytes * 2)}`;

export const token = filled('a', 20);
export const otherToken = filled('b', 20);
export const receiver = filled('c', 20);
export const payer = filled('d', 20);
export const transaction = filled('1', 32);
export const blockHash = filled('e', 32);

export const usdt: TokenRules = { name: 'usdt', address: token, decimals: 6, currency: 'USD', autoSettleMaxRaw: null };

export const chain: ChainRules = {
  name: 'test',
  chainId: 31_337n,
  requiredConfirmations: 3,
  finalityTag: 'none',
  finalityFallback: 'block',
  tokens: new Map([[token, usdt]]),
  explorer: 'https://explorer.example/tx/',
};

export const planRules: PlanRules = { rulesVersion: 1, clockSkewMs: 60_000, lateGraceMs: 0 };

export const creditScene: OrderScene = { handler: 'order', orderType: 'PAYMENT', channel: 'CHAIN' };

export const order: DepositOrder = {
  id: 1n,
  outTradeNo: 'R-1',
  provider: 'web3',
  chainName: 'test',
  token,
  receiver,
  amountRaw: '25000000',
  requiredConfirmations: null,
  scene: 'recharge',
  accountNo: 'M1',
  createdAt: '2026-11-29T10:00:00.000000Z',
  expiresAt: '2026-11-29T11:00:00.000000Z',
  status: 'pending',
  version: 0,
  transactionHash: transaction,
  logIndex: null,
};

/** 10:10 UTC of the day of the order. */
export const minedAt = BigInt(Date.parse('2026-11-29T10:10:00Z') / 1_000);

export interface LogGiven extends Partial<Omit<ReceiptLog, 'logIndex'>> {
  logIndex?: number;
  from?: string;
  to?: string;
  value?: bigint;
}

const topic = (address: string): string => `0x${'0'.repeat(24)}${address.slice(2)}`;

/** A Transfer of 25.000000 of the token to the receiver, unless told otherwise. */
export function transferLog({ from = payer, to = receiver, value = 25_000_000n, ...log }: LogGiven = {}): ReceiptLog {
  return {
    address: token,
    topics: [transferTopic, topic(from), topic(to)],
    data: `0x${value.toString(16).padStart(64, '0')}`,
    logIndex: 0,
    removed: false,
    ...log,
  };
}

export function receiptOf(logs: readonly LogGiven[] = [{}], receipt: Partial<Receipt> = {}): Receipt {
  return {
    transactionHash: transaction,
    blockNumber: 100n,
    blockHash,
    status: 'success',
    logs: logs.map((log, at) => transferLog({ logIndex: at, ...log })),
    ...receipt,
  };
}

export function blockOf(receipt: Receipt | null, block: Partial<Block> = {}): Block {
  const { blockNumber: number = 100n, blockHash: hash = filled('e', 32) } = receipt ?? {};
  return { number, hash, parentHash: filled('f', 32), timestamp: minedAt, ...block };
}

/** What a node answers of a paid and confirmed order, unless told otherwise. */
export function answersOf(answers: Partial<NodeAnswers> = {}): NodeAnswers {
  const receipt = answers.receipt === undefined ? receiptOf() : answers.receipt;
  return { chainId: 31_337n, head: 102n, receipt, block: blockOf(receipt), taggedHeight: null, ...answers };
}

/** Facts of an order that may be settled, unless told otherwise. */
export function factsOf(facts: Partial<PlanFacts> = {}): PlanFacts {
  const own = facts.order === undefined ? order : facts.order;
  return {
    ...{ outTradeNo: 'R-1', order: own, chain, scene: creditScene, transactionHash: transaction, logIndex: null },
    ...{ node: answersOf(), settled: [], seenBefore: false },
    ...facts,
  };
}

export const planOf = (facts: Partial<PlanFacts> = {}, submitted: string | null = null): DepositPlan =>
  planDeposit(factsOf(facts), planRules, submitted);

/** A chain that says what it is told to, and counts how often it was asked. */
export class FakeChain {
  readonly answers = new Map<string, NodeAnswers | NodeFailure>();
  usual: NodeAnswers | NodeFailure = answersOf();
  asked = 0;
  /** Waited for before each answer. */
  before: () => Promise<void> = () => Promise.resolve();

  ports(overrides: Partial<SettlePorts> = {}): SettlePorts {
    const ask = async (hashes: readonly string[]): Promise<Map<string, NodeAnswers | NodeFailure>> => {
      this.asked += 1;
      await this.before();
      return new Map(
        hashes.map((hash) => {
          const answer = this.answers.get(hash) ?? this.usual;
          if ('failure' in answer || answer.receipt === null) return [hash, answer];
          return [hash, { ...answer, receipt: { ...answer.receipt, transactionHash: hash } }];
        }),
      );
    };
    return {
      chain: (name) => (name === 'test' ? { rules: chain, ask } : null),
      scene: (name) => (name === 'recharge' ? creditScene : name === 'nothing' ? { handler: 'none' } : null),
      rules: planRules,
      signal: new AbortController().signal,
      monotonicMs: () => performance.now(),
      now: () => '2026-11-29T10:20:00.000Z',
      openDay: () => '2026-11-29',
      planMaxAgeMs: 60_000,
      ...overrides,
    };
  }
}

/** Stores deposit orders; what is not given is as in `order`. */
export async function givenDeposits(database: Database, orders: readonly Partial<DepositRow>[]): Promise<void> {
  const { id: _id, status: _status, version: _version, ...usual } = order;
  const rows = orders.map((own, at) => ({ line: at + 1, row: { ...usual, ...own } }));
  const outcome = await storeDeposits(database, rows, '2026-11-29T10:00:00.000Z');
  if (outcome.rejected.length > 0) throw new Error(JSON.stringify(outcome.rejected));
}

const alice = { by: 'alice', reason: 'as ordered' };

/** Plans an order and approves what the plan shows. */
export async function approved(
  database: Database,
  ports: SettlePorts,
  outTradeNo = 'R-1',
  logIndex: number | null = null,
): Promise<Review> {
  const request = { outTradeNo, ...(logIndex === null ? {} : { logIndex }) };
  const plan = await planOne(database, ports, request);
  const fingerprint = plan.reviewFingerprint ?? '';
  await approveReview(database, ports, { ...request, fingerprint }, { ...alice, at: ports.now() });
  return (await database.read((session) => reviewOf(session, outTradeNo, fingerprint))) as Review;
}

export const settleNow = (database: Database, ports: SettlePorts, review: Review): Promise<SettleOutcome> =>
  settleReview(database, ports, review, { ...alice, action: 'settle' });

/** Every row of the tables of deposits, sorted: equal before and after means that nothing was written. */
export async function depositRows(database: Database): Promise<string[]> {
  const lines: string[] = [];
  for (const table of ['deposit_order', 'deposit_transaction', 'deposit_review', 'deposit_log', 'deposit_finding']) {
    const rows = await database.read((session) => session.tuples(`select * from ${table}`));
    lines.push(...rows.map((row) => `${table} ${row.map(String).join('|')}`));
  }
  return lines.sort();
}

/** "R-1 success 0x11…:0" of every deposit order, in the order of numbers, with what settled it. */
export async function depositLines(database: Database): Promise<string[]> {
  const rows = await database.read((session) =>
    session.tuples(
      `select o.out_trade_no, o.status, t.transaction_hash, t.log_index from deposit_order o
         left join deposit_transaction t on t.out_trade_no = o.out_trade_no order by o.out_trade_no, t.id`,
    ),
  );
  return rows.map(([no, status, hash, index]) => {
    const place = hash === null ? '' : ` ${toText(hash).slice(0, 6)}:${String(index)}`;
    return `${String(no)} ${String(status)}${place}`;
  });
}

/** Takes everything away that a test of deposits leaves; for a suite whose database has no triggers any more. */
export async function emptyDeposits(database: Database): Promise<void> {
  const tables = ['deposit_order', 'deposit_transaction', 'deposit_review', 'deposit_log', 'deposit_finding'];
  tables.push('deposit_audit_place', 'outbox', 'operator_action', 'settlement_order', 'account');
  await database.transact(
    repeatable('empty', async (trx) => {
      for (const table of tables) await trx.change(`delete from ${table}`);
    }),
  );
}
