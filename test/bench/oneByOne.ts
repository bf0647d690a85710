import type { Database } from '../../src/db/database.js';
import type { Binding, Row } from '../../src/db/session.js';
import { repeatable } from '../../src/db/transaction.js';
import { fromInstant, toText } from '../../src/db/values.js';
import { toJson } from '../../src/kernel/json.js';
import { batchDay } from './data.js';

const pageRows = 1_000;

/**
 * The plain way: an order a transaction for the state and its message, then a message a transaction for the journal,
 * the order's end and the message's. Pages by id and `connections` transactions at a time; nothing is merged.
 */
export async function runOneByOne(database: Database, connections: number): Promise<{ ms: number }> {
  const start = performance.now();
  await eachRow(
    database,
    connections,
    `select id, order_no, account_no, type, amount_minor, currency, channel from settlement_order
      where batch_day = ? and id > ? and state = 'INIT' order by id limit ${String(pageRows)}`,
    [batchDay],
    (order) => claim(database, order),
  );
  await eachRow(
    database,
    connections,
    `select id, biz_no, payload from outbox where id > ? and state = 'NEW' order by id limit ${String(pageRows)}`,
    [],
    (message) => post(database, message),
  );
  return { ms: performance.now() - start };
}

/** Pages by the id watermark, which is the last binding. */
async function eachRow(
  database: Database,
  connections: number,
  sql: string,
  bindings: readonly Binding[],
  work: (row: Row) => Promise<void>,
): Promise<void> {
  let watermark = '0';
  for (;;) {
    const rows = await database.read((session) => session.rows(sql, [...bindings, watermark]));
    if (rows.length === 0) return;
    watermark = String(rows[rows.length - 1]?.['id']);
    const queue = rows.values();
    await Promise.all(
      Array.from({ length: connections }, async () => {
        for (const row of queue) await work(row);
      }),
    );
  }
}

async function claim(database: Database, order: Row): Promise<void> {
  const payload = toJson({ ...order, id: String(order['id']), amount_minor: String(order['amount_minor']) });
  await database.transact(
    repeatable('claim one order', async (trx) => {
      const claimed = await trx.change(
        `update settlement_order set state = 'PROCESSING', version = version + 1, run_id = 1, chunk_no = 1
          where id = ? and state = 'INIT'`,
        [String(order['id'])],
      );
      if (claimed === 0) return;
      await trx.change(
        `insert into outbox (topic, biz_no, batch_day, account_no, orders, payload, created_at) values ('LEDGER', ?, ?, ?, 1, ?, ?)`,
        [toText(order['order_no']), batchDay, toText(order['account_no']), payload, now(database)],
      );
    }),
  );
}

async function post(database: Database, message: Row): Promise<void> {
  const order = JSON.parse(toText(message['payload'])) as OrderPayload;
  const id = String(message['id']);
  const legs = legsOf(order);
  await database.transact(
    repeatable('post one message', async (trx) => {
      await trx.change(
        `insert into journal_entry (id, biz_no, type, batch_day, booking_day, ledger_entries, posted_at)
         values (?, ?, 'SETTLEMENT', ?, ?, ?, ?)`,
        [id, toText(message['biz_no']), batchDay, batchDay, legs.length, now(database)],
      );
      await trx.insertMany(
        'ledger_entry',
        ['journal_entry_id', 'line_no', 'ledger_account', 'sub_account', 'side', 'amount_minor', 'currency'],
        legs.map((leg, index) => [id, index + 1, ...leg]),
      );
      await trx.change(
        `update settlement_order set state = 'SUCCESS', version = version + 1, finished_at = ?
          where id = ? and state = 'PROCESSING'`,
        [now(database), order.id],
      );
      await trx.change(`update outbox set state = 'SENT', sent_at = ? where id = ? and state = 'NEW'`, [
        now(database),
        id,
      ]);
    }),
  );
}

interface OrderPayload {
  id: string;
  account_no: string;
  type: string;
  amount_minor: string;
  currency: string;
  channel: string;
}

/** The two sides of an order: ledger account, sub-account, side, amount, currency. */
function legsOf(order: OrderPayload): Binding[][] {
  const amount = BigInt(order.amount_minor);
  if (amount === 0n) return [];
  const magnitude = amount < 0n ? -amount : amount;
  const adds = order.type === 'PAYMENT' || (order.type === 'ADJUSTMENT' && amount > 0n);
  const [other, otherSub] =
    order.type === 'FEE'
      ? ['FEE_INCOME', '']
      : order.type === 'ADJUSTMENT'
        ? ['ADJUSTMENTS', '']
        : ['CHANNEL_RECEIVABLE', order.channel];
  return [
    [other, otherSub, adds ? 'DEBIT' : 'CREDIT', magnitude, order.currency],
    ['MERCHANT_PAYABLE', order.account_no, adds ? 'CREDIT' : 'DEBIT', magnitude, order.currency],
  ];
}

function now(database: Database): string {
  return fromInstant(database.target.dialect, new Date().toISOString());
}
