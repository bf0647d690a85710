import type { DataOf, SettleEvent } from './events.js';
import { faultIn, schemaNameOf, typeOf } from './events.js';
import { decodePayload } from './message.js';
import type { Topic } from '../kernel/topics.js';

/** A row of the outbox that a sink is to have. */
export interface OutsideMessage {
  readonly topic: Topic;
  readonly bizNo: string;
  readonly batchDay: string;
  readonly accountNo: string | null;
  readonly orders: number;
  readonly payload: string;
  /** RFC 3339, UTC. */
  readonly createdAt: string;
}

/** Why a message cannot go out to anybody, ever. */
export class Unsendable extends Error {}

/** The message as it goes out: the same bytes on every delivery. Throws Unsendable. */
export function toEvent(message: OutsideMessage, source: string): SettleEvent {
  const { topic, bizNo, accountNo, createdAt } = message;
  const event: SettleEvent = {
    specversion: '1.0',
    id: bizNo,
    source,
    type: typeOf(topic),
    ...(accountNo === null ? {} : { subject: accountNo }),
    time: createdAt,
    datacontenttype: 'application/json',
    dataschema: schemaNameOf(topic),
    ...(accountNo === null ? {} : { partitionkey: accountNo }),
    data: dataOf(message),
  };
  // A settlement was read field by field; of the others, what was parsed is what goes out.
  const fault = topic === 'SETTLEMENT' ? null : faultIn(topic, event);
  if (fault !== null) throw new Unsendable(`The payload of message ${bizNo} is not what its topic says (${fault}).`);
  return event;
}

function dataOf(message: OutsideMessage): DataOf[Topic] {
  switch (message.topic) {
    case 'SETTLEMENT':
      return settlementData(message);
    case 'REVERSAL': {
      const { reverses, entries } = parsed(message);
      return { ...owner(message), reverses, entries } as DataOf['REVERSAL'];
    }
    case 'PAYOUT':
      return payoutData(message);
    case 'ALERT': {
      const { v: _version, ...content } = parsed(message);
      return { ...content, ...owner(message) } as DataOf['ALERT'];
    }
    case 'DAY_CLOSED': {
      const { v: _version, ...content } = parsed(message);
      return { ...content, batchDay: message.batchDay } as DataOf['DAY_CLOSED'];
    }
  }
}

function owner({ batchDay, accountNo }: OutsideMessage): { batchDay: string; accountNo: string } {
  return { batchDay, accountNo: accountNo ?? '' };
}

function settlementData(message: OutsideMessage): DataOf['SETTLEMENT'] {
  const { bizNo, payload, orders } = message;
  const decoded = decodePayload(bizNo, payload, orders);
  if (decoded === null) throw unreadable(message);
  const { currency, netMinor, lines, terms = [] } = decoded;
  return {
    ...owner(message),
    currency,
    netMinor: String(netMinor),
    orders,
    lines: lines.map((line) => ({ ...line, amountMinor: String(line.amountMinor) })),
    terms: terms.map(({ reason, amountMinor, originDay }) => ({ reason, amountMinor: String(amountMinor), originDay })),
  };
}

/** The business numbers of entries that make a payout final. */
export const finalPayout = /^P([0-9]+)\.(PAID|RETURNED)$/;

function payoutData(message: OutsideMessage): DataOf['PAYOUT'] {
  const [, payoutId = '', kind] = finalPayout.exec(message.bizNo) ?? [];
  const { entries } = parsed(message);
  const [leg] = (Array.isArray(entries) ? entries : []) as { currency?: unknown; amountMinor?: unknown }[];
  return {
    ...owner(message),
    payoutId,
    state: kind === 'PAID' ? 'SUCCESS' : 'FAILED',
    currency: String(leg?.currency),
    amountMinor: String(leg?.amountMinor),
  };
}

function parsed(message: OutsideMessage): Record<string, unknown> {
  try {
    const value = JSON.parse(message.payload) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // As below.
  }
  throw unreadable(message);
}

function unreadable({ bizNo }: OutsideMessage): Unsendable {
  return new Unsendable(`The payload of message ${bizNo} cannot be read.`);
}
