import type { Adjustable, Found, Severity } from '../discrepancies/discrepancy.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { StatedOrder } from '../orders/statedOrders.js';
import type { StatedPayout } from '../payouts/statedOutcomes.js';
import { agreedFeeOf, expectedOf, stateOf, type AgreedFee, type Ours, type Role, type Verdict } from './decideLine.js';
import { signedOf, type StoredLine } from './storedLine.js';

// Differences between lines and rows of ours, in the form in which they are written down.

/** Where a line stands: its channel, the one that its orders name, and the batch day that it falls on there. */
export interface LineContext {
  readonly channel: string;
  readonly orderChannel: string;
  readonly day: BatchDay;
}

function lineName({ fileId, seq }: StoredLine): string {
  return `${String(fileId)}/${String(seq)}`;
}

/** What a person finds a line by. */
function lineKeyText(line: StoredLine): string {
  const { ourReference, channelReference, otherReferences, fileId, lineNo } = line;
  return ourReference ?? channelReference ?? otherReferences[0] ?? `file ${String(fileId)} line ${String(lineNo)}`;
}

function isOfOrders({ kind }: StoredLine): boolean {
  return kind === 'PAYMENT' || kind === 'REFUND';
}

/** A line for which there is no row of ours, or one more than there are rows. */
export function looseLine(line: StoredLine, why: 'NOT_FOUND' | 'DUPLICATE', context: LineContext): Found {
  const minor = signedOf(line);
  const adjusts = isOfOrders(line)
    ? ({ account: 'CHANNEL_RECEIVABLE', subAccount: context.orderChannel, minor } as const)
    : ({ account: 'CHANNEL_CASH', subAccount: context.channel, minor } as const);
  const kind = why === 'DUPLICATE' ? 'DUPLICATE' : 'MISSING_OURS';
  return {
    identity: [kind, 'LINE', lineName(line)],
    scope: 'LINES',
    class: kind,
    severity: line.direction === 'DEBIT' ? 'HIGH' : 'MEDIUM',
    channel: context.channel,
    batchDay: context.day,
    itemKey: lineKeyText(line),
    currency: line.currency,
    expectedMinor: null,
    actualMinor: minor,
    actualText: `${line.kind} in file ${String(line.fileId)}, line ${String(line.lineNo)}`,
    adjusts,
    line,
  };
}

/** A line and a row of ours that belong together and differ. */
export function pairDiffers(
  line: StoredLine,
  ours: Ours,
  role: Role,
  verdict: Exclude<Verdict, 'AGREES'>,
  fee: AgreedFee | null,
  context: LineContext,
): Found {
  const [expected, actual] = [expectedOf(ours, role), signedOf(line)];
  const isFee = verdict === 'FEE';
  const currency = ours.kind === 'PAYOUT' ? ours.payout.currency : ours.order.currency;
  return {
    identity: [verdict, ours.kind, String(ours.id), role],
    scope: 'LINES',
    class: verdict,
    severity: pairSeverity(verdict, ours),
    channel: context.channel,
    batchDay: ours.kind === 'PAYOUT' ? ours.payout.batchDay : ours.order.batchDay,
    itemKey: ours.kind === 'PAYOUT' ? ours.payout.idempotencyKey : ours.order.orderNo,
    currency: line.currency,
    expectedMinor: isFee ? agreedFeeOf(line, role, fee) : expected,
    actualMinor: isFee ? line.feeMinor : actual,
    expectedText: verdict === 'CURRENCY' ? currency : verdict === 'STATE' ? `${ours.kind} ${stateOf(ours)}` : null,
    actualText: verdict === 'CURRENCY' ? line.currency : verdict === 'STATE' ? role : null,
    adjusts: pairAdjusts(verdict, ours, role, expected, actual, context),
    line,
    ours: { kind: ours.kind, id: ours.id },
  };
}

function pairSeverity(verdict: Verdict, ours: Ours): Severity {
  if (verdict === 'FEE') return 'LOW';
  return verdict === 'AMOUNT' && ours.kind === 'ORDER' ? 'MEDIUM' : 'HIGH';
}

/** Only what is booked can be corrected by an entry; the state of a payout is a matter of its review. */
function pairAdjusts(
  verdict: Verdict,
  ours: Ours,
  role: Role,
  expected: bigint,
  actual: bigint,
  { channel, orderChannel }: LineContext,
): Adjustable | null {
  const isPaid = ours.kind === 'PAYOUT' && ours.payout.state === 'SUCCESS';
  const cash = { account: 'CHANNEL_CASH', subAccount: channel } as const;
  if (verdict === 'AMOUNT' && ours.kind === 'ORDER') {
    return { account: 'CHANNEL_RECEIVABLE', subAccount: orderChannel, minor: actual - expected };
  }
  if (verdict === 'AMOUNT' && isPaid && role === 'MOVED') return { ...cash, minor: actual - expected };
  if (verdict === 'STATE' && isPaid && role === 'RETURNED') return { ...cash, minor: actual };
  return null;
}

/** A payout that we have as paid, and no statement of its days has. */
export function payoutMissing(payout: StatedPayout, channel: string): Found {
  return {
    identity: ['MISSING_THEIRS', 'PAYOUT', String(payout.id)],
    scope: 'OURS',
    class: 'MISSING_THEIRS',
    severity: 'MEDIUM',
    channel,
    batchDay: payout.batchDay,
    itemKey: payout.idempotencyKey,
    currency: payout.currency,
    expectedMinor: -payout.amountMinor,
    actualMinor: null,
    expectedText: `PAYOUT ${payout.state}`,
    adjusts: { account: 'CHANNEL_CASH', subAccount: channel, minor: payout.amountMinor },
    ours: { kind: 'PAYOUT', id: payout.id },
  };
}

/** An order that no statement of its days has. */
export function orderMissing(order: StatedOrder, channel: string, orderChannel: string): Found {
  return {
    identity: ['MISSING_THEIRS', 'ORDER', String(order.id)],
    scope: 'OURS',
    class: 'MISSING_THEIRS',
    severity: 'MEDIUM',
    channel,
    batchDay: order.batchDay,
    itemKey: order.orderNo,
    currency: order.currency,
    expectedMinor: order.movesMinor,
    actualMinor: null,
    expectedText: `ORDER ${order.type} ${order.state}`,
    adjusts: { account: 'CHANNEL_RECEIVABLE', subAccount: orderChannel, minor: -order.movesMinor },
    ours: { kind: 'ORDER', id: order.id },
  };
}

/** A booking of many payments that does not come to what they come to. */
export function batchDiffers(
  line: StoredLine,
  expected: { count: number; minor: bigint; name: string },
  context: LineContext,
): Found {
  const count = line.batchCount === null ? '' : `${String(line.batchCount)} payments`;
  return {
    identity: ['AMOUNT', 'LINE', lineName(line)],
    scope: 'LINES',
    class: 'AMOUNT',
    severity: 'HIGH',
    channel: context.channel,
    batchDay: context.day,
    itemKey: expected.name,
    currency: line.currency,
    expectedMinor: expected.minor,
    actualMinor: signedOf(line),
    expectedText: `${String(expected.count)} payments`,
    actualText: count,
    line,
  };
}
