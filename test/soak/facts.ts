import type { OrderState, OrderType } from './model.js';
import type { Store } from './store.js';

export interface OrderFact {
  no: string;
  id: bigint;
  account: string;
  day: string;
  type: OrderType;
  minor: bigint;
  currency: string;
  channel: string;
  state: OrderState;
  /** States of the messages that stand for it; one for a claimed order, none for another. */
  messages: string[];
}

/** What the tables say, in words of the model. Sums are made here and not by the database. */
export interface Facts {
  accounts: Map<string, string>;
  orders: OrderFact[];
  /** By day: closed, counted at close, state and cancellation of the last run, accounts released and not tried again. */
  days: Map<string, { closed: boolean; counted: number | null; unended: boolean; released: boolean }>;
  setAside: Map<string, { code: string; orders: number }>;
  /** "day account currency" → "orders net". */
  nets: Map<string, [bigint, bigint]>;
  /** "day ledger-account sub-account currency" → debits less credits. */
  ledger: Map<string, bigint>;
  /** Journal entries out of balance, and journal entries without their message or the other way round. */
  wrong: string[];
  running: number;
  leaseHeld: boolean;
  lastRunDay: string | null;
}

export async function readFacts(store: Store): Promise<Facts> {
  const rows = async (sql: string): Promise<string[][]> => (await store.rows(sql)) as string[][];
  const messagesOf = new Map<string, string[]>();
  for (const [no = '', state = ''] of await rows(
    `select o.order_no, coalesce(m.state, 'MISSING') from settlement_order o
       join net n on n.run_id = o.run_id and n.chunk_no = o.chunk_no
                 and n.account_no = o.account_no and n.currency = o.currency
       left join outbox m on m.biz_no = n.biz_no`,
  )) {
    const known = messagesOf.get(no);
    if (known === undefined) messagesOf.set(no, [state]);
    else known.push(state);
  }
  const orders = (
    await rows(
      `select order_no, id, account_no, batch_day, type, amount_minor, currency, channel, state
         from settlement_order order by id`,
    )
  ).map(
    ([no = '', id = '', account = '', day = '', type = '', minor = '', currency = '', channel = '', state = '']) => ({
      no,
      id: BigInt(id),
      account,
      day,
      type: type as OrderType,
      minor: BigInt(minor),
      currency,
      channel,
      state: state as OrderState,
      messages: messagesOf.get(no) ?? [],
    }),
  );
  const runs = await rows('select batch_day, state from run order by id');
  const lastRun = new Map(runs.map(([day = '', state = '']) => [day, state]));
  const released = new Set(
    (await rows('select batch_day from quarantine where active is null and retried_run_id is null')).map(
      ([day = '']) => day,
    ),
  );
  const days: Facts['days'] = new Map();
  for (const [day = '', state, counted] of await store.rows('select batch_day, state, orders_at_close from batch')) {
    days.set(day ?? '', {
      closed: state === 'CLOSED',
      counted: counted === null || counted === undefined ? null : Number(counted),
      unended: !['OK', 'PARTIAL'].includes(lastRun.get(day ?? '') ?? 'OK'),
      released: released.has(day ?? ''),
    });
  }
  const nets: Facts['nets'] = new Map();
  for (const [day = '', account = '', currency = '', count = '0', net = '0'] of await rows(
    `select c.batch_day, n.account_no, n.currency, n.orders, n.amount_minor
       from chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no`,
  )) {
    const key = `${day} ${account} ${currency}`;
    const [orders0, net0] = nets.get(key) ?? [0n, 0n];
    nets.set(key, [orders0 + BigInt(count), net0 + BigInt(net)]);
  }
  const ledger: Facts['ledger'] = new Map();
  const balances = new Map<string, bigint>();
  for (const [entry = '', day = '', book = '', sub = '', side = '', minor = '0', currency = ''] of await rows(
    `select j.id, j.batch_day, e.ledger_account, e.sub_account, e.side, e.amount_minor, e.currency
       from ledger_entry e left join journal_entry j on j.id = e.journal_entry_id`,
  )) {
    const amount = side === 'DEBIT' ? BigInt(minor) : -BigInt(minor);
    const key = `${day} ${book} ${sub} ${currency}`;
    ledger.set(key, (ledger.get(key) ?? 0n) + amount);
    balances.set(`${entry} ${currency}`, (balances.get(`${entry} ${currency}`) ?? 0n) + amount);
  }
  const wrong = [...balances]
    .filter(([, sum]) => sum !== 0n)
    .map(([entry]) => `journal entry ${entry} is out of balance`);
  for (const [bizNo = '', state = ''] of await rows(
    `select m.biz_no, m.state from outbox m left join journal_entry j on j.biz_no = m.biz_no
      where (m.state = 'SENT' and j.id is null) or (m.state = 'PARKED' and j.id is not null)`,
  )) {
    wrong.push(`message ${bizNo} is ${state}, and the ledger says otherwise`);
  }
  for (const [bizNo = ''] of await rows(
    'select j.biz_no from journal_entry j left join outbox m on m.biz_no = j.biz_no where m.id is null',
  )) {
    wrong.push(`journal entry ${bizNo} has no message`);
  }
  return {
    accounts: new Map(
      (await rows('select account_no, state from account')).map(([no = '', state = '']) => [no, state]),
    ),
    orders,
    days,
    setAside: new Map(
      (await rows('select batch_day, account_no, code, orders from quarantine where active = 1')).map(
        ([day = '', account = '', code = '', count = '0']) => [`${day} ${account}`, { code, orders: Number(count) }],
      ),
    ),
    nets,
    ledger,
    wrong,
    running: runs.filter(([, state]) => state === 'RUNNING').length,
    leaseHeld: (await store.rows('select 1 from lease where owner is not null')).length > 0,
    lastRunDay: runs[runs.length - 1]?.[0] ?? null,
  };
}

const tables = [
  'account',
  'settlement_order',
  'batch',
  'source_total',
  'run',
  'lease',
  'chunk',
  'net',
  'outbox',
  'journal_entry',
  'ledger_entry',
  'quarantine',
  'withdrawn_order',
  'operator_action',
];

/** Every row of every table: equal before and after means that nothing at all was written. */
export async function allRows(store: Store): Promise<string> {
  const lines: string[] = [];
  for (const table of tables) {
    const rows = await store.rows(`select * from ${table}`);
    lines.push(...rows.map((row) => `${table} ${row.map(String).join('|')}`).sort());
  }
  return lines.join('\n');
}
