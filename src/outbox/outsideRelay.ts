import type { Database } from '../db/database.js';
import { topics } from '../kernel/topics.js';
import { deliverTurn } from './deliverTurn.js';
import { announceClosedDays, fanOut, type RoutingCursor } from './fanOut.js';
import { Backoff, pause } from './pace.js';
import { isForOthersOnly, type Routing } from './routing.js';
import type { OutsideSink } from './sink.js';
import { endTurn, keepLanesOf, takeTurn, waitingIn, type Turn, type WaitingDelivery } from './turns.js';

export interface OutsideRelayPlan {
  routing: Routing;
  sinks: readonly { sink: OutsideSink; attempts: number }[];
  /** What stands in `source` of every message. */
  source: string;
  owner: string;
  leaseMs: number;
  /** Ends when nothing is left that can be sent now, instead of waiting for more. */
  once: boolean;
  now: () => string;
  /** Aborted: nothing more is begun; what is on its way is waited for and written down. */
  signal: AbortSignal;
  onTrouble(sink: string, trouble: string): void;
  onParked(sink: string, bizNo: string, reason: string): void;
}

export interface SinkTally {
  sink: string;
  sent: number;
  /** Attempts that a message failed. */
  refused: number;
  parked: number;
  /** Why it was left alone; null when it was not. */
  trouble: string | null;
}

/** How long a relay that found nothing waits before it looks again. */
const idleMs = 500;
/** A lane with nothing to send is looked at again after so long at the latest: something new may have come into it. */
const lookAgainMs = 5_000;
/** With `once`, a receiver is left to the next time after so many tries, or at once when it asks for more patience. */
const triesOnce = 3;
const patienceOnceMs = 10_000;
/** Turns of one process at a sink at the same time: while one waits for the receiver, another reads or writes down. */
const turnsAtOnce = 2;

/**
 * Delivers what is in the outbox to sinks outside of the database, at least once, in the order of each account. A delivery is
 * marked only after its confirmation. Any number of relays share the work; one that dies leaves its lanes when their time
 * is over.
 */
export async function relayOutside(database: Database, plan: OutsideRelayPlan): Promise<SinkTally[]> {
  const failure = new AbortController();
  const stop = (): void => {
    failure.abort();
  };
  plan.signal.addEventListener('abort', stop, { once: true });
  if (plan.signal.aborted) stop();
  const relay = new Relay(database, { ...plan, signal: failure.signal });
  try {
    return await relay.run(stop);
  } finally {
    plan.signal.removeEventListener('abort', stop);
  }
}

class Relay {
  private isRouted = false;

  constructor(
    private readonly database: Database,
    private readonly plan: OutsideRelayPlan,
  ) {}

  async run(stop: () => void): Promise<SinkTally[]> {
    const { sinks } = this.plan;
    const tallies = sinks.map(({ sink }): SinkTally => {
      return { sink: sink.name, sent: 0, refused: 0, parked: 0, trouble: null };
    });
    for (const { sink } of sinks) await keepLanesOf(this.database, sink.name, sink.lanes);
    const works = [this.stopping(stop, this.route())];
    for (const [at, { sink, attempts }] of sinks.entries()) {
      const worker = new SinkWorker(this.database, sink, attempts, this.plan, tallies[at] as SinkTally);
      const turns = Math.min(sink.lanes, turnsAtOnce);
      for (let nth = 0; nth < turns; nth += 1)
        works.push(
          this.stopping(
            stop,
            worker.work(() => this.isRouted),
          ),
        );
    }
    // The first that fails ends the others, and what they have on the way is written down before it is thrown.
    const ends = await Promise.allSettled(works);
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return tallies;
  }

  private async stopping(stop: () => void, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      stop();
      throw error;
    }
  }

  private async route(): Promise<void> {
    const { routing, once, signal, now } = this.plan;
    const cursor: RoutingCursor = new Map();
    const since = announcedSince(routing);
    while (!signal.aborted) {
      if (since !== undefined) await announceClosedDays(this.database, since, now);
      for (let seen = -1; seen !== 0 && !isOver(signal);) seen = await fanOut(this.database, routing, cursor);
      if (once) break;
      await pause(idleMs, signal);
    }
    this.isRouted = true;
  }
}

/** Asked again after each wait. */
function isOver({ aborted }: AbortSignal): boolean {
  return aborted;
}

/** From which day on closed days are told; undefined: to nobody. */
function announcedSince({ sinksOf }: Routing): string | null | undefined {
  const sinks = sinksOf.get(topics.dayClosed) ?? [];
  if (sinks.length === 0) return undefined;
  const days = sinks.map(({ since }) => since);
  return days.includes(null) ? null : (days.sort()[0] ?? null);
}

class SinkWorker {
  private readonly backoff = new Backoff();
  /** Aborted with the relay, or when the sink is given up. */
  private readonly over = new AbortController();
  private readonly leaseMs: number;

  constructor(
    private readonly database: Database,
    private readonly sink: OutsideSink,
    private readonly attempts: number,
    private readonly plan: OutsideRelayPlan,
    private readonly tally: SinkTally,
  ) {
    this.leaseMs = Math.max(plan.leaseMs, 2 * sink.timeoutMs + 1_000);
    const end = (): void => {
      this.over.abort();
    };
    plan.signal.addEventListener('abort', end, { once: true });
    if (plan.signal.aborted) end();
  }

  /** Takes turns until there is nothing more to do. */
  async work(isRouted: () => boolean): Promise<void> {
    const { once, owner } = this.plan;
    const { signal } = this.over;
    while (!signal.aborted) {
      await this.backoff.due(signal);
      if (isOver(signal)) break;
      // Asked before: what is routed while the search goes on must not be left.
      const wasRouted = isRouted();
      const turn = await takeTurn(this.database, this.sink.name, owner, this.leaseMs);
      if (turn !== null) await this.take(turn);
      else if (once && wasRouted) break;
      else await pause(once ? 20 : idleMs, signal);
    }
  }

  private async take(turn: Turn): Promise<void> {
    const { sink, database, plan } = this;
    const waiting = await database.read((session) => waitingIn(session, turn, sink.messagesMax));
    const result = await this.withinLease((stop) =>
      deliverTurn(sink, waiting, { source: plan.source, attempts: this.attempts, nowMs: turn.nowMs, stop }),
    );
    const none = result.sentIds.length + result.refusals.length === 0 && result.trouble === null;
    const freeInMs = none && !plan.signal.aborted ? dueInMs(waiting, turn) : 0;
    const sent = new Set(result.sentIds);
    const ownIds = waiting.filter(({ topic, outboxId }) => isForOthersOnly(topic) && sent.has(outboxId));
    await endTurn(database, turn, { ...result, ownIds: ownIds.map(({ outboxId }) => outboxId), freeInMs }, plan.now());
    this.tally.sent += result.sentIds.length;
    for (const { outboxId, reason, retryMs } of result.refusals) {
      this.tally.refused += 1;
      if (retryMs !== null) continue;
      this.tally.parked += 1;
      plan.onParked(sink.name, waiting.find((one) => one.outboxId === outboxId)?.bizNo ?? '', reason);
    }
    this.pace(result.trouble, result.retryAfterMs);
  }

  private pace(trouble: string | null, retryAfterMs: number | null): void {
    if (trouble === null) {
      this.backoff.succeed();
      return;
    }
    const before = this.backoff.inARow;
    this.backoff.fail(retryAfterMs);
    if (this.backoff.inARow > before) this.plan.onTrouble(this.sink.name, trouble);
    const gaveUp = this.backoff.inARow >= triesOnce || (retryAfterMs ?? 0) > patienceOnceMs;
    if (!this.plan.once || !gaveUp) return;
    this.tally.trouble = trouble;
    this.over.abort();
  }

  /** So long before the lane may be another's that what is on its way by then has an outcome. */
  private async withinLease<T>(work: (stop: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const abort = (): void => {
      controller.abort();
    };
    const timer = setTimeout(abort, this.leaseMs - this.sink.timeoutMs);
    this.plan.signal.addEventListener('abort', abort, { once: true });
    if (this.plan.signal.aborted) abort();
    try {
      return await work(controller.signal);
    } finally {
      clearTimeout(timer);
      this.plan.signal.removeEventListener('abort', abort);
    }
  }
}

/** All that waits in a lane waits for a next attempt: until then nobody need look. */
function dueInMs(waiting: readonly WaitingDelivery[], { nowMs }: Turn): number {
  const later = waiting.map(({ nextMs }) => Number(nextMs - nowMs)).filter((ms) => ms > 0);
  return later.length === 0 ? 0 : Math.min(...later, lookAgainMs);
}
