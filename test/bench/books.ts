import type { Database } from '../../src/db/database.js';
import { exactSum, sumIn, toCount, toText } from '../../src/db/values.js';

/** What a contender left behind, by business keys: what is compared, so that nobody wins by leaving work out. */
export interface Books {
  /** Effect of all orders of the day, whatever their state, by account and currency. */
  owed: Map<string, string>;
  nets: Map<string, string>;
  /** Debits and credits by ledger account, sub-account and currency. */
  ledger: Map<string, string>;
  /** Rows by table and state. */
  counts: Map<string, string>;
  messages: number;
}

export async function readBooks(database: Database): Promise<Books> {
  const effect = `case when type in ('REFUND', 'FEE') then -amount_minor else amount_minor end`;
  const { dialect } = database.target;
  const counts = await countRows(database);
  return {
    owed: await sums(database, 'settlement_order', ['account_no', 'currency'], exactSum(dialect, effect, 'sum')),
    nets: await sums(database, 'net', ['account_no', 'currency'], exactSum(dialect, 'amount_minor', 'sum')),
    ledger: await sums(
      database,
      'ledger_entry',
      ['ledger_account', 'sub_account', 'currency', 'side'],
      exactSum(dialect, 'amount_minor', 'sum'),
    ),
    counts,
    messages: Number(counts.get('outbox SENT') ?? 0),
  };
}

async function sums(
  database: Database,
  table: string,
  keys: readonly string[],
  sum: string,
): Promise<Map<string, string>> {
  const key = keys.join(', ');
  const rows = await database.read((session) =>
    session.rows(`select ${key}, count(*) as n, ${sum} from ${table} group by ${key}`),
  );
  return new Map(rows.map((row) => [keys.map((name) => toText(row[name])).join(' '), sumIn(row, 'sum').toString()]));
}

async function countRows(database: Database): Promise<Map<string, string>> {
  const counts = new Map<string, string>();
  const count = async (label: string, sql: string): Promise<void> => {
    for (const row of await database.read((session) => session.rows(sql))) {
      counts.set(`${label} ${toText(row['what'])}`, String(toCount(row['n'])));
    }
  };
  await count('order', `select state as what, count(*) as n from settlement_order group by state`);
  await count('outbox', `select state as what, count(*) as n from outbox group by state`);
  await count('journal_entry', `select 'rows' as what, count(*) as n from journal_entry`);
  await count('ledger_entry', `select 'rows' as what, count(*) as n from ledger_entry`);
  await count(
    'ledger_entry',
    `select 'counted by the journal' as what, coalesce(sum(ledger_entries), 0) as n from journal_entry`,
  );
  await count(
    'journal_entry',
    `select 'unbalanced' as what, count(*) as n from (
       select journal_entry_id from ledger_entry group by journal_entry_id, currency
       having sum(case side when 'DEBIT' then amount_minor else -amount_minor end) <> 0) unbalanced`,
  );
  return counts;
}

/** Everything that keeps these books from being a whole settled day of so many orders. Empty when they are one. */
export function shortcomings(books: Books, orders: number, withNets: boolean): string[] {
  const expected = new Map([
    ['order SUCCESS', String(orders)],
    ['outbox SENT', String(books.messages)],
    ['journal_entry rows', String(books.messages)],
    ['journal_entry unbalanced', '0'],
    ['ledger_entry rows', books.counts.get('ledger_entry counted by the journal') ?? 'none'],
    ['ledger_entry counted by the journal', books.counts.get('ledger_entry rows') ?? 'none'],
  ]);
  return [
    ...differences('rows', expected, books.counts),
    ...(withNets ? differences('net', books.owed, books.nets) : []),
    ...differences('payable', withoutZeros(books.owed), withoutZeros(payable(books.ledger))),
  ];
}

/** What two contenders disagree on. How many nets an account's orders became is each one's own affair. */
export function disagreements(ours: Books, theirs: Books): string[] {
  return [
    ...differences('net', ours.nets, theirs.nets),
    ...differences('ledger', ours.ledger, theirs.ledger),
    ...differences('orders', onlyOrders(ours.counts), onlyOrders(theirs.counts)),
  ];
}

function onlyOrders(counts: Map<string, string>): Map<string, string> {
  return new Map([...counts].filter(([key]) => key.startsWith('order ')));
}

function withoutZeros(amounts: Map<string, string>): Map<string, string> {
  return new Map([...amounts].filter(([, amount]) => amount !== '0'));
}

/** Credits less debits of the merchants' sub-ledger, by account and currency. */
function payable(ledger: Map<string, string>): Map<string, string> {
  const balances = new Map<string, bigint>();
  for (const [key, amount] of ledger) {
    const [ledgerAccount, account, currency, side] = key.split(' ');
    if (ledgerAccount !== 'MERCHANT_PAYABLE') continue;
    const owner = `${account ?? ''} ${currency ?? ''}`;
    const signed = side === 'CREDIT' ? BigInt(amount) : -BigInt(amount);
    balances.set(owner, (balances.get(owner) ?? 0n) + signed);
  }
  return new Map([...balances].map(([owner, balance]) => [owner, balance.toString()]));
}

function differences(what: string, expected: Map<string, string>, actual: Map<string, string>): string[] {
  const keys = new Set([...expected.keys(), ...actual.keys()]);
  return [...keys]
    .filter((key) => expected.get(key) !== actual.get(key))
    .map((key) => `${what} ${key}: expected ${expected.get(key) ?? 'none'}, found ${actual.get(key) ?? 'none'}`);
}
