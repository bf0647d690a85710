import type { BatchDay } from '../kernel/batchDay.js';
import { orderTypes, type OrderType } from '../kernel/states.js';
import type { Net, NetLine } from '../netting/netOrders.js';
import { fromIdRanges, toIdRanges } from '../orders/idRanges.js';

export const ledgerTopic = 'LEDGER';

/** What the ledger is told of one net: enough to book it and to finish its orders, without reading anything else. */
export interface SettlementMessage {
  readonly bizNo: string;
  readonly batchDay: BatchDay;
  readonly accountNo: string;
  readonly currency: string;
  readonly netMinor: bigint;
  readonly lines: readonly NetLine[];
  readonly orderIds: readonly bigint[];
}

export function settlementMessage(bizNo: string, batchDay: BatchDay, net: Net): SettlementMessage {
  const { accountNo, currency, amountMinor, lines, orderIds } = net;
  return { bizNo, batchDay, accountNo, currency, netMinor: amountMinor, lines, orderIds };
}

/** The payload as it is stored: JSON, money as text, version first. */
export function encodePayload(message: SettlementMessage): string {
  return JSON.stringify({
    v: 1,
    batchDay: message.batchDay,
    accountNo: message.accountNo,
    currency: message.currency,
    netMinor: message.netMinor.toString(),
    lines: message.lines.map((line) => ({ ...line, amountMinor: line.amountMinor.toString() })),
    orderIds: toIdRanges(message.orderIds),
  });
}

const whole = /^-?[0-9]+$/;

/** Reads a stored payload back; null when it is not one that `encodePayload` wrote for this many orders. */
export function decodePayload(bizNo: string, payload: string, orders: number): SettlementMessage | null {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return null;
  }
  const { v, batchDay, accountNo, currency, netMinor, lines, orderIds } = (value ?? {}) as Record<string, unknown>;
  if (v !== 1 || typeof batchDay !== 'string' || typeof accountNo !== 'string' || typeof currency !== 'string')
    return null;
  if (typeof netMinor !== 'string' || !whole.test(netMinor) || typeof orderIds !== 'string') return null;
  const ids = fromIdRanges(orderIds, orders);
  const read = Array.isArray(lines) ? lines.map(decodeLine) : [];
  if (ids?.length !== orders || read.length === 0 || !read.every((line) => line !== null)) return null;
  return { bizNo, batchDay, accountNo, currency, netMinor: BigInt(netMinor), lines: read, orderIds: ids };
}

function decodeLine(value: unknown): NetLine | null {
  const { type, channel, orders, amountMinor } = (value ?? {}) as Record<string, unknown>;
  if (!orderTypes.includes(type as OrderType) || typeof channel !== 'string') return null;
  if (!Number.isSafeInteger(orders) || typeof amountMinor !== 'string' || !whole.test(amountMinor)) return null;
  return { type: type as OrderType, channel, orders: orders as number, amountMinor: BigInt(amountMinor) };
}
