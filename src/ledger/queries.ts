import type { BatchDay } from '../kernel/batchDay.js';
import type { Binding, Session, Transaction } from '../db/session.js';
import { fromInstant, oneOfIds, toBigInt } from '../db/values.js';
import type { JournalEntry } from './journalEntry.js';

/** Ids among these that are posted already. */
export async function postedIds(session: Session, ids: readonly bigint[]): Promise<Set<bigint>> {
  const list = oneOfIds(session.dialect, 'id', ids);
  const rows = await session.tuples(`select id from journal_entry where ${list.sql}`, list.bindings);
  return new Set(rows.map(([id]) => toBigInt(id)));
}

/** A journal entry as it is posted: SETTLEMENT of orders and the fees on them, or TERMS at the end of a day. */
export interface PostedEntry extends JournalEntry {
  id: bigint;
  type: 'SETTLEMENT' | 'TERMS';
  batchDay: BatchDay;
}

/** Appends journal entries and their ledger entries. Nothing in the ledger is ever changed or removed. */
export async function insertJournal(trx: Transaction, entries: readonly PostedEntry[], now: string): Promise<void> {
  const postedAt = fromInstant(trx.dialect, now);
  await trx.insertMany(
    'journal_entry',
    ['id', 'biz_no', 'type', 'batch_day', 'ledger_entries', 'posted_at'],
    journalRows(entries, postedAt),
  );
  await trx.insertMany(
    'ledger_entry',
    ['journal_entry_id', 'line_no', 'ledger_account', 'sub_account', 'side', 'amount_minor', 'currency', 'reason'],
    ledgerRows(entries),
  );
}

function* journalRows(entries: readonly PostedEntry[], postedAt: string): Generator<Binding[]> {
  for (const { id, bizNo, type, batchDay, entries: legs } of entries) {
    yield [id, bizNo, type, batchDay, legs.length, postedAt];
  }
}

function* ledgerRows(entries: readonly PostedEntry[]): Generator<Binding[]> {
  for (const { id, entries: legs } of entries) {
    let lineNo = 0;
    for (const leg of legs) {
      lineNo += 1;
      yield [
        id,
        lineNo,
        leg.ledgerAccount,
        leg.subAccount,
        leg.side,
        leg.amountMinor,
        leg.currency,
        leg.reason ?? null,
      ];
    }
  }
}
