import { setTimeout as sleep } from 'node:timers/promises';
import { Cancellation, cancellationIn } from '../kernel/cancellation.js';

/** Beats about every `everyMs` until it is stopped; tells why when it cannot go on. */
export interface Heartbeat {
  stop(): Promise<void>;
}

/**
 * Renews the lease and saves progress beside the work. Loses the lease → LEASE_LOST; cannot reach the database for
 * longer than the lease lasts → DATABASE_LOST, since by then another run may hold it.
 */
export function startHeartbeat(
  beat: () => Promise<void>,
  options: { everyMs: number; leaseMs: number; giveUp: (reason: Cancellation) => void },
): Heartbeat {
  const stopping = new AbortController();
  let lastBeat = performance.now();
  const loop = async (): Promise<void> => {
    while (await slept(options.everyMs, stopping.signal)) {
      try {
        await beat();
        lastBeat = performance.now();
      } catch (error) {
        const lost = cancellationIn(error);
        if (lost !== null) {
          options.giveUp(lost);
          return;
        }
        if (performance.now() - lastBeat > options.leaseMs) {
          options.giveUp(new Cancellation('DATABASE_LOST', 'The lease could not be renewed in time.', null, error));
          return;
        }
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

/** True after the time is over; false at once when told to stop, before or meanwhile. */
async function slept(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal }).catch(() => false);
}
