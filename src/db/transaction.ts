import pRetry from 'p-retry';
import { failureKind } from './failure.js';
import { throwIfCancelled } from '../kernel/cancellation.js';
import type { LentSession, Session, Transaction } from './session.js';

/**
 * A unit of work: one transaction that is done whole or not at all, and may be tried again from its start.
 * `work` must not talk to anything but its transaction, and must not catch a database error and go on.
 */
export interface Unit<T> {
  /** For messages: what is being done. */
  name: string;
  work(trx: Transaction): Promise<T>;
  /**
   * Asked when the answer to COMMIT was lost, which the server reports alike for "done" and "not done": looks for the
   * mark that the transaction wrote and gives the unit's result if it is there, undefined if it is not. `denied` tells that
   * the server did answer, and called COMMIT failed, which of a cluster is nearly always true.
   */
  landed(session: Session, denied: boolean): Promise<T | undefined>;
}

/** Unit whose repetition changes nothing more, so that after a lost COMMIT it is simply run again. */
export function repeatable<T>(name: string, work: (trx: Transaction) => Promise<T>): Unit<T> {
  return { name, work, landed: () => Promise.resolve(undefined) };
}

interface Connections {
  withSession<T>(work: (session: LentSession) => Promise<T>): Promise<T>;
  begin(session: Session): Promise<unknown>;
  /** Aborted when nothing is to be tried any more; its reason is thrown then. */
  signal: AbortSignal;
}

const retries = 8;

/** No try begins later than this after the first one began, so that a silent server costs one statement limit and not nine. */
const retryMsMax = 120_000;

/**
 * Owns BEGIN to COMMIT. On any error the transaction is rolled back, never committed: after a lock time-out the server
 * has undone one statement and kept the others, after a deadlock all of them, and the session is in autocommit.
 * What the server calls temporary is tried again as a whole, with growing, jittered pauses (about 20 s in all).
 * An abort of `signal` undoes the unit at any moment before its COMMIT is sent, and throws the signal's own reason; a
 * COMMIT whose answer was lost is looked up first all the same.
 */
export async function runUnit<T>(unit: Unit<T>, connections: Connections, signal: AbortSignal | null): Promise<T> {
  let commitLost = false;
  let denied = true;
  const landed = (): Promise<T | undefined> => connections.withSession((session) => unit.landed(session, denied));
  const attempt = async (session: LentSession): Promise<T> => {
    session.obey(signal);
    await connections.begin(session);
    // The session's owner rolls back and drops the connection when this throws; nothing here goes on after an error.
    const result = await unit.work(session as LentSession & Transaction);
    if (signal !== null) throwIfCancelled(signal);
    // From here on the answer is waited for: given up now, nobody would know whether the unit took effect.
    session.obey(null);
    try {
      await session.change('commit');
    } catch (error) {
      // A cluster may let a COMMIT through on other nodes and call it a deadlock here: no answer but "done" is believed.
      if (isTemporary(error)) commitLost = true;
      denied &&= failureKind(error) !== 'lost';
      throw error;
    }
    return result;
  };
  return pRetry(
    async () => {
      const earlier = commitLost ? await landed() : undefined;
      if (earlier !== undefined) return earlier;
      try {
        return await connections.withSession(attempt);
      } catch (error) {
        // A COMMIT still on its way when its answer was lost can land after the mark was looked for. What then
        // refuses the repetition (a key taken, an order moved) is the unit's own first attempt: look once more.
        const late = commitLost && !isTemporary(error) ? await landed() : undefined;
        if (late !== undefined) return late;
        throw error;
      }
    },
    {
      retries,
      minTimeout: 50,
      maxTimeout: 5_000,
      factor: 2.5,
      randomize: true,
      maxRetryTime: retryMsMax,
      signal: connections.signal,
      // After a lost COMMIT a key that is taken may be the unit's own: repeated once more, it finds what it wrote.
      shouldRetry: ({ error }) => isTemporary(error) || (commitLost && failureKind(error) === 'refused'),
    },
  );
}

function isTemporary(error: unknown): boolean {
  const kind = failureKind(error);
  return kind === 'retry' || kind === 'lost';
}
