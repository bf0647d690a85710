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
  let stopped = false;
  let wake: () => void = () => undefined;
  let lastBeat = performance.now();
  const loop = async (): Promise<void> => {
    for (;;) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, options.everyMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      if (stopped) return;
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
      stopped = true;
      wake();
      await running;
    },
  };
}
