import type { Config } from '../config.js';
import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import type { Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { decodeDepositMessage, depositTopic, type Credit } from '../deposits/message.js';
import { accountStatesOf, insertAccounts } from '../orders/accountsQueries.js';
import { insertOrders, ordersByNo } from '../orders/importQueries.js';
import { differingColumns, type OrderRow } from '../orders/orderRow.js';
import { markSent, newMessages, noteRefusal, type StoredMessage } from '../outbox/queries.js';

export interface Delivered {
  delivered: number;
  parked: number;
}

/** Messages read at once. */
const windowSize = 200;

/**
 * Acts on settled deposits by their scene: what a message asks for and the mark that it is done are one transaction, so
 * that however often this runs, and wherever it is cut off, each takes effect once. What cannot be acted on is parked.
 */
export async function deliverDeposits(
  database: Database,
  config: Pick<Config, 'accounts'>,
  now: () => string,
  signal: AbortSignal,
): Promise<Delivered> {
  const result = { delivered: 0, parked: 0 };
  for (let afterId = 0n; !signal.aborted;) {
    const window = await database.read((session) => newMessages(session, depositTopic, afterId, windowSize, null));
    for (const message of window) {
      const unit = repeatable('act on a deposit', (trx) => act(trx, message, config.accounts.autoRegister, now()));
      result[await afterOthers(() => database.transact(unit))] += 1;
    }
    const last = window[window.length - 1];
    if (last === undefined) break;
    afterId = last.id;
  }
  return result;
}

async function act(
  trx: Transaction,
  { id, payload }: StoredMessage,
  register: boolean,
  now: string,
): Promise<'delivered' | 'parked'> {
  const message = decodeDepositMessage(payload);
  const refusal =
    message === null
      ? 'The payload cannot be read.'
      : message.credit === null
        ? null
        : await credit(trx, message.credit, register, now);
  if (refusal === null) await markSent(trx, [id], now);
  else await noteRefusal(trx, id, refusal, true);
  return refusal === null ? 'delivered' : 'parked';
}

/** Makes the order that the daily batch nets, once: null, or why it cannot be. */
async function credit(trx: Transaction, asked: Credit, register: boolean, now: string): Promise<string | null> {
  const row: OrderRow = { ...asked, reversalOf: null };
  const known = (await ordersByNo(trx, [asked.orderNo])).get(asked.orderNo);
  if (known !== undefined) {
    const differing = differingColumns(known, row);
    return differing.length === 0 ? null : `Order ${asked.orderNo} is known with another ${differing.join(', ')}.`;
  }
  if (register && !(await accountStatesOf(trx, [asked.accountNo])).has(asked.accountNo)) {
    await insertAccounts(trx, [{ accountNo: asked.accountNo, state: 'ACTIVE' }], now);
  }
  await insertOrders(trx, [row]);
  return null;
}
