import { createHash } from 'node:crypto';
import type { Database } from '../db/database.js';
import type { Session, Transaction } from '../db/session.js';
import { fromInstant, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';

/** Journal entries of one day, chained to the link before, whatever its day. */
export interface ChainLink {
  linkNo: bigint;
  batchDay: BatchDay;
  /** Entries of the day with ids after this one, up to and with `lastId`. */
  afterId: bigint;
  lastId: bigint;
  entries: number;
  previousHead: string;
  head: string;
}

/** What the first link follows. */
const noHead = '0'.repeat(64);
const sliceMax = 20_000;

/** The last link of a day, or null. */
export async function lastLink(session: Session, day: BatchDay): Promise<ChainLink | null> {
  return linkWhere(session, 'where batch_day = ?', [day]);
}

async function linkWhere(session: Session, where: string, bindings: readonly string[]): Promise<ChainLink | null> {
  const [row] = await session.rows(
    `select link_no, batch_day, after_id, last_id, entries, previous_head, head from chain_link ${where}
      order by link_no desc limit 1`,
    bindings,
  );
  if (row === undefined) return null;
  return {
    linkNo: toBigInt(row['link_no']),
    batchDay: toText(row['batch_day']),
    afterId: toBigInt(row['after_id']),
    lastId: toBigInt(row['last_id']),
    entries: toCount(row['entries']),
    previousHead: toText(row['previous_head']),
    head: toText(row['head']),
  };
}

/**
 * The link over the entries of a day that no link holds yet: all of them when the day is closed, later those that came
 * late. Null when there is nothing to add. Reads digests in slices, so that memory stays flat; docs/ledger.md has the form.
 */
export async function nextLink(database: Database, day: BatchDay): Promise<ChainLink | null> {
  const [last, ofDay] = await database.read(async (session) => [
    await linkWhere(session, '', []),
    await lastLink(session, day),
  ]);
  const previousHead = last?.head ?? noHead;
  const afterId = ofDay?.lastId ?? 0n;
  const hash = createHash('sha256').update(`settle.link.1\n${previousHead}\n${day}\n`);
  let [lastId, entries] = [afterId, 0];
  for (;;) {
    const slice = await database.read((session) =>
      session.tuples(
        `select id, digest from journal_entry where batch_day = ? and id > ? order by id limit ${String(sliceMax)}`,
        [day, lastId],
      ),
    );
    hash.update(slice.map(([, digest]) => `${toTextOrNull(digest) ?? '-'}\n`).join(''));
    entries += slice.length;
    if (slice.length > 0) lastId = toBigInt(slice[slice.length - 1]?.[0]);
    if (slice.length < sliceMax) break;
  }
  if (entries === 0 && ofDay !== null) return null;
  const linkNo = (last?.linkNo ?? 0n) + 1n;
  return { linkNo, batchDay: day, afterId, lastId, entries, previousHead, head: hash.digest('hex') };
}

/** Adds a link; added already, it is left as it is. */
export async function insertLink(trx: Transaction, link: ChainLink, runId: bigint, now: string): Promise<void> {
  const { linkNo, batchDay, afterId, lastId, entries, previousHead, head } = link;
  const [known] = await trx.rows('select head from chain_link where link_no = ?', [linkNo]);
  if (known?.['head'] === head) return;
  await trx.change(
    `insert into chain_link (link_no, batch_day, run_id, after_id, last_id, entries, previous_head, head, linked_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [linkNo, batchDay, runId, afterId, lastId, entries, previousHead, head, fromInstant(trx.dialect, now)],
  );
}
