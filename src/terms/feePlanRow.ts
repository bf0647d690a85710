import { isBatchDay, type BatchDay } from '../kernel/batchDay.js';
import { parseMajor, scaleOf } from '../kernel/money.js';
import { shown } from '../kernel/printable.js';
import type { RowFault, RowFaultCode } from '../orders/importProblems.js';
import { amountFault, idFault } from '../orders/orderRow.js';
import { chargedTypes, tierModes, type ChargedType, type FeeTier, type TierMode } from './feePlan.js';
import { parseBasisPoints, rateOne } from './rate.js';

/** The columns of a file of fee plans, in the order in which `readFeePlanRow` takes their values. */
export const feePlanColumns = {
  required: ['fee_plan', 'valid_from', 'type', 'basis_points'],
  optional: ['channel', 'currency', 'from_amount', 'fixed', 'minimum', 'maximum', 'tiers', 'cap_at_order'],
} as const;

/** A tier of a rule as a file tells it; what an optional column leaves open is null, or the amount 0. */
export interface FeePlanRow extends FeeTier {
  feePlan: string;
  validFrom: BatchDay;
  type: ChargedType;
  channel: string | null;
  currency: string | null;
  mode: TierMode;
  capAtOrder: boolean;
}

/** Reads one row. The checks have a fixed order and the first that fails is the row's fault. */
export function readFeePlanRow(values: readonly (string | null)[]): FeePlanRow | RowFault {
  const [feePlan = '', validFrom = '', type = '', basisPoints = '', ...optional] = values.map((value) => value ?? '');
  const [channel = '', currency = '', fromAmount = '', fixed = '', minimum = '', maximum = '', ...how] = optional;
  const badPlan = idFault('BAD_FEE_PLAN', 'fee_plan', feePlan);
  if (badPlan !== null) return badPlan;
  if (!isBatchDay(validFrom)) return dayFault(validFrom);
  if (!isOneOf(chargedTypes, type)) {
    return fault('BAD_TYPE', `type ${shown(type)} is none of ${chargedTypes.join(', ')}, which alone are charged.`);
  }
  const rate = readRate('basis_points', basisPoints);
  if (typeof rate !== 'bigint') return rate;
  const badChannel = channel === '' ? null : idFault('BAD_CHANNEL', 'channel', channel);
  if (badChannel !== null) return badChannel;
  const amounts = readAmounts(currency, { from_amount: fromAmount, fixed, minimum, maximum });
  if ('code' in amounts) return amounts;
  const [mode = '', cap = ''] = how;
  if (mode !== '' && !isOneOf(tierModes, mode)) {
    return fault('BAD_TIERS', `tiers ${shown(mode)} is none of ${tierModes.join(', ')}; left empty it is SLAB.`);
  }
  const capAtOrder = readYesNo('cap_at_order', cap);
  if (typeof capAtOrder !== 'boolean') return capAtOrder;
  return {
    feePlan,
    validFrom,
    type,
    channel: channel === '' ? null : channel,
    currency: currency === '' ? null : currency,
    mode: mode === '' ? 'SLAB' : mode,
    capAtOrder,
    rate,
    fromMinor: amounts.from_amount ?? 0n,
    fixedMinor: amounts.fixed ?? 0n,
    minimumMinor: amounts.minimum ?? 0n,
    maximumMinor: amounts.maximum,
  };
}

type AmountColumn = 'from_amount' | 'fixed' | 'minimum' | 'maximum';

/** The amounts of a row in the minor units of its currency; null where the row says nothing. */
function readAmounts(
  currency: string,
  texts: Record<AmountColumn, string>,
): Record<AmountColumn, bigint | null> | RowFault {
  const scale = currency === '' ? undefined : scaleOf(currency);
  if (currency !== '' && scale === undefined) {
    return fault('UNKNOWN_CURRENCY', `currency ${shown(currency)} is not a code of ISO 4217, in capitals.`);
  }
  const amounts: Record<AmountColumn, bigint | null> = { from_amount: null, fixed: null, minimum: null, maximum: null };
  for (const column of Object.keys(amounts) as AmountColumn[]) {
    const text = texts[column];
    if (text === '') continue;
    if (scale === undefined) {
      return fault(
        'AMOUNT_NEEDS_CURRENCY',
        `${column} ${shown(text)} is an amount in no currency; name one in currency.`,
      );
    }
    const minor = parseMajor(text, scale);
    if (typeof minor === 'string') return amountFault(minor, column, text, currency, scale);
    if (minor < 0n) return fault('NEGATIVE_AMOUNT', `${column} ${shown(text)} is negative.`);
    amounts[column] = minor;
  }
  const { minimum, maximum } = amounts;
  if (maximum === null || maximum >= (minimum ?? 0n)) return amounts;
  return fault('MAXIMUM_BELOW_MINIMUM', `maximum ${texts.maximum} is below minimum ${texts.minimum}.`);
}

/** A rate in basis points, at most 100 %, or the fault of its column. */
export function readRate(column: string, text: string): bigint | RowFault {
  const rate = parseBasisPoints(text);
  if (rate === null) {
    const what = 'is no number of basis points: digits, and at most four decimals after a point';
    return fault('BAD_BASIS_POINTS', `${column} ${text === '' ? '""' : shown(text)} ${what}.`);
  }
  if (rate > rateOne) return fault('OVER_100_PERCENT', `${column} ${shown(text)} is over 10000, which is 100 %.`);
  return rate;
}

/** YES, NO, or nothing, which is NO. */
export function readYesNo(column: string, text: string): boolean | RowFault {
  if (text === 'YES') return true;
  if (text === 'NO' || text === '') return false;
  return fault('BAD_YES_NO', `${column} ${shown(text)} is neither YES nor NO.`);
}

export function dayFault(validFrom: string): RowFault {
  const what = 'is not a day of the calendar, written YYYY-MM-DD';
  return fault('BAD_VALID_FROM', `valid_from ${validFrom === '' ? '""' : shown(validFrom)} ${what}.`);
}

function isOneOf<T extends string>(words: readonly T[], text: string): text is T {
  return (words as readonly string[]).includes(text);
}

function fault(code: RowFaultCode, message: string): RowFault {
  return { code, message };
}
