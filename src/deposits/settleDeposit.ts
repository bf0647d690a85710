import type { Database } from '../db/database.js';
import { isUniqueViolation } from '../db/failure.js';
import { recordAction, type Decision } from '../db/operatorAction.js';
import type { Transaction } from '../db/session.js';
import type { Unit } from '../db/transaction.js';
import { fromInstant } from '../db/values.js';
import { depositOrderMoves, depositReviewMoves, move } from '../kernel/states.js';
import { appendTask } from '../outbox/append.js';
import { settlementType, type ChainRules, type DepositOrder, type TransferEvent } from './deposit.js';
import { depositMessage, depositTopic, encodeDepositMessage, messageNo } from './message.js';
import type { OrderScene } from './orderRules.js';
import { planDeposit, type DepositPlan } from './planDeposit.js';
import { factsOf, type PlannerPorts } from './planner.js';
import { depositOrders, settledOf } from './queries.js';
import { reasons, type ReasonCode } from './reasons.js';
import { log, reviewById, type Review } from './reviewQueries.js';

export interface SettlePorts extends PlannerPorts {
  /** Decides nothing but the age of a plan; only differences count. */
  monotonicMs(): number;
  now(): string;
  /** The batch day that is open now: an order that a scene makes is of it. */
  openDay(): string;
  readonly planMaxAgeMs: number;
}

/** Who executes an approved review: a person, or the automatic under its own name. */
export interface Executor extends Omit<Decision, 'at'> {
  readonly action: 'settle' | 'auto-execute' | 'auto-retry';
}

export type SettleOutcome =
  | { readonly outcome: 'settled' | 'already-settled'; readonly settlementId: bigint; readonly plan: DepositPlan }
  | { readonly outcome: 'skipped'; readonly code: ReasonCode; readonly plan: DepositPlan };

/** A plan that took effect too late is made anew, so often. */
const plansMax = 3;

/** Thrown inside the transaction, so that it is rolled back: what it found is looked up afterwards, in another one. */
class LostRace extends Error {}
class PlanTooOld extends Error {}

/**
 * Settles one approved review, or says why not and writes nothing. Head, receipt and block are asked for anew, the plan is
 * made and compared with what was approved, then one transaction without any question to a node takes effect whole or not
 * at all. Run twice, at once or after a crash, it settles once and says so the second time.
 */
export async function settleReview(
  database: Database,
  ports: SettlePorts,
  review: Review,
  executor: Executor,
): Promise<SettleOutcome> {
  const { outTradeNo, transactionHash, logIndex } = review;
  for (let made = 1; ; made += 1) {
    const startedMs = ports.monotonicMs();
    const facts = await factsOf(database, ports, { outTradeNo, transactionHash, logIndex });
    const plan = planDeposit(facts, ports.rules, review.fingerprint);
    const { order, chain, scene } = facts;
    const { event } = plan;
    if (order === null || chain === null || scene === null || event === null || !isExecutable(plan)) {
      return whyNot(database, review, plan);
    }
    const isOld = (): boolean => ports.monotonicMs() - startedMs > ports.planMaxAgeMs;
    try {
      const unit = settlement({ order, chain, scene, event, review, executor }, ports, isOld);
      return { outcome: 'settled', settlementId: await database.transact(unit), plan };
    } catch (error) {
      if (error instanceof PlanTooOld && made < plansMax) continue;
      if (error instanceof PlanTooOld) return { outcome: 'skipped', code: 'order-update-conflict', plan };
      if (!(error instanceof LostRace) && !isUniqueViolation(error)) throw error;
      return whyNot(database, review, plan);
    }
  }
}

/** Ready, or asking for nothing but the review that it had; and as it was approved. */
export function isExecutable({ state, reasonCodes, event }: DepositPlan): boolean {
  if (event === null || (state !== 'ready' && state !== 'review_required')) return false;
  return reasonCodes.every((code) => reasons[code].kind === 'review');
}

interface Settling {
  order: DepositOrder;
  chain: ChainRules;
  scene: OrderScene;
  event: TransferEvent;
  review: Review;
  executor: Executor;
}

function settlement(settling: Settling, ports: SettlePorts, isOld: () => boolean): Unit<bigint> {
  const { order, event, review } = settling;
  return {
    name: 'settle deposit',
    work: async (trx) => {
      // Repeated by the wrapper after a deadlock or a busy file, it may have waited for longer than a plan holds.
      if (isOld()) throw new PlanTooOld();
      const now = ports.now();
      await payOrder(trx, order, now);
      const id = await insertSettlement(trx, settling, now);
      await closeReview(trx, settling, now);
      const message = depositMessage(id, settling, { batchDay: ports.openDay(), at: now });
      const task = { topic: depositTopic, bizNo: messageNo(id), payload: encodeDepositMessage(message) };
      await appendTask(trx, { ...task, batchDay: ports.openDay(), accountNo: order.accountNo }, now);
      return id;
    },
    landed: async (session) => {
      const row = (await settledOf(session, [event.transactionHash])).find((one) => isCoordinate(one, event));
      return row?.outTradeNo === order.outTradeNo && row.fingerprint === review.fingerprint ? row.id : undefined;
    },
  };
}

/** Everything that was compared with the chain is compared once more, in the statement that moves the order. */
async function payOrder(trx: Transaction, order: DepositOrder, now: string): Promise<void> {
  const paid = await trx.change(
    `update deposit_order set status = ?, version = version + 1, finished_at = ?
      where id = ? and status = 'pending' and version = ? and provider = ? and chain_name = ? and token = ?
        and receiver = ? and amount_raw = ? and coalesce(required_confirmations, 0) = ?`,
    [
      ...[move(depositOrderMoves, 'pending', 'pay'), fromInstant(trx.dialect, now), order.id, order.version],
      ...[order.provider, order.chainName, order.token, order.receiver, order.amountRaw],
      order.requiredConfirmations ?? 0,
    ],
  );
  if (paid !== 1) throw new LostRace();
}

async function insertSettlement(
  trx: Transaction,
  { order, chain, event, review, executor }: Settling,
  now: string,
): Promise<bigint> {
  return trx.insert(
    `insert into deposit_transaction (out_trade_no, type, chain_name, chain_id, transaction_hash, log_index, position,
       block_number, block_hash, token, from_address, to_address, value_raw, review_id, fingerprint, actor, settled_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      ...[order.outTradeNo, settlementType, order.chainName, chain.chainId, event.transactionHash, event.logIndex],
      ...[
        event.position,
        event.blockNumber,
        event.blockHash,
        event.token,
        event.from,
        event.to,
        event.value.toString(),
      ],
      ...[review.id, review.fingerprint, executor.by, fromInstant(trx.dialect, now)],
    ],
  );
}

async function closeReview(trx: Transaction, { order, review, executor }: Settling, now: string): Promise<void> {
  const to = move(depositReviewMoves, 'approved', 'execute');
  const executed = await trx.change(
    `update deposit_review set state = ?, version = version + 1, last_code = null,
       attempts = attempts + ${executor.action === 'settle' ? '0' : '1'}
      where id = ? and state = 'approved' and fingerprint = ?`,
    [to, review.id, review.fingerprint],
  );
  if (executed !== 1) throw new LostRace();
  const { by, action, reason } = executor;
  const { id: reviewId, fingerprint } = review;
  const line = { outTradeNo: order.outTradeNo, reviewId, actor: by, action, from: 'approved', to, fingerprint, reason };
  await log(trx, line, now);
  await recordAction(trx, 'DEPOSIT_SETTLE', `deposit ${order.outTradeNo}`, { by, reason, at: now });
}

function isCoordinate(
  row: { chainName: string; transactionHash: string; logIndex: number },
  event: Pick<TransferEvent, 'chainName' | 'transactionHash' | 'logIndex'>,
): boolean {
  return (
    row.chainName === event.chainName &&
    row.transactionHash === event.transactionHash &&
    row.logIndex === event.logIndex
  );
}

/** Reads anew why a review was not settled: paid by the very event that was approved is the success of an earlier call. */
async function whyNot(database: Database, review: Review, plan: DepositPlan): Promise<SettleOutcome> {
  const { order, settled, own } = await database.read(async (session) => ({
    order: (await depositOrders(session, [review.outTradeNo])).get(review.outTradeNo) ?? null,
    settled: await settledOf(session, [review.transactionHash]),
    own: await reviewById(session, review.id),
  }));
  const mine = settled.find((row) => row.outTradeNo === review.outTradeNo && row.fingerprint === review.fingerprint);
  if (order?.status === 'success' && mine !== undefined) {
    return { outcome: 'already-settled', settlementId: mine.id, plan };
  }
  return { outcome: 'skipped', code: conflictCode(order, own, plan, settled), plan };
}

function conflictCode(
  order: DepositOrder | null,
  review: Review | null,
  plan: DepositPlan,
  settled: readonly { outTradeNo: string; chainName: string; transactionHash: string; logIndex: number }[],
): ReasonCode {
  if (order?.status === 'success') return 'local-order-already-paid';
  if (order !== null && order.status !== 'pending') return 'order-not-settleable';
  if (!isExecutable(plan) && plan.reasonCode !== null) return plan.reasonCode;
  const { event } = plan;
  if (event !== null && settled.some((row) => isCoordinate(row, event))) return 'transfer-already-consumed';
  return review?.state === 'approved' || plan.reasonCode === null ? 'order-update-conflict' : plan.reasonCode;
}
