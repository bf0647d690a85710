import { parseInstant } from '../kernel/instant.js';
import { toJson } from '../kernel/json.js';
import type { ChainRules, DepositOrder, TransferEvent } from './deposit.js';
import { creditOf, type OrderScene } from './orderRules.js';

export const depositTopic = 'DEPOSIT';

/** The order of the daily batch that credits an account with a deposit. */
export interface Credit {
  readonly orderNo: string;
  readonly accountNo: string;
  readonly type: 'PAYMENT' | 'ADJUSTMENT';
  readonly amountMinor: bigint;
  readonly currency: string;
  readonly channel: string;
  readonly batchDay: string;
  readonly occurredAt: string;
}

/** What the success handler of a scene is told: enough to act without reading a setting or asking a node. */
export interface DepositMessage {
  readonly outTradeNo: string;
  readonly scene: string;
  readonly chainName: string;
  readonly transactionHash: string;
  readonly logIndex: number;
  readonly credit: Credit | null;
}

/** The number of the message of a settlement, and of the order that it makes: one each, whoever tells of it how often. */
export function messageNo(settlementId: bigint): string {
  return `DT${String(settlementId)}`;
}

/** What a settlement is to bring about. `at` is when it happened (RFC 3339), `batchDay` the day that is open then. */
export function depositMessage(
  settlementId: bigint,
  { order, chain, scene, event }: { order: DepositOrder; chain: ChainRules; scene: OrderScene; event: TransferEvent },
  { batchDay, at }: { batchDay: string; at: string },
): DepositMessage {
  const { outTradeNo, chainName } = order;
  const { transactionHash, logIndex } = event;
  const message = { outTradeNo, scene: order.scene, chainName, transactionHash, logIndex };
  const token = chain.tokens.get(event.token);
  const worth = token === undefined ? null : creditOf(event.value, token);
  if (scene.handler === 'none' || order.accountNo === null || worth === null) return { ...message, credit: null };
  const credit: Credit = {
    orderNo: `DEPOSIT-${String(settlementId)}`,
    accountNo: order.accountNo,
    type: scene.orderType,
    ...worth,
    channel: scene.channel,
    batchDay,
    occurredAt: parseInstant(at) ?? at,
  };
  return { ...message, credit };
}

export function encodeDepositMessage(message: DepositMessage): string {
  return toJson({ v: 1, ...message });
}

/** Reads a payload back; null for what `encodeDepositMessage` did not write. */
export function decodeDepositMessage(payload: string): DepositMessage | null {
  try {
    const { v, credit, ...rest } = JSON.parse(payload) as Record<string, unknown>;
    if (v !== 1 || typeof rest['outTradeNo'] !== 'string' || typeof rest['scene'] !== 'string') return null;
    if (credit === null) return { ...(rest as unknown as DepositMessage), credit: null };
    const { amountMinor, ...named } = credit as Record<string, unknown>;
    if (typeof amountMinor !== 'string' || !/^[0-9]+$/.test(amountMinor)) return null;
    if (!Object.values(named).every((value) => typeof value === 'string')) return null;
    return {
      ...(rest as unknown as DepositMessage),
      credit: { ...(named as unknown as Omit<Credit, 'amountMinor'>), amountMinor: BigInt(amountMinor) },
    };
  } catch {
    return null;
  }
}
