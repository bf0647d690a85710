import { minorMax, scaleOf } from '../../kernel/money.js';
import { refusal, shown, type Place } from './place.js';

/** Of every currency's amount at once: an amount with up to 17 decimals, as a whole number. */
export const fixedScale = 17;

interface Decimal {
  /** Without leading zeros; may be empty. */
  readonly whole: string;
  /** Without trailing zeros; may be empty. */
  readonly fraction: string;
}

function decimalOf(text: string, point: '.' | ',', field: string, place: Place): Decimal {
  const match = (point === '.' ? /^\+?(\d*)(?:\.(\d*))?$/ : /^(\d+),(\d*)$/).exec(text);
  const [, whole = '', fraction = ''] = match ?? [];
  if (match === null || text.length > 60 || whole + fraction === '') {
    throw refusal('BAD_AMOUNT', `${field} is ${shown(text)}, which is no amount without a sign.`, place);
  }
  return { whole: whole.replace(/^0+/, ''), fraction: fraction.replace(/0+$/, '') };
}

/**
 * An amount in major units, unsigned, with a decimal point (XML) or comma (SWIFT), in minor units of its currency. Zeros
 * before and behind mean nothing; decimals that the currency does not have are refused, never rounded.
 */
export function minorOf(text: string, point: '.' | ',', currency: string, field: string, place: Place): bigint {
  const { whole, fraction } = decimalOf(text, point, field, place);
  const scale = scaleOfKnown(currency, field, place);
  if (fraction.length > scale) {
    throw refusal(
      'TOO_MANY_DECIMALS',
      `${field} is ${shown(text)}; ${currency} has ${String(scale)} decimals, and amounts are not rounded.`,
      place,
    );
  }
  if (whole.length + fraction.length > 18) throw tooLarge(text, field, place);
  return inRange(BigInt(whole + fraction.padEnd(scale, '0') || '0'), text, field, place);
}

/** A sum that names no currency, in units of 10^-17. */
export function fixedOf(text: string, field: string, place: Place): bigint {
  const negative = text.startsWith('-');
  const { whole, fraction } = decimalOf(negative ? text.slice(1) : text, '.', field, place);
  if (fraction.length > fixedScale) throw refusal('TOO_MANY_DECIMALS', `${field} is ${shown(text)}.`, place);
  const magnitude = BigInt(whole + fraction.padEnd(fixedScale, '0') || '0');
  return negative ? -magnitude : magnitude;
}

/** The same unit for an amount in minor units. */
export function fixedOfMinor(minor: bigint, currency: string): bigint {
  return minor * 10n ** BigInt(fixedScale - (scaleOf(currency) ?? 0));
}

/** Digits that are minor units already. */
export function minorOfDigits(text: string, field: string, place: Place): bigint {
  if (!/^\d{1,30}$/.test(text)) {
    throw refusal('BAD_AMOUNT', `${field} is ${shown(text)}, which is no amount in minor units.`, place);
  }
  return inRange(BigInt(text), text, field, place);
}

export function scaleOfKnown(currency: string, field: string, place: Place): number {
  const scale = scaleOf(currency);
  if (scale === undefined) {
    throw refusal('UNKNOWN_CURRENCY', `${field} is in ${shown(currency)}, which is no currency of ISO 4217.`, place);
  }
  return scale;
}

function inRange(minor: bigint, text: string, field: string, place: Place): bigint {
  if (minor > minorMax) throw tooLarge(text, field, place);
  return minor;
}

function tooLarge(text: string, field: string, place: Place): Error {
  return refusal('AMOUNT_OUT_OF_RANGE', `${field} is ${shown(text)}, which is more than can be stored.`, place);
}
