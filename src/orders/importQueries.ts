import { fromInstant, placeholders, toBigInt, toInstant, toText, toTextOrNull } from '../db/values.js';
import type { Session, Transaction } from '../db/session.js';
import { SettleError } from '../kernel/errors.js';
import { ownOrders, sourceName } from '../kernel/orderSource.js';
import type { OrderType } from '../kernel/states.js';
import type { OrderRow } from './orderRow.js';

export interface StoredOrder extends OrderRow {
  id: bigint;
}

/** Old SQLite builds take 999 bound values in one statement. */
const bindingsMax = 900;

/** The orders that are stored under these numbers, as files would tell them: of our own table, since nothing is written to another. */
export async function ordersByNo(session: Session, orderNos: readonly string[]): Promise<Map<string, StoredOrder>> {
  requireOwnOrders(session);
  const found = new Map<string, StoredOrder>();
  for (const part of parts(orderNos)) {
    const tuples = await session.tuples(
      `select order_no, account_no, batch_day, type, amount_minor, currency, channel, occurred_at, reversal_of, id
         from ${ownOrders.table}
        where order_no in (${placeholders(part)})`,
      part,
    );
    for (const [orderNo, accountNo, batchDay, type, amount, currency, channel, occurredAt, reversalOf, id] of tuples) {
      found.set(toText(orderNo), {
        orderNo: toText(orderNo),
        accountNo: toText(accountNo),
        batchDay: toText(batchDay),
        type: toText(type) as OrderType,
        amountMinor: toBigInt(amount),
        currency: toText(currency),
        channel: toText(channel),
        occurredAt: toInstant(occurredAt),
        reversalOf: toTextOrNull(reversalOf),
        id: toBigInt(id),
      });
    }
  }
  return found;
}

/** Inserts new orders in the order given, so that ids ascend as in the file. A number that is taken fails the statement. */
export async function insertOrders(trx: Transaction, orders: readonly OrderRow[]): Promise<void> {
  requireOwnOrders(trx);
  await trx.insertMany(
    ownOrders.table,
    [
      'order_no',
      'account_no',
      'batch_day',
      'type',
      'amount_minor',
      'currency',
      'channel',
      'occurred_at',
      'reversal_of',
    ],
    orders.map((order) => [
      order.orderNo,
      order.accountNo,
      order.batchDay,
      order.type,
      order.amountMinor,
      order.currency,
      order.channel,
      fromInstant(trx.dialect, order.occurredAt),
      order.reversalOf,
    ]),
  );
}

/** Throws SOURCE_NOT_OURS where the orders are in a table of others, which only their own programs write. */
export function requireOwnOrders({ source }: Pick<Session, 'source'>): void {
  if (source.own) return;
  throw new SettleError(
    'SOURCE_NOT_OURS',
    `Orders are in ${sourceName(source)}, a table that Settle adds nothing to.`,
    {
      details: { source: sourceName(source) },
      next: 'Let the program that owns the table write the order, or leave "source" out of the settings.',
    },
  );
}

/** `values` in runs short enough for an IN list on every database. */
export function* parts(values: readonly string[]): Generator<string[]> {
  for (let start = 0; start < values.length; start += bindingsMax) yield values.slice(start, start + bindingsMax);
}
