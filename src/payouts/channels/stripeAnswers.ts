import { z } from 'zod';
import type { ChannelAnswer, UnclearCause } from '../channel.js';
import { digestHeader, StripeTrouble } from './stripeHttp.js';
import { fromStripe } from './stripeMoney.js';

/** The name of our key in the metadata of what we make at Stripe. */
export const keyName = 'settle_key';

const made = {
  id: z.string().min(1).max(255),
  amount: z.int(),
  currency: z.string().regex(/^[a-z]{3}$/),
  metadata: z.record(z.string(), z.string()),
};
export const transferObject = z.object({ ...made, object: z.literal('transfer'), amount_reversed: z.int() });
export const payoutObject = z.object({
  ...made,
  object: z.literal('payout'),
  status: z.enum(['pending', 'in_transit', 'paid', 'failed', 'canceled']),
  failure_code: z.string().nullish(),
});
export const listOf = <Item extends z.ZodType>(
  item: Item,
): z.ZodObject<{ data: z.ZodArray<Item>; has_more: z.ZodBoolean }> =>
  z.object({ data: z.array(item), has_more: z.boolean() });

export type TransferObject = z.output<typeof transferObject>;
export type PayoutObject = z.output<typeof payoutObject>;

/**
 * What the transfers of one key say: one is the payout; more than one are a sum that is not what was asked for. What was
 * taken back is not paid, so that a person sees it.
 */
export function transfersAnswer(transfers: readonly TransferObject[]): ChannelAnswer {
  const [first] = transfers;
  if (first === undefined) return { kind: 'NOT_FOUND' };
  if (transfers.some(({ currency }) => currency !== first.currency)) return unreadable('transfers in two currencies');
  const left = transfers.reduce((sum, { amount, amount_reversed: reversed }) => sum + amount - reversed, 0);
  return paid(first, left);
}

/** What the state of a payout at Stripe says of ours. */
export function payoutAnswer(payout: PayoutObject): ChannelAnswer {
  switch (payout.status) {
    case 'pending':
    case 'in_transit':
      return { kind: 'IN_PROGRESS', reference: payout.id };
    case 'paid':
      return paid(payout, payout.amount);
    case 'failed':
    case 'canceled':
      return { kind: 'REFUSED', reference: payout.id, reason: `Stripe: ${payout.failure_code ?? payout.status}` };
  }
}

function paid({ id, currency }: { id: string; currency: string }, amount: number): ChannelAnswer {
  const code = currency.toUpperCase();
  const amountMinor = fromStripe(amount, code);
  return amountMinor === null
    ? unreadable('an amount that is no whole number of minor units')
    : { kind: 'PAID', reference: id, amountMinor, currency: code };
}

export function unreadable(what: string): ChannelAnswer {
  return unclear('UNREADABLE_ANSWER', `Stripe answered with ${what}.`);
}

function unclear(cause: UnclearCause, detail: string): ChannelAnswer {
  return { kind: 'UNCLEAR', cause, detail };
}

/**
 * Codes by which Stripe refuses a transfer or a payout for good, as its list of error codes has them: the account, the
 * amount, or the balance. What it executed under a key is answered the same ever after, refusals included.
 */
const finalCodes = new Set([
  ...['account_closed', 'account_invalid', 'no_account', 'resource_missing', 'country_unsupported'],
  ...['bank_account_declined', 'bank_account_restricted', 'bank_account_unusable', 'bank_account_unverified'],
  ...['amount_too_large', 'amount_too_small', 'parameter_invalid_integer'],
  ...['balance_insufficient', 'insufficient_funds'],
  ...['transfers_not_allowed', 'insufficient_capabilities_for_transfer', 'capability_not_active'],
  ...['payouts_not_allowed', 'payouts_limit_exceeded', 'not_allowed_on_standard_account'],
  ...['instant_payouts_unsupported', 'instant_payouts_currency_disabled', 'instant_payouts_limit_exceeded'],
]);

/** What the package throws, as far as it is of use here. */
interface Thrown {
  statusCode?: number;
  rawType?: string;
  code?: string;
  detail?: unknown;
  headers?: Record<string, string>;
}

/** What an error of the `stripe` package says of a payout. Throws what is no answer of Stripe, but a mistake of ours. */
export function errorAnswer(error: unknown, ask: 'submit' | 'query'): ChannelAnswer {
  const { statusCode, rawType, code, detail, headers } = error as Thrown;
  if (detail instanceof StripeTrouble) {
    return detail.kind === 'UNREACHABLE'
      ? { kind: 'UNREACHABLE', detail: `Stripe: ${detail.message}` }
      : unclear(detail.kind, `Stripe: ${detail.message}`);
  }
  if (statusCode === undefined) throw error;
  const said = [String(statusCode), rawType, code].filter((part) => part !== undefined).join(' ');
  return { ...byStatus(statusCode, rawType, code, said, ask), digest: headers?.[digestHeader] ?? null };
}

function byStatus(
  status: number,
  type: string | undefined,
  code: string | undefined,
  said: string,
  ask: 'submit' | 'query',
): ChannelAnswer {
  if (status >= 500) return unclear('SERVER_ERROR', `Stripe: ${said}`);
  if (status === 429 || code === 'rate_limit') return unclear('RATE_LIMITED', `Stripe: ${said}`);
  if (status === 409 && ask === 'submit') return { kind: 'IN_PROGRESS', reference: null };
  if (type === 'idempotency_error') {
    const detail = `Stripe knows the key with another request (${said}): one of two settings or programs is not this one.`;
    return unclear('UNREADABLE_ANSWER', detail);
  }
  if (ask === 'submit' && code !== undefined && finalCodes.has(code)) {
    return { kind: 'REFUSED', reference: null, reason: `Stripe: ${code}` };
  }
  // Not let in: this request did nothing, whatever an earlier one did.
  if (status === 401 || status === 403) return { kind: 'UNREACHABLE', detail: `Stripe refuses the API key (${said}).` };
  return unclear('UNREADABLE_ANSWER', `Stripe: ${said}`);
}
