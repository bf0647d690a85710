import { createHash } from 'node:crypto';
import { throwIfCancelled } from '../kernel/cancellation.js';
import type { Session } from '../db/session.js';
import { toBigInt, toCount, toInstant, toText, toTextOrNull } from '../db/values.js';
import type { Checklist } from './checklist.js';
import { findBatch } from './days.js';

interface Link {
  linkNo: bigint;
  batchDay: string;
  afterId: bigint;
  lastId: bigint;
  entries: number;
  previousHead: string;
  head: string;
}

const sliceMax = 2_000;

/** Makes the hash chain of the ledger again, from the bytes of each entry up; of one day only with `batchDay`. */
export async function checkChain(
  session: Session,
  checklist: Checklist,
  days: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const links = await readLinks(session);
  checkOrder(checklist, links);
  for (const day of days) {
    const ofDay = links.filter((link) => link.batchDay === day);
    let afterId = 0n;
    for (const link of ofDay) {
      const number = String(link.linkNo);
      if (link.afterId !== afterId) {
        const problem = `of ${day} begins after ${String(link.afterId)}, the link before ended with ${String(afterId)}`;
        checklist.contradict('hash-chain', 'chain_link', number, problem);
      }
      afterId = link.lastId;
      const made = await remakeLink(session, checklist, link, signal);
      if (made.entries !== link.entries) {
        const problem = `of ${day} holds ${String(link.entries)} journal entries, ${String(made.entries)} are there`;
        checklist.contradict('hash-chain', 'chain_link', number, problem);
      } else if (made.head !== link.head) {
        const problem = `of ${day} has another head than its journal entries make: one was changed together with its digest`;
        checklist.contradict('hash-chain', 'chain_link', number, problem);
      }
    }
    await checkUnlinked(session, checklist, day, ofDay.length > 0 ? afterId : null);
  }
}

async function readLinks(session: Session): Promise<Link[]> {
  const rows = await session.tuples(
    'select link_no, batch_day, after_id, last_id, entries, previous_head, head from chain_link order by link_no',
  );
  return rows.map(([linkNo, batchDay, afterId, lastId, entries, previousHead, head]) => ({
    linkNo: toBigInt(linkNo),
    batchDay: toText(batchDay),
    afterId: toBigInt(afterId),
    lastId: toBigInt(lastId),
    entries: toCount(entries),
    previousHead: toText(previousHead),
    head: toText(head),
  }));
}

/** Each link follows the one before it, and the first follows none. */
function checkOrder(checklist: Checklist, links: readonly Link[]): void {
  let [number, head] = [0n, '0'.repeat(64)];
  for (const { linkNo, batchDay, previousHead, head: next } of links) {
    const contradict = (problem: string): void =>
      checklist.contradict('hash-chain', 'chain_link', String(linkNo), `of ${batchDay} ${problem}`);
    if (linkNo !== number + 1n) contradict(`follows link ${String(number)}: one between them is missing`);
    else if (previousHead !== head) contradict('does not follow the head of the link before');
    [number, head] = [linkNo, next];
  }
}

async function remakeLink(
  session: Session,
  checklist: Checklist,
  { batchDay, afterId, lastId, previousHead }: Link,
  signal: AbortSignal | undefined,
): Promise<{ entries: number; head: string }> {
  const hash = createHash('sha256').update(['settle.link.1', previousHead, batchDay, ''].join('\n'));
  let [at, entries] = [afterId, 0];
  for (;;) {
    if (signal !== undefined) throwIfCancelled(signal);
    const slice = await session.tuples(
      `select id, biz_no, type, batch_day, run_id, ledger_entries, posted_at, digest from journal_entry
        where batch_day = ? and id > ? and id <= ? order by id limit ${String(sliceMax)}`,
      [batchDay, at, lastId],
    );
    const [first, last] = [slice[0], slice[slice.length - 1]];
    if (first === undefined || last === undefined) break;
    const legs = await legsBetween(session, batchDay, toBigInt(first[0]), toBigInt(last[0]));
    for (const row of slice) {
      const id = toBigInt(row[0]);
      const digest = toTextOrNull(row[7]) ?? '-';
      if (digest !== digestOf(row, legs.get(id) ?? [])) {
        const problem = `of ${batchDay} is not what it was when it was posted: its bytes do not make its digest`;
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
  batchDay: string,
  first: bigint,
  last: bigint,
): Promise<Map<bigint, unknown[][]>> {
  const rows = await session.tuples(
    `select e.journal_entry_id, e.line_no, e.ledger_account, e.sub_account, e.side, e.amount_minor, e.currency, e.reason
       from journal_entry j join ledger_entry e on e.journal_entry_id = j.id
      where j.batch_day = ? and j.id >= ? and j.id <= ? order by e.journal_entry_id, e.line_no`,
    [batchDay, first, last],
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
  const [id, bizNo, type, batchDay, runId, ledgerEntries, postedAt] = entry;
  const head = [id, bizNo, type, batchDay, runId ?? '', ledgerEntries, toInstant(postedAt)];
  const bytes = [...head, ...legs.flat()].map((value) => {
    const text = Buffer.from(value === null ? '' : String(value as string | bigint));
    return Buffer.concat([Buffer.from(`${String(text.length)}:`), text, Buffer.from(',')]);
  });
  return createHash('sha256').update(Buffer.concat(bytes)).digest('hex');
}

/** A closed day has a link, and its entries are in one, unless the run that posted them was cut off before it could. */
async function checkUnlinked(
  session: Session,
  checklist: Checklist,
  batchDay: string,
  afterId: bigint | null,
): Promise<void> {
  if ((await findBatch(session, batchDay))?.state !== 'CLOSED') return;
  if (afterId === null) {
    checklist.contradict('hash-chain', 'batch', batchDay, 'is closed, and no link holds its journal entries');
    return;
  }
  const [row] = await session.rows(
    `select count(*) as found from journal_entry j left join run r on r.id = j.run_id and r.state <> 'OK'
      where j.batch_day = ? and j.id > ? and r.id is null`,
    [batchDay, afterId],
  );
  const found = toCount(row?.['found']);
  if (found === 0) return;
  checklist.contradict('hash-chain', 'batch', batchDay, `has ${String(found)} journal entries after its last link`);
}
