import { scaleOf } from '../../kernel/money.js';

/** What is done at Stripe: from our balance to an account that is connected to ours, or from a balance to a bank. */
export type StripeMode = 'transfers' | 'payouts';

const withoutDecimals = new Set(
  'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '), // the ariary too, which ISO 4217 gives two
);
/** Without decimals by ISO 4217, and written with two at Stripe. */
const wholeInHundredths = new Set(['ISK', 'UGX']);
/** Three decimals, of which the last one must be 0. */
const withThreeDecimals = new Set(['BHD', 'JOD', 'KWD', 'OMR', 'TND']);
/** Paid out to banks in whole units only, although charged with two decimals. */
const paidOutWhole = new Set(['HUF', 'TWD']);

function decimalsAtStripe(currency: string): number | null {
  if (withoutDecimals.has(currency)) return 0;
  if (withThreeDecimals.has(currency)) return 3;
  return wholeInHundredths.has(currency) || scaleOf(currency) === 2 ? 2 : null;
}

/**
 * An amount in minor units as Stripe's API takes it, or a sentence that says why Stripe cannot carry it: nothing is
 * rounded.
 */
export function toStripe(amountMinor: bigint, currency: string, mode: StripeMode): number | string {
  const decimals = decimalsAtStripe(currency);
  if (decimals === null) return `Stripe does not pay in ${currency}.`;
  const scale = scaleOf(currency) ?? decimals;
  const [times, over] = [10n ** BigInt(Math.max(0, decimals - scale)), 10n ** BigInt(Math.max(0, scale - decimals))];
  const amount = (amountMinor * times) / over;
  const step = withThreeDecimals.has(currency) ? 10n : mode === 'payouts' && paidOutWhole.has(currency) ? 100n : 1n;
  if (amountMinor % over !== 0n || amount % step !== 0n) {
    const exactly = step === 10n ? 'two decimals' : 'whole units';
    return `Stripe pays ${currency} in ${exactly} only, and nothing is rounded.`;
  }
  return amount > BigInt(Number.MAX_SAFE_INTEGER) ? 'The amount is larger than Stripe takes.' : Number(amount);
}

/** An amount as Stripe's API tells it, in minor units; null where that is no whole number of them. */
export function fromStripe(amount: unknown, currency: string): bigint | null {
  const decimals = decimalsAtStripe(currency);
  if (decimals === null || typeof amount !== 'number' || !Number.isSafeInteger(amount)) return null;
  const scale = scaleOf(currency) ?? decimals;
  const over = 10n ** BigInt(Math.max(0, decimals - scale));
  const minor = BigInt(amount) * 10n ** BigInt(Math.max(0, scale - decimals));
  return minor % over === 0n ? minor / over : null;
}
