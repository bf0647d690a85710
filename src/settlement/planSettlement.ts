import type { BatchDay } from '../kernel/batchDay.js';
import { invariant } from '../kernel/invariant.js';
import { netOrders, type Net } from '../netting/netOrders.js';
import { fingerprint } from '../orders/fingerprint.js';
import type { Orders } from '../orders/order.js';
import { settlementMessage, type SettlementMessage } from '../outbox/message.js';
import type { TermsLookup } from '../terms/appliedTerms.js';

/** Everything that settling a chunk will write, decided before the transaction begins. */
export interface SettlementPlan {
  readonly runId: bigint;
  readonly chunkNo: number;
  readonly batchDay: BatchDay;
  readonly lane: number;
  /** Ascending. */
  readonly orderIds: readonly bigint[];
  /** The orders are all INIT orders of the day from the first id to the last. */
  readonly isRange: boolean;
  readonly nets: readonly Net[];
  /** Checksum of the orders as they were read; see `orders/fingerprint`. */
  readonly fingerprint: bigint;
}

/** Pure: the nets of a chunk's orders. Each has a business number by its place, and one message: see `messagesOf`. */
export function planSettlement(
  chunk: { runId: bigint; chunkNo: number; batchDay: BatchDay; lane: number },
  orders: Orders,
  isRange = false,
  terms?: TermsLookup,
): SettlementPlan {
  const orderIds = Array.from(orders, (order) => order.id);
  for (let at = 1; at < orderIds.length; at += 1) {
    invariant(
      (orderIds[at - 1] as bigint) < (orderIds[at] as bigint),
      'ORDER_TWICE_IN_CHUNK',
      `Order ${String(orderIds[at])} is in its chunk twice, or out of order.`,
    );
  }
  return { ...chunk, orderIds, isRange, nets: netOrders(orders, terms), fingerprint: fingerprint(orders) };
}

/** Accounts of a plan whose fee plan cannot tell what one of their orders costs, each with that order. */
export function uncoveredIn({ nets }: SettlementPlan): Map<string, string> {
  const found = new Map<string, string>();
  for (const { accountNo, terms } of nets) {
    if (terms !== undefined && terms.uncovered !== null) found.set(accountNo, terms.uncovered);
  }
  return found;
}

/** The outbox messages of a plan, one a net, made as they are taken. */
export function* messagesOf(plan: SettlementPlan): Generator<SettlementMessage> {
  let netNo = 0;
  for (const net of plan.nets) {
    netNo += 1;
    yield settlementMessage(bizNoOf(plan.runId, plan.chunkNo, netNo), plan.batchDay, net);
  }
}

/** The business number of a net, its message and its journal entry: made once, never reused. */
export function bizNoOf(runId: bigint, chunkNo: number, netNo: number): string {
  return `S${String(runId)}.${String(chunkNo)}.${String(netNo)}`;
}

/** The chunk that a business number is of, and how the numbers of that chunk begin; null for another kind of number. */
export function chunkOfBizNo(bizNo: string): { runId: bigint; chunkNo: number; prefix: string } | null {
  const [prefix, runId, chunkNo] = /^S([0-9]+)\.([0-9]+)\./.exec(bizNo) ?? [];
  return prefix === undefined ? null : { runId: BigInt(runId as string), chunkNo: Number(chunkNo), prefix };
}
