import { createHash } from 'node:crypto';
import type { BatchDay } from '../kernel/batchDay.js';
import type { JournalEntry } from './journalEntry.js';

/** A journal entry with all that is stored of it. */
export interface PostedEntry extends JournalEntry {
  readonly id: bigint;
  /** SETTLEMENT of orders and the fees on them, TERMS at the end of a day, or that of an entry that no run posts. */
  readonly type: string;
  /** The business day that it belongs to: its value date. */
  readonly batchDay: BatchDay;
  /** The day in whose books it stands: a later one where that of the business was closed. */
  readonly bookingDay: BatchDay;
  readonly runId: bigint | null;
  /** RFC 3339, UTC, milliseconds. */
  readonly postedAt: string;
}

/**
 * SHA-256 over the canonical bytes of a journal entry and its ledger entries, as docs/ledger.md describes them: each value
 * as "length:bytes," in UTF-8, so that no two entries have the same bytes.
 */
export function journalDigest(entry: PostedEntry): string {
  const { id, bizNo, type, batchDay, bookingDay, runId, postedAt, entries } = entry;
  let text =
    part(String(id)) +
    part(bizNo) +
    part(type) +
    part(batchDay) +
    part(bookingDay) +
    part(runId === null ? '' : String(runId)) +
    part(String(entries.length)) +
    part(postedAt);
  let lineNo = 0;
  for (const { ledgerAccount, subAccount, side, amountMinor, currency, reason } of entries) {
    lineNo += 1;
    text +=
      part(String(lineNo)) +
      part(ledgerAccount) +
      part(subAccount) +
      part(side) +
      part(String(amountMinor)) +
      part(currency) +
      part(reason ?? '');
  }
  return createHash('sha256').update(text).digest('hex');
}

function part(text: string): string {
  return `${String(Buffer.byteLength(text))}:${text},`;
}
