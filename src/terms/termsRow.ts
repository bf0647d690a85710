import { isBatchDay } from '../kernel/batchDay.js';
import { parseMajor, scaleOf } from '../kernel/money.js';
import { shown } from '../kernel/printable.js';
import type { RowFault, RowFaultCode } from '../orders/importProblems.js';
import { amountFault, idFault } from '../orders/orderRow.js';
import type { AccountTerms } from './accountTerms.js';
import { dayFault, readRate, readYesNo } from './feePlanRow.js';

/** The columns of a file of terms, in the order in which `readTermsRow` takes their values. */
export const termsColumns = {
  required: ['account_no', 'valid_from'],
  optional: ['fee_plan', 'reserve_basis_points', 'reserve_days', 'minimum_payout', 'payout_hold', 'payout_delay_days'],
} as const;

/** Ten years: more is a slip of the pen. */
const daysMax = 3_660;

/** Reads one row. The checks have a fixed order and the first that fails is the row's fault. */
export function readTermsRow(values: readonly (string | null)[]): AccountTerms | RowFault {
  const [accountNo = '', validFrom = '', feePlan = '', ...reserve] = values.map((value) => value ?? '');
  const [basisPoints = '', reserveDaysText = '', minimumText = '', holdText = '', delayText = ''] = reserve;
  const badAccountNo = idFault('BAD_ACCOUNT_NO', 'account_no', accountNo);
  if (badAccountNo !== null) return badAccountNo;
  if (!isBatchDay(validFrom)) return dayFault(validFrom);
  const badPlan = feePlan === '' ? null : idFault('BAD_FEE_PLAN', 'fee_plan', feePlan);
  if (badPlan !== null) return badPlan;
  const reserveRate = basisPoints === '' ? 0n : readRate('reserve_basis_points', basisPoints);
  if (typeof reserveRate !== 'bigint') return reserveRate;
  const reserveDays = readDays('reserve_days', reserveDaysText);
  if (typeof reserveDays !== 'number') return reserveDays;
  if ((reserveRate === 0n) !== (reserveDays === 0)) {
    return fault('BAD_RESERVE', 'A reserve has both reserve_basis_points and reserve_days, each above 0, or neither.');
  }
  const minimumPayout = readMinimumPayout(minimumText);
  if ('code' in minimumPayout) return minimumPayout;
  const payoutHold = readYesNo('payout_hold', holdText);
  if (typeof payoutHold !== 'boolean') return payoutHold;
  const payoutDelayDays = readDays('payout_delay_days', delayText);
  if (typeof payoutDelayDays !== 'number') return payoutDelayDays;
  return {
    accountNo,
    validFrom,
    feePlan: feePlan === '' ? null : feePlan,
    reserveRate,
    reserveDays,
    minimumPayout,
    payoutHold,
    payoutDelayDays,
  };
}

function readDays(column: string, text: string): number | RowFault {
  if (text === '') return 0;
  const days = /^(0|[1-9][0-9]{0,3})$/.test(text) ? Number(text) : daysMax + 1;
  if (days <= daysMax) return days;
  return fault('BAD_DAYS', `${column} ${shown(text)} is no whole number of days from 0 to ${String(daysMax)}.`);
}

/** "EUR 20.00; USD 25.00": the smallest payout in each currency that has one. */
function readMinimumPayout(text: string): Map<string, bigint> | RowFault {
  const found = new Map<string, bigint>();
  for (const part of text === '' ? [] : text.split(/; ?/)) {
    const [, currency = '', amount = ''] = /^([A-Z]{3}) (.+)$/.exec(part) ?? [];
    const scale = scaleOf(currency);
    if (scale === undefined || found.has(currency)) {
      const what = 'is not a list such as "EUR 20.00; USD 25.00", with each currency once';
      return fault('BAD_MINIMUM_PAYOUT', `minimum_payout ${shown(text)} ${what}.`);
    }
    const minor = parseMajor(amount, scale);
    if (typeof minor === 'string') return amountFault(minor, 'minimum_payout', amount, currency, scale);
    if (minor < 0n) return fault('NEGATIVE_AMOUNT', `minimum_payout ${shown(part)} is negative.`);
    found.set(currency, minor);
  }
  return found;
}

function fault(code: RowFaultCode, message: string): RowFault {
  return { code, message };
}
