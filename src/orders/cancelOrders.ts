import type { Database } from '../db/database.js';
import { audited, requireDecision, type Decision } from '../db/operatorAction.js';
import type { Session } from '../db/session.js';
import { fromInstant, placeholders, toBigInt, toText } from '../db/values.js';
import { SettleError } from '../kernel/errors.js';
import { sourceName } from '../kernel/orderSource.js';
import { shown } from '../kernel/printable.js';
import { move, orderMoves, type OrderState } from '../kernel/states.js';
import { parts } from './importQueries.js';
import { ordersIn } from './orderTable.js';

export interface CancelledOrders {
  cancelled: string[];
  /** Cancelled before; nothing was left to do. */
  already: string[];
}

interface Named {
  id: bigint;
  orderNo: string;
  batchDay: string;
  state: OrderState;
}

/** The cancel code of an order that a person cancelled. */
const cancelCode = 'OPERATOR';

/**
 * Cancels INIT orders by hand, all of them or none, and records who decided so. One that is CANCELED already stays as
 * it is. What a frozen day still counts is listed as withdrawn, which is what explains it to reconciliation.
 * Throws NOT_FOUND for an unknown order and ORDER_NOT_INIT for one that has been claimed: that one is reversed instead.
 */
export async function cancelOrders(
  database: Database,
  orderNos: readonly string[],
  decision: Decision,
): Promise<CancelledOrders> {
  requireDecision(decision);
  requireWord(database);
  return database.transact(
    audited('ORDER_CANCEL', decision, async (trx) => {
      const named = await heldOrders(trx, [...new Set(orderNos)].sort());
      const missing = orderNos.filter((orderNo) => !named.some((order) => order.orderNo === orderNo));
      if (missing.length > 0) throw notFound(missing);
      const claimed = named.filter(({ state }) => state !== 'INIT' && state !== 'CANCELED');
      if (claimed.length > 0) throw notInit(claimed);
      const due = named.filter(({ state }) => state === 'INIT');
      for (const order of due) await cancel(trx, order, decision.at);
      const cancelled = due.map(({ orderNo }) => orderNo);
      const already = named.filter(({ state }) => state === 'CANCELED').map(({ orderNo }) => orderNo);
      return { subject: due.length === 0 ? null : `orders ${cancelled.join(', ')}`, result: { cancelled, already } };
    }),
  );
}

/** A table of others may have no way to say it. */
function requireWord({ source }: Database): void {
  if (source.states.CANCELED.length > 0) return;
  throw new SettleError('SOURCE_NOT_OURS', `The mapping of ${sourceName(source)} has no value for CANCELED.`, {
    details: { source: sourceName(source), setting: 'source.columns.state.values' },
    next: 'Cancel the order in the program that owns the table, or add the value to source.columns.state.values.',
  });
}

/** The orders of these numbers, kept from runs until the transaction ends. */
async function heldOrders(trx: Session, orderNos: readonly string[]): Promise<Named[]> {
  const orders = ordersIn(trx);
  const named: Named[] = [];
  for (const part of parts(orderNos)) {
    const rows = await trx.rows(
      `select id, order_no, batch_day, state from ${orders.from()}
        where order_no in (${placeholders(part)}) order by id ${trx.dialect === 'mysql' ? 'for update' : ''}`,
      part,
    );
    for (const row of rows) {
      const [orderNo, state] = [toText(row['order_no']), toText(row['state']) as OrderState];
      // A table of others may find "abc" for "ABC".
      if (!part.includes(orderNo)) continue;
      named.push({ id: toBigInt(row['id']), orderNo, batchDay: orders.dayOf(row['batch_day']), state });
    }
  }
  return named;
}

async function cancel(trx: Session, { id, orderNo, batchDay, state }: Named, at: string): Promise<void> {
  const to = move(orderMoves, state, 'cancel');
  const moment = fromInstant(trx.dialect, at);
  const orders = ordersIn(trx);
  const also = orders.also({ cancelCode, finishedAt: orders.moment(at) });
  await trx.change(
    `update ${orders.target} set ${orders.to(to)}${also.sql} where ${orders.id} = ? and ${orders.is('INIT')}`,
    [...also.bindings, id],
  );
  const [run] = await trx.rows(
    `select max(r.id) as id from run r join batch b on b.batch_day = r.batch_day
      where r.batch_day = ? and b.top_id >= ?`,
    [batchDay, id],
  );
  if (run?.['id'] === null || run === undefined) return; // nothing has frozen it
  await trx.change(
    `insert into withdrawn_order (order_id, run_id, batch_day, order_no, found_state, noticed_at)
     values (?, ?, ?, ?, ?, ?)`,
    [id, toBigInt(run['id']), batchDay, orderNo, to, moment],
  );
}

function notFound(orderNos: readonly string[]): SettleError {
  return new SettleError('NOT_FOUND', `No such order: ${orderNos.map(shown).join(', ')}. Nothing was cancelled.`, {
    details: { orderNos },
    next: 'Look the numbers up in the file that was imported.',
  });
}

function notInit(orders: readonly Named[]): SettleError {
  const list = orders.map(({ orderNo, state }) => `${shown(orderNo)} is ${state}`).join(', ');
  return new SettleError('ORDER_NOT_INIT', `Only an INIT order can be cancelled: ${list}. Nothing was cancelled.`, {
    details: { orderNos: orders.map(({ orderNo }) => orderNo) },
    next: 'Import a reversal: an order whose reversal_of names the one that is settled.',
  });
}
