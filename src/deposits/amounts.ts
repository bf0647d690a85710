import { minorMax, scaleOf } from '../kernel/money.js';

/** The largest value that an ERC-20 token can move. */
export const amountRawMax = 2n ** 256n - 1n;

/** Reads base units of a token as the chain counts them: whole, from 1 to 2^256 - 1, in plain digits; null for all else. */
export function readAmountRaw(text: string): bigint | null {
  if (!/^[1-9][0-9]{0,77}$/.test(text)) return null;
  const amount = BigInt(text);
  return amount <= amountRawMax ? amount : null;
}

/**
 * Base units of a token as minor units of the currency that it stands for, one to one. Null where the amount has a part
 * below the currency's smallest unit or does not fit: nothing is ever rounded.
 */
export function rawToMinor(amountRaw: bigint, tokenDecimals: number, currency: string): bigint | null {
  const scale = scaleOf(currency);
  if (scale === undefined) return null;
  const minor = exactly(amountRaw, tokenDecimals - scale);
  return minor === null || minor > minorMax ? null : minor;
}

/** `amount` / 10^places, or null where that leaves a remainder. */
function exactly(amount: bigint, places: number): bigint | null {
  if (places <= 0) return amount * 10n ** BigInt(-places);
  const unit = 10n ** BigInt(places);
  return amount % unit === 0n ? amount / unit : null;
}
