import type { BatchDay } from '../kernel/batchDay.js';
import { orderTypes, type OrderType } from '../kernel/states.js';
import type { Net, NetLine } from '../netting/netOrders.js';
import { fromIdRanges, toIdRanges } from '../orders/idRanges.js';
import { isTermsReason, type TermsLine } from '../terms/termsLine.js';

export const ledgerTopic = 'LEDGER';

/**
 * What the ledger is told of one net: enough to book it and to finish its orders, without reading anything else. What the
 * terms of an account do at the end of a day is a message with their lines alone, and no orders.
 */
export interface SettlementMessage {
  readonly bizNo: string;
  readonly batchDay: BatchDay;
  readonly accountNo: string;
  readonly currency: string;
  readonly netMinor: bigint;
  readonly lines: readonly NetLine[];
  /** What the terms of the account do to it beside the net. */
  readonly terms?: readonly TermsLine[];
  readonly orderIds: readonly bigint[];
}

export function settlementMessage(bizNo: string, batchDay: BatchDay, net: Net): SettlementMessage {
  const { accountNo, currency, amountMinor, lines, orderIds } = net;
  const feeMinor = net.terms?.feeMinor ?? 0n;
  const message = { bizNo, batchDay, accountNo, currency, netMinor: amountMinor, lines, orderIds };
  if (feeMinor === 0n) return message;
  return { ...message, terms: [{ reason: 'FEE_PLAN', amountMinor: feeMinor, originDay: batchDay }] };
}

/** The payload as it is stored: JSON, money as text, version first. Version 2 is one with lines of terms. */
export function encodePayload(message: SettlementMessage): string {
  const terms = (message.terms ?? []).map((line) => ({ ...line, amountMinor: line.amountMinor.toString() }));
  return JSON.stringify({
    v: terms.length === 0 ? 1 : 2,
    batchDay: message.batchDay,
    accountNo: message.accountNo,
    currency: message.currency,
    netMinor: message.netMinor.toString(),
    lines: message.lines.map((line) => ({ ...line, amountMinor: line.amountMinor.toString() })),
    ...(terms.length === 0 ? {} : { terms }),
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
  const { v, batchDay, accountNo, currency, netMinor, lines, terms, orderIds } = (value ?? {}) as Record<
    string,
    unknown
  >;
  if (
    (v !== 1 && v !== 2) ||
    typeof batchDay !== 'string' ||
    typeof accountNo !== 'string' ||
    typeof currency !== 'string'
  )
    return null;
  if (typeof netMinor !== 'string' || !whole.test(netMinor) || typeof orderIds !== 'string') return null;
  const ids = orders === 0 && orderIds === '' ? [] : fromIdRanges(orderIds, orders);
  const read = Array.isArray(lines) ? lines.map(decodeLine) : [];
  if (ids?.length !== orders || !read.every((line) => line !== null)) return null;
  const taken = Array.isArray(terms) ? terms.map(decodeTermsLine) : [];
  if ((v === 2) !== taken.length > 0 || !taken.every((line) => line !== null)) return null;
  // Without orders a message has lines of terms, with orders it has lines of them.
  if (read.length === 0 && (orders > 0 || v === 1)) return null;
  const message = { bizNo, batchDay, accountNo, currency, netMinor: BigInt(netMinor), lines: read, orderIds: ids };
  return v === 1 ? message : { ...message, terms: taken };
}

function decodeLine(value: unknown): NetLine | null {
  const { type, channel, orders, amountMinor } = (value ?? {}) as Record<string, unknown>;
  if (!orderTypes.includes(type as OrderType) || typeof channel !== 'string') return null;
  if (!Number.isSafeInteger(orders) || typeof amountMinor !== 'string' || !whole.test(amountMinor)) return null;
  return { type: type as OrderType, channel, orders: orders as number, amountMinor: BigInt(amountMinor) };
}

function decodeTermsLine(value: unknown): TermsLine | null {
  const { reason, amountMinor, originDay } = (value ?? {}) as Record<string, unknown>;
  if (!isTermsReason(reason) || typeof originDay !== 'string') return null;
  if (typeof amountMinor !== 'string' || !whole.test(amountMinor)) return null;
  return { reason, amountMinor: BigInt(amountMinor), originDay };
}
