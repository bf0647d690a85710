import { formatMinor } from '../kernel/money.js';
import type { Dialect, Row, Session } from '../db/session.js';
import { exactSum, sumIn, toBigInt, toCount, toText } from '../db/values.js';

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
function halves(dialect: Dialect, column: string): [upper: string, lower: string] {
  if (dialect === 'mysql') return ['0', `sum(${column})`];
  return [`sum((${column}) >> 32)`, `sum((${column}) & 4294967295)`];
}

/**
 * Nets whose message is posted beside the settlement side of the control account, by account and currency. Each side is
 * grouped before the two meet, so that what the server holds in between is as large as the accounts and not as the books.
 */
function payableByAccount(dialect: Dialect): string {
  const [netUpper, netLower] = halves(dialect, 'n.amount_minor');
  const [bookedUpper, bookedLower] = halves(dialect, signed);
  const sums = ['net_upper', 'net_lower', 'booked_upper', 'booked_lower'].map((name) => `sum(${name}) as ${name}`);
  return `
  select account_no, currency, ${sums.join(', ')} from (
    select n.account_no, n.currency, ${netUpper} as net_upper, ${netLower} as net_lower, 0 as booked_upper, 0 as booked_lower
      from net n join journal_entry j on j.biz_no = n.biz_no and j.type = 'SETTLEMENT'
     group by n.account_no, n.currency
    union all
    select e.sub_account, e.currency, 0, 0, ${bookedUpper}, ${bookedLower}
      from ledger_entry e join journal_entry j on j.id = e.journal_entry_id and j.type = 'SETTLEMENT'
     where e.ledger_account = 'MERCHANT_PAYABLE' and e.reason is null group by e.sub_account, e.currency) as side
   group by account_no, currency`;
}

/** Condition on a row of `payableByAccount`: the two sides differ. */
function sidesDiffer(dialect: Dialect): string {
  const [upper, lower] = ['(net_upper - booked_upper)', '(net_lower - booked_lower)'];
  return dialect === 'sqlite' ? `(${upper} + (${lower} >> 32) <> 0 or (${lower} & 4294967295) <> 0)` : `${lower} <> 0`;
}

/** The two parts of a sum as `sumIn` reads them, with or without summing once more. */
function parts(dialect: Dialect, name: string, sum: 'sum' | ''): string {
  return dialect === 'sqlite'
    ? `${sum}(${name}_upper) as ${name}_hi, ${sum}(${name}_lower) as ${name}_lo`
    : `0 as ${name}_hi, cast(${sum}(${name}_lower) as char) as ${name}_lo`;
}

export interface SubLedger {
  /** Sum of all posted nets (expected) against the control account MERCHANT_PAYABLE (actual), over all days. */
  control: Sides[];
  /** Accounts whose part of the control account is not the sum of their posted nets; at most `listedMax`. */
  differing: (Sides & { accountNo: string })[];
}

/** The sub-ledger against its control account, in total and account by account. */
export async function subLedgerSides(session: Session): Promise<SubLedger> {
  const { dialect } = session;
  const differ = sidesDiffer(dialect);
  const totals = await session.rows(
    `select currency, ${parts(dialect, 'net', 'sum')}, ${parts(dialect, 'booked', 'sum')},
            sum(case when ${differ} then 1 else 0 end) as differing
       from (${payableByAccount(dialect)}) as account group by currency order by currency`,
  );
  const anyDiffers = totals.some((row) => toCount(row['differing']) > 0);
  const rows = anyDiffers
    ? await session.rows(
        `select account_no, currency, ${parts(dialect, 'net', '')}, ${parts(dialect, 'booked', '')}
           from (${payableByAccount(dialect)}) as account
          where ${differ} order by account_no, currency limit ${String(listedMax)}`,
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
  const rows = await session.rows(
    `select currency, side, ${exactSum(session.dialect, 'amount_minor', 'amount')}
       from ledger_entry group by currency, side order by currency, side`,
  );
  const sides = new Map<string, Sides>();
  for (const row of rows) {
    const currency = toText(row['currency']);
    const side = sides.get(currency) ?? { currency, expectedMinor: 0n, actualMinor: 0n };
    side[row['side'] === 'DEBIT' ? 'expectedMinor' : 'actualMinor'] += sumIn(row, 'amount');
    sides.set(currency, side);
  }
  return [...sides.values()];
}

/** Journal entries of a day whose debits (expected) and credits (actual) differ in a currency; at most `listedMax`. */
export async function unbalancedEntries(
  session: Session,
  batchDay: string,
): Promise<(Sides & { journalEntryId: bigint })[]> {
  const { dialect } = session;
  const rows = await session.rows(
    `select j.id, e.currency from journal_entry j join ledger_entry e on e.journal_entry_id = j.id
      where j.batch_day = ? group by j.id, e.currency having ${sumIsNotZero(dialect, signed)}
      order by j.id, e.currency limit ${String(listedMax)}`,
    [batchDay],
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
