import { formatMinor } from '../kernel/money.js';
import type { Session } from '../db/session.js';
import { exactSum, placeholders, sumIn, sumIsNegative, toBigInt, toText } from '../db/values.js';
import type { Checklist } from './checklist.js';
import { nearestEven, readDayTerms, termsOf } from './dayTerms.js';
import { listedMax } from './ledgerProof.js';
import { legKey } from './payload.js';
import { isClaimed, isOfDay, orderRows } from './orderRows.js';

// What terms do at the end of a day: held against orders, terms and the ledger, by SQL and sums of its own.

const limit = `limit ${String(listedMax)}`;

/** What an effect does to what its account is owed. */
export const effectOnPayable = `case when t.reason in ('RESERVE_HOLD', 'DEBT_RECOVERY') then -t.amount_minor
  when t.reason = 'FEE_ROUNDING' then 0 else t.amount_minor end`;

const netsOfDay = 'chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no';

/** The terms' part of a day: booked as it is told, reserves as the payments want them, no position left negative. */
export async function checkTermsOfDay(session: Session, checklist: Checklist, batchDay: string): Promise<void> {
  const contradict = (table: string, key: string, problem: string): void => {
    checklist.contradict('terms', table, key, problem);
  };
  checklist.examine('terms', await checkBooked(session, contradict, batchDay));
  const [batch] = await session.rows('select state from batch where batch_day = ?', [batchDay]);
  const [net] = await session.rows(
    `select n.terms_id from ${netsOfDay} where c.batch_day = ? and n.terms_id is not null limit 1`,
    [batchDay],
  );
  // The end of a day is booked last, once everything else of it is posted.
  if (batch?.['state'] !== 'CLOSED' || net === undefined) return;
  await checkAllBooked(session, contradict, batchDay);
  await checkReserves(session, contradict, batchDay);
  await checkPositions(session, contradict, batchDay);
  await checkRounding(session, contradict, batchDay);
}

type Contradict = (table: string, key: string, problem: string) => void;

/** Ledger accounts that each reason debits and credits. */
const accountsOf: Record<string, readonly [string, string]> = {
  RESERVE_HOLD: ['MERCHANT_PAYABLE', 'RESERVE'],
  RESERVE_RELEASE: ['RESERVE', 'MERCHANT_PAYABLE'],
  DEBT: ['MERCHANT_DEBT', 'MERCHANT_PAYABLE'],
  DEBT_RECOVERY: ['MERCHANT_PAYABLE', 'MERCHANT_DEBT'],
  FEE_ROUNDING: ['ROUNDING', 'FEE_INCOME'],
};

const windowSize = 900;

/** Each TERMS entry of the day books its effects, leg by leg. Returns how many there are. */
async function checkBooked(session: Session, contradict: Contradict, batchDay: string): Promise<number> {
  let [lastId, examined] = [0n, 0];
  for (;;) {
    const entries = await session.rows(
      `select id, biz_no from journal_entry where batch_day = ? and type = 'TERMS' and id > ?
        order by id limit ${String(windowSize)}`,
      [batchDay, lastId],
    );
    const last = entries.at(-1);
    if (last === undefined) return examined;
    const bizNos = new Map(entries.map((row) => [toBigInt(row['id']), toText(row['biz_no'])]));
    const due = await legsDue(session, [...bizNos.values()], batchDay);
    const booked = await legsBooked(session, bizNos);
    for (const key of new Set([...due.keys(), ...booked.keys()])) {
      const [expected, actual] = [due.get(key) ?? 0n, booked.get(key) ?? 0n];
      const [bizNo = '', currency = '', ...leg] = key.split(' ');
      if (expected === actual) continue;
      const [is, wanted] = [formatMinor(actual, currency), formatMinor(expected, currency)];
      contradict('journal_entry', bizNo, `books ${currency} ${is} as ${leg.join(' ')}, its effects make ${wanted}`);
    }
    lastId = toBigInt(last['id']);
    examined += entries.length;
  }
}

async function legsDue(session: Session, bizNos: readonly string[], batchDay: string): Promise<Map<string, bigint>> {
  const rows = await session.rows(
    `select biz_no, batch_day, account_no, currency, reason, amount_minor from terms_effect
      where biz_no in (${placeholders(bizNos)}) and batch_day = ?`,
    [...bizNos, batchDay],
  );
  const legs = new Map<string, bigint>();
  for (const row of rows) {
    const [reason, signed] = [toText(row['reason']), toBigInt(row['amount_minor'])];
    const sides = signed < 0n ? (['CREDIT', 'DEBIT'] as const) : (['DEBIT', 'CREDIT'] as const);
    (accountsOf[reason] ?? []).forEach((account, at) => {
      const leg = legKey(account, toText(row['account_no']), sides[at] as string, reason);
      const key = `${toText(row['biz_no'])} ${toText(row['currency'])} ${leg}`;
      legs.set(key, (legs.get(key) ?? 0n) + (signed < 0n ? -signed : signed));
    });
  }
  return legs;
}

async function legsBooked(session: Session, bizNos: ReadonlyMap<bigint, string>): Promise<Map<string, bigint>> {
  const ids = [...bizNos.keys()];
  const rows = await session.rows(
    `select journal_entry_id, ledger_account, sub_account, side, currency, amount_minor, reason from ledger_entry
      where journal_entry_id in (${placeholders(ids)})`,
    ids,
  );
  const legs = new Map<string, bigint>();
  for (const row of rows) {
    const reason = row['reason'] === null ? null : toText(row['reason']);
    const leg = legKey(toText(row['ledger_account']), toText(row['sub_account']), toText(row['side']), reason);
    const key = `${bizNos.get(toBigInt(row['journal_entry_id'])) ?? ''} ${toText(row['currency'])} ${leg}`;
    legs.set(key, (legs.get(key) ?? 0n) + toBigInt(row['amount_minor']));
  }
  return legs;
}

async function checkAllBooked(session: Session, contradict: Contradict, batchDay: string): Promise<void> {
  const rows = await session.rows(
    `select distinct t.biz_no from terms_effect t left join journal_entry j on j.biz_no = t.biz_no
      where t.batch_day = ? and j.id is null order by t.biz_no ${limit}`,
    [batchDay],
  );
  for (const row of rows) contradict('terms_effect', toText(row['biz_no']), 'is of a closed day, and not booked');
}

/** A day's reserve is the share of its payments that the terms name, from the orders themselves. */
async function checkReserves(session: Session, contradict: Contradict, batchDay: string): Promise<void> {
  const held = new Map<string, bigint>();
  const holds = await session.rows(
    `select account_no, currency, ${exactSum(session.dialect, 'amount_minor', 'held')} from terms_effect
      where batch_day = ? and reason = 'RESERVE_HOLD' and origin_day = batch_day group by account_no, currency`,
    [batchDay],
  );
  for (const row of holds) held.set(`${toText(row['currency'])} ${toText(row['account_no'])}`, sumIn(row, 'held'));
  const onDay = isOfDay(session, batchDay, 'o.batch_day');
  const payments = await session.rows(
    `select o.account_no, o.currency, ${exactSum(session.dialect, 'o.amount_minor', 'paid')} from ${orderRows(session, 'o')}
      where ${onDay.sql} and ${isClaimed(session, 'o')} and o.state = 'SUCCESS' and o.type = 'PAYMENT' and o.amount_minor > 0
        and exists (select 1 from account_terms t
                     where t.account_no in (o.account_no, '*') and t.valid_from <= ? and t.reserve_rate > 0)
      group by o.account_no, o.currency`,
    [...onDay.bindings, batchDay],
  );
  const terms = await readDayTerms(session, batchDay, new Set(payments.map((row) => toText(row['account_no']))));
  for (const row of payments) {
    const [accountNo, currency] = [toText(row['account_no']), toText(row['currency'])];
    const key = `${currency} ${accountNo}`;
    const due = nearestEven(sumIn(row, 'paid') * (termsOf(terms, accountNo)?.reserveRate ?? 0n));
    const actual = held.get(key) ?? 0n;
    held.delete(key);
    if (due === actual) continue;
    const [is, wanted] = [formatMinor(actual, currency), formatMinor(due, currency)];
    contradict('terms_effect', `${batchDay} ${accountNo}`, `holds ${currency} ${is} in reserve, due is ${wanted}`);
  }
  for (const key of held.keys()) {
    contradict('terms_effect', `${batchDay} ${key}`, 'holds a reserve of payments that are not there');
  }
}

/** What a day leaves an account with terms is a debt where it is negative, so that nothing negative is left. */
async function checkPositions(session: Session, contradict: Contradict, batchDay: string): Promise<void> {
  const rows = await session.rows(
    `select account_no, currency, ${exactSum(session.dialect, 'minor', 'rest')} from (
       select n.account_no, n.currency, n.amount_minor - n.fee_minor as minor
         from ${netsOfDay} where c.batch_day = ? and n.terms_id is not null
       union all
       select t.account_no, t.currency, ${effectOnPayable} from terms_effect t where t.batch_day = ?) as part
      group by account_no, currency having ${sumIsNegative(session.dialect, 'minor')}
      order by account_no, currency ${limit}`,
    [batchDay, batchDay],
  );
  for (const row of rows) {
    const currency = toText(row['currency']);
    const rest = formatMinor(sumIn(row, 'rest'), currency);
    contradict(
      'net',
      `${batchDay} ${toText(row['account_no'])}`,
      `is left at ${currency} ${rest}, which is no debt yet`,
    );
  }
}

/** With its rounding the fee income of a day is the exact total of its fees. */
async function checkRounding(session: Session, contradict: Contradict, batchDay: string): Promise<void> {
  const rows = await session.rows(
    `select n.currency, ${exactSum(session.dialect, 'n.fee_minor', 'fee')}, ${exactSum(session.dialect, 'n.fee_rest', 'rest')}
       from ${netsOfDay} where c.batch_day = ? and n.terms_id is not null group by n.currency`,
    [batchDay],
  );
  const booked = await session.rows(
    `select currency, ${exactSum(session.dialect, 'amount_minor', 'rounding')} from terms_effect
      where batch_day = ? and reason = 'FEE_ROUNDING' group by currency`,
    [batchDay],
  );
  for (const row of rows) {
    const currency = toText(row['currency']);
    const own = booked.find((other) => toText(other['currency']) === currency);
    const due = nearestEven(sumIn(row, 'fee') * 100_000_000n + sumIn(row, 'rest')) - sumIn(row, 'fee');
    const actual = own === undefined ? 0n : sumIn(own, 'rounding');
    if (due === actual) continue;
    const [is, wanted] = [formatMinor(actual, currency), formatMinor(due, currency)];
    contradict('terms_effect', `${batchDay} ${currency}`, `rounds fees by ${is}, their exact total wants ${wanted}`);
  }
}

/** Reserves and debts of all days: what is open is what was not drawn, and each is drawn on by its own account in time. */
export async function checkOpenTerms(session: Session, checklist: Checklist): Promise<void> {
  const contradict = (id: unknown, problem: string): void => {
    checklist.contradict('terms', 'terms_effect', String(toBigInt(id)), problem);
  };
  const miscounted = await session.rows(
    `select e.id from terms_effect e
       left join (select of_id, sum(amount_minor) as drawn from terms_effect where of_id is not null group by of_id) d
         on d.of_id = e.id
      where e.open_minor is not null and e.open_minor <> e.amount_minor - coalesce(d.drawn, 0) order by e.id ${limit}`,
  );
  for (const row of miscounted) contradict(row['id'], 'is open by another amount than is left of it');
  const strange = await session.rows(
    `select d.id from terms_effect d left join terms_effect e on e.id = d.of_id
      where d.of_id is not null
        and (e.id is null or e.account_no <> d.account_no or e.currency <> d.currency or e.origin_day <> d.origin_day
             or e.reason <> case d.reason when 'RESERVE_RELEASE' then 'RESERVE_HOLD' else 'DEBT' end
             or (d.reason = 'RESERVE_RELEASE' and (d.amount_minor <> e.amount_minor or d.batch_day < e.due_day)))
      order by d.id ${limit}`,
  );
  for (const row of strange)
    contradict(row['id'], 'draws on what it may not draw on, or too early, or not on all of it');
  const overdue = await session.rows(
    `select distinct e.id from terms_effect e
       join outbox m on m.biz_no = e.biz_no
       join batch b on b.batch_day >= e.due_day and b.batch_day > e.batch_day and b.closed_at > m.created_at
      where e.open = 1 and e.reason = 'RESERVE_HOLD' order by e.id ${limit}`,
  );
  for (const row of overdue) contradict(row['id'], 'is a reserve whose day has come and gone');
}
