import * as iso4217 from 'dinero.js/currencies';

/** Symmetric on purpose: the magnitude of every stored amount must fit too, since ledger entries are positive. */
export const minorMax = 2n ** 63n - 1n;

/**
 * A unit of account of the Arab Monetary Fund, which nobody holds. The library leaves out the other codes of ISO 4217
 * that name no money: test codes, metals, other units of account, "no currency".
 */
const notSettleable = 'XAD';

const scales: ReadonlyMap<string, number> = new Map(
  Object.values(iso4217)
    .filter((currency) => currency.code !== notSettleable)
    // The ouguiya and the ariary divide by five in daily life; ISO 4217, and so every channel, gives them two decimals.
    .map((currency) => [currency.code, currency.base === 10 ? currency.exponent : 2]),
);

/** Number of decimals of a currency by ISO 4217 (JPY 0, USD 2, KWD 3); undefined for what is not a currency code. */
export function scaleOf(currency: string): number | undefined {
  return scales.get(currency);
}

/** The currencies with so many decimals, sorted. */
export function currenciesOfScale(scale: number): string[] {
  return [...scales].flatMap(([currency, own]) => (own === scale ? [currency] : [])).sort();
}

/** Every number of decimals that some currency has. */
export const currencyScales: readonly number[] = [...new Set(scales.values())].sort();

export type AmountProblem = 'BAD_AMOUNT' | 'TOO_MANY_DECIMALS' | 'AMOUNT_OUT_OF_RANGE';

const majorUnits = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?$/;

/**
 * Reads an amount in major units ("12.50") into minor units (1250n), exactly: no float, no rounding, no separators,
 * no exponent, at most as many decimals as the currency has.
 */
export function parseMajor(text: string, scale: number): bigint | AmountProblem {
  const match = majorUnits.exec(text);
  if (match === null) return 'BAD_AMOUNT';
  const [, sign, whole = '', fraction = ''] = match;
  if (fraction.length > scale) return 'TOO_MANY_DECIMALS';
  if (whole.length > 19) return 'AMOUNT_OUT_OF_RANGE';
  const magnitude = BigInt(whole + fraction.padEnd(scale, '0'));
  if (magnitude > minorMax) return 'AMOUNT_OUT_OF_RANGE';
  return sign === '-' ? -magnitude : magnitude;
}

/** "-12.50" for -1250n USD, "500" for 500n JPY: every decimal of the currency, no grouping, never "-0". */
export function formatMinor(minor: bigint, currency: string): string {
  const scale = scaleOf(currency) ?? 0;
  const digits = (minor < 0n ? -minor : minor).toString().padStart(scale + 1, '0');
  const point = digits.length - scale;
  const text = scale === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
  return minor < 0n ? `-${text}` : text;
}

/** The same with thousands grouped by commas, for people's eyes only. */
export function formatMinorGrouped(minor: bigint, currency: string): string {
  const [whole = '', fraction] = formatMinor(minor, currency).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** An amount without its sign. */
export function magnitude(amountMinor: bigint): bigint {
  return amountMinor < 0n ? -amountMinor : amountMinor;
}
