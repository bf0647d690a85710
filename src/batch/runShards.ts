import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { throwIfCancelled } from '../kernel/cancellation.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { parseShard, shardsFrom, shardText, type Shard } from '../sharding/shard.js';
import { batchOf } from './batchQueries.js';
import { storedDocument, type RunDocument } from './document.js';
import { heldLeases } from './lease.js';
import { wholeDay, type RunRequest } from './run.js';
import { runBatch } from './runBatch.js';
import { alreadyClosed, daysOwed, inOrder, runDays, type RunDaysOptions } from './runDays.js';
import { doneShards, endedRun } from './runQueries.js';
import { underLease } from './underLease.js';

/**
 * Settles what is owed up to a day, sharing each day with other processes: each settles a shard of the accounts, then
 * those that were left, and one of them ends the day with a run over all accounts, whose document is that of every
 * process. The day is ended as long as one process lives. Throws BATCH_LOCKED beside a division into other shards.
 */
export async function runDaysInShards(database: Database, options: RunDaysOptions, own: Shard): Promise<RunDocument> {
  const days = await daysOwed(database, options);
  if (days.length === 0) return alreadyClosed(database, options);
  return inOrder(database, days, options, async (day) => {
    const last = await database.read((session) => endedRun(session, day));
    return settleTogether({ database, options, own, day, since: last?.id ?? 0n });
  });
}

/** One process at work on a day with others. */
interface Share {
  database: Database;
  options: RunDaysOptions;
  own: Shard;
  day: BatchDay;
  /** The last run over all accounts that had ended when this process came to the day. */
  since: bigint;
}

async function settleTogether(share: Share): Promise<RunDocument> {
  const wait = waiting(share.options);
  const shardRuns: RunDocument[] = [];
  for (;;) {
    throwIfCancelled(share.options.signal);
    const { ended, due, held } = await lookAround(share);
    if (ended !== null) return together(ended, shardRuns);
    const document = await (due.length > 0 ? settleFree(share, due, held) : endDay(share, held));
    if (document === null) await wait(held);
    else if (document.shard === null || document.cancellation !== null || document.exitCode === exitCodes.INTEGRITY)
      return together(document, shardRuns);
    else shardRuns.push(document);
  }
}

type Held = Awaited<ReturnType<typeof heldLeases>>;

/** The document of the run that has ended the day, the shards still to be settled (the own first), and who is at work. */
function lookAround({
  database,
  own,
  day,
  since,
}: Share): Promise<{ ended: RunDocument | null; due: Shard[]; held: Held }> {
  return database.snapshot(async (session) => {
    const held = await heldLeases(session);
    const last = await endedRun(session, day);
    if (last !== null && last.id > since) return { ended: storedDocument(last.document), due: [], held };
    const batch = await batchOf(session, day);
    // What a closed day still owes came late, and is not worth sharing.
    if (batch?.state === 'CLOSED') return { ended: null, due: [], held };
    const done = await doneShards(session, day, own.of, since);
    return { ended: null, due: shardsFrom(own).filter(({ no }) => !done.has(no)), held };
  });
}

/** Settles the first shard that nobody works on; null when there is none now, or another process was faster. */
async function settleFree(share: Share, due: readonly Shard[], held: Held): Promise<RunDocument | null> {
  const { database, options, own, day } = share;
  if (held.some(({ shard }) => shard === null)) return null;
  const shard = due.find(({ no, of }) => !held.some((lease) => lease.shard?.of === of && lease.shard.no === no));
  if (shard === undefined) return null;
  const request: RunRequest = { ...wholeDay, kind: options.kind, shard };
  const document = await unlessLocked(own, () =>
    underLease(database, options, shard, async (deps) => {
      // Asked again under the lease: another process may have settled the shard just before.
      const now = await lookAround(share);
      return now.due.some(({ no }) => no === shard.no) ? runBatch(deps, day, request) : null;
    }),
  );
  if (document !== null) options.say(`${day}, shard ${shardText(shard)}: ${document.outcome}.`);
  return document;
}

/** Ends the day with a run over all accounts; null while another process is at work. */
async function endDay({ database, options, day }: Share, held: Held): Promise<RunDocument | null> {
  if (held.length > 0) return null;
  return unlessLocked(null, () => runDays(database, { ...options, target: day, shard: null }));
}

/** Null when somebody else holds the lease; a division into other shards than `own` is an error. */
async function unlessLocked(own: Shard | null, work: () => Promise<RunDocument | null>): Promise<RunDocument | null> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SettleError) || error.code !== 'BATCH_LOCKED') throw error;
    const holder = parseShard(String(error.details['shard']));
    if (own !== null && holder !== null && holder.of !== own.of) throw error;
    return null;
  }
}

/** The document of the run that ended the day, with what this process did for it. */
function together(document: RunDocument, shardRuns: readonly RunDocument[]): RunDocument {
  return {
    ...document,
    alreadyClosed: document.alreadyClosed && shardRuns.length === 0,
    shardRuns: shardRuns.map((run) => ({
      shard: run.shard ?? '',
      runId: run.runId,
      outcome: run.outcome,
      orders: run.settledNow.reduce((sum, { orders }) => sum + orders, 0),
      durationMs: run.durationMs,
    })),
  };
}

/** Pauses about a second, and says for whom when that has changed. Whoever is waited for is dead once its lease is over. */
function waiting({ signal, say }: RunDaysOptions): (held: Held) => Promise<void> {
  let told = '';
  return async (held) => {
    const names = held.map(
      ({ shard, owner }) =>
        `${shard === null ? 'the run over all accounts' : `shard ${shardText(shard)}`} (process ${String(owner.pid)} on ${owner.host})`,
    );
    const text = names.join(', ');
    if (text !== told && text !== '') say(`Waiting for ${text}.`);
    told = text;
    await sleep(500 + Math.random() * 1_000, undefined, { signal }).catch(() => undefined);
  };
}
