import type { Row, Session, Transaction } from '../db/session.js';
import { fromInstant, oneOfIds, placeholders, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { minimumPayoutIn, minimumPayoutText, type AccountTerms } from './accountTerms.js';

export interface StoredTerms extends AccountTerms {
  readonly id: bigint;
  readonly version: number;
}

const termsSelect = `select id, account_no, valid_from, version, fee_plan, reserve_rate, reserve_days, minimum_payout,
                            payout_hold, payout_delay_days from account_terms`;

function toTerms(row: Row): StoredTerms {
  return {
    id: toBigInt(row['id']),
    accountNo: toText(row['account_no']),
    validFrom: toText(row['valid_from']),
    version: toCount(row['version']),
    feePlan: toTextOrNull(row['fee_plan']),
    reserveRate: toBigInt(row['reserve_rate']),
    reserveDays: toCount(row['reserve_days']),
    minimumPayout: minimumPayoutIn(toText(row['minimum_payout'])),
    payoutHold: toCount(row['payout_hold']) === 1,
    payoutDelayDays: toCount(row['payout_delay_days']),
  };
}

/** Accounts asked of at once: old SQLite builds take 999 bound values in one statement. */
const accountsMax = 900;

/** All terms of these accounts in their newest versions, each account's in the order of their first days. */
export async function termsOf(session: Session, accountNos: readonly string[]): Promise<StoredTerms[]> {
  const found = new Map<string, StoredTerms>();
  for (const part of parts(accountNos)) {
    const rows = await session.rows(
      `${termsSelect} where account_no in (${placeholders(part)}) order by account_no, valid_from, version`,
      part,
    );
    for (const row of rows) {
      const terms = toTerms(row);
      found.set(`${terms.validFrom} ${terms.accountNo}`, terms);
    }
  }
  return [...found.values()];
}

/** The terms of each of these accounts on a day; those that have none of their own are not among them. */
export async function termsOn(
  session: Session,
  day: BatchDay,
  accountNos: readonly string[],
): Promise<Map<string, StoredTerms>> {
  const terms = await termsOf(session, accountNos);
  return new Map(terms.filter(({ validFrom }) => validFrom <= day).map((own) => [own.accountNo, own]));
}

/** What these terms hold back. */
export async function reserveTerms(
  session: Session,
  ids: readonly bigint[],
): Promise<Map<bigint, Pick<StoredTerms, 'reserveRate' | 'reserveDays'>>> {
  if (ids.length === 0) return new Map();
  const list = oneOfIds(session.dialect, 'id', ids);
  const rows = await session.rows(`${termsSelect} where ${list.sql}`, list.bindings);
  return new Map(rows.map(toTerms).map((terms) => [terms.id, terms]));
}

/** The last day of which anything is settled, or null. */
export async function lastSettledDay(session: Session): Promise<BatchDay | null> {
  const [row] = await session.rows('select max(batch_day) as day from chunk');
  return toTextOrNull(row?.['day']);
}

/** The last settled day, from a day on, of each of these accounts that has one. */
export async function settledDays(
  session: Session,
  from: BatchDay,
  accountNos: readonly string[],
): Promise<Map<string, BatchDay>> {
  const found = new Map<string, BatchDay>();
  for (const part of parts(accountNos)) {
    const rows = await session.tuples(
      `select n.account_no, max(c.batch_day) as day
         from chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no
        where c.batch_day >= ? and n.account_no in (${placeholders(part)}) group by n.account_no`,
      [from, ...part],
    );
    for (const [accountNo, day] of rows) found.set(toText(accountNo), toText(day));
  }
  return found;
}

export async function insertTerms(
  trx: Transaction,
  terms: readonly Omit<StoredTerms, 'id'>[],
  now: string,
): Promise<void> {
  const columns = ['account_no', 'valid_from', 'version', 'fee_plan', 'reserve_rate', 'reserve_days'];
  columns.push('minimum_payout', 'payout_hold', 'payout_delay_days', 'imported_at');
  const moment = fromInstant(trx.dialect, now);
  await trx.insertMany(
    'account_terms',
    columns,
    terms.map((own) => [
      own.accountNo,
      own.validFrom,
      own.version,
      own.feePlan,
      own.reserveRate,
      own.reserveDays,
      minimumPayoutText(own.minimumPayout),
      own.payoutHold ? 1 : 0,
      own.payoutDelayDays,
      moment,
    ]),
  );
}

function* parts(accountNos: readonly string[]): Generator<string[]> {
  for (let start = 0; start < accountNos.length; start += accountsMax) {
    yield accountNos.slice(start, start + accountsMax);
  }
}

/** Whether any terms were ever imported: without them a run need not ask further. */
export async function hasTerms(session: Session): Promise<boolean> {
  return (await session.rows('select id from account_terms limit 1')).length > 0;
}
