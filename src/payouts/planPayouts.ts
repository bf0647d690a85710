import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import type { Binding, Session, Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { fromInstant, toBigInt, toCount, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { throwIfCancelled } from '../kernel/cancellation.js';
import { idempotencyKey } from './idempotencyKey.js';
import { planAccount, type NotPlanned, type PayoutTerms, type PlannedPayout, type Route } from './planAccount.js';
import { accountsAfter, positionsAt, type AccountRow } from './positions.js';
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
 * What an earlier closed day left unplanned is in the payable of the last one.
 */
export async function planPayouts(database: Database, ports: PlanPorts): Promise<PayoutPlan | null> {
  const day = await database.read(lastClosedDay);
  if (day === null) return null;
  await beginPlan(database, day, ports.now());
  while (await database.transact(repeatable('plan payouts', (trx) => planPage(trx, day, ports)))) {
    throwIfCancelled(ports.signal);
  }
  return database.read((session) => planOf(session, day));
}

/** The plan of a day, begun or done. */
async function planOf(session: Session, day: BatchDay): Promise<PayoutPlan> {
  const [row] = await session.rows(
    `select payouts, below_minimum, on_hold, not_active, without_beneficiary from payout_plan where batch_day = ?`,
    [day],
  );
  return {
    batchDay: day,
    payouts: toCount(row?.['payouts'] ?? 0),
    carried: {
      BELOW_MINIMUM: toCount(row?.['below_minimum'] ?? 0),
      ON_HOLD: toCount(row?.['on_hold'] ?? 0),
      NOT_ACTIVE: toCount(row?.['not_active'] ?? 0),
      WITHOUT_BENEFICIARY: toCount(row?.['without_beneficiary'] ?? 0),
    },
  };
}

async function beginPlan(database: Database, day: BatchDay, now: string): Promise<void> {
  const unit = repeatable('begin payout plan', async (trx) => {
    const known = await trx.rows('select batch_day from payout_plan where batch_day = ?', [day]);
    if (known.length > 0) return;
    await trx.insertMany(
      'payout_plan',
      [
        ...['batch_day', 'after_account', 'payouts', 'below_minimum', 'on_hold', 'not_active', 'without_beneficiary'],
        'started_at',
      ],
      [[day, '', 0, 0, 0, 0, 0, fromInstant(trx.dialect, now)]],
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
  const { payouts, carried } = await decidePage(trx, day, accounts, ports);
  await insertPayouts(trx, day, payouts, ports);
  await trx.change(
    `update payout_plan set after_account = ?, payouts = payouts + ?, below_minimum = below_minimum + ?,
            on_hold = on_hold + ?, not_active = not_active + ?, without_beneficiary = without_beneficiary + ?
      where batch_day = ?`,
    [
      ...[last.accountNo, payouts.length, carried.BELOW_MINIMUM],
      ...[carried.ON_HOLD, carried.NOT_ACTIVE, carried.WITHOUT_BENEFICIARY, day],
    ],
  );
  return true;
}

async function decidePage(
  session: Session,
  day: BatchDay,
  accounts: readonly AccountRow[],
  ports: PlanPorts,
): Promise<{ payouts: PlannedPayout[]; carried: PayoutPlan['carried'] }> {
  const accountNos = accounts.map(({ accountNo }) => accountNo);
  const terms = await ports.termsOn(session, day, accountNos);
  const routes = await ports.routesOf(session, accountNos);
  const payouts: PlannedPayout[] = [];
  const carried = { BELOW_MINIMUM: 0, ON_HOLD: 0, NOT_ACTIVE: 0, WITHOUT_BENEFICIARY: 0 };
  for (const position of await positionsAt(session, day, accounts, true)) {
    const { accountNo, currency } = position;
    const planned = planAccount(day, position, terms(accountNo), routes(accountNo, currency));
    if (typeof planned === 'string') carried[planned] += 1;
    else payouts.push(...planned);
  }
  return { payouts, carried };
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

/** Payouts by state, all days together. */
export async function payoutsByState(session: Session): Promise<Map<string, bigint>> {
  const rows = await session.tuples('select state, count(*) from payout group by state order by state');
  return new Map(rows.map(([state, payouts]) => [toText(state), toBigInt(payouts)]));
}
