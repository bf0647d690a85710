import { isBatchDay } from '../kernel/batchDay.js';
import { idBytesMax, idProblem, type IdProblem } from '../kernel/ids.js';
import { parseInstant } from '../kernel/instant.js';
import { parseMajor, scaleOf, type AmountProblem } from '../kernel/money.js';
import { orderTypes, type OrderType } from '../kernel/states.js';
import { shown } from '../kernel/printable.js';
import type { RowFault, RowFaultCode } from './importProblems.js';

/** The columns of an order file, in the order in which `readOrderRow` takes their values. */
export const orderColumns = {
  required: ['order_no', 'account_no', 'batch_day', 'type', 'amount', 'currency', 'channel', 'occurred_at'],
  optional: ['reversal_of'],
} as const;

/** An order as a file tells it: nothing rounded, nothing guessed. */
export interface OrderRow {
  orderNo: string;
  accountNo: string;
  batchDay: string;
  type: OrderType;
  /** Minor units; negative only for an ADJUSTMENT. See `reversals` for how a reversal is stored. */
  amountMinor: bigint;
  currency: string;
  channel: string;
  /** UTC with six decimals, so that two spellings of one instant are equal. */
  occurredAt: string;
  reversalOf: string | null;
}

/** Reads one row. The checks have a fixed order and the first that fails is the row's fault. */
export function readOrderRow(values: readonly (string | null)[]): OrderRow | RowFault {
  const [orderNo = '', accountNo = '', batchDay = '', type = '', amount = '', currency = '', channel = ''] =
    values as readonly string[];
  const occurredAtText = values[7] ?? '';
  const reversalOf = values[8] === '' || values[8] === undefined ? null : values[8];

  const badOrderNo = idFault('BAD_ORDER_NO', 'order_no', orderNo);
  if (badOrderNo !== null) return badOrderNo;
  const badAccountNo = idFault('BAD_ACCOUNT_NO', 'account_no', accountNo);
  if (badAccountNo !== null) return badAccountNo;
  if (!isBatchDay(batchDay)) {
    return fault('BAD_BATCH_DAY', `batch_day ${shown(batchDay)} is not a day of the calendar, written YYYY-MM-DD.`);
  }
  if (!isOrderType(type)) return fault('BAD_TYPE', `type ${shown(type)} is none of ${orderTypes.join(', ')}.`);
  const scale = scaleOf(currency);
  if (scale === undefined) {
    return fault('UNKNOWN_CURRENCY', `currency ${shown(currency)} is not a code of ISO 4217, in capitals.`);
  }
  const amountMinor = parseMajor(amount, scale);
  if (typeof amountMinor === 'string') return amountFault(amountMinor, 'amount', amount, currency, scale);
  if (amountMinor < 0n && type !== 'ADJUSTMENT') {
    return fault('NEGATIVE_AMOUNT', `amount ${shown(amount)} is negative; only an ADJUSTMENT may be.`);
  }
  const badChannel = idFault('BAD_CHANNEL', 'channel', channel);
  if (badChannel !== null) return badChannel;
  const occurredAt = parseInstant(occurredAtText);
  if (occurredAt === null) {
    return fault(
      'BAD_OCCURRED_AT',
      `occurred_at ${shown(occurredAtText)} is not an instant with an offset, such as 2026-11-29T10:00:00Z.`,
    );
  }
  const row = { orderNo, accountNo, batchDay, type, amountMinor, currency, channel, occurredAt, reversalOf };
  return reversalOf === null ? row : (reversalFault(reversalOf, row, amount) ?? row);
}

/** Names the columns in which two orders of the same number differ; none means that one repeats the other. */
export function differingColumns(a: OrderRow, b: OrderRow): string[] {
  const compared: [string, boolean][] = [
    ['account_no', a.accountNo === b.accountNo],
    ['batch_day', a.batchDay === b.batchDay],
    ['type', a.type === b.type],
    // One that takes back its own type is stored with its sign turned.
    ['amount', a.amountMinor === b.amountMinor || (a.reversalOf !== null && a.amountMinor === -b.amountMinor)],
    ['currency', a.currency === b.currency],
    ['channel', a.channel === b.channel],
    ['occurred_at', a.occurredAt === b.occurredAt],
    ['reversal_of', a.reversalOf === b.reversalOf],
  ];
  return compared.filter(([, isSame]) => !isSame).map(([column]) => column);
}

function isOrderType(text: string): text is OrderType {
  return (orderTypes as readonly string[]).includes(text);
}

const idAdvice: Record<IdProblem, string> = {
  EMPTY: 'is empty',
  TOO_LONG: `is longer than ${String(idBytesMax)} bytes`,
  UNPRINTABLE: 'has control or invisible characters',
  OUTER_SPACE: 'starts or ends with white space',
};

/** The fault of an id that cannot be told from another one on every database, or null. */
export function idFault(code: RowFaultCode, column: string, id: string): RowFault | null {
  const problem = idProblem(id);
  if (problem === null) return null;
  return fault(code, `${column} ${id === '' ? '' : `${shown(id)} `}${idAdvice[problem]}.`);
}

function reversalFault(reversalOf: string, { orderNo, amountMinor }: OrderRow, amount: string): RowFault | null {
  if (reversalOf === orderNo) {
    return fault('BAD_REVERSAL_OF', `reversal_of ${shown(reversalOf)} names the order itself.`);
  }
  const badId = idFault('BAD_REVERSAL_OF', 'reversal_of', reversalOf);
  if (badId !== null) return badId;
  return amountMinor === 0n ? fault('BAD_REVERSAL_OF', `amount ${shown(amount)} reverses nothing.`) : null;
}

/** The fault of an amount that `parseMajor` does not take. */
export function amountFault(
  problem: AmountProblem,
  column: string,
  amount: string,
  currency: string,
  scale: number,
): RowFault {
  const advice: Record<AmountProblem, string> = {
    BAD_AMOUNT: 'is not a plain decimal number (digits, an optional minus, a point; no separators or leading zeros)',
    TOO_MANY_DECIMALS: `has more decimals than the ${String(scale)} of ${currency}`,
    AMOUNT_OUT_OF_RANGE: 'does not fit a signed 64-bit number of minor units',
  };
  return fault(problem, `${column} ${amount === '' ? '""' : shown(amount)} ${advice[problem]}.`);
}

function fault(code: RowFaultCode, message: string): RowFault {
  return { code, message };
}
