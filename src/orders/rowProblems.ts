import { SettleError } from '../kernel/errors.js';
import { idProblem } from '../kernel/ids.js';
import { scaleOf } from '../kernel/money.js';
import { sourceName, type OrderSource } from '../kernel/orderSource.js';
import { shown } from '../kernel/printable.js';
import type { Order } from './order.js';

// What the door of imports asks of an order, asked of a row that came in by another door.

/**
 * The order with what keeps it from being settled, if anything does: its account is set aside then, and the others go on.
 * `found` is what the database found. Throws SOURCE_ROW_REFUSED for an account number that no account can have, since
 * there is nobody to set aside.
 */
export function withProblem(order: Order, found: unknown, source: OrderSource): Order {
  const bad = idProblem(order.accountNo);
  if (bad !== null) {
    const account = order.accountNo === '' ? 'none' : shown(order.accountNo);
    throw new SettleError(
      'SOURCE_ROW_REFUSED',
      `Order ${String(order.id)} of ${sourceName(source)} cannot be settled: its account number is ${account} (${bad}).`,
      {
        details: { orderId: order.id, column: source.columns.accountNo, problem: bad },
        next: 'Mend the row, or leave such rows out with source.where; settle source check counts what else does not fit.',
      },
    );
  }
  const problem = typeof found === 'string' ? found : problemOf(order);
  return problem === null ? order : { ...order, problem };
}

function problemOf({ currency, channel }: Order): string | null {
  if (scaleOf(currency) === undefined) return 'has no currency code of ISO 4217';
  return idProblem(channel) === null ? null : `has a channel that cannot be one (${shown(channel)})`;
}
