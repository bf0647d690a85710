import type { Database } from '../db/database.js';
import type { Dialect, Session, Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { toBigInt } from '../db/values.js';
import { wideLess, widePlus, wideSum, wideTotal, wideZero } from '../db/wide.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { bookedDays, isClosed, ledgerPeriod } from './period.js';

export interface BalancePorts {
  fence: (trx: Transaction) => Promise<void>;
  signal: AbortSignal;
}

/** Journal entries whose accounts are gathered in one transaction. */
const entriesMax = 1_000_000;

/**
 * Makes the balances of a day from its entries: one row for each ledger account, sub-ledger account and currency that
 * moved, and one for each ledger account and currency; before it, those of days that have entries and no run of their own.
 * Does nothing where they are made already, as those of closed days are; made in part, they are made from the start.
 */
export async function balancesThrough(database: Database, day: BatchDay, ports: BalancePorts): Promise<void> {
  const due = await database.read(async (session) => {
    const period = await ledgerPeriod(session);
    return isClosed(period, day) ? [] : [...new Set([...(await bookedDays(session, period, day)), day])];
  });
  for (const bookingDay of due) {
    const { entries, balanced } = await database.read((session) => entriesOf(session, bookingDay));
    if (entries !== balanced) await makeBalances(database, bookingDay, entries, ports);
  }
}

/** Journal entries of a day, and how many of them its balances were made from; null: of none yet. */
async function entriesOf(session: Session, day: BatchDay): Promise<{ entries: bigint; balanced: bigint | null }> {
  const [row] = await session.rows(
    `select (select count(*) from journal_entry where booking_day = ?) as entries,
            (select entries from balanced_day where booking_day = ?) as balanced`,
    [day, day],
  );
  return {
    entries: toBigInt(row?.['entries']),
    balanced: row?.['balanced'] === null ? null : toBigInt(row?.['balanced']),
  };
}

async function makeBalances(
  database: Database,
  day: BatchDay,
  entries: bigint,
  { fence, signal }: BalancePorts,
): Promise<void> {
  const parts = Math.max(1, Math.ceil(Number(entries) / entriesMax));
  const write = (name: string, work: (trx: Transaction) => Promise<unknown>): Promise<void> =>
    database.transact(
      repeatable(name, async (trx) => {
        await work(trx);
        await fence(trx);
      }),
      signal,
    );
  await write('forget balances', async (trx) => {
    const [known] = await trx.rows('select booking_day from balanced_day where booking_day = ?', [day]);
    if (known === undefined) await trx.change('insert into balanced_day (booking_day) values (?)', [day]);
    // A later day that is open as well opens with what this one closes with.
    await trx.change('update balanced_day set entries = null where booking_day >= ?', [day]);
  });
  for (let part = 0; part < parts; part += 1) {
    const ofPart = (column: string): string =>
      parts === 1 ? '' : `and crc32(${column}) % ${String(parts)} = ${String(part)}`;
    await write('balance accounts', async (trx) => {
      await trx.change(`delete from account_balance where booking_day = ? ${ofPart('sub_account')}`, [day]);
      await trx.change(accountBalances(trx.dialect, ofPart('e.sub_account')), [day, day, day]);
    });
  }
  await write('balance ledger accounts', async (trx) => {
    await trx.change('delete from general_balance where booking_day = ?', [day]);
    await trx.change(generalBalances(trx.dialect), [day, day, day]);
    await trx.change('update balanced_day set entries = ? where booking_day = ?', [entries, day]);
  });
}

function accountBalances(dialect: Dialect, condition: string): string {
  const amountOf = (side: string): string => `case e.side when '${side}' then e.amount_minor else 0 end`;
  const keys = ['ledger_account', 'sub_account', 'currency'];
  return balances(
    dialect,
    'account_balance',
    keys,
    `select ${keys.map((key) => `e.${key}`).join(', ')}, ${wideSum(dialect, amountOf('DEBIT'))} as debit_minor,
            ${wideSum(dialect, amountOf('CREDIT'))} as credit_minor
       from journal_entry j join ledger_entry e on e.journal_entry_id = j.id
      where j.booking_day = ? ${condition} group by ${keys.map((key) => `e.${key}`).join(', ')}`,
  );
}

/** The accounts' movements added up: reconciliation holds them against the entries. */
function generalBalances(dialect: Dialect): string {
  return balances(
    dialect,
    'general_balance',
    ['ledger_account', 'currency'],
    `select ledger_account, currency, ${wideTotal(dialect, 'debit_minor')} as debit_minor,
            ${wideTotal(dialect, 'credit_minor')} as credit_minor
       from account_balance where booking_day = ? group by ledger_account, currency`,
  );
}

/** Bindings: the day, the day again as the bound of what went before, and as that of the movements. */
function balances(dialect: Dialect, table: string, keys: readonly string[], movements: string): string {
  const list = (prefix: string): string => keys.map((key) => prefix + key).join(', ');
  return `
    insert into ${table} (booking_day, ${list('')}, opening_minor, debit_minor, credit_minor, closing_minor)
    select ?, ${list('m.')}, m.opening_minor, m.debit_minor, m.credit_minor,
           ${wideLess(dialect, widePlus(dialect, 'm.opening_minor', 'm.debit_minor'), 'm.credit_minor')}
      from (select ${list('d.')}, d.debit_minor, d.credit_minor,
                   coalesce((select p.closing_minor from ${table} p
                              where ${keys.map((key) => `p.${key} = d.${key}`).join(' and ')} and p.booking_day < ?
                              order by p.booking_day desc limit 1), ${wideZero(dialect)}) as opening_minor
              from (${movements}) d) m`;
}
