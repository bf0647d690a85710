import type { Connection, QueryOptions } from 'mysql2';

/**
 * One statement on a server, ended from this side when it takes longer than `msMax`: a silent server must not hang the
 * run. The connection is destroyed then, since an answer may still be on its way. The clock is ours because mysql2 lets
 * its own go on ticking when the connection is lost, which keeps a finished process alive for the rest of the limit.
 * An abort of `signal` ends it in the same way, with the signal's own reason.
 */
export function queryWithin(
  connection: Connection,
  options: QueryOptions,
  bindings: readonly unknown[],
  msMax: number,
  signal: AbortSignal | null = null,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const giveUp = (reason: Error): void => {
      reject(reason);
      connection.destroy();
    };
    const timer = setTimeout(() => {
      const error = new Error(`The server gave no answer within ${String(msMax)} ms.`);
      giveUp(Object.assign(error, { code: 'PROTOCOL_SEQUENCE_TIMEOUT' }));
    }, msMax);
    const onAbort = (): void => {
      giveUp(signal?.reason as Error);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    // Without values the driver does not search the text for "?", which in a long insert is the larger part of its work.
    connection.query(options, bindings.length === 0 ? undefined : [...bindings], (error, result) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      if (error !== null) reject(error);
      else resolve(result);
    });
  });
}
