import type { Database } from '../../src/db/database.js';
import { missingTriggers, triggerSql } from '../../src/db/appendOnly.js';
import type { Transaction } from '../../src/db/session.js';
import { repeatable } from '../../src/db/transaction.js';

// The ledger refuses to be changed; what a hand on the database would do to it takes the triggers away first.

const triggers = [
  ...['journal_entry', 'ledger_entry', 'chain_link', 'payout_move', 'payout_review'],
  ...['discrepancy_move', 'discrepancy_review', 'deposit_transaction', 'deposit_log'],
].flatMap((table) => [`${table}_no_update`, `${table}_no_delete`]);
triggers.push('journal_entry_closed_day');

/** Takes the triggers away for good: for a suite that plants one fault after another. */
export async function withoutTriggers(database: Database): Promise<void> {
  await database.read(async (session) => {
    for (const name of triggers) await session.change(`drop trigger if exists ${name}`);
  });
}

/** Changes rows that the program would never change, and leaves the triggers as they were. */
export async function plant(
  database: Database,
  work: string | ((trx: Transaction) => Promise<unknown>),
): Promise<void> {
  const missing = await database.read(missingTriggers);
  const there = triggers.filter((name) => !missing.includes(name));
  if (there.length > 0) await withoutTriggers(database);
  try {
    await database.transact(
      repeatable('plant', async (trx) => {
        await (typeof work === 'string' ? trx.change(work) : work(trx));
      }),
    );
  } finally {
    await database.read(async (session) => {
      for (const name of there) await session.change(triggerSql(database.engine, name));
    });
  }
}
