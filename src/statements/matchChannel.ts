import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import type { Session, Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import { throwIfCancelled } from '../kernel/cancellation.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { MatchPorts } from './channelRules.js';
import { coverageOf } from './coverage.js';
import { matchLines, type Matched } from './matchLines.js';
import { recheckPairs } from './recheck.js';
import { linesOf, looseLines } from './storedLine.js';
import { sweepOurs } from './sweep.js';

const linesAtOnce = 5_000n;
const looseAtOnce = 1_000;

export interface ChannelMatched {
  readonly channel: string;
  /** Lines that were looked at for the first time. */
  lines: number;
  matched: number;
  /** Rows of ours that no statement of their days has. */
  missing: number;
  /** Lines that found no counterpart and are looked for again. */
  waiting: number;
}

/**
 * Matches the statements of one channel: new lines, lines that had found nothing, pairs that had differed in state, and then
 * what of ours no statement has. In short transactions, each of which moves a mark, so that it may be killed anywhere and
 * two may run at once; run again it changes nothing.
 */
export async function matchChannel(database: Database, ports: MatchPorts): Promise<ChannelMatched> {
  const { channel } = ports;
  const result: ChannelMatched = { channel: channel.name, lines: 0, matched: 0, missing: 0, waiting: 0 };
  const coverage = await database.read((session) => coverageOf(session, channel.name));
  const reach = await database.read((session) => reachOf(session, coverage.at(-1)?.to ?? null));
  for (const file of await database.read((session) => filesToMatch(session, channel.name))) {
    await matchFile(database, file, ports, reach, result);
  }
  await matchLoose(database, ports, reach, result);
  await recheckPairs(database, ports);
  result.missing = await sweepOurs(database, ports, coverage);
  return result;
}

interface FileToMatch {
  id: bigint;
  lines: bigint;
}

async function filesToMatch(session: Session, channel: string): Promise<FileToMatch[]> {
  const rows = await session.rows(
    `select id, staged_lines from statement_file
      where channel = ? and state in ('BOOKED', 'FLAGGED') and matched_to < staged_lines order by id`,
    [channel],
  );
  return rows.map((row) => ({ id: toBigInt(row['id']), lines: toBigInt(row['staged_lines']) }));
}

/** The last day of which either side has everything. */
async function reachOf(session: Session, covered: BatchDay | null): Promise<BatchDay | null> {
  const [row] = await session.rows(`select max(batch_day) as day from batch where state = 'CLOSED'`);
  const closed = toTextOrNull(row?.['day']);
  if (covered === null || closed === null) return covered ?? closed;
  return covered > closed ? covered : closed;
}

async function matchFile(
  database: Database,
  file: FileToMatch,
  ports: MatchPorts,
  reach: BatchDay | null,
  result: ChannelMatched,
): Promise<void> {
  for (let window: Window | null; ;) {
    throwIfCancelled(ports.signal);
    window = await database.transact(
      repeatable('match statement lines', (trx) => matchWindow(trx, file, ports, reach)),
    );
    if (window === null) return;
    result.lines += window.lines;
    result.matched += window.matched;
  }
}

interface Window extends Matched {
  lines: number;
}

/** The next lines of a file, and the mark behind them; null at its end. Whoever moves the mark first has them. */
async function matchWindow(
  trx: Transaction,
  file: FileToMatch,
  ports: MatchPorts,
  reach: BatchDay | null,
): Promise<Window | null> {
  const lock = trx.dialect === 'sqlite' ? '' : 'for update';
  const [row] = await trx.rows(`select matched_to from statement_file where id = ? ${lock}`, [file.id]);
  const from = toBigInt(row?.['matched_to']);
  if (from >= file.lines) return null;
  const upTo = from + linesAtOnce < file.lines ? from + linesAtOnce : file.lines;
  const lines = await linesOf(trx, file.id, from, upTo);
  const matched = await matchLines(trx, lines, ports, reach, false);
  await trx.change('update statement_file set matched_to = ? where id = ? and matched_to = ?', [upTo, file.id, from]);
  return { lines: lines.length, ...matched };
}

async function matchLoose(
  database: Database,
  ports: MatchPorts,
  reach: BatchDay | null,
  result: ChannelMatched,
): Promise<void> {
  let after = { fileId: 0n, seq: 0n };
  for (;;) {
    throwIfCancelled(ports.signal);
    const page = await afterOthers(() =>
      database.transact(
        repeatable('look for lines again', async (trx) => {
          const lines = await looseLines(trx, ports.channel.name, after, looseAtOnce);
          return { last: lines.at(-1), ...(await matchLines(trx, lines, ports, reach, true)) };
        }),
      ),
    );
    if (page.last === undefined) return;
    after = page.last;
    result.matched += page.matched;
    result.waiting += page.loose;
  }
}

/** Channels that have statements, by name. */
export async function channelsWithStatements(session: Session): Promise<string[]> {
  const rows = await session.tuples(
    `select distinct channel from statement_file where state in ('BOOKED', 'FLAGGED') order by channel`,
  );
  return rows.map(([channel]) => toText(channel)).sort();
}

/** Lines that wait for a counterpart, over all channels. */
export async function waitingLines(session: Session): Promise<number> {
  const [row] = await session.rows(
    `select count(*) as waiting from statement_loose o
      where o.why = 'NOT_FOUND' and not exists
        (select 1 from discrepancy d where d.file_id = o.file_id and d.seq = o.seq and d.class = 'MISSING_OURS')`,
  );
  return toCount(row?.['waiting']);
}
