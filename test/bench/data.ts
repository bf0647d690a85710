import type { Database } from '../../src/db/database.js';
import { repeatable } from '../../src/db/transaction.js';
import type { Binding } from '../../src/db/session.js';

export const batchDay = '2026-11-29';

const types = [
  { name: 'PAYMENT', until: 0.85 },
  { name: 'REFUND', until: 0.93 },
  { name: 'FEE', until: 0.98 },
  { name: 'ADJUSTMENT', until: 1 },
] as const;
const currencies = [
  { name: 'USD', until: 0.7 },
  { name: 'JPY', until: 0.9 },
  { name: 'KWD', until: 1 },
] as const;
const channels = ['CARD', 'WALLET', 'BANK', 'CASH'] as const;

export const dayShapes = ['even', 'elephant'] as const;
export type DayShape = (typeof dayShapes)[number];

export interface Day {
  orders: number;
  accounts: number;
  shape: DayShape;
}

export const elephantShare = 0.7;

/** Fills the account and order tables with the day. */
export async function loadDay(database: Database, day: Day): Promise<void> {
  const at = '2026-11-29T08:00:00.000Z';
  const moment = database.target.dialect === 'sqlite' ? at : '2026-11-29 08:00:00.000';
  await inBlocks(database, 'account', accountColumns, day.accounts, (index) => [
    accountNo(index),
    'ACTIVE',
    moment,
    moment,
  ]);
  const random = randomNumbers(20261129);
  await inBlocks(database, 'settlement_order', orderColumns, day.orders, (index) =>
    orderOf(day, index, random, moment),
  );
}

/**
 * The day's next order: ids 1 … n, an account mostly in its home currency. The rows are the same for the same accounts
 * and shape, so that figures of different years compare, and a smaller day is the beginning of a larger one.
 */
export function orderOf(day: Omit<Day, 'orders'>, index: number, random: () => number, moment: string): Binding[] {
  const account = accountOf(day, random);
  const type = pick(types, random());
  // The home currency hangs on the account alone; one order in ten is in another.
  const currency = pick(currencies, random() < 0.9 ? fraction(account * 0.618034) : random());
  const magnitude = 1 + Math.floor(random() * 100_000);
  const amount = type === 'ADJUSTMENT' && random() < 0.5 ? -magnitude : magnitude;
  const channel = channels[Math.floor(random() * channels.length)] ?? 'CARD';
  return [
    index + 1,
    `O${String(index + 1).padStart(10, '0')}`,
    accountNo(account),
    batchDay,
    type,
    amount,
    currency,
    channel,
    moment,
  ];
}

/** Even: a power law, the busiest of 50,000 accounts has 1.3 % of the orders. Elephant: the first has 70 %, the others such a day. */
function accountOf({ accounts, shape }: Omit<Day, 'orders'>, random: () => number): number {
  if (shape === 'even') return Math.floor(accounts * random() ** 2.5);
  if (accounts === 1 || random() < elephantShare) return 0;
  return 1 + Math.floor((accounts - 1) * random() ** 2.5);
}

const accountColumns = ['account_no', 'state', 'registered_at', 'changed_at'];
const orderColumns = [
  'id',
  'order_no',
  'account_no',
  'batch_day',
  'type',
  'amount_minor',
  'currency',
  'channel',
  'occurred_at',
];

function accountNo(index: number): string {
  return `M${String(index + 1).padStart(7, '0')}`;
}

async function inBlocks(
  database: Database,
  table: string,
  columns: readonly string[],
  rows: number,
  row: (index: number) => Binding[],
): Promise<void> {
  const blockRows = 20_000;
  for (let start = 0; start < rows; start += blockRows) {
    const block = Array.from({ length: Math.min(blockRows, rows - start) }, (_, offset) => row(start + offset));
    await database.transact(repeatable(`load ${table}`, (trx) => trx.insertMany(table, columns, block)));
  }
}

function pick<T extends string>(choices: readonly { name: T; until: number }[], at: number): T {
  const chosen = choices.find((choice) => at < choice.until) ?? choices[choices.length - 1];
  if (chosen === undefined) throw new Error('Nothing to choose from.');
  return chosen.name;
}

function fraction(value: number): number {
  return value - Math.floor(value);
}

/** Mulberry32: the same numbers in [0, 1) for the same seed, on every machine. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
