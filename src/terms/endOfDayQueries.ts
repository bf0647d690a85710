import type { Row, Session, Transaction } from '../db/session.js';
import { exactSum, oneOfIds, sumIn, sumIsNegative, toBigInt, toCount, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { AccountEnd, BookedEffect, ChargedFees, DayEnd, DayPosition, OpenEffect } from './endOfDay.js';
import type { TermsReason } from './termsLine.js';

const netsOfDay = `from chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no`;

/**
 * What the end of a day is made of. The caller holds one snapshot, and everything of the day is posted. `whole`: with
 * positions that nothing ends with, which matter once others are added to them.
 */
export async function readDayEnd(session: Session, day: BatchDay, whole = false): Promise<DayEnd> {
  return {
    day,
    positions: await positions(session, day, whole),
    due: await openEffects(session, 'RESERVE_HOLD', 'e.due_day', day),
    debts: await openEffects(session, 'DEBT', 'e.origin_day', day),
    booked: await bookedEffects(session, day),
  };
}

/**
 * Of accounts with terms: those with a reserve, a negative position, an open debt, or something that is booked of the day
 * already. Nothing ends with the others.
 */
async function positions(session: Session, day: BatchDay, whole: boolean): Promise<DayPosition[]> {
  const net = 'n.amount_minor - n.fee_minor';
  const rows = await session.rows(
    `select * from (
       select n.account_no, n.currency, max(t.reserve_rate) as reserve_rate, max(t.reserve_days) as reserve_days,
              ${exactSum(session.dialect, net, 'net')}, ${exactSum(session.dialect, 'n.payment_minor', 'payment')},
              case when ${sumIsNegative(session.dialect, net)} then 1 else 0 end as negative
         ${netsOfDay} join account_terms t on t.id = n.terms_id
        where c.batch_day = ? group by n.account_no, n.currency) p
      where ${whole ? '1 = 1 or' : ''} p.reserve_rate > 0 or p.negative = 1
         or exists (select 1 from terms_effect e
                     where e.account_no = p.account_no and e.currency = p.currency
                       and (e.batch_day = ? or (e.reason = 'DEBT' and e.open = 1)))`,
    [day, day],
  );
  return rows.map((row) => ({
    ...accountIn(row),
    netMinor: sumIn(row, 'net'),
    paymentMinor: sumIn(row, 'payment'),
    reserveRate: toBigInt(row['reserve_rate']),
    reserveDays: toCount(row['reserve_days']),
  }));
}

/** Reserves or debts that are open, and were due or made up to a day. */
async function openEffects(
  session: Session,
  reason: 'RESERVE_HOLD' | 'DEBT',
  dayColumn: string,
  day: BatchDay,
): Promise<OpenEffect[]> {
  const rows = await session.rows(
    `select e.id, e.account_no, e.currency, e.origin_day, e.amount_minor, e.open_minor,
            (select count(*) from terms_effect d where d.of_id = e.id) as draws
       from terms_effect e where e.open = 1 and e.reason = ? and ${dayColumn} <= ? order by e.origin_day, e.id`,
    [reason, day],
  );
  return rows.map((row) => ({
    ...accountIn(row),
    reason,
    id: toBigInt(row['id']),
    originDay: toText(row['origin_day']),
    amountMinor: toBigInt(row['amount_minor']),
    openMinor: toBigInt(row['open_minor']),
    draws: toCount(row['draws']),
  }));
}

async function bookedEffects(session: Session, day: BatchDay): Promise<BookedEffect[]> {
  const rows = await session.rows(
    `select account_no, currency, reason, origin_day, amount_minor from terms_effect
      where batch_day = ? and account_no > '' order by id`,
    [day],
  );
  return rows.map((row) => ({
    ...accountIn(row),
    reason: toText(row['reason']) as TermsReason,
    originDay: toText(row['origin_day']),
    amountMinor: toBigInt(row['amount_minor']),
  }));
}

/** The fees of the day by currency, with what is booked of their rounding. */
export async function chargedFees(session: Session, day: BatchDay): Promise<ChargedFees[]> {
  const booked = await session.rows(
    `select currency, count(*) as bookings, ${exactSum(session.dialect, 'amount_minor', 'booked')} from terms_effect
      where batch_day = ? and account_no = '' and reason = 'FEE_ROUNDING' group by currency`,
    [day],
  );
  const rows = await session.rows(
    `select n.currency, ${exactSum(session.dialect, 'n.fee_minor', 'fee')}, ${exactSum(session.dialect, 'n.fee_rest', 'rest')}
       ${netsOfDay} where c.batch_day = ? and n.terms_id is not null group by n.currency order by n.currency`,
    [day],
  );
  return rows.map((row) => {
    const currency = toText(row['currency']);
    const own = booked.find((other) => toText(other['currency']) === currency);
    return {
      currency,
      feeMinor: sumIn(row, 'fee'),
      rest: sumIn(row, 'rest'),
      bookedMinor: own === undefined ? 0n : sumIn(own, 'booked'),
      bookings: own === undefined ? 0 : toCount(own['bookings']),
    };
  });
}

function accountIn(row: Row): { accountNo: string; currency: string } {
  return { accountNo: toText(row['account_no']), currency: toText(row['currency']) };
}

/** Stores effects, each with the business number of its message, and what they leave open of those they draw on. */
export async function insertEffects(
  trx: Transaction,
  day: BatchDay,
  ends: readonly (AccountEnd & { bizNo: string })[],
): Promise<void> {
  const columns = ['biz_no', 'batch_day', 'account_no', 'currency', 'reason', 'origin_day', 'seq', 'amount_minor'];
  columns.push('of_id', 'of_no', 'due_day', 'open_minor', 'open');
  const effects = ends.flatMap(({ bizNo, accountNo, currency, effects: own }) =>
    own.map((effect) => ({ bizNo, accountNo, currency, ...effect })),
  );
  await trx.insertMany(
    'terms_effect',
    columns,
    effects.map(({ bizNo, accountNo, currency, reason, originDay, seq, amountMinor, of, dueDay }) => {
      const isOpen = reason === 'RESERVE_HOLD' || reason === 'DEBT';
      const what = [bizNo, day, accountNo, currency, reason, originDay, seq, amountMinor];
      return [...what, of?.id ?? null, of?.no ?? null, dueDay, isOpen ? amountMinor : null, isOpen ? 1 : null];
    }),
  );
  const drawnOn = effects.flatMap(({ of }) => (of === null ? [] : [of])).sort((a, b) => (a.id < b.id ? -1 : 1));
  const wholly = drawnOn.filter(({ leftMinor }) => leftMinor === 0n).map(({ id }) => id);
  if (wholly.length > 0) {
    const ids = oneOfIds(trx.dialect, 'id', wholly);
    await trx.change(`update terms_effect set open_minor = 0, open = null where ${ids.sql}`, ids.bindings);
  }
  for (const { id, leftMinor } of drawnOn) {
    if (leftMinor > 0n) await trx.change('update terms_effect set open_minor = ? where id = ?', [leftMinor, id]);
  }
}
