import type { Binding, Transaction } from '../db/session.js';
import { fromInstant, placeholders, toBigInt, toText } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { ledgerTopic } from '../outbox/message.js';
import { assertBalanced, type JournalEntry } from './journalEntry.js';
import { holdPeriod } from './period.js';
import { insertJournal } from './queries.js';

/** A journal entry that is no settlement: what it books is said leg by leg. */
export interface OwnEntry extends JournalEntry {
  readonly type: 'PAYOUT' | 'REVERSAL' | 'ADJUSTMENT';
  /** Its value date: the batch day that it belongs to. */
  readonly batchDay: BatchDay;
  readonly accountNo: string;
  /** Business number of the entry that it takes back. */
  readonly reverses?: string;
}

/**
 * The day that is open in the books for what no run posts: the one after the last day that a run has begun. Held until
 * the transaction ends.
 */
export async function bookingDay(trx: Transaction): Promise<BatchDay> {
  return (await holdPeriod(trx)).bookingDay ?? beforeAll;
}

/** Of books without a batch. */
const beforeAll = '1970-01-02';

/** Business numbers that are looked up in one statement. */
const lookUpMax = 500;

/**
 * Books journal entries inside the transaction that makes them true, each with its message to the outbox, which the ledger
 * has confirmed thereby, on the day that is open. What is booked under its business number already stays as it is.
 * `now` is RFC 3339. Returns how many were booked.
 */
export async function bookEntries(trx: Transaction, entries: readonly OwnEntry[], now: string): Promise<number> {
  let booked = 0;
  for (let at = 0; at < entries.length; at += lookUpMax) {
    booked += await book(trx, entries.slice(at, at + lookUpMax), now);
  }
  return booked;
}

async function book(trx: Transaction, entries: readonly OwnEntry[], now: string): Promise<number> {
  const known = await messageIds(trx, entries);
  const fresh = entries.filter(({ bizNo }) => !known.has(bizNo));
  if (fresh.length === 0) return 0;
  fresh.forEach(assertBalanced);
  const openDay = await bookingDay(trx);
  const moment = fromInstant(trx.dialect, now);
  await trx.insertMany(
    'outbox',
    ['topic', 'biz_no', 'batch_day', 'account_no', 'orders', 'payload', 'state', 'created_at', 'sent_at'],
    fresh.map((entry): Binding[] => {
      const { bizNo, batchDay, accountNo } = entry;
      return [ledgerTopic, bizNo, batchDay, accountNo, 0, encodeOwnEntry(entry), 'SENT', moment, moment];
    }),
  );
  const ids = await messageIds(trx, fresh);
  const posted = fresh.map((entry) => ({
    ...entry,
    bookingDay: openDay,
    id: ids.get(entry.bizNo) as bigint,
    runId: null,
    postedAt: now,
  }));
  await insertJournal(trx, posted);
  return fresh.length;
}

async function messageIds(trx: Transaction, entries: readonly OwnEntry[]): Promise<Map<string, bigint>> {
  const numbers = entries.map(({ bizNo }) => bizNo);
  const rows = await trx.tuples(`select biz_no, id from outbox where biz_no in (${placeholders(numbers)})`, numbers);
  return new Map(rows.map(([bizNo, id]) => [toText(bizNo), toBigInt(id)]));
}

/** The payload as it is stored: version 3, with the legs themselves. */
function encodeOwnEntry({ type, batchDay, accountNo, entries, reverses }: OwnEntry): string {
  const legs = entries.map((leg) => ({ ...leg, amountMinor: leg.amountMinor.toString() }));
  return JSON.stringify({ v: 3, type, batchDay, accountNo, reverses, entries: legs });
}
