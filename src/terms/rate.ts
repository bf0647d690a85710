/** Rates are whole ten-thousandths of a basis point, so that "12.5" or "0.0001" basis points are exact. This is 100 %. */
export const rateOne = 100_000_000n;

const basisPoints = /^(0|[1-9][0-9]*)(?:\.([0-9]{1,4}))?$/;

/** Reads basis points written as a decimal number with at most four decimals; null for anything else, a minus too. */
export function parseBasisPoints(text: string): bigint | null {
  const match = basisPoints.exec(text);
  const [, whole = '', fraction = ''] = match ?? [];
  // Anything longer is beyond 100 % many times over, and its exact size tells nothing.
  if (match === null || whole.length > 9) return null;
  return BigInt(whole + fraction.padEnd(4, '0'));
}

/** "12.5" for 125000n. */
export function basisPointsText(rate: bigint): string {
  const digits = rate.toString().padStart(5, '0');
  const fraction = digits.slice(-4).replace(/0+$/, '');
  return `${digits.slice(0, -4)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** numerator / denominator to the nearest whole number, a tie to the even one; the denominator is positive. */
export function halfEven(numerator: bigint, denominator: bigint): bigint {
  let quotient = numerator / denominator;
  let rest = numerator % denominator;
  if (rest < 0n) {
    quotient -= 1n;
    rest += denominator;
  }
  const twice = rest * 2n;
  return twice > denominator || (twice === denominator && quotient % 2n !== 0n) ? quotient + 1n : quotient;
}

/** The share of an amount at a rate, in minor units, half-even. */
export function shareOf(amountMinor: bigint, rate: bigint): bigint {
  return halfEven(amountMinor * rate, rateOne);
}
