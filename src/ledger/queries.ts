import type { Binding, Dialect, Session, Transaction } from '../db/session.js';
import { fromInstant, oneOfIds, toBigInt } from '../db/values.js';
import { journalDigest, type PostedEntry } from './digest.js';

/** Ids among these that are posted already. */
export async function postedIds(session: Session, ids: readonly bigint[]): Promise<Set<bigint>> {
  const list = oneOfIds(session.dialect, 'id', ids);
  const rows = await session.tuples(`select id from journal_entry where ${list.sql}`, list.bindings);
  return new Set(rows.map(([id]) => toBigInt(id)));
}

/** Appends journal entries and their ledger entries. Nothing in the ledger is ever changed or removed. */
export async function insertJournal(trx: Transaction, entries: readonly PostedEntry[]): Promise<void> {
  await trx.insertMany(
    'journal_entry',
    ['id', 'biz_no', 'type', 'batch_day', 'booking_day', 'run_id', 'ledger_entries', 'posted_at', 'digest'],
    journalRows(entries, trx.dialect),
  );
  await trx.insertMany(
    'ledger_entry',
    ['journal_entry_id', 'line_no', 'ledger_account', 'sub_account', 'side', 'amount_minor', 'currency', 'reason'],
    ledgerRows(entries),
  );
}

function* journalRows(entries: readonly PostedEntry[], dialect: Dialect): Generator<Binding[]> {
  for (const entry of entries) {
    const { id, bizNo, type, batchDay, bookingDay, runId, entries: legs, postedAt } = entry;
    const moment = fromInstant(dialect, postedAt);
    yield [id, bizNo, type, batchDay, bookingDay, runId, legs.length, moment, journalDigest(entry)];
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
