import type { Session } from '../db/session.js';
import { toBigInt, toInstant, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { LedgerAccountKind } from '../kernel/chart.js';

/** A journal entry as it is exported, with the kinds of its ledger accounts. */
export interface ExportedEntry {
  id: bigint;
  bizNo: string;
  type: string;
  /** Its value date. */
  batchDay: BatchDay;
  /** In whose books it stands. */
  bookingDay: BatchDay;
  runId: bigint | null;
  postedAt: string;
  entries: ExportedLeg[];
}

export interface ExportedLeg {
  lineNo: number;
  ledgerAccount: string;
  /** Null for a ledger account that the chart does not have. */
  kind: LedgerAccountKind | null;
  subAccount: string;
  side: 'DEBIT' | 'CREDIT';
  amountMinor: bigint;
  currency: string;
  /** Why the terms of an account book it; null for what orders make. */
  reason: string | null;
}

const sliceMax = 2_000;

/** The journal entries in the books of some days, by booking day and id, in slices: memory stays flat however long the journal is. */
export async function* exportedEntries(
  session: Session,
  from: BatchDay | undefined,
  until: BatchDay | undefined,
): AsyncGenerator<ExportedEntry[]> {
  const kinds = new Map(
    (await session.rows('select code, kind from ledger_account')).map((row) => [
      toText(row['code']),
      toText(row['kind']) as LedgerAccountKind,
    ]),
  );
  for (let day = await nextDay(session, from, '>='); day !== null && !(until !== undefined && day > until);) {
    for (let afterId = 0n; ;) {
      const slice = await entriesAfter(session, day, afterId, kinds);
      const last = slice[slice.length - 1];
      if (last === undefined) break;
      yield slice;
      afterId = last.id;
    }
    day = await nextDay(session, day, '>');
  }
}

async function nextDay(session: Session, day: BatchDay | undefined, compare: '>' | '>='): Promise<BatchDay | null> {
  const [row] = await session.rows(`select min(booking_day) as day from journal_entry where booking_day ${compare} ?`, [
    day ?? '1000-01-01',
  ]);
  return row?.['day'] === null || row === undefined ? null : toText(row['day']);
}

async function entriesAfter(
  session: Session,
  day: BatchDay,
  afterId: bigint,
  kinds: ReadonlyMap<string, LedgerAccountKind>,
): Promise<ExportedEntry[]> {
  const rows = await session.tuples(
    `select id, biz_no, type, batch_day, run_id, posted_at from journal_entry
      where booking_day = ? and id > ? order by id limit ${String(sliceMax)}`,
    [day, afterId],
  );
  const found = rows.map(([id, bizNo, type, batchDay, runId, postedAt]) => ({
    id: toBigInt(id),
    bizNo: toText(bizNo),
    type: toText(type),
    batchDay: toText(batchDay),
    bookingDay: day,
    runId: runId === null ? null : toBigInt(runId),
    postedAt: toInstant(postedAt),
    entries: [] as ExportedLeg[],
  }));
  const [first, last] = [found[0], found[found.length - 1]];
  if (first === undefined || last === undefined) return [];
  const legs = await session.tuples(
    `select e.journal_entry_id, e.line_no, e.ledger_account, e.sub_account, e.side, e.amount_minor, e.currency, e.reason
       from journal_entry j join ledger_entry e on e.journal_entry_id = j.id
      where j.booking_day = ? and j.id >= ? and j.id <= ? order by e.journal_entry_id, e.line_no`,
    [day, first.id, last.id],
  );
  const byId = new Map(found.map((entry) => [entry.id, entry]));
  for (const [id, lineNo, ledgerAccount, subAccount, side, amountMinor, currency, reason] of legs) {
    byId.get(toBigInt(id))?.entries.push({
      lineNo: Number(toBigInt(lineNo)),
      ledgerAccount: toText(ledgerAccount),
      kind: kinds.get(toText(ledgerAccount)) ?? null,
      subAccount: toText(subAccount),
      side: toText(side) as 'DEBIT' | 'CREDIT',
      amountMinor: toBigInt(amountMinor),
      currency: toText(currency),
      reason: toTextOrNull(reason),
    });
  }
  return found;
}
