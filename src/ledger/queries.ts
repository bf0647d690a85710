import type { BatchDay } from '../kernel/batchDay.js';
import type { Session, Transaction } from '../db/session.js';
import { fromInstant, idList, toBigInt } from '../db/values.js';
import type { JournalEntry } from './journalEntry.js';

/** Ids among these that are posted already. */
export async function postedIds(session: Session, ids: readonly bigint[]): Promise<Set<bigint>> {
  const rows = await session.tuples(`select id from journal_entry where id in (${idList(ids)})`);
  return new Set(rows.map(([id]) => toBigInt(id)));
}

/** Appends journal entries and their ledger entries. Nothing in the ledger is ever changed or removed. */
export async function insertJournal(
  trx: Transaction,
  entries: readonly (JournalEntry & { id: bigint; batchDay: BatchDay })[],
  now: string,
): Promise<void> {
  const postedAt = fromInstant(trx.dialect, now);
  await trx.insertMany(
    'journal_entry',
    ['id', 'biz_no', 'type', 'batch_day', 'ledger_entries', 'posted_at'],
    entries.map((entry) => [entry.id, entry.bizNo, 'SETTLEMENT', entry.batchDay, entry.entries.length, postedAt]),
  );
  await trx.insertMany(
    'ledger_entry',
    ['journal_entry_id', 'line_no', 'ledger_account', 'sub_account', 'side', 'amount_minor', 'currency'],
    entries.flatMap((entry) =>
      entry.entries.map((leg, index) => [
        entry.id,
        index + 1,
        leg.ledgerAccount,
        leg.subAccount,
        leg.side,
        leg.amountMinor,
        leg.currency,
      ]),
    ),
  );
}
