import { setTimeout as sleep } from 'node:timers/promises';
import { Cancellation, cancellationIn } from '../kernel/cancellation.js';

/** Beats about every `everyMs` until it is stopped; tells why when it cannot go on. */
export interface Heartbeat {
  stop(): Promise<void>;
}

/**
 * Renews the lease and saves progress beside the work. Loses the lease → LEASE_LOST; no beat came through for longer
 * than the lease lasts, failed or unanswered → DATABASE_LOST, since by then another run may hold it.
 */
export function startHeartbeat(
  beat: () => Promise<void>,
  options: {
    everyMs: number;
    leaseMs: number;
    /** Whether an answer may fail to come. A SQLite file answers when its turn has come, however late. */
    mayBeSilent: boolean;
    giveUp: (reason: Cancellation) => void;
  },
): Heartbeat {
  const { everyMs, leaseMs, mayBeSilent, giveUp } = options;
  const stopping = new AbortController();
  const loop = async (): Promise<void> => {
    // Counted in our own ticks: a process that was stopped meanwhile first hears what its beat was answered.
    let silentMs = 0;
    const tick = (): boolean => (silentMs += everyMs) > leaseMs;
    while (await slept(everyMs, stopping.signal)) {
      tick();
      const { error, unanswered } = await answerTo(beat(), everyMs, () => tick() && mayBeSilent);
      if (error === null) {
        silentMs = 0;
        continue;
      }
      const lost = cancellationIn(error);
      if (lost !== null) {
        giveUp(lost);
        return;
      }
      if (unanswered || silentMs > leaseMs) {
        giveUp(new Cancellation('DATABASE_LOST', 'The lease could not be renewed in time.', null, error));
        return;
      }
    }
  };
  const running = loop();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

interface Answer {
  error: unknown;
  unanswered: boolean;
}

/** How a beat ended; without an answer when `tick`, called every `everyMs` meanwhile, says that it has been too long. */
function answerTo(beat: Promise<void>, everyMs: number, tick: () => boolean): Promise<Answer> {
  return new Promise((resolve) => {
    const end = (answer: Answer): void => {
      clearInterval(timer);
      resolve(answer);
    };
    const timer = setInterval(() => {
      if (tick()) end({ error: new Error('The database does not answer.'), unanswered: true });
    }, everyMs);
    beat.then(
      () => {
        end({ error: null, unanswered: false });
      },
      (error: unknown) => {
        end({ error, unanswered: false });
      },
    );
  });
}

/** True after the time is over; false at once when told to stop, before or meanwhile. */
async function slept(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal }).catch(() => false);
}
