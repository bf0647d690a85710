import { request as startRequest } from 'node:http';
import pRetry, { AbortError } from 'p-retry';
import { ChannelConnections } from '../payouts/channels/httpConnections.js';
import { NotDelivered } from './sender.js';

/** Of an answer only the status counts. */
const answerBytesMax = 64 * 1024;

export interface Place {
  readonly url: URL;
  /** Certificates to trust instead of those of the system, as PEM. */
  readonly ca: string | null;
}

/**
 * Sends one request and waits for a status of 2xx. What may pass (no connection, 429, 5xx) is tried three times in all within
 * `within`; what the other side refuses is not. Follows no redirect, which would carry a secret elsewhere.
 * Throws NotDelivered, without the URL.
 */
export async function post(
  place: Place,
  request: { method: 'POST' | 'GET'; headers: Record<string, string>; body: string },
  within: AbortSignal,
): Promise<void> {
  const connections = new ChannelConnections(place.url, { ca: place.ca, concurrency: 1, timeoutMs: 60_000 });
  const problems: NotDelivered[] = [];
  try {
    await pRetry(
      async () => {
        try {
          await once(place, connections, request, within);
        } catch (error) {
          if (error instanceof NotDelivered) problems.push(error);
          throw error instanceof NotDelivered && error.isFinal ? new AbortError(error) : error;
        }
      },
      { retries: 2, minTimeout: 250, factor: 4, signal: within, shouldRetry: () => !within.aborted },
    );
  } catch (error) {
    // Also where the time was over in the pause before another try: why that was needed is what helps.
    throw problems.at(-1) ?? error;
  } finally {
    connections.destroy();
  }
}

function once(
  { url }: Place,
  agent: ChannelConnections,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: string },
  within: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = startRequest({
      agent,
      method,
      path: url.pathname + url.search,
      headers: { host: url.host, 'user-agent': 'settle', 'content-length': Buffer.byteLength(body), ...headers },
    });
    const onAbort = (): void => {
      fail(new NotDelivered('no answer in time'));
    };
    const end = (): void => {
      within.removeEventListener('abort', onAbort);
      request.destroy();
    };
    const fail = (error: NotDelivered): void => {
      end();
      reject(error);
    };
    within.addEventListener('abort', onAbort);
    if (within.aborted) onAbort();
    request.on('error', (error) => {
      fail(new NotDelivered(`the connection failed (${(error as NodeJS.ErrnoException).code ?? 'no reason given'})`));
    });
    request.once('response', (response) => {
      const { statusCode = 0 } = response;
      if (statusCode < 200 || statusCode > 299) {
        const mayPass = statusCode === 429 || statusCode >= 500;
        fail(new NotDelivered(`HTTP status ${String(statusCode)}`, !mayPass));
        return;
      }
      // Its body is read so that the other side is not cut off in the middle of it, but not waited for for ever.
      let bytes = 0;
      const done = (): void => {
        end();
        resolve();
      };
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes > answerBytesMax) done();
      });
      response.once('end', done).once('error', done);
    });
    request.end(body);
  });
}
