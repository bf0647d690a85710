import { formatMinor } from '../kernel/money.js';
import type { Dialect, Row, Session } from '../db/session.js';
import { exactSum, groupKey, groupKeyText, sumIn, toBigInt, toCount, toText } from '../db/values.js';

/** How many differences of one kind are listed; a broken table would fill a screen for every row. */
export const listedMax = 20;

/** SQL condition: the sum of a signed BIGINT column is not zero, exactly, beyond 64 bits too. */
export function sumIsNotZero(dialect: Dialect, column: string): string {
  if (dialect === 'mysql') return `sum(${column}) <> 0`;
  // Upper and lower halves are summed apart, since SQLite's SUM() stops beyond 64 bits; the carry goes up.
  const low = `sum((${column}) & 4294967295)`;
  return `(sum((${column}) >> 32) + (${low} >> 32) <> 0 or (${low} & 4294967295) <> 0)`;
}

/** Per currency, both sides of what must be equal. */
export interface Sides {
  currency: string;
  expectedMinor: bigint;
  actualMinor: bigint;
}

export const sidesAgree = (side: Sides): boolean => side.expectedMinor === side.actualMinor;

/** "JPY 500; USD 12.50", or "nothing". */
export function amountsText(sides: readonly Sides[], which: 'expectedMinor' | 'actualMinor'): string {
  return sides.map((side) => `${side.currency} ${formatMinor(side[which], side.currency)}`).join('; ') || 'nothing';
}

const signed = `case e.side when 'CREDIT' then e.amount_minor else -e.amount_minor end`;

/** Upper and lower part of a sum, as numbers that can be summed on. SQLite's 64 bits need the two; servers only one. */
export function halves(dialect: Dialect, column: string): [upper: string, lower: string] {
  if (dialect === 'mysql') return ['0', `sum(${column})`];
  return [`sum((${column}) >> 32)`, `sum((${column}) & 4294967295)`];
}

/** The day whose nets and entries are compared; without one, those of all days. */
export interface SubLedgerDay {
  batchDay: string;
  /** Every net of the day has its journal entry, so that none needs to be looked up. */
  allPosted: boolean;
}

/**
 * Nets whose message is posted beside the settlement side of the control account, by account and currency. Each side is
 * grouped before the two meet, so that what the server holds in between is as large as the accounts and not as the books.
 */
function payableByAccount(dialect: Dialect, day: SubLedgerDay | undefined): string {
  const [netUpper, netLower] = halves(dialect, 'n.amount_minor');
  const [bookedUpper, bookedLower] = halves(dialect, signed);
  const sums = ['net_upper', 'net_lower', 'booked_upper', 'booked_lower'].map((name) => `sum(${name}) as ${name}`);
  const posted = day?.allPosted === true ? '' : `join journal_entry j on j.biz_no = n.biz_no and j.type = 'SETTLEMENT'`;
  const nets =
    day === undefined
      ? `net n ${posted}`
      : `chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no ${posted} where c.batch_day = ?`;
  const ofDay = day === undefined ? '' : 'and j.batch_day = ?';
  return `
  select account_no, currency, ${sums.join(', ')} from (
    select ${groupKey(dialect, 'n.account_no')} as account_no, n.currency,
           ${netUpper} as net_upper, ${netLower} as net_lower, 0 as booked_upper, 0 as booked_lower
      from ${nets} group by 1, 2
    union all
    select ${groupKey(dialect, 'e.sub_account')}, e.currency, 0, 0, ${bookedUpper}, ${bookedLower}
      from journal_entry j join ledger_entry e on e.journal_entry_id = j.id
     where j.type = 'SETTLEMENT' ${ofDay} and e.ledger_account = 'MERCHANT_PAYABLE' and e.reason is null
     group by 1, 2) as side
   group by 1, 2`;
}

/** Condition on a row of `payableByAccount`: the two sides differ. */
function sidesDiffer(dialect: Dialect): string {
  const [upper, lower] = ['(net_upper - booked_upper)', '(net_lower - booked_lower)'];
  return dialect === 'sqlite' ? `(${upper} + (${lower} >> 32) <> 0 or (${lower} & 4294967295) <> 0)` : `${lower} <> 0`;
}

/** The two parts of a sum as `sumIn` reads them, with or without summing once more. */
export function parts(dialect: Dialect, name: string, sum: 'sum' | ''): string {
  return dialect === 'sqlite'
    ? `${sum}(${name}_upper) as ${name}_hi, ${sum}(${name}_lower) as ${name}_lo`
    : `0 as ${name}_hi, cast(${sum}(${name}_lower) as char) as ${name}_lo`;
}

export interface SubLedger {
  /** Sum of the posted nets (expected) against what they changed of the control account MERCHANT_PAYABLE (actual). */
  control: Sides[];
  /** Accounts whose part of the control account is not the sum of their posted nets; at most `listedMax`. */
  differing: (Sides & { accountNo: string })[];
}

/** The sub-ledger against its control account, in total and account by account: of one day, or of all. */
export async function subLedgerSides(session: Session, day?: SubLedgerDay): Promise<SubLedger> {
  const { dialect } = session;
  const differ = sidesDiffer(dialect);
  const bindings = day === undefined ? [] : [day.batchDay, day.batchDay];
  const totals = await session.rows(
    `select currency, ${parts(dialect, 'net', 'sum')}, ${parts(dialect, 'booked', 'sum')},
            sum(case when ${differ} then 1 else 0 end) as differing
       from (${payableByAccount(dialect, day)}) as account group by currency order by currency`,
    bindings,
  );
  const anyDiffers = totals.some((row) => toCount(row['differing']) > 0);
  const rows = anyDiffers
    ? await session.rows(
        `select ${groupKeyText(dialect, 'account_no')} as account_no, currency,
                ${parts(dialect, 'net', '')}, ${parts(dialect, 'booked', '')}
           from (${payableByAccount(dialect, day)}) as account
          where ${differ} order by account.account_no, currency limit ${String(listedMax)}`,
        bindings,
      )
    : [];
  return {
    control: totals.map(payableSides),
    differing: rows.map((row) => ({ accountNo: toText(row['account_no']), ...payableSides(row) })),
  };
}

function payableSides(row: Row): Sides {
  return { currency: toText(row['currency']), expectedMinor: sumIn(row, 'net'), actualMinor: sumIn(row, 'booked') };
}

/** Debits (expected) and credits (actual) of the whole ledger. */
export async function trialBalance(session: Session): Promise<Sides[]> {
  const ofSide = (side: string): string => `case e.side when '${side}' then e.amount_minor else 0 end`;
  const rows = await session.rows(
    `select e.currency, ${exactSum(session.dialect, ofSide('DEBIT'), 'debit')},
            ${exactSum(session.dialect, ofSide('CREDIT'), 'credit')}
       from ledger_entry e group by e.currency order by e.currency`,
  );
  return rows.map((row) => ({
    currency: toText(row['currency']),
    expectedMinor: sumIn(row, 'debit'),
    actualMinor: sumIn(row, 'credit'),
  }));
}

/** Journal entries of a day, of its business or in its books, whose debits (expected) and credits (actual) differ in a currency; at most `listedMax`. */
export async function unbalancedEntries(
  session: Session,
  day: string,
  column: 'batch_day' | 'booking_day',
): Promise<(Sides & { journalEntryId: bigint })[]> {
  const { dialect } = session;
  const entriesOfDay = `journal_entry j join ledger_entry e on e.journal_entry_id = j.id where j.${column} = ?`;
  // Asked first whether there are any: by journal entry alone the server goes along its keys, and sorts nothing.
  const [suspect] = await session.rows(
    `select j.id from ${entriesOfDay} group by j.id
     having ${sumIsNotZero(dialect, signed)} or min(e.currency) <> max(e.currency) limit 1`,
    [day],
  );
  if (suspect === undefined) return [];
  const rows = await session.rows(
    `select j.id, e.currency from ${entriesOfDay} group by j.id, e.currency having ${sumIsNotZero(dialect, signed)}
      order by j.id, e.currency limit ${String(listedMax)}`,
    [day],
  );
  const found: (Sides & { journalEntryId: bigint })[] = [];
  for (const row of rows) {
    // The two sums are worked out for the few that are wrong: for every journal entry they would double the time.
    const [journalEntryId, currency] = [toBigInt(row['id']), toText(row['currency'])];
    const sides = await session.rows(
      `select side, ${exactSum(dialect, 'amount_minor', 'amount')} from ledger_entry
        where journal_entry_id = ? and currency = ? group by side`,
      [journalEntryId, currency],
    );
    const sumOf = (side: string): bigint => {
      const sum = sides.find((one) => one['side'] === side);
      return sum === undefined ? 0n : sumIn(sum, 'amount');
    };
    found.push({ journalEntryId, currency, expectedMinor: sumOf('DEBIT'), actualMinor: sumOf('CREDIT') });
  }
  return found;
}
