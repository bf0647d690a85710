import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import type { DayStanding } from '../reports/dayOutcome.js';
import { nextFor, type Notice, type NoticeTotal, type OpenCounts } from './notice.js';
import { NotDelivered, type Sender } from './sender.js';
import { claimTelling, endClaim, newsFor, passOver, toldTo, type Claim, type Standing } from './told.js';

export interface Telling {
  readonly database: Database;
  readonly standings: readonly DayStanding[];
  readonly open: OpenCounts;
  /** What the run of a day said of its orders. */
  totalsOf(standing: DayStanding): readonly NoticeTotal[];
  /** For all that one target is told. */
  readonly timeoutMs: number;
  /** Told what did not arrive. */
  say(text: string): void;
}

/** What a process is given beyond the time for the message itself to note that it has arrived. */
const marginMs = 2_000;

/**
 * Tells one target of every day that has come to something else than it was last told. It is noted after it arrived: a
 * process that dies in between leaves it to the next one, which tells it once more under the same id. Returns how many
 * messages arrived.
 */
export async function tellTarget(telling: Telling, sender: Sender): Promise<number> {
  const { database, standings } = telling;
  const { tell, passOver: old } = newsFor(standings, await database.read((session) => toldTo(session, sender.name)));
  await passOver(database, sender.name, old);
  const within = AbortSignal.timeout(telling.timeoutMs);
  let arrived = 0;
  for (const { batchDay } of tell) {
    const standing = standings.find((one) => one.batchDay === batchDay) as DayStanding;
    const end = await tellDay(telling, sender, standing, within);
    if (end === 'failed') break; // it would only be waited for once more
    if (end === 'arrived') arrived += 1;
  }
  return arrived;
}

async function tellDay(
  telling: Telling,
  sender: Sender,
  standing: DayStanding,
  within: AbortSignal,
): Promise<'arrived' | 'told by another' | 'failed'> {
  const { database, say } = telling;
  const claim = await claimed(telling, sender.name, standing);
  if (claim === null) return 'told by another';
  try {
    await sender.send(noticeOf(telling, standing, claim), within);
  } catch (error) {
    await endClaim(database, claim, null);
    if (!(error instanceof NotDelivered)) throw error;
    say(`Notification of ${standing.batchDay} to ${sender.name}: ${error.message}. The next run tells it again.`);
    return 'failed';
  }
  await endClaim(database, claim, standing.outcome);
  return 'arrived';
}

/** Waits for a process that is telling the same; null when it has, or when it takes longer than it may. */
async function claimed({ database, timeoutMs }: Telling, target: string, standing: Standing): Promise<Claim | null> {
  const claimMs = timeoutMs + marginMs;
  const endsAt = Date.now() + claimMs + marginMs;
  for (;;) {
    const claiming = await claimTelling(database, target, standing, claimMs);
    if (claiming.kind === 'claimed') return claiming.claim;
    if (claiming.kind === 'told' || Date.now() >= endsAt) return null;
    await sleep(Math.min(claiming.ms, 250));
  }
}

function noticeOf({ open, totalsOf }: Telling, standing: DayStanding, { target, previous, changes }: Claim): Notice {
  const { batchDay, outcome, runId, exitCode, code } = standing;
  return {
    id: `settle.${batchDay}.${target}.${String(changes + 1)}`,
    batchDay,
    outcome,
    previous,
    recovered: outcome === 'CLOSED' && previous !== null,
    test: false,
    runId,
    exitCode,
    code,
    totals: totalsOf(standing),
    open,
    next: nextFor(outcome, batchDay, open),
  };
}
