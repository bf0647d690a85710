import { formatMinor } from '../kernel/money.js';
import type { Dialect, Row, Session } from '../db/session.js';
import { exactSum, sumIn, toBigInt, toText } from '../db/values.js';

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

/** Nets whose message is posted, and the settlement side of the control account, as rows of one table. */
const payable = `
  select n.account_no, n.currency, n.amount_minor as net, 0 as booked, n.amount_minor as difference
    from net n join journal_entry j on j.biz_no = n.biz_no and j.type = 'SETTLEMENT'
  union all
  select e.sub_account, e.currency, 0, ${signed}, -(${signed})
    from ledger_entry e join journal_entry j on j.id = e.journal_entry_id and j.type = 'SETTLEMENT'
   where e.ledger_account = 'MERCHANT_PAYABLE'`;

/** Sum of all posted nets (expected) against the control account MERCHANT_PAYABLE (actual), over all days. */
export async function controlAccount(session: Session): Promise<Sides[]> {
  const { dialect } = session;
  const rows = await session.rows(
    `select currency, ${exactSum(dialect, 'net', 'net')}, ${exactSum(dialect, 'booked', 'booked')}
       from (${payable}) as side group by currency order by currency`,
  );
  return rows.map(payableSides);
}

/** Accounts whose part of the control account is not the sum of their posted nets; at most `listedMax`. */
export async function differingAccounts(session: Session): Promise<(Sides & { accountNo: string })[]> {
  const { dialect } = session;
  const rows = await session.rows(
    `select account_no, currency, ${exactSum(dialect, 'net', 'net')}, ${exactSum(dialect, 'booked', 'booked')}
       from (${payable}) as side group by account_no, currency
     having ${sumIsNotZero(dialect, 'difference')}
      order by account_no, currency limit ${String(listedMax)}`,
  );
  return rows.map((row) => ({ accountNo: toText(row['account_no']), ...payableSides(row) }));
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

/** Journal entries of a day whose debits and credits differ in a currency; at most `listedMax`. */
export async function unbalancedEntries(
  session: Session,
  batchDay: string,
): Promise<(Sides & { journalEntryId: bigint })[]> {
  const { dialect } = session;
  const amountOn = (side: string): string => `case e.side when '${side}' then e.amount_minor else 0 end`;
  const rows = await session.rows(
    `select j.id, e.currency, ${exactSum(dialect, amountOn('DEBIT'), 'debit')}, ${exactSum(dialect, amountOn('CREDIT'), 'credit')}
       from journal_entry j join ledger_entry e on e.journal_entry_id = j.id
      where j.batch_day = ? group by j.id, e.currency
     having ${sumIsNotZero(dialect, signed)}
      order by j.id, e.currency limit ${String(listedMax)}`,
    [batchDay],
  );
  return rows.map((row) => ({
    journalEntryId: toBigInt(row['id']),
    currency: toText(row['currency']),
    expectedMinor: sumIn(row, 'debit'),
    actualMinor: sumIn(row, 'credit'),
  }));
}
