import type { Database } from '../db/database.js';
import { afterOthers } from '../db/afterOthers.js';
import { audited, requireDecision, type Decision } from '../db/operatorAction.js';
import type { Session, Transaction } from '../db/session.js';
import { toBigInt, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import { shown } from '../kernel/printable.js';
import { bookEntries } from './bookEntries.js';
import type { LedgerAccountCode, LedgerEntry, Side } from './journalEntry.js';

/** What takes a journal entry back. */
export interface ReversedEntry {
  /** Its own business number, made from the one of the entry that it reverses. */
  bizNo: string;
  reverses: string;
  /** The value date: that of the entry that it reverses. */
  batchDay: BatchDay;
  bookingDay: BatchDay;
  /** It was there before; nothing was changed. */
  already: boolean;
  entries: readonly LedgerEntry[];
}

interface Posted {
  id: bigint;
  type: string;
  batchDay: BatchDay;
  bookingDay: BatchDay;
}

/** As long as business numbers may be. */
const bizNoLettersMax = 40;

/** What a run books may be taken back by hand, and so may a reversal; payouts are taken back by their own states. */
const reversibleTypes: readonly string[] = ['SETTLEMENT', 'TERMS', 'REVERSAL'];

/**
 * Takes one journal entry back by another with its sides exchanged, booked on the open day under the value date of the
 * first, and records who decided so. Only the books change: orders, nets and what terms did stay. Repeated, it changes
 * nothing. Throws NOT_FOUND for an unknown number, and ENTRY_NOT_REVERSIBLE for an entry whose reversal was itself
 * reversed, and for one that no run booked.
 */
export async function reverseEntry(database: Database, bizNo: string, decision: Decision): Promise<ReversedEntry> {
  requireDecision(decision);
  return afterOthers(() =>
    database.transact(
      audited('LEDGER_REVERSE', decision, async (trx) => {
        const result = await reverse(trx, bizNo, decision.at);
        return { subject: result.already ? null : `journal entry ${bizNo} by ${result.bizNo}`, result };
      }),
    ),
  );
}

async function reverse(trx: Transaction, reverses: string, now: string): Promise<ReversedEntry> {
  const original = isBizNo(reverses) ? await postedEntry(trx, reverses) : null;
  if (original === null) throw notFound(reverses);
  const bizNo = reversalNo(reverses);
  requireReversible(reverses, original, bizNo);
  const entries = (await legsOf(trx, original.id)).map((leg) => ({ ...leg, side: otherSide[leg.side] }));
  const { batchDay } = original;
  const known = await postedEntry(trx, bizNo);
  if (known !== null) {
    if ((await postedEntry(trx, reversalNo(bizNo))) !== null) throw reversedTwice(reverses);
    return { bizNo, reverses, batchDay, bookingDay: known.bookingDay, already: true, entries };
  }
  const accountNo = await accountOf(trx, original.id);
  const own = await bookEntries(trx, [{ bizNo, type: 'REVERSAL', batchDay, accountNo, entries, reverses }], now);
  const booked = (await postedEntry(trx, bizNo)) as Posted;
  return { bizNo, reverses, batchDay, bookingDay: booked.bookingDay, already: own === 0, entries };
}

const otherSide = { DEBIT: 'CREDIT', CREDIT: 'DEBIT' } as const;

/** No other text is asked of the database, which would have to compare it in another character set. */
function isBizNo(text: string): boolean {
  return text.length <= bizNoLettersMax && /^[!-~]+$/.test(text);
}

function reversalNo(bizNo: string): string {
  return `R-${bizNo}`;
}

async function postedEntry(session: Session, bizNo: string): Promise<Posted | null> {
  const [row] = await session.rows('select id, type, batch_day, booking_day from journal_entry where biz_no = ?', [
    bizNo,
  ]);
  if (row === undefined) return null;
  const [type, batchDay, bookingDay] = [toText(row['type']), toText(row['batch_day']), toText(row['booking_day'])];
  return { id: toBigInt(row['id']), type, batchDay, bookingDay };
}

async function legsOf(session: Session, id: bigint): Promise<LedgerEntry[]> {
  const rows = await session.rows(
    `select ledger_account, sub_account, side, amount_minor, currency, reason from ledger_entry
      where journal_entry_id = ? order by line_no`,
    [id],
  );
  return rows.map((row) => {
    const reason = toTextOrNull(row['reason']) as LedgerEntry['reason'] | null;
    return {
      ledgerAccount: toText(row['ledger_account']) as LedgerAccountCode,
      subAccount: toText(row['sub_account']),
      side: toText(row['side']) as Side,
      amountMinor: toBigInt(row['amount_minor']),
      currency: toText(row['currency']),
      ...(reason === null || reason === undefined ? {} : { reason }),
    };
  });
}

/** An entry has the id of its message, which knows the account. */
async function accountOf(session: Session, id: bigint): Promise<string> {
  const [message] = await session.rows('select account_no from outbox where id = ?', [id]);
  return toTextOrNull(message?.['account_no']) ?? '';
}

function requireReversible(bizNo: string, { type }: Posted, reversal: string): void {
  const problem = !reversibleTypes.includes(type)
    ? `is a ${type}, which is not taken back by hand`
    : reversal.length > bizNoLettersMax
      ? 'is a reversal of a reversal of a reversal, with no room left in its number'
      : null;
  if (problem === null) return;
  throw new SettleError('ENTRY_NOT_REVERSIBLE', `Journal entry ${shown(bizNo)} ${problem}. Nothing was booked.`, {
    details: { bizNo, type },
    next: 'settle ledger entries',
  });
}

function reversedTwice(bizNo: string): SettleError {
  const first = reversalNo(bizNo);
  const second = reversalNo(first);
  return new SettleError(
    'ENTRY_NOT_REVERSIBLE',
    `Journal entry ${shown(bizNo)} was reversed by ${first}, and that by ${second}: it holds again. Nothing was booked.`,
    { details: { bizNo, reversals: [first, second] }, next: `settle ledger reverse ${second} --by NAME --reason TEXT` },
  );
}

function notFound(bizNo: string): SettleError {
  return new SettleError('NOT_FOUND', `No journal entry has the number ${shown(bizNo)}. Nothing was booked.`, {
    details: { bizNo },
    next: 'settle ledger entries   (shows the numbers)',
  });
}
