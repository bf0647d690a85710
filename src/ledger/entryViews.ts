import type { Row, Session } from '../db/session.js';
import { placeholders, toBigInt, toInstant, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';

export interface JournalEntryView {
  journalEntryId: bigint;
  bizNo: string;
  type: string;
  batchDay: BatchDay;
  /** In whose books it stands: a later day where the batch day was closed. */
  bookingDay: BatchDay;
  postedAt: string;
  ledgerEntries: {
    ledgerAccount: string;
    subAccount: string | null;
    side: 'DEBIT' | 'CREDIT';
    currency: string;
    amountMinor: bigint;
    /** Which of the account's terms it comes from; null for orders. */
    reason: string | null;
  }[];
}

export interface EntriesFilter {
  account?: string | undefined;
  day?: BatchDay | undefined;
  limit: number;
}

/**
 * The newest journal entries that fit the filter, oldest of them first, each with all its ledger entries; and whether
 * older ones were left off. With an account: entries that touch its sub-ledger.
 */
export async function journalEntries(
  session: Session,
  filter: EntriesFilter,
): Promise<{ entries: JournalEntryView[]; cut: boolean }> {
  const touches = `exists (select 1 from ledger_entry l join ledger_account a on a.code = l.ledger_account
    where l.journal_entry_id = j.id and l.sub_account = ? and a.sub_ledger = 'ACCOUNT')`;
  const conditions = [
    ...(filter.day === undefined ? [] : ['j.batch_day = ?']),
    ...(filter.account === undefined ? [] : [touches]),
  ];
  const rows = await session.rows(
    `select ${columns} from journal_entry j
      ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
      order by j.id desc limit ${String(filter.limit + 1)}`,
    [filter.day, filter.account].filter((value) => value !== undefined),
  );
  const entries = rows.slice(0, filter.limit).reverse().map(toEntry);
  await addLedgerEntries(session, entries);
  return { entries, cut: rows.length > filter.limit };
}

/** The journal entries with these business numbers, each with all its ledger entries, in the order in which they were posted. */
export async function entriesNumbered(session: Session, bizNos: readonly string[]): Promise<JournalEntryView[]> {
  if (bizNos.length === 0) return [];
  const rows = await session.rows(
    `select ${columns} from journal_entry j where j.biz_no in (${placeholders(bizNos)}) order by j.id`,
    bizNos,
  );
  const entries = rows.map(toEntry);
  await addLedgerEntries(session, entries);
  return entries;
}

const columns = 'j.id, j.biz_no, j.type, j.batch_day, j.booking_day, j.posted_at';

function toEntry(row: Row): JournalEntryView {
  return {
    journalEntryId: toBigInt(row['id']),
    bizNo: toText(row['biz_no']),
    type: toText(row['type']),
    batchDay: toText(row['batch_day']),
    bookingDay: toText(row['booking_day']),
    postedAt: toInstant(row['posted_at']),
    ledgerEntries: [],
  };
}

const idsMax = 1_000;

async function addLedgerEntries(session: Session, entries: readonly JournalEntryView[]): Promise<void> {
  const byId = new Map(entries.map((entry) => [entry.journalEntryId, entry]));
  for (let start = 0; start < entries.length; start += idsMax) {
    const ids = entries.slice(start, start + idsMax).map((entry) => entry.journalEntryId);
    const rows = await session.rows(
      `select journal_entry_id, ledger_account, sub_account, side, currency, amount_minor, reason from ledger_entry
        where journal_entry_id in (${placeholders(ids)}) order by journal_entry_id, line_no`,
      ids,
    );
    for (const row of rows) {
      const subAccount = toText(row['sub_account']);
      byId.get(toBigInt(row['journal_entry_id']))?.ledgerEntries.push({
        ledgerAccount: toText(row['ledger_account']),
        subAccount: subAccount === '' ? null : subAccount,
        side: toText(row['side']) as 'DEBIT' | 'CREDIT',
        currency: toText(row['currency']),
        amountMinor: toBigInt(row['amount_minor']),
        reason: toTextOrNull(row['reason']),
      });
    }
  }
}
