import type { Database } from '../../src/db/database.js';
import { repeatable } from '../../src/db/transaction.js';
import { toBigInt } from '../../src/db/values.js';
import type { Progress } from '../../src/batch/deps.js';
import type { RunDocument } from '../../src/batch/document.js';
import { runDays, type RunDaysOptions } from '../../src/batch/runDays.js';

export const day = '2026-11-29';

/** An order for a test, as short as `['O1', 'A1', 'PAYMENT', 100]`; the rest has defaults. */
export interface TestOrder {
  orderNo: string;
  accountNo: string;
  type?: string;
  minor: bigint | number;
  currency?: string;
  channel?: string;
  batchDay?: string;
}

export async function givenAccounts(database: Database, accounts: Record<string, string>): Promise<void> {
  const moment = '2026-11-29 00:00:00.000';
  await database.transact(
    repeatable('accounts', async (trx) => {
      for (const [accountNo, state] of Object.entries(accounts)) {
        const changed = await trx.change('update account set state = ? where account_no = ?', [state, accountNo]);
        if (changed === 1) continue;
        await trx.insertMany(
          'account',
          ['account_no', 'state', 'registered_at', 'changed_at'],
          [[accountNo, state, moment, moment]],
        );
      }
    }),
  );
}

/** Orders in INIT, in this order of ids; accounts that are not registered become ACTIVE. */
export async function givenOrders(database: Database, orders: readonly TestOrder[], register = true): Promise<void> {
  if (register) {
    const known = new Set(
      (await database.read((session) => session.rows('select account_no from account'))).map(
        (row) => row['account_no'],
      ),
    );
    const fresh = [...new Set(orders.map((order) => order.accountNo))].filter((accountNo) => !known.has(accountNo));
    await givenAccounts(database, Object.fromEntries(fresh.map((accountNo) => [accountNo, 'ACTIVE'])));
  }
  await database.transact(
    repeatable('orders', (trx) =>
      trx.insertMany(
        'settlement_order',
        ['order_no', 'account_no', 'batch_day', 'type', 'amount_minor', 'currency', 'channel', 'occurred_at'],
        orders.map((order) => [
          order.orderNo,
          order.accountNo,
          order.batchDay ?? day,
          order.type ?? 'PAYMENT',
          BigInt(order.minor),
          order.currency ?? 'USD',
          order.channel ?? 'CARD',
          '2026-11-29 10:00:00.000000',
        ]),
      ),
    ),
  );
}

export const quiet: Progress = {
  stage: () => undefined,
  advance: () => undefined,
  lane: () => undefined,
  laneDone: () => undefined,
  end: () => undefined,
};

/** Small pages and chunks, so that little data passes every branch. */
export const smallSettings = {
  lanes: 3,
  elephantLanes: 2,
  pageSize: 50,
  pagesAhead: 1,
  chunkSize: 10,
  messagesMax: 25,
  leaseMs: 30_000,
  shardMs: 900_000,
  lookBackDays: 31,
  messageAttempts: 2,
};

/** A run inside the test's process. */
export function runDay(database: Database, overrides: Partial<RunDaysOptions> = {}): Promise<RunDocument> {
  return runDays(database, {
    target: day,
    request: null,
    kind: 'RUN',
    dryRun: false,
    accounts: null,
    shard: null,
    settings: smallSettings,
    calendar: { timeZone: 'UTC', cutOff: '00:00' },
    clock: { now: () => new Date('2026-11-30T01:00:00.000Z') },
    command: 'settle run (test)',
    progress: quiet,
    signal: new AbortController().signal,
    say: () => undefined,
    ...overrides,
  });
}

/**
 * The money tables by business key, without surrogate ids, times and chunk borders: equal for two databases in which
 * the same business has happened, whatever faults and reruns lay between.
 */
export async function moneyDump(database: Database): Promise<string[]> {
  const read = (sql: string) => database.read((session) => session.tuples(sql));
  const lines: string[] = [];
  for (const row of await read(
    `select order_no, account_no, batch_day, type, amount_minor, currency, state, version, cancel_code from settlement_order`,
  )) {
    lines.push(`order ${row.map(String).join(' ')}`);
  }
  const summed = async (name: string, sql: string): Promise<void> => {
    const sums = new Map<string, bigint>();
    for (const row of await read(sql)) {
      const key = row.slice(0, -1).map(String).join(' ');
      sums.set(key, (sums.get(key) ?? 0n) + toBigInt(row[row.length - 1]));
    }
    for (const [key, sum] of sums) lines.push(`${name} ${key} ${sum.toString()}`);
  };
  const nets = 'from chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no';
  await summed('net', `select c.batch_day, n.account_no, n.currency, n.amount_minor ${nets}`);
  await summed('net orders', `select c.batch_day, n.account_no, n.currency, n.orders ${nets}`);
  await summed('chunk orders', 'select batch_day, orders from chunk');
  await summed('outbox', 'select batch_day, account_no, state, orders from outbox');
  await summed(
    'ledger',
    `select j.batch_day, j.booking_day, j.type, l.ledger_account, l.sub_account, l.side, l.currency, l.amount_minor
       from journal_entry j join ledger_entry l on l.journal_entry_id = j.id`,
  );
  await summed(
    'terms',
    `select batch_day, account_no, currency, reason, origin_day, coalesce(due_day, ''), coalesce(open_minor, 0), amount_minor
       from terms_effect`,
  );
  await summed('source', 'select batch_day, currency, type, amount_minor from source_total');
  await summed('source orders', 'select batch_day, currency, type, orders from source_total');
  for (const table of ['account_balance', 'general_balance']) {
    const columns = table === 'account_balance' ? 'ledger_account, sub_account' : 'ledger_account';
    for (const row of await read(
      `select booking_day, ${columns}, currency, opening_minor, debit_minor, credit_minor, closing_minor from ${table}`,
    )) {
      lines.push(`${table} ${row.map(String).join(' ')}`);
    }
  }
  for (const row of await read('select booking_day, closed_through from ledger_period')) {
    lines.push(`period ${row.map(String).join(' ')}`);
  }
  for (const row of await read('select batch_day, state, orders_at_close from batch')) {
    lines.push(`batch ${row.map(String).join(' ')}`);
  }
  for (const row of await read('select batch_day, account_no, code, orders from quarantine where active = 1')) {
    lines.push(`quarantine ${row.map(String).join(' ')}`);
  }
  for (const row of await read(
    `select batch_day, account_no, code, case when retried_run_id is null then 'waits' else 'tried again' end
       from quarantine where active is null`,
  )) {
    lines.push(`released ${row.map(String).join(' ')}`);
  }
  for (const row of await read('select batch_day, order_no, found_state from withdrawn_order')) {
    lines.push(`withdrawn ${row.map(String).join(' ')}`);
  }
  return lines.sort();
}

/** Every row of every table of ours: equal before and after means that nothing at all was written. */
export async function everyRow(database: Database): Promise<string> {
  const tables = [
    'account',
    'settlement_order',
    'batch',
    'source_total',
    'run',
    'cancelled_shard',
    'lease',
    'chunk',
    'net',
    'outbox',
  ];
  tables.push('account_balance', 'general_balance', 'chain_link', 'balanced_day', 'ledger_period');
  tables.push('journal_entry', 'ledger_entry', 'quarantine', 'withdrawn_order', 'operator_action');
  tables.push('fee_plan_tier', 'account_terms', 'terms_effect');
  const lines: string[] = [];
  for (const table of tables) {
    const rows = await database.read((session) => session.tuples(`select * from ${table}`));
    lines.push(...rows.map((row) => `${table} ${row.map(String).join('|')}`).sort());
  }
  return lines.join('\n');
}

/** What an account is owed by the ledger, by "account currency". */
export async function payables(database: Database): Promise<Record<string, string>> {
  const rows = await database.read((session) =>
    session.tuples(
      `select sub_account, currency, side, amount_minor from ledger_entry where ledger_account = 'MERCHANT_PAYABLE'`,
    ),
  );
  const sums = new Map<string, bigint>();
  for (const [accountNo, currency, side, minor] of rows) {
    const key = `${String(accountNo)} ${String(currency)}`;
    sums.set(key, (sums.get(key) ?? 0n) + (side === 'CREDIT' ? toBigInt(minor) : -toBigInt(minor)));
  }
  return Object.fromEntries([...sums].sort().map(([key, sum]) => [key, sum.toString()]));
}

/** A day that passes every branch: accounts in several currencies, an elephant, frozen accounts, zero and negative nets. */
export function variedDay(size = 120): TestOrder[] {
  const orders: TestOrder[] = [];
  const types = ['PAYMENT', 'PAYMENT', 'PAYMENT', 'REFUND', 'FEE', 'ADJUSTMENT'];
  for (let at = 0; at < size; at += 1) {
    const type = types[at % types.length] as string;
    const magnitude = ((at * 7919) % 4_999) + 1;
    orders.push({
      orderNo: `V${String(at).padStart(4, '0')}`,
      accountNo: at % 3 === 0 ? 'ELEPHANT' : `A${String(at % 11)}`,
      type,
      minor: type === 'ADJUSTMENT' && at % 4 === 1 ? -magnitude : magnitude,
      currency: ['USD', 'JPY', 'KWD'][at % 5 === 0 ? 1 : at % 7 === 0 ? 2 : 0] as string,
      channel: ['CARD', 'BANK'][at % 2] as string,
    });
  }
  orders.push(
    { orderNo: 'Z1', accountNo: 'ZERO', minor: 4_000 },
    { orderNo: 'Z2', accountNo: 'ZERO', type: 'REFUND', minor: 4_000 },
    { orderNo: 'Z3', accountNo: 'NOTHING', minor: 0 },
    { orderNo: 'N1', accountNo: 'NEGATIVE', type: 'REFUND', minor: 250 },
    { orderNo: 'F1', accountNo: 'FROZEN', minor: 900 },
    { orderNo: 'F2', accountNo: 'FROZEN', type: 'FEE', minor: 9 },
    { orderNo: 'C1', accountNo: 'CLOSED', minor: 70 },
  );
  return orders;
}

export async function givenVariedDay(database: Database, size?: number): Promise<void> {
  await givenAccounts(database, { FROZEN: 'FROZEN', CLOSED: 'CLOSED' });
  await givenOrders(database, variedDay(size));
}
