import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Binding, Row, Session } from '../src/db/session.js';
import { toText } from '../src/db/values.js';
import { listDiscrepancies } from '../src/discrepancies/views.js';
import { listPayouts } from '../src/payouts/views.js';
import { explainDeposit } from '../src/reports/explainDeposit.js';
import { explainDiscrepancy } from '../src/reports/explainDiscrepancy.js';
import { explainOrder } from '../src/reports/explainOrder.js';
import { explainPayout } from '../src/reports/explainPayout.js';
import { withHint } from '../src/reports/explainUnknown.js';
import { SettleError } from '../src/kernel/errors.js';
import { createTestDatabase, type TestDatabase } from './support/databases.js';
import { givenOneOfEach } from './support/explained.js';

// Every statement of every page goes along an index: the server is asked how it would go, table by table, once there are
// many other rows in each.

let place: TestDatabase;
beforeAll(async () => {
  place = await createTestDatabase('server');
  await givenOneOfEach(place.database);
  await place.database.read(async (session) => {
    await session.change(
      `insert into deposit_finding (transaction_id, out_trade_no, code, codes, risk, reorg_suspected, suggestion, detail, is_open,
                                    found_at, last_seen_at)
       select id, out_trade_no, 'receipt-not-found', 'receipt-not-found', 'high', 1, 'recheck-later', '', 1, settled_at, settled_at
         from deposit_transaction`,
    );
    for (const [table, changed] of Object.entries(others)) await multiply(session, table, changed);
    await session.rows(`analyze table ${Object.keys(others).join(', ')}`);
  });
}, 120_000);
afterAll(() => place.drop());

const number = (column: string) => (step: number) => `${column} + ${String(1_000 << step)}`;
const text = (column: string) => (step: number) => `concat(${column}, '${String.fromCharCode(97 + step)}')`;
const digest = (column: string) => (step: number) => `md5(concat(${column}, '${String(step)}'))`;

/** What must differ in a copy of a row of each table; ids that the database makes differ by themselves. */
const others: Record<string, Record<string, (step: number) => string>> = {
  settlement_order: { order_no: text('order_no'), reversal_of: (step) => `'reversed ${String(step)}'` },
  account: { account_no: text('account_no') },
  quarantine: { account_no: text('account_no') },
  withdrawn_order: { order_id: number('order_id') },
  chunk: { run_id: number('run_id') },
  net: { run_id: number('run_id'), biz_no: text('biz_no') },
  outbox: { biz_no: text('biz_no') },
  delivery: { outbox_id: number('outbox_id') },
  journal_entry: { id: number('id'), biz_no: text('biz_no'), booking_day: () => `'2027-01-01'` },
  ledger_entry: { journal_entry_id: number('journal_entry_id') },
  account_balance: { sub_account: text('sub_account') },
  payout: { account_no: text('account_no'), idempotency_key: digest('idempotency_key') },
  payout_move: { payout_id: number('payout_id') },
  payout_review: { payout_id: number('payout_id') },
  payout_carried: { account_no: text('account_no') },
  payment_file: { file_no: number('file_no'), message_id: text('message_id') },
  payment_file_entry: { payout_id: number('payout_id') },
  statement_match: { ours_id: number('ours_id'), file_id: number('file_id') },
  statement_line: { file_id: number('file_id'), line_key: digest('line_key') },
  discrepancy: {
    identity: (step) => `sha2(concat(identity, '${String(step)}'), 256)`,
    ours_id: number('ours_id'),
    file_id: number('file_id'),
  },
  discrepancy_move: { discrepancy_id: number('discrepancy_id') },
  discrepancy_review: { discrepancy_id: number('discrepancy_id') },
  deposit_order: { out_trade_no: text('out_trade_no'), receiver: digest('receiver') },
  deposit_transaction: {
    out_trade_no: text('out_trade_no'),
    log_index: number('log_index'),
  },
  deposit_review: { out_trade_no: text('out_trade_no') },
  deposit_finding: { transaction_id: number('transaction_id') },
  deposit_log: { out_trade_no: text('out_trade_no') },
};

/** Makes about a thousand rows of what is there, which nothing on a page refers to. */
async function multiply(
  session: Session,
  table: string,
  changed: Record<string, (step: number) => string>,
): Promise<void> {
  const found = await session.tuples(
    `select column_name from information_schema.columns
      where table_schema = database() and table_name = ? and extra not like '%auto_increment%'`,
    [table],
  );
  const columns = found.map(([name]) => toText(name));
  for (let step = 0; step < 9; step += 1) {
    const values = columns.map((column) => changed[column]?.(step) ?? column);
    await session.change(`insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from ${table}`);
  }
}

/** Notes every statement that goes through it. */
class Noting {
  readonly statements = new Map<string, readonly Binding[]>();

  of(session: Session): Session {
    const note = <T>(ask: (sql: string, bindings?: readonly Binding[]) => Promise<T>) => {
      return (sql: string, bindings: readonly Binding[] = []): Promise<T> => {
        this.statements.set(sql, bindings);
        return ask.call(session, sql, bindings);
      };
    };
    return Object.assign(Object.create(session) as Session, {
      rows: note<Row[]>((sql, bindings) => session.rows(sql, bindings)),
      tuples: note<unknown[][]>((sql, bindings) => session.tuples(sql, bindings)),
    });
  }
}

test('each statement of each page goes along an index', async () => {
  const told = { isOver: () => true };
  const noting = new Noting();
  await place.database.read(async (real) => {
    const session = noting.of(real);
    for (const orderNo of ['O-1001', 'O-1003', 'F-1', 'N-1']) await explainOrder(session, orderNo, told);
    for (const { id } of await listPayouts(real, { limit: 3 })) await explainPayout(session, String(id), told);
    for (const deposit of ['R-1', 'R-2']) await explainDeposit(session, deposit, told);
    const [found] = await listDiscrepancies(real, { class: 'AMOUNT', limit: 1 });
    await explainDiscrepancy(session, String(found?.id), told);
    await withHint(session, new SettleError('NOT_FOUND', ''), 'order', 'o-10');
  });
  expect(noting.statements.size).toBeGreaterThan(30);
  const slow: string[] = [];
  await place.database.read(async (session) => {
    for (const [sql, bindings] of noting.statements) {
      for (const step of await session.rows(`explain ${sql}`, bindings)) {
        const way = { table: step['table'], type: step['type'], key: step['key'], rows: Number(step['rows'] ?? 0) };
        // A table without a name is one that needs not be gone to at all.
        const isFound = way.table === null || way.type === 'system' || (way.key !== null && way.type !== 'index');
        // One that ends after a few rows, in the order of its index, goes no further than to these.
        const isShort = / limit [0-9]+$/.test(sql) && !/filesort|temporary/.test(String(step['Extra']));
        if (!isFound || (way.rows > 200 && !isShort)) slow.push(`${JSON.stringify(way)}: ${sql}`);
      }
    }
  });
  expect(slow).toEqual([]);
});
