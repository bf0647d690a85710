import type { Session } from '../../src/db/session.js';
import { toBigInt, toCount, toText } from '../../src/db/values.js';

// What a finished run leaves beside the entries, made from them here by plain arithmetic: shares no code with the program.

/** Makes the balances of all days anew. */
export async function writeBalances(trx: Session): Promise<void> {
  for (const table of ['account_balance', 'general_balance']) await trx.change(`delete from ${table}`);
  const days = (await trx.tuples('select batch_day from batch order by batch_day')).map(([day]) => toText(day));
  const closing = new Map<string, bigint>();
  for (const day of days) {
    const [row] = await trx.rows('select count(*) as entries from journal_entry where batch_day = ?', [day]);
    await trx.change('update batch set balanced_entries = ? where batch_day = ?', [toCount(row?.['entries']), day]);
    const legs = await trx.tuples(
      `select e.ledger_account, e.sub_account, e.currency, e.side, e.amount_minor
         from journal_entry j join ledger_entry e on e.journal_entry_id = j.id where j.batch_day = ?`,
      [day],
    );
    const moved = { account_balance: new Map<string, bigint[]>(), general_balance: new Map<string, bigint[]>() };
    for (const [ledgerAccount, subAccount, currency, side, minor] of legs) {
      const move = (movements: Map<string, bigint[]>, key: unknown[]): void => {
        const [debit = 0n, credit = 0n] = movements.get(JSON.stringify(key)) ?? [];
        const amount = toBigInt(minor);
        movements.set(JSON.stringify(key), side === 'DEBIT' ? [debit + amount, credit] : [debit, credit + amount]);
      };
      move(moved.account_balance, [ledgerAccount, subAccount, currency]);
      move(moved.general_balance, [ledgerAccount, currency]);
    }
    for (const [table, movements] of Object.entries(moved)) {
      const keys =
        table === 'account_balance' ? ['ledger_account', 'sub_account', 'currency'] : ['ledger_account', 'currency'];
      const rows = [...movements].map(([key, [debit = 0n, credit = 0n]]) => {
        const opening = closing.get(table + key) ?? 0n;
        closing.set(table + key, opening + debit - credit);
        const amounts = [opening, debit, credit, opening + debit - credit].map(String);
        return [day, ...(JSON.parse(key) as string[]), ...amounts];
      });
      const columns = ['batch_day', ...keys, 'opening_minor', 'debit_minor', 'credit_minor', 'closing_minor'];
      if (rows.length > 0) await trx.insertMany(table, columns, rows);
    }
  }
}
