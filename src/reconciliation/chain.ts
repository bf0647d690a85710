import { createHash } from 'node:crypto';
import { throwIfCancelled } from '../kernel/cancellation.js';
import type { Session } from '../db/session.js';
import { toBigInt, toCount, toInstant, toText, toTextOrNull } from '../db/values.js';
import type { Checklist } from './checklist.js';
import { isClosed, type Period } from './period.js';

interface Link {
  linkNo: bigint;
  bookingDay: string;
  entries: number;
  previousHead: string;
  head: string;
}

const sliceMax = 2_000;

/** Makes the hash chain of the ledger again, from the bytes of each entry up; of some days only. */
export async function checkChain(
  session: Session,
  checklist: Checklist,
  period: Period,
  days: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const links = await readLinks(session);
  checkOrder(checklist, period, links);
  for (const day of days) {
    const link = links.find(({ bookingDay }) => bookingDay === day);
    if (link === undefined) await checkUnlinked(session, checklist, period, day);
    else await checkLink(session, checklist, link, signal);
  }
}

async function checkLink(
  session: Session,
  checklist: Checklist,
  link: Link,
  signal: AbortSignal | undefined,
): Promise<void> {
  const made = await remakeLink(session, checklist, link, signal);
  const contradict = (problem: string): void =>
    checklist.contradict('hash-chain', 'chain_link', String(link.linkNo), `of ${link.bookingDay} ${problem}`);
  if (made.entries !== link.entries) {
    contradict(`holds ${String(link.entries)} journal entries, ${String(made.entries)} are there`);
  } else if (made.head !== link.head) {
    contradict('has another head than its journal entries make: one was changed together with its digest');
  }
}

async function readLinks(session: Session): Promise<Link[]> {
  const rows = await session.tuples(
    'select link_no, booking_day, entries, previous_head, head from chain_link order by link_no',
  );
  return rows.map(([linkNo, bookingDay, entries, previousHead, head]) => ({
    linkNo: toBigInt(linkNo),
    bookingDay: toText(bookingDay),
    entries: toCount(entries),
    previousHead: toText(previousHead),
    head: toText(head),
  }));
}

/** Each link follows the one before it and is of a later day, closed like all before it; the first follows none. */
function checkOrder(checklist: Checklist, period: Period, links: readonly Link[]): void {
  let [number, day, head] = [0n, '', '0'.repeat(64)];
  for (const { linkNo, bookingDay, previousHead, head: next } of links) {
    const contradict = (problem: string): void =>
      checklist.contradict('hash-chain', 'chain_link', String(linkNo), `of ${bookingDay} ${problem}`);
    if (linkNo !== number + 1n) contradict(`follows link ${String(number)}: one between them is missing`);
    else if (previousHead !== head) contradict('does not follow the head of the link before');
    else if (bookingDay <= day) contradict(`follows the link of ${day}, which is no earlier day`);
    if (!isClosed(period, bookingDay)) contradict('is of a day that is not closed');
    [number, day, head] = [linkNo, bookingDay, next];
  }
}

async function remakeLink(
  session: Session,
  checklist: Checklist,
  { bookingDay, previousHead }: Link,
  signal: AbortSignal | undefined,
): Promise<{ entries: number; head: string }> {
  const hash = createHash('sha256').update(['settle.link.1', previousHead, bookingDay, ''].join('\n'));
  let [at, entries] = [0n, 0];
  for (;;) {
    if (signal !== undefined) throwIfCancelled(signal);
    const slice = await session.tuples(
      `select id, biz_no, type, batch_day, booking_day, run_id, ledger_entries, posted_at, digest from journal_entry
        where booking_day = ? and id > ? order by id limit ${String(sliceMax)}`,
      [bookingDay, at],
    );
    const [first, last] = [slice[0], slice[slice.length - 1]];
    if (first === undefined || last === undefined) break;
    const legs = await legsBetween(session, bookingDay, toBigInt(first[0]), toBigInt(last[0]));
    for (const row of slice) {
      const id = toBigInt(row[0]);
      const digest = toTextOrNull(row[8]) ?? '-';
      if (digest !== digestOf(row, legs.get(id) ?? [])) {
        const problem = `of ${bookingDay} is not what it was when it was posted: its bytes do not make its digest`;
        checklist.contradict('hash-chain', 'journal_entry', String(id), problem);
      }
      hash.update(`${digest}\n`);
    }
    entries += slice.length;
    at = toBigInt(last[0]);
  }
  checklist.examine('hash-chain', entries);
  return { entries, head: hash.digest('hex') };
}

async function legsBetween(
  session: Session,
  bookingDay: string,
  first: bigint,
  last: bigint,
): Promise<Map<bigint, unknown[][]>> {
  const rows = await session.tuples(
    `select e.journal_entry_id, e.line_no, e.ledger_account, e.sub_account, e.side, e.amount_minor, e.currency, e.reason
       from journal_entry j join ledger_entry e on e.journal_entry_id = j.id
      where j.booking_day = ? and j.id >= ? and j.id <= ? order by e.journal_entry_id, e.line_no`,
    [bookingDay, first, last],
  );
  const legs = new Map<bigint, unknown[][]>();
  for (const [journalEntryId, ...leg] of rows) {
    const id = toBigInt(journalEntryId);
    const known = legs.get(id);
    if (known === undefined) legs.set(id, [leg]);
    else known.push(leg);
  }
  return legs;
}

/** The same bytes as when it was posted: each value by its length, in the order of the columns. */
function digestOf(entry: readonly unknown[], legs: readonly (readonly unknown[])[]): string {
  const [id, bizNo, type, batchDay, bookingDay, runId, ledgerEntries, postedAt] = entry;
  const head = [id, bizNo, type, batchDay, bookingDay, runId ?? '', ledgerEntries, toInstant(postedAt)];
  const bytes = [...head, ...legs.flat()].map((value) => {
    const text = Buffer.from(value === null ? '' : String(value as string | bigint));
    return Buffer.concat([Buffer.from(`${String(text.length)}:`), text, Buffer.from(',')]);
  });
  return createHash('sha256').update(Buffer.concat(bytes)).digest('hex');
}

/** A closed day that has entries has a link, and so has the last one that was closed. */
async function checkUnlinked(session: Session, checklist: Checklist, period: Period, day: string): Promise<void> {
  if (!isClosed(period, day)) return;
  const [row] = await session.rows('select count(*) as found from journal_entry where booking_day = ?', [day]);
  const found = toCount(row?.['found']);
  if (found === 0 && day !== period.closedThrough) return;
  checklist.contradict(
    'hash-chain',
    'chain_link',
    day,
    `is closed, and no link holds its ${String(found)} journal entries`,
  );
}
