import type { Session } from '../db/session.js';
import { exactSum, oneOfIds, placeholders, sumIn, toBigInt, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { magnitude } from '../kernel/money.js';
import { shown } from '../kernel/printable.js';
import type { OrderState, OrderType } from '../kernel/states.js';
import type { RowFault } from './importProblems.js';
import { parts } from './importQueries.js';
import { ordersIn } from './orderTable.js';
import type { OrderRow } from './orderRow.js';

/**
 * An order that takes back what another one did, wholly or in part: one of the same type, or the REFUND of a PAYMENT.
 * The amount is spelt as that of its original.
 */
export type Reversal = Omit<OrderRow, 'occurredAt' | 'reversalOf'> & { reversalOf: string };

/** An order that is to be reversed, and how much of it, as an amount without a sign, has been. */
export interface Reversible extends Omit<Reversal, 'orderNo' | 'reversalOf'> {
  state: OrderState;
  isReversal: boolean;
  reversedMinor: bigint;
}

/** The amount of a reversal as it is stored: a refund lowers by itself, the same type takes back by the other sign. */
export function storedAmount({ type, amountMinor }: Reversal, original: Pick<Reversible, 'type'>): bigint {
  return type === original.type ? -amountMinor : amountMinor;
}

/**
 * Why this reversal cannot be booked beside those that `original` has already; null when it can. The original is settled,
 * or due on the same day or an earlier one, so that it is settled first or together with what takes it back.
 */
export function reversalFault(reversal: Reversal, original: Reversible | undefined): RowFault | null {
  const named = `reversal_of ${shown(reversal.reversalOf)}`;
  if (original === undefined) return { code: 'REVERSAL_UNKNOWN', message: `${named} is no order that is known.` };
  if (original.isReversal) return { code: 'REVERSAL_UNKNOWN', message: `${named} is itself a reversal.` };
  const refunds = reversal.type === 'REFUND' && original.type === 'PAYMENT';
  const columns = [
    ['account_no', original.accountNo === reversal.accountNo],
    ['type', original.type === reversal.type || refunds],
    ['currency', original.currency === reversal.currency],
    ['channel', original.channel === reversal.channel],
    ['sign of the amount', original.amountMinor < 0n === reversal.amountMinor < 0n],
  ] as const;
  const differing = columns.filter(([, isSame]) => !isSame).map(([column]) => column);
  if (differing.length > 0) {
    return { code: 'REVERSAL_DIFFERS', message: `${named} is an order of another ${differing.join(', ')}.` };
  }
  if (original.state === 'FAILED' || original.state === 'CANCELED') {
    return { code: 'REVERSAL_NOT_SETTLED', message: `${named} is ${original.state}: there is nothing to reverse.` };
  }
  if (original.batchDay > reversal.batchDay) {
    return { code: 'REVERSAL_NOT_SETTLED', message: `${named} is of a later day, ${original.batchDay}.` };
  }
  const left = magnitude(original.amountMinor) - original.reversedMinor;
  if (magnitude(reversal.amountMinor) > left) {
    const rest = left <= 0n ? 'nothing' : `${String(left)} minor units`;
    return { code: 'REVERSAL_TOO_LARGE', message: `${named} has ${rest} left to reverse.` };
  }
  return null;
}

/**
 * The orders of these numbers, as what a reversal may name. `hold` keeps others from reversing them too until the
 * transaction ends.
 */
export async function reversibles(
  session: Session,
  orderNos: readonly string[],
  hold: boolean,
): Promise<Map<string, Reversible>> {
  const orders = ordersIn(session);
  const found = new Map<string, Reversible>();
  for (const part of parts([...orderNos].sort())) {
    const originals = await session.tuples(
      `select ${columns}, reversal_of, state from ${orders.from()}
        where order_no in (${placeholders(part)}) order by order_no
        ${hold && session.dialect === 'mysql' ? 'for update' : ''}`,
      part,
    );
    const sums = await session.rows(
      `select reversal_of, ${exactSum(session.dialect, 'abs(amount_minor)', 'reversed')} from ${orders.from()}
        where ${orders.reversalKey} in (${placeholders(part)}) and state not in ('FAILED', 'CANCELED')
        group by ${orders.exactly('reversal_of', 'reversalOf')}`,
      part,
    );
    const reversed = new Map(sums.map((row) => [toText(row['reversal_of']), sumIn(row, 'reversed')]));
    for (const row of originals) {
      const { orderNo, ...original } = orderIn(row, orders.dayOf);
      found.set(orderNo, {
        ...original,
        isReversal: toTextOrNull(row[7]) !== null,
        state: toText(row[8]) as OrderState,
        reversedMinor: reversed.get(orderNo) ?? 0n,
      });
    }
  }
  return found;
}

const columns = 'order_no, account_no, batch_day, type, amount_minor, currency, channel';

function orderIn(row: readonly unknown[], dayOf: (value: unknown) => BatchDay): Omit<Reversal, 'reversalOf'> {
  const [orderNo, accountNo, batchDay, type, amountMinor, currency, channel] = row;
  return {
    orderNo: toText(orderNo),
    accountNo: toText(accountNo),
    batchDay: dayOf(batchDay),
    type: toText(type) as OrderType,
    amountMinor: toBigInt(amountMinor),
    currency: toText(currency),
    channel: toText(channel),
  };
}

const idsMax = 10_000;

/**
 * Reversals among these orders that cannot be booked, though they are in the table: written by others, past the door.
 * By account, with the sentence that says why.
 */
export async function refusedReversals(session: Session, orderIds: readonly bigint[]): Promise<Map<string, string>> {
  const refused = new Map<string, string>();
  for (let at = 0; at < orderIds.length; at += idsMax) {
    const reversals = await reversalsAmong(session, orderIds.slice(at, at + idsMax));
    const originals = await reversibles(session, [...new Set(reversals.map(({ reversalOf }) => reversalOf))], false);
    for (const reversal of reversals) {
      const original = originals.get(reversal.reversalOf);
      const fault = original === undefined ? reversalFault(reversal, original) : faultOfStored(reversal, original);
      if (fault !== null) refused.set(reversal.accountNo, `Order ${shown(reversal.orderNo)}: ${fault.message}`);
    }
  }
  return refused;
}

/**
 * The same of one that is in the table already: with its stored sign, and in the sum of the original's reversals. Earlier
 * days have had their turn by now, so what is still INIT there was set aside, and is not taken back before it is given.
 */
function faultOfStored(stored: Reversal, original: Reversible): RowFault | null {
  if (original.state === 'INIT' && original.batchDay < stored.batchDay) {
    const message = `reversal_of ${shown(stored.reversalOf)} is INIT: it was left on ${original.batchDay}.`;
    return { code: 'REVERSAL_NOT_SETTLED', message };
  }
  const reversal = { ...stored, amountMinor: storedAmount(stored, original) };
  return reversalFault(reversal, {
    ...original,
    reversedMinor: original.reversedMinor - magnitude(stored.amountMinor),
  });
}

async function reversalsAmong(session: Session, orderIds: readonly bigint[]): Promise<Reversal[]> {
  const orders = ordersIn(session);
  const ids = oneOfIds(session.dialect, 'id', orderIds);
  const rows = await session.tuples(
    `select ${columns}, reversal_of from ${orders.from()} where ${ids.sql} and reversal_of is not null`,
    ids.bindings,
  );
  return rows.map((row) => ({ ...orderIn(row, orders.dayOf), reversalOf: toText(row[7]) }));
}
