import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Database } from '../db/database.js';
import { repeatable } from '../db/transaction.js';
import type { ChannelAnswer, PayoutChannel } from './channel.js';
import type { Claim } from './claims.js';
import { paceOf, readClocks, reservePlaces, takePace } from './pace.js';
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

/** A place that was missed by more is another's by now: a new one is reserved. */
const lateMsMax = 15;

/** Answers that wait to be written; with more, nothing new is claimed. */
const backlogMax = 500;

/** Payouts in one claim: at most what the channel takes in about a second. */
export function claimSize(perSecond: number): number {
  return Math.min(200, Math.max(1, Math.ceil(perSecond)));
}

/**
 * Claims payouts, asks the channel about each at its place in the channel's pace, and writes the answers down; the next
 * claim is made while answers of the last one are awaited. Claims grow to what is sent in time, so that a slow channel does not
 * hold what another process could send. `claim` gets how many; ends when it gives null.
 */
export async function exchange(
  database: Database,
  channel: PayoutChannel,
  ask: 'submit' | 'query',
  claim: (payouts: number) => Promise<Claim | null>,
  ports: ExchangePorts,
): Promise<Exchanged> {
  const recorder = new AnswerRecorder(database, channel.rules, ports);
  const places = new Places(database, channel, ports.haste);
  const limit = pLimit(channel.rules.concurrency);
  const waiting = new Set<Promise<void>>();
  const result: Exchanged = { asked: 0, unreachable: null };
  let silent = 0;
  const one = async (payout: Payout, untilMs: number, placeMs: number): Promise<void> => {
    await places.wait(placeMs);
    await limit(async () => {
      await places.keep(placeMs);
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
  const sizeMax = claimSize(channel.rules.perSecond);
  let size = Math.min(sizeMax, channel.rules.concurrency);
  while (!ports.signal.aborted && result.unreachable === null && failed.length === 0) {
    const claimedAt = performance.now();
    const claimed = await claim(size);
    if (claimed === null) break;
    const firstPlaceMs = claimed.firstPlaceMs - (await places.offsetMs());
    for (const [at, payout] of claimed.payouts.entries()) {
      const placeMs = firstPlaceMs + (at * 1_000) / paceOf(channel.rules.perSecond);
      const asked = one(payout, claimedAt + claimed.sendableMs, placeMs).catch(
        (error: unknown) => void failed.push(error),
      );
      waiting.add(asked);
      void asked.finally(() => waiting.delete(asked));
    }
    while (waiting.size > size && !ports.haste.aborted) await Promise.race(waiting);
    while (recorder.backlog > backlogMax && !ports.haste.aborted) await recorder.written;
    size = places.tookMissed() > size / 2 ? Math.max(1, Math.floor(size / 2)) : Math.min(sizeMax, size * 2);
  }
  await Promise.all(waiting);
  await recorder.flush();
  if (failed.length > 0) throw failed[0];
  return result;
}

/** The places of one process in a channel's pace, in milliseconds of `performance.now()`. */
class Places {
  private missed = 0;
  private late: { give: (placeMs: number) => void; fail: (error: unknown) => void }[] = [];
  private reserving = false;

  constructor(
    private readonly database: Database,
    private readonly channel: PayoutChannel,
    private readonly haste: AbortSignal,
  ) {}

  /** How far the database's clock is ahead of this process's own. */
  async offsetMs(): Promise<number> {
    const { databaseMs, localMs } = await readClocks(this.database);
    return databaseMs - localMs;
  }

  async wait(placeMs: number): Promise<void> {
    const ms = placeMs - performance.now();
    if (ms > 0) await delay(ms, undefined, { signal: this.haste }).catch(() => undefined);
  }

  /** Returns at the place, or, where that is missed (all connections were busy, the process stood still), at a new one. */
  async keep(placeMs: number): Promise<void> {
    let place = placeMs;
    while (!this.haste.aborted && performance.now() > place + lateMsMax) {
      this.missed += 1;
      place = await new Promise<number>((give, fail) => {
        this.late.push({ give, fail });
        if (!this.reserving) void this.reserve();
      });
      await this.wait(place);
    }
  }

  /** How many were missed since it was asked last. */
  tookMissed(): number {
    const { missed } = this;
    this.missed = 0;
    return missed;
  }

  /** One reservation for all who are late now; who comes meanwhile gets the next. */
  private async reserve(): Promise<void> {
    this.reserving = true;
    while (this.late.length > 0) {
      const late = this.late.splice(0);
      const { name, rules } = this.channel;
      try {
        const firstMs = await this.database.transact(
          repeatable('reserve places', async (trx) => {
            await takePace(trx, name);
            return reservePlaces(trx, name, { requests: late.length, perSecond: rules.perSecond, leadMs: 10 });
          }),
        );
        const offsetMs = await this.offsetMs();
        for (const [at, { give }] of late.entries()) give(firstMs - offsetMs + (at * 1_000) / paceOf(rules.perSecond));
      } catch (error) {
        for (const { fail } of late) fail(error);
      }
    }
    this.reserving = false;
  }
}

function detailOf(answer: ChannelAnswer): string {
  return 'detail' in answer ? answer.detail : answer.kind;
}
