import { formatMinor, magnitude } from '../../kernel/money.js';
import { shown } from '../../kernel/printable.js';
import type { StatementRefusal } from '../refusal.js';
import type { Row } from './table.js';

export const adyenColumns = {
  merchant: 'Merchant Account',
  psp: 'Psp Reference',
  ours: 'Merchant Reference',
  created: 'Creation Date',
  zone: 'TimeZone',
  type: 'Type',
  modification: 'Modification Reference',
  grossCurrency: 'Gross Currency',
  grossDebit: 'Gross Debit (GC)',
  grossCredit: 'Gross Credit (GC)',
  rate: 'Exchange Rate',
  netCurrency: 'Net Currency',
  netDebit: 'Net Debit (NC)',
  netCredit: 'Net Credit (NC)',
  batch: 'Batch Number',
} as const;

const name = adyenColumns;

const feeColumns = ['Commission (NC)', 'Markup (NC)', 'Scheme Fees (NC)', 'Interchange (NC)'];
const feeSum = 'Payment Fees (NC)';

export interface AdyenAmounts {
  /** Signed, in the currency of the net amount. */
  readonly gross: bigint;
  /** Positive is a cost. */
  readonly fee: bigint;
  readonly net: bigint;
  readonly fault: { readonly code: string; readonly message: string; readonly column: string } | null;
}

/**
 * Amounts of a row: net = gross x rate - fees. The net columns say which way money goes; public samples disagree on which
 * gross column a settled row fills. Null for a row that moves nothing here.
 */
export function grossInNet(row: Row, currency: string, scale: number): AdyenAmounts | null {
  const [debit, credit] = [row.amount(name.netDebit, scale), row.amount(name.netCredit, scale)];
  if (debit === null && credit === null) return null;
  if ((debit ?? 0n) !== 0n && (credit ?? 0n) !== 0n) throw bothSides(row, name.netDebit);
  const net = (credit ?? 0n) - (debit ?? 0n);
  const fees = feesOf(row, scale);
  const stated = grossOf(row);
  if (stated === null) return { gross: net + fees.sum, fee: fees.sum, net, fault: faultOf(fees, currency) };
  if (stated.currency !== currency) return converted(row, currency, net, fees, stated);
  const gross = [stated.minor, -stated.minor].find((one) => one - fees.sum === net);
  if (gross !== undefined) return { gross, fee: fees.sum, net, fault: faultOf(fees, currency) };
  const [is, should] = [formatMinor(net, currency), formatMinor(stated.minor - fees.sum, currency)];
  const fault = {
    code: 'NET_DIFFERS',
    message: `The net amount is ${is}, gross - fees is ${should}.`,
    column: name.netCurrency,
  };
  return { gross: net < 0n ? -magnitude(stated.minor) : magnitude(stated.minor), fee: fees.sum, net, fault };
}

interface Fees {
  readonly sum: bigint;
  /** What the column of the sum says, if it says another thing. */
  readonly other: bigint | null;
}

function feesOf(row: Row, scale: number): Fees {
  const parts = feeColumns.map((column) => row.amount(column, scale)).filter((part) => part !== null);
  const stated = row.amount(feeSum, scale);
  if (parts.length === 0) return { sum: stated ?? 0n, other: null };
  const sum = parts.reduce((total, part) => total + part, 0n);
  return { sum, other: stated === null || stated === sum ? null : stated };
}

function faultOf({ sum, other }: Fees, currency: string): AdyenAmounts['fault'] {
  if (other === null) return null;
  const message = `The fees are ${formatMinor(other, currency)}, their parts add up to ${formatMinor(sum, currency)}.`;
  return { code: 'FEE_DIFFERS', message, column: feeSum };
}

interface Gross {
  readonly currency: string;
  /** Positive is a credit. */
  readonly minor: bigint;
  readonly scale: number;
}

function grossOf(row: Row): Gross | null {
  if (row.text(name.grossDebit) === '' && row.text(name.grossCredit) === '') return null;
  const { code, scale } = row.currency(name.grossCurrency);
  const [debit, credit] = [row.amount(name.grossDebit, scale) ?? 0n, row.amount(name.grossCredit, scale) ?? 0n];
  if (debit !== 0n && credit !== 0n) throw bothSides(row, name.grossDebit);
  return { currency: code, minor: credit - debit, scale };
}

/** The gross amount in the currency of settlement is what the net amount and the fees say; the rate must lead there. */
function converted(row: Row, currency: string, net: bigint, fees: Fees, stated: Gross): AdyenAmounts {
  const gross = net + fees.sum;
  const amounts = { gross, fee: fees.sum, net };
  const [, whole = '', decimals = ''] = /^([0-9]{1,12})(?:\.([0-9]{1,15}))?$/.exec(row.text(name.rate)) ?? [];
  if (whole === '') throw row.refusal('BAD_AMOUNT', name.rate, `${shown(row.text(name.rate))} is no rate.`);
  const netScale = row.currency(name.netCurrency).scale;
  // gross x rate, both sides times 10^(decimals of the rate and of the gross currency), so that nothing is rounded.
  const shift = 10n ** BigInt(decimals.length + stated.scale);
  const exact = magnitude(stated.minor) * BigInt(whole + decimals) * 10n ** BigInt(netScale);
  if (magnitude(magnitude(gross) * shift - exact) <= shift) return { ...amounts, fault: faultOf(fees, currency) };
  const message = `Net and fees make ${formatMinor(gross, currency)} ${currency} of the gross amount, the rate does not.`;
  return { ...amounts, fault: { code: 'NET_DIFFERS', message, column: name.rate } };
}

function bothSides(row: Row, column: string): StatementRefusal {
  return row.refusal('BAD_DIRECTION', column, 'The row has a debit and a credit.');
}
