import type { Socket } from 'node:net';
import type { Connection, QueryOptions } from 'mysql2';

/**
 * One statement on a server, ended from this side when it takes longer than `msMax` or when a signal says that nobody
 * waits for it any more (with that signal's own reason): a silent server must not hang the run. The connection is
 * destroyed then, since an answer may still be on its way. The clock is ours because mysql2 lets its own go on ticking
 * when the connection is lost, which keeps a finished process alive for the rest of the limit.
 */
export function queryWithin(
  connection: Connection,
  options: QueryOptions,
  bindings: readonly unknown[],
  msMax: number,
  signals: readonly AbortSignal[] = [],
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const giveUp = (error: Error): void => {
      done();
      reject(error);
      cut(connection);
    };
    const onAbort = (event: Event): void => {
      giveUp((event.target as AbortSignal).reason as Error);
    };
    const timer = setTimeout(() => {
      const error = new Error(`The server gave no answer within ${String(msMax)} ms.`);
      giveUp(Object.assign(error, { code: 'PROTOCOL_SEQUENCE_TIMEOUT' }));
    }, msMax);
    for (const signal of signals) signal.addEventListener('abort', onAbort);
    const done = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', onAbort);
    };
    // Without values the driver does not search the text for "?", which in a long insert is the larger part of its work.
    connection.query(options, bindings.length === 0 ? undefined : [...bindings], (error, result) => {
      done();
      if (error !== null) reject(error);
      else resolve(result);
    });
  });
}

/** The connection's socket; mysql2 keeps it to itself. */
export function socketOf(connection: Connection): Socket {
  return (connection as unknown as { stream: Socket }).stream;
}

/** Ends a connection now. The driver's own way waits for the server to close too, which one that is silent never does. */
export function cut(connection: Connection): void {
  connection.destroy();
  socketOf(connection).destroy();
}
