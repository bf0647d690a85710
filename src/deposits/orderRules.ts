import type { OrderType } from '../kernel/states.js';
import { readAddress } from './address.js';
import { rawToMinor, readAmountRaw } from './amounts.js';
import type { ChainRules, DepositOrder, TokenRules } from './deposit.js';
import type { ReasonCode } from './reasons.js';

/** What becomes of a paid order: `order` credits an account with an order of the daily batch, `none` does nothing here. */
export type OrderScene =
  | {
      readonly handler: 'order';
      readonly orderType: Extract<OrderType, 'PAYMENT' | 'ADJUSTMENT'>;
      readonly channel: string;
    }
  | { readonly handler: 'none' };

type Checked = Pick<
  DepositOrder,
  'chainName' | 'token' | 'receiver' | 'amountRaw' | 'accountNo' | 'createdAt' | 'expiresAt' | 'requiredConfirmations'
>;

/** Why the values of an order cannot be, or null. `scene` is null for one that is not configured. */
export function orderFault(order: Checked, chain: ChainRules | null, scene: OrderScene | null): ReasonCode | null {
  for (const address of [order.token, order.receiver]) {
    const read = readAddress(address);
    if (typeof read !== 'string') return read.problem;
  }
  const amount = readAmountRaw(order.amountRaw);
  if (amount === null) return 'amount-raw-invalid';
  if (order.requiredConfirmations !== null && order.requiredConfirmations < 1) return 'order-invalid';
  if (order.expiresAt !== null && Date.parse(order.expiresAt) <= Date.parse(order.createdAt)) return 'order-invalid';
  if (scene === null) return 'order-invalid';
  if (scene.handler === 'none') return null;
  const token = chain?.tokens.get(order.token.toLowerCase());
  const isCredited = token === undefined || creditOf(amount, token) !== null;
  return order.accountNo === null || !isCredited ? 'order-invalid' : null;
}

/** What an amount of a token is worth to an account; null where its currency is not configured, or it does not fit. */
export function creditOf(amountRaw: bigint, token: TokenRules): { currency: string; amountMinor: bigint } | null {
  const { currency, decimals } = token;
  const amountMinor = currency === null ? null : rawToMinor(amountRaw, decimals, currency);
  return amountMinor === null || currency === null ? null : { currency, amountMinor };
}

export function chainRulesFault(order: Checked, chain: ChainRules | null): ReasonCode | null {
  if (chain === null) return 'chain-not-configured';
  return chain.tokens.has(order.token) ? null : 'token-not-allowed';
}
