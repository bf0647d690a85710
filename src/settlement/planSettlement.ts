import type { BatchDay } from '../kernel/batchDay.js';
import { invariant } from '../kernel/invariant.js';
import { netOrders, type Net } from '../netting/netOrders.js';
import { fingerprint } from '../orders/fingerprint.js';
import type { Order } from '../orders/order.js';
import { settlementMessage, type SettlementMessage } from '../outbox/message.js';

/** Everything that settling a chunk will write, decided before the transaction begins. */
export interface SettlementPlan {
  readonly runId: bigint;
  readonly chunkNo: number;
  readonly batchDay: BatchDay;
  readonly lane: number;
  /** Ascending. */
  readonly orderIds: readonly bigint[];
  readonly nets: readonly Net[];
  /** Checksum of the orders as they were read; see `orders/fingerprint`. */
  readonly fingerprint: bigint;
}

/** Pure: the nets of a chunk's orders. Each has a business number by its place, and one message: see `messagesOf`. */
export function planSettlement(
  chunk: { runId: bigint; chunkNo: number; batchDay: BatchDay; lane: number },
  orders: readonly Order[],
): SettlementPlan {
  const orderIds = orders.map((order) => order.id);
  for (let at = 1; at < orderIds.length; at += 1) {
    invariant(
      (orderIds[at - 1] as bigint) < (orderIds[at] as bigint),
      'ORDER_TWICE_IN_CHUNK',
      `Order ${String(orderIds[at])} is in its chunk twice, or out of order.`,
    );
  }
  return { ...chunk, orderIds, nets: netOrders(orders), fingerprint: fingerprint(orders) };
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
