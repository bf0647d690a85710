import { minorMax, scaleOf } from '../kernel/money.js';
import { shown } from '../kernel/printable.js';
import { StatementRefusal } from './refusal.js';

/** How a format writes amounts in major units. Exactly this is read and nothing else. */
export interface DecimalStyle {
  readonly point: '.' | ',';
  /** What stands between thousands, each group of three whole; a format without grouping has none. */
  readonly groups: readonly string[];
  /** Where the sign stands: in front, behind, as parentheses around, or as DR or CR behind. */
  readonly negative: readonly NegativeMark[];
  /** What may stand in front of the digits, behind the sign: "$". */
  readonly symbols: readonly string[];
}

export const negativeMarks = ['leading', 'trailing', 'parentheses', 'DR'] as const;
export type NegativeMark = (typeof negativeMarks)[number];

/** "-12.50": most formats. */
export const plainStyle: DecimalStyle = { point: '.', groups: [], negative: ['leading'], symbols: [] };

export type AmountFault = 'BAD_AMOUNT' | 'TOO_MANY_DECIMALS' | 'AMOUNT_OUT_OF_RANGE';

/**
 * Minor units of an amount in major units, exactly: string to bigint, never rounded. Decimals beyond those of the currency
 * must be zeros.
 */
export function readDecimal(text: string, style: DecimalStyle, scale: number): bigint | AmountFault {
  if (text === '0.00' && style.point === '.') return 0n;
  const unsigned = withoutSign(text, style);
  if (unsigned === null) return 'BAD_AMOUNT';
  const symbol = style.symbols.find((one) => unsigned.digits.startsWith(one)) ?? '';
  const digits = unsigned.digits.slice(symbol.length);
  const point = digits.indexOf(style.point);
  const [whole, fraction] = point < 0 ? [digits, null] : [digits.slice(0, point), digits.slice(point + 1)];
  const plain = withoutGroups(whole, style.groups);
  if (plain === null || (fraction !== null && !/^[0-9]+$/.test(fraction))) return 'BAD_AMOUNT';
  const decimals = fraction ?? '';
  if (/[1-9]/.test(decimals.slice(scale))) return 'TOO_MANY_DECIMALS';
  if (plain.length > 19) return 'AMOUNT_OUT_OF_RANGE';
  const magnitude = BigInt(plain + decimals.slice(0, scale).padEnd(scale, '0'));
  if (magnitude > minorMax) return 'AMOUNT_OUT_OF_RANGE';
  return unsigned.isNegative ? -magnitude : magnitude;
}

function withoutSign(text: string, style: DecimalStyle): { digits: string; isNegative: boolean } | null {
  const has = (mark: NegativeMark): boolean => style.negative.includes(mark);
  if (has('leading') && /^[-\u2212]/.test(text)) return { digits: text.slice(1), isNegative: true };
  if (has('trailing') && /[-\u2212]$/.test(text)) return { digits: text.slice(0, -1), isNegative: true };
  if (has('parentheses') && text.startsWith('(')) {
    return text.endsWith(')') ? { digits: text.slice(1, -1), isNegative: true } : null;
  }
  const word = has('DR') ? / ?(DR|CR)$/.exec(text) : null;
  if (word !== null) return { digits: text.slice(0, word.index), isNegative: word[1] === 'DR' };
  return { digits: text, isNegative: false };
}

function withoutGroups(whole: string, groups: readonly string[]): string | null {
  const separator = groups.find((one) => whole.includes(one));
  if (separator === undefined) return /^(0|[1-9][0-9]*)$/.test(whole) ? whole : null;
  const [first = '', ...others] = whole.split(separator);
  const isWhole = /^[1-9][0-9]{0,2}$/.test(first) && others.every((group) => /^[0-9]{3}$/.test(group));
  return isWhole ? first + others.join('') : null;
}

/** Decimals of a currency in capitals. Throws UNKNOWN_CURRENCY. */
export function scaleOrRefuse(currency: string, line: number, column: number | null): number {
  const scale = scaleOf(currency);
  if (scale === undefined) {
    throw new StatementRefusal('UNKNOWN_CURRENCY', `${shown(currency)} is not a currency.`, line, column);
  }
  return scale;
}

/** What is wrong with an amount, in words. */
export function amountWords(fault: AmountFault, value: string): string {
  if (fault === 'BAD_AMOUNT') return `${shown(value)} is not an amount as this format writes it.`;
  if (fault === 'TOO_MANY_DECIMALS') return `${shown(value)} has more decimals than its currency.`;
  return `${shown(value)} is out of range.`;
}
