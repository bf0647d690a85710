import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import { repeatable } from '../db/transaction.js';
import type { PayoutChannel } from './channel.js';
import { paceOf, readClocks, reservePlaces, takePace } from './pace.js';

/**
 * A place that was missed by more is not used: late by so much, no more requests lie within a second than the channel takes,
 * as the places are 4 % further apart.
 */
const lateMsMax = 25;
const blockMax = 50;

/** Places that are counted for requests which may have arrived within a second: so much of the unused 4 % is for the way. */
const waySlackMs = 20;

/**
 * The places of one process in a channel's pace. A request goes out at a place or not at all: after a pause of the process, or
 * while all connections are busy, places pass by unused, and others are reserved for them, few while they go on being missed.
 * So they do after requests were slow to be answered: they may have waited before the channel's door, and have come in a heap.
 */
export class Places {
  /** Of `performance.now()`, in their order. */
  private own: number[] = [];
  private block = 1;
  private missed = 0;
  private missedLately = false;
  private passed: number[] = [];
  /** When answered requests came to the channel at the latest, on the way as long as the quickest one. */
  private arrived: number[] = [];
  private open = 0;
  private quickestMs = Infinity;

  constructor(
    private readonly database: Database,
    private readonly channel: Pick<PayoutChannel, 'name' | 'rules'>,
    private readonly haste: AbortSignal,
  ) {}

  /** Takes over places that a claim has reserved; the first is in milliseconds of the database's clock. */
  async add(firstPlaceMs: number, places: number): Promise<void> {
    const { databaseMs, localMs } = await readClocks(this.database);
    const firstMs = firstPlaceMs - databaseMs + localMs;
    const apartMs = 1_000 / paceOf(this.channel.rules.perSecond);
    for (let at = 0; at < places; at += 1) this.own.push(firstMs + at * apartMs);
    this.own.sort((a, b) => a - b);
  }

  /**
   * Resolves at the next place of this process; the request that takes it calls what is given once it is answered. Null when
   * there was none until `untilMs`.
   */
  async next(untilMs: number): Promise<(() => void) | null> {
    while (!this.haste.aborted && performance.now() < untilMs) {
      const placeMs = this.own.shift();
      if (placeMs === undefined) {
        await this.reserve();
        continue;
      }
      const waitMs = placeMs - performance.now();
      // A timer fires a millisecond late rather than early.
      if (waitMs > 1) await delay(waitMs - 1, undefined, { signal: this.haste }).catch(() => undefined);
      this.passed.push(placeMs);
      const nowMs = performance.now();
      if (nowMs - placeMs <= lateMsMax && this.hasRoom(nowMs)) return this.sentAt(nowMs);
      this.missed += 1;
      this.missedLately = true;
    }
    return null;
  }

  private hasRoom(nowMs: number): boolean {
    const slackMs = waySlackMs + 400 / this.channel.rules.perSecond;
    this.passed = this.passed.filter((placeMs) => placeMs > nowMs - 1_000 - slackMs);
    this.arrived = this.arrived.filter((atMs) => atMs > nowMs - 1_000);
    return this.arrived.length + this.open < this.passed.length;
  }

  private sentAt(sentMs: number): () => void {
    this.open += 1;
    return () => {
      const answeredMs = performance.now();
      this.open -= 1;
      this.quickestMs = Math.min(this.quickestMs, answeredMs - sentMs);
      this.arrived.push(answeredMs - this.quickestMs);
    };
  }

  /** Whether most of so many places were missed since it was asked last. */
  missedMost(places: number): boolean {
    const { missed } = this;
    this.missed = 0;
    return missed > places / 2;
  }

  private async reserve(): Promise<void> {
    const { name, rules } = this.channel;
    this.block = this.missedLately ? Math.max(1, Math.floor(this.block / 2)) : Math.min(blockMax, this.block * 2);
    this.missedLately = false;
    const requests = this.block;
    const firstPlaceMs = await this.database.transact(
      repeatable('reserve places', async (trx) => {
        await takePace(trx, name);
        return reservePlaces(trx, name, { requests, perSecond: rules.perSecond, leadMs: 5 });
      }),
    );
    await this.add(firstPlaceMs, requests);
  }
}
