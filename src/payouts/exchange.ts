import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Database } from '../db/database.js';
import type { ChannelAnswer, PayoutChannel } from './channel.js';
import type { Claim } from './claims.js';
import type { Payout } from './payout.js';
import { AnswerRecorder, type Outcome, type RecorderPorts } from './recorder.js';

export interface ExchangePorts extends Omit<RecorderPorts, 'onOutcome'> {
  onOutcome(outcome: Outcome): void;
  /** Aborted: no further claim; what is claimed is sent and answered. */
  signal: AbortSignal;
  /** Aborted: nothing is waited for any more. */
  haste: AbortSignal;
}

export interface Exchanged {
  /** Requests that the channel was asked. */
  asked: number;
  /** It could not be reached again and again, and was left alone. */
  unreachable: string | null;
}

/** After so many requests in a row that did not even leave this machine, a channel is left to the next run. */
const unreachableMax = 5;

/** Payouts in one claim: what the channel takes in about a second. */
export function claimSize(perSecond: number): number {
  return Math.min(200, Math.max(1, Math.ceil(perSecond)));
}

/**
 * Claims payouts, asks the channel about each at its place in the channel's pace, and writes the answers down; the next
 * claim is made while answers of the last one are awaited. Ends when nothing more is claimed.
 */
export async function exchange(
  database: Database,
  channel: PayoutChannel,
  ask: 'submit' | 'query',
  claim: () => Promise<Claim | null>,
  ports: ExchangePorts,
): Promise<Exchanged> {
  const recorder = new AnswerRecorder(database, channel.rules, ports);
  const limit = pLimit(channel.rules.concurrency);
  const size = claimSize(channel.rules.perSecond);
  const waiting = new Set<Promise<void>>();
  const result: Exchanged = { asked: 0, unreachable: null };
  let silent = 0;
  const one = async (payout: Payout, untilMs: number, placeMs: number): Promise<void> => {
    await delay(Math.max(0, placeMs - performance.now()), undefined, { signal: ports.haste }).catch(() => undefined);
    await limit(async () => {
      // Past its time somebody else may have it: it is asked about, and not sent late. After an outage the rest waits too.
      if (ports.haste.aborted || performance.now() > untilMs || silent >= unreachableMax) return;
      result.asked += 1;
      const answer = await channel[ask](payout, ports.haste);
      silent = answer.kind === 'UNREACHABLE' ? silent + 1 : 0;
      if (silent >= unreachableMax) result.unreachable = detailOf(answer);
      recorder.add({ payout, answer });
    });
  };
  const failed: unknown[] = [];
  while (!ports.signal.aborted && result.unreachable === null && failed.length === 0) {
    const claimedAt = performance.now();
    const claimed = await claim();
    if (claimed === null) break;
    for (const [at, payout] of claimed.payouts.entries()) {
      const placeMs = performance.now() + claimed.delayMs + (at * 1_000) / channel.rules.perSecond;
      const untilMs = claimedAt + claimed.forMs - channel.rules.timeoutMs - 10_000;
      const asked = one(payout, untilMs, placeMs).catch((error: unknown) => void failed.push(error));
      waiting.add(asked);
      void asked.finally(() => waiting.delete(asked));
    }
    while (waiting.size > size && !ports.haste.aborted) await Promise.race(waiting);
  }
  await Promise.all(waiting);
  await recorder.flush();
  if (failed.length > 0) throw failed[0];
  return result;
}

function detailOf(answer: ChannelAnswer): string {
  return 'detail' in answer ? answer.detail : answer.kind;
}
