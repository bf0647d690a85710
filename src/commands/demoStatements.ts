import { parseMajor, scaleOf } from '../kernel/money.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { halfEven } from '../terms/rate.js';

// The statements of the demo: what the simulated channel's own book and the day's orders come to, with a known set of
// differences put in, one of each class.

/** What the simulated channel wrote down of one payout. */
export interface BookEntry {
  key: string;
  reference: string;
  outcome: 'PAID' | 'REFUSED';
  amountMinor: string;
  currency: string;
}

type Fields = Readonly<{ [field: string]: string | number | null }>;

/** What the demo's card acquirer takes: 60 basis points. */
export const demoFeeBasisPoints = '60';
const balances = 100_000_000_000n;

/** The bank's statement of its own book, from the batch day to the day on which payouts were made. */
export function* bankStatement(day: BatchDay, paidOn: BatchDay, book: readonly BookEntry[]): Generator<string> {
  const paid = book.filter(({ outcome }) => outcome === 'PAID').map((entry): Fields => payoutLine(day, entry));
  const refused = book.find(({ outcome }) => outcome === 'REFUSED');
  const lines = withDifferences(day, paid, refused);
  yield* statement(day, paidOn, 'DEMO-ACCOUNT', lines, true);
}

function payoutLine(day: BatchDay, { key, reference, amountMinor, currency }: BookEntry): Fields {
  return {
    ...{ record: 'line', kind: 'PAYOUT', direction: 'DEBIT', currency, amount_minor: amountMinor, our_reference: key },
    ...{ channel_reference: reference, line_key: reference, booked_day: day },
  };
}

/** One payout missing, one of another amount, one in another currency, one twice, one unknown, and one that was refused. */
function withDifferences(day: BatchDay, lines: readonly Fields[], refused: BookEntry | undefined): Fields[] {
  const [missing, amount, currency, twice] = lines.slice(lines.length > 40 ? 20 : 1);
  const changed = lines.flatMap((line): Fields[] => {
    if (line === missing) return [];
    if (line === amount) return [{ ...line, amount_minor: plus(line['amount_minor'], 100n) }];
    if (line === currency) return [{ ...line, currency: line['currency'] === 'USD' ? 'EUR' : 'USD' }];
    if (line === twice) return [line, { ...line, line_key: `${String(line['line_key'])}-2` }];
    return [line];
  });
  const stranger = {
    ...payoutLine(day, {
      key: 'NOT-OURS-1',
      reference: 'SIM-X',
      outcome: 'PAID',
      amountMinor: '4200',
      currency: 'USD',
    }),
  };
  return [...changed, stranger, ...(refused === undefined ? [] : [payoutLine(day, { ...refused, outcome: 'PAID' })])];
}

function plus(minor: string | number | null | undefined, more: bigint): string {
  return String(BigInt(String(minor)) + more);
}

/** The acquirer's statement of the day's orders over one channel: rows of the order file. */
export function* orderStatement(
  day: BatchDay,
  next: BatchDay,
  orders: Iterable<string>,
  channel: string,
): Generator<string> {
  const lines: Fields[] = [];
  for (const row of orders) {
    const line = orderLine(row.trimEnd().split(','), channel);
    if (line !== null) lines.push(line);
  }
  yield* statement(day, next, 'DEMO-SHOP', withOrderDifferences(day, next, lines), false);
}

function orderLine(fields: readonly string[], wanted: string): Fields | null {
  const [orderNo = '', , day = '', type = '', amount = '', currency = '', channel, occurredAt = ''] = fields;
  if (channel !== wanted || (type !== 'PAYMENT' && type !== 'REFUND')) return null;
  const minor = parseMajor(amount, scaleOf(currency) ?? 0);
  if (typeof minor !== 'bigint' || minor === 0n) return null;
  return {
    ...{ record: 'line', kind: type, direction: type === 'PAYMENT' ? 'CREDIT' : 'DEBIT', currency },
    ...{ amount_minor: String(minor), fee_minor: type === 'PAYMENT' ? String(feeOf(minor)) : null },
    ...{ our_reference: orderNo, line_key: orderNo, booked_day: day, occurred_at: occurredAt },
  };
}

function feeOf(minor: bigint): bigint {
  return halfEven(minor * BigInt(demoFeeBasisPoints), 10_000n);
}

/** A fee of one unit more, an order missing on either side, and one of the next day that our orders will have then. */
function withOrderDifferences(day: BatchDay, next: BatchDay, lines: readonly Fields[]): Fields[] {
  const payments = lines.filter(({ kind }) => kind === 'PAYMENT');
  const [fee, missing] = payments;
  const changed = lines.flatMap((line): Fields[] => {
    if (line === missing) return [];
    return [line === fee ? { ...line, fee_minor: plus(line['fee_minor'], 1n) } : line];
  });
  const [like] = payments;
  if (like === undefined) return changed;
  const stranger = { ...like, our_reference: 'NOT-OURS-2', line_key: 'NOT-OURS-2', booked_day: day };
  const early = { ...like, our_reference: 'NEXT-DAY-1', line_key: 'NEXT-DAY-1', booked_day: next, occurred_at: null };
  return [...changed, stranger, early];
}

function* statement(
  from: BatchDay,
  to: BatchDay,
  account: string,
  lines: readonly Fields[],
  hasBalances: boolean,
): Generator<string> {
  const text = (record: object): string => `${JSON.stringify(record)}\n`;
  yield text({ record: 'settle.statement', account, from_day: from, to_day: to });
  const sums = new Map<string, bigint>();
  for (const line of lines) {
    const minor = BigInt(String(line['amount_minor']));
    const currency = String(line['currency']);
    sums.set(currency, (sums.get(currency) ?? 0n) + (line['direction'] === 'CREDIT' ? minor : -minor));
  }
  const balance = (kind: string, currency: string, minor: bigint): string =>
    text({ record: 'balance', kind, currency, minor: String(minor) });
  if (hasBalances) for (const currency of sums.keys()) yield balance('OPENING', currency, balances);
  for (const line of lines) yield text(line);
  if (hasBalances) for (const [currency, sum] of sums) yield balance('CLOSING', currency, balances + sum);
  yield text({ record: 'end', lines: lines.length });
}
