import { setMaxListeners } from 'node:events';
import type { Database } from '../db/database.js';
import type { ChannelAnswer, PayoutChannel } from './channel.js';
import type { Claim } from './claims.js';
import type { Payout } from './payout.js';
import { Places } from './places.js';
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

/** Answers that wait to be written; with more, nothing new is claimed. */
const backlogMax = 500;

/** Payouts in one claim: at most what the channel takes in about a second. */
export function claimSize(perSecond: number): number {
  return Math.min(200, Math.max(1, Math.ceil(perSecond)));
}

/** A claimed payout that waits to be sent. */
interface Waiting {
  payout: Payout;
  /** Of `performance.now()`; later somebody else may have it: it is asked about, and not sent late. */
  untilMs: number;
}

/**
 * Claims payouts, asks the channel about each at a place in the channel's pace, and writes the answers down; the next claim is
 * made while those of the last one are sent. Claims grow to what is sent in time, so that a slow channel does not hold what
 * another process could send. `claim` is told how many; ends when it gives null.
 */
export async function exchange(
  database: Database,
  channel: PayoutChannel,
  ask: 'submit' | 'query',
  claim: (payouts: number) => Promise<Claim | null>,
  ports: ExchangePorts,
): Promise<Exchanged> {
  setMaxListeners(0, ports.haste); // each request listens
  const recorder = new AnswerRecorder(database, channel.rules, ports);
  const places = new Places(database, channel, ports.haste);
  const claims = new Claims(claim, places, channel.rules);
  const sent = new Set<Promise<void>>();
  const result: Exchanged = { asked: 0, unreachable: null };
  const failed: unknown[] = [];
  let silent = 0;
  const send = async (payout: Payout, answered: () => void): Promise<void> => {
    result.asked += 1;
    const answer = await channel[ask](payout, ports.haste).finally(answered);
    silent = answer.kind === 'UNREACHABLE' ? silent + 1 : 0;
    if (silent >= unreachableMax) result.unreachable = detailOf(answer);
    recorder.add({ payout, answer });
  };
  const goesOn = (): boolean => !ports.haste.aborted && result.unreachable === null && failed.length === 0;
  while (goesOn()) {
    const next = await claims.next(ports.signal);
    if (next === null) break;
    while (sent.size >= channel.rules.concurrency) await Promise.race(sent);
    while (recorder.backlog > backlogMax) await recorder.written;
    const answered = await places.next(next.untilMs);
    if (answered === null) continue;
    if (!goesOn()) break;
    const one = send(next.payout, answered).catch((error: unknown) => void failed.push(error));
    sent.add(one);
    void one.finally(() => sent.delete(one));
  }
  await Promise.all(sent);
  await claims.end();
  await recorder.flush();
  if (failed.length > 0) throw failed[0];
  return result;
}

/** What is claimed and not sent yet, refilled in time. */
class Claims {
  private readonly waiting: Waiting[] = [];
  private readonly sizeMax: number;
  private size: number;
  private claiming: Promise<void> | null = null;
  private isDry = false;
  private failure: Error | null = null;

  constructor(
    private readonly claim: (payouts: number) => Promise<Claim | null>,
    private readonly places: Places,
    { perSecond, concurrency }: PayoutChannel['rules'],
  ) {
    this.sizeMax = claimSize(perSecond);
    this.size = Math.min(this.sizeMax, concurrency);
  }

  /** The next one to send; null when nothing more is due, or after `signal` when what was claimed is gone. */
  async next(signal: AbortSignal): Promise<Waiting | null> {
    while (!this.isDry && !signal.aborted) {
      if (this.waiting.length <= this.size / 2) this.claiming ??= this.refillOnce();
      if (this.waiting.length > 0) break;
      await this.claiming;
    }
    if (this.waiting.length === 0) await this.end();
    return this.waiting.shift() ?? null;
  }

  /** Waits for a claim that is on its way, and throws what a claim failed with. */
  async end(): Promise<void> {
    await this.claiming;
    if (this.failure !== null) throw this.failure;
  }

  /** Never fails by itself: it may be that nobody waits for it yet. */
  private async refillOnce(): Promise<void> {
    try {
      await this.refill();
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(String(error));
      this.isDry = true;
    }
    this.claiming = null;
  }

  private async refill(): Promise<void> {
    this.size = this.places.missedMost(this.size)
      ? Math.max(1, Math.floor(this.size / 2))
      : Math.min(this.sizeMax, this.size * 2);
    const claimedAt = performance.now();
    const claimed = await this.claim(this.size);
    if (claimed === null) {
      this.isDry = true;
      return;
    }
    await this.places.add(claimed.firstPlaceMs, claimed.payouts.length);
    const untilMs = claimedAt + claimed.sendableMs;
    this.waiting.push(...claimed.payouts.map((payout) => ({ payout, untilMs })));
  }
}

function detailOf(answer: ChannelAnswer): string {
  return 'detail' in answer ? answer.detail : answer.kind;
}
