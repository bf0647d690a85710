import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import type { Binding, Session, Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { fromInstant, toCount, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { throwIfCancelled } from '../kernel/cancellation.js';
import type { AccountState } from '../kernel/states.js';
import { idempotencyKey } from './idempotencyKey.js';
import { planAccount, type NotPlanned, type PayoutTerms, type PlannedPayout, type Route } from './planAccount.js';
import { accountsAfter, accountsMax, positionKey, positionsAt, type AccountRow } from './positions.js';
import { lastClosedDay } from './queries.js';

export interface PlanPorts {
  namespace: string;
  now: () => string;
  /** The terms of these accounts on a day. */
  termsOn(session: Session, day: BatchDay, accountNos: readonly string[]): Promise<(accountNo: string) => PayoutTerms>;
  /** Where these accounts are paid out to; null where nobody knows. */
  routesOf(
    session: Session,
    accountNos: readonly string[],
  ): Promise<(accountNo: string, currency: string) => Route | null>;
  signal: AbortSignal;
}

export interface PayoutPlan {
  batchDay: BatchDay;
  payouts: number;
  /** What is payable and carried forward, in accounts and currencies. */
  carried: Record<NotPlanned, number>;
}

/**
 * Makes the payout tasks of the last closed day, each once, however often and by however many processes this is done:
 * accounts are gone through in their order, and how far is stored with the tasks. Returns null before any day is closed.
 * What was carried forward for a reason that has passed (a beneficiary came, an account is active again) is planned now. What
 * an earlier closed day left unplanned is in the payable of the last one.
 */
export async function planPayouts(database: Database, ports: PlanPorts): Promise<PayoutPlan | null> {
  const day = await database.read(lastClosedDay);
  if (day === null) return null;
  await beginPlan(database, day, ports.now());
  while (await database.transact(repeatable('plan payouts', (trx) => planPage(trx, day, ports)))) {
    throwIfCancelled(ports.signal);
  }
  for (let after: string | null = ''; after !== null;) {
    const from: string = after;
    after = await database.transact(repeatable('plan what was carried', (trx) => planCarried(trx, day, from, ports)));
    throwIfCancelled(ports.signal);
  }
  return database.read((session) => planOf(session, day));
}

/** The plan of a day, begun or done. */
async function planOf(session: Session, day: BatchDay): Promise<PayoutPlan> {
  const [row] = await session.rows('select payouts, below_minimum from payout_plan where batch_day = ?', [day]);
  const carried = { ON_HOLD: 0, NOT_ACTIVE: 0, WITHOUT_BENEFICIARY: 0 };
  const rows = await session.tuples('select reason, count(*) from payout_carried where batch_day = ? group by reason', [
    day,
  ]);
  for (const [reason, accounts] of rows) carried[toText(reason) as keyof typeof carried] = toCount(accounts);
  return {
    batchDay: day,
    payouts: toCount(row?.['payouts'] ?? 0),
    carried: { BELOW_MINIMUM: toCount(row?.['below_minimum'] ?? 0), ...carried },
  };
}

async function beginPlan(database: Database, day: BatchDay, now: string): Promise<void> {
  const unit = repeatable('begin payout plan', async (trx) => {
    const known = await trx.rows('select batch_day from payout_plan where batch_day = ?', [day]);
    if (known.length > 0) return;
    // What earlier days carried is in the payable of this one.
    await trx.change('delete from payout_carried where batch_day < ?', [day]);
    await trx.insertMany(
      'payout_plan',
      ['batch_day', 'after_account', 'payouts', 'below_minimum', 'started_at'],
      [[day, '', 0, 0, fromInstant(trx.dialect, now)]],
    );
  });
  await afterOthers(() => database.transact(unit));
}

/** One page of accounts; false when there are no more. */
async function planPage(trx: Transaction, day: BatchDay, ports: PlanPorts): Promise<boolean> {
  // The row is taken first: whoever plans beside us waits here, and then goes on after our page.
  const open = await trx.change('update payout_plan set payouts = payouts where batch_day = ? and done_at is null', [
    day,
  ]);
  if (open === 0) return false;
  const [row] = await trx.rows('select after_account from payout_plan where batch_day = ?', [day]);
  const accounts = await accountsAfter(trx, toText(row?.['after_account']));
  const last = accounts[accounts.length - 1];
  if (last === undefined) {
    const doneAt = fromInstant(trx.dialect, ports.now());
    await trx.change('update payout_plan set done_at = ? where batch_day = ?', [doneAt, day]);
    return false;
  }
  const { payouts, carried, belowMinimum } = await decidePage(trx, day, accounts, ports);
  await insertPayouts(trx, day, payouts, ports);
  await insertCarried(trx, day, carried);
  await trx.change(
    `update payout_plan set after_account = ?, payouts = payouts + ?, below_minimum = below_minimum + ? where batch_day = ?`,
    [last.accountNo, payouts.length, belowMinimum, day],
  );
  return true;
}

/** Decides again on a page of what was carried; gives the last account of it, or null when there is no more. */
async function planCarried(trx: Transaction, day: BatchDay, after: string, ports: PlanPorts): Promise<string | null> {
  await trx.change('update payout_plan set payouts = payouts where batch_day = ?', [day]);
  const rows = await trx.tuples(
    `select distinct a.account_no, a.state from payout_carried c join account a on a.account_no = c.account_no
      where c.batch_day = ? and c.account_no > ? order by a.account_no limit ${String(accountsMax)}`,
    [day, after],
  );
  const accounts = rows.map(([no, state]) => ({ accountNo: toText(no), state: toText(state) as AccountState }));
  const last = accounts[accounts.length - 1];
  if (last === undefined) return null;
  // What such an account has in another currency is planned already, and reserved.
  const { payouts, carried } = await decidePage(trx, day, accounts, ports);
  const known = await trx.tuples(
    'select account_no, currency from payout_carried where batch_day = ? and account_no > ? and account_no <= ?',
    [day, after, last.accountNo],
  );
  const keys = new Set(known.map(([no, currency]) => positionKey(toText(no), toText(currency))));
  const mine = (one: { accountNo: string; currency: string }): boolean =>
    keys.has(positionKey(one.accountNo, one.currency));
  const fresh = payouts.filter(mine);
  await insertPayouts(trx, day, fresh, ports);
  await trx.change('delete from payout_carried where batch_day = ? and account_no > ? and account_no <= ?', [
    ...[day, after, last.accountNo],
  ]);
  await insertCarried(trx, day, carried.filter(mine));
  await trx.change('update payout_plan set payouts = payouts + ? where batch_day = ?', [fresh.length, day]);
  return last.accountNo;
}

interface Carried {
  accountNo: string;
  currency: string;
  amountMinor: bigint;
  reason: Exclude<NotPlanned, 'BELOW_MINIMUM'>;
}

async function decidePage(
  session: Session,
  day: BatchDay,
  accounts: readonly AccountRow[],
  ports: PlanPorts,
): Promise<{ payouts: PlannedPayout[]; carried: Carried[]; belowMinimum: number }> {
  const accountNos = accounts.map(({ accountNo }) => accountNo);
  const terms = await ports.termsOn(session, day, accountNos);
  const routes = await ports.routesOf(session, accountNos);
  const payouts: PlannedPayout[] = [];
  const carried: Carried[] = [];
  let belowMinimum = 0;
  for (const position of await positionsAt(session, day, accounts, true)) {
    const { accountNo, currency, payableMinor, reservedMinor } = position;
    const planned = planAccount(day, position, terms(accountNo), routes(accountNo, currency));
    if (planned === 'BELOW_MINIMUM') belowMinimum += 1;
    else if (typeof planned !== 'string') payouts.push(...planned);
    else carried.push({ accountNo, currency, amountMinor: payableMinor - reservedMinor, reason: planned });
  }
  return { payouts, carried, belowMinimum };
}

async function insertCarried(trx: Transaction, day: BatchDay, carried: readonly Carried[]): Promise<void> {
  await trx.insertMany(
    'payout_carried',
    ['batch_day', 'account_no', 'currency', 'amount_minor', 'reason'],
    carried.map(({ accountNo, currency, amountMinor, reason }) => [day, accountNo, currency, amountMinor, reason]),
  );
}

async function insertPayouts(
  trx: Transaction,
  day: BatchDay,
  payouts: readonly PlannedPayout[],
  { namespace, now }: PlanPorts,
): Promise<void> {
  const createdAt = fromInstant(trx.dialect, now());
  await trx.insertMany(
    'payout',
    [
      ...['batch_day', 'account_no', 'currency', 'seq', 'amount_minor', 'channel', 'destination', 'holder', 'due_day'],
      ...['idempotency_key', 'created_at'],
    ],
    payouts.map(({ accountNo, currency, seq, amountMinor, dueDay, route }): Binding[] => [
      ...[day, accountNo, currency, seq, amountMinor, route.channel, route.destination, route.holder, dueDay],
      ...[idempotencyKey(namespace, { batchDay: day, accountNo, currency, seq }), createdAt],
    ]),
  );
}
