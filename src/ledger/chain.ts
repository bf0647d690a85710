import { createHash } from 'node:crypto';
import type { Database } from '../db/database.js';
import type { Session, Transaction } from '../db/session.js';
import { fromInstant, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { bookedDays, isClosed, ledgerPeriod } from './period.js';

/** All journal entries in the books of one day, chained to the link before, which is of an earlier day. */
export interface ChainLink {
  linkNo: bigint;
  bookingDay: BatchDay;
  entries: number;
  previousHead: string;
  head: string;
}

/** What the first link follows. */
const noHead = '0'.repeat(64);
const sliceMax = 20_000;

/** The link of a day, or null. */
export async function linkOf(session: Session, day: BatchDay): Promise<ChainLink | null> {
  return linkWhere(session, 'where booking_day = ?', [day]);
}

async function linkWhere(session: Session, where: string, bindings: readonly string[]): Promise<ChainLink | null> {
  const [row] = await session.rows(
    `select link_no, booking_day, entries, previous_head, head from chain_link ${where} order by link_no desc limit 1`,
    bindings,
  );
  if (row === undefined) return null;
  return {
    linkNo: toBigInt(row['link_no']),
    bookingDay: toText(row['booking_day']),
    entries: toCount(row['entries']),
    previousHead: toText(row['previous_head']),
    head: toText(row['head']),
  };
}

/**
 * The links that close the books up to a day: of the day itself, and before it one of each day that has entries and no
 * batch that was closed in its turn. None when the day is closed already. docs/ledger.md has the form.
 */
export async function linksThrough(database: Database, day: BatchDay): Promise<ChainLink[]> {
  const { last, period, booked } = await database.read(async (session) => {
    const found = await ledgerPeriod(session);
    return { last: await linkWhere(session, '', []), period: found, booked: await bookedDays(session, found, day) };
  });
  if (isClosed(period, day)) return [];
  const links: ChainLink[] = [];
  let [linkNo, previousHead] = [last?.linkNo ?? 0n, last?.head ?? noHead];
  for (const bookingDay of new Set([...booked, day])) {
    linkNo += 1n;
    const { entries, head } = await headOver(database, bookingDay, previousHead);
    links.push({ linkNo, bookingDay, entries, previousHead, head });
    previousHead = head;
  }
  return links;
}

/** Reads the digests of a day in slices, so that memory stays flat. */
async function headOver(
  database: Database,
  day: BatchDay,
  previousHead: string,
): Promise<{ entries: number; head: string }> {
  const hash = createHash('sha256').update(`settle.link.1\n${previousHead}\n${day}\n`);
  let [lastId, entries] = [0n, 0];
  for (;;) {
    const slice = await database.read((session) =>
      session.tuples(
        `select id, digest from journal_entry where booking_day = ? and id > ? order by id limit ${String(sliceMax)}`,
        [day, lastId],
      ),
    );
    hash.update(slice.map(([, digest]) => `${toTextOrNull(digest) ?? '-'}\n`).join(''));
    entries += slice.length;
    if (slice.length > 0) lastId = toBigInt(slice[slice.length - 1]?.[0]);
    if (slice.length < sliceMax) return { entries, head: hash.digest('hex') };
  }
}

/** Adds a link; added already, it is left as it is. */
export async function insertLink(trx: Transaction, link: ChainLink, runId: bigint, now: string): Promise<void> {
  const { linkNo, bookingDay, entries, previousHead, head } = link;
  const [known] = await trx.rows('select head from chain_link where link_no = ?', [linkNo]);
  if (known?.['head'] === head) return;
  await trx.change(
    `insert into chain_link (link_no, booking_day, run_id, entries, previous_head, head, linked_at)
     values (?, ?, ?, ?, ?, ?, ?)`,
    [linkNo, bookingDay, runId, entries, previousHead, head, fromInstant(trx.dialect, now)],
  );
}
