import { createHash } from 'node:crypto';
import { request as startRequest, type IncomingMessage } from 'node:http';
import type Stripe from 'stripe';
import type { ChannelConnections } from './httpConnections.js';

/** Why no answer of Stripe's API came back that could be read. */
export class StripeTrouble extends Error {
  constructor(
    readonly kind: 'UNREACHABLE' | 'TIMEOUT' | 'CONNECTION_CUT' | 'UNREADABLE_ANSWER' | 'SERVER_ERROR',
    message: string,
  ) {
    super(message);
  }
}

/** The header under which the digest of an answer's body is handed on; Stripe sends none of this name. */
export const digestHeader = 'settle-body-digest';

/** No answer of the requests that are made here is nearly as long. */
const bodyBytesMax = 8 * 1024 * 1024;

/**
 * How the `stripe` package reaches the API. Its own client sends a request a second time by itself when a connection is
 * closed, and bounds the silence between two bytes, but not the time of a request; this one sends once, ends in time, and
 * tells whether anything can have left this machine.
 */
export function sendsOnce(stripe: typeof Stripe, connections: ChannelConnections): Stripe.HttpClient {
  class Answer extends stripe.HttpClientResponse {
    constructor(
      status: number,
      headers: Record<string, string>,
      private readonly body: object,
    ) {
      super(status, headers);
    }
    override getRawResponse(): unknown {
      return { headers: this.getHeaders() };
    }
    override toStream(): never {
      throw new Error('Answers are not streamed.');
    }
    override toJSON(): Promise<object> {
      return Promise.resolve(this.body);
    }
  }

  class Client extends stripe.HttpClient {
    override getClientName(): string {
      return 'settle';
    }
    override makeRequest(
      ...[host, port, path, method, headers, data, , timeout]: Parameters<Stripe.HttpClient['makeRequest']>
    ): Promise<Stripe.HttpClientResponse> {
      return new Promise((resolve, reject) => {
        const request = startRequest({
          host,
          port,
          path,
          method,
          agent: connections,
          headers: headers as Record<string, string>,
        });
        let connected = false;
        const fail = (kind: StripeTrouble['kind'], message: string): void => {
          clearTimeout(timer);
          // Before there is a connection, nothing of the request has left.
          reject(new StripeTrouble(connected ? kind : 'UNREACHABLE', message));
          request.destroy();
        };
        const timer = setTimeout(() => {
          fail('TIMEOUT', `No whole answer within ${String(timeout)} ms.`);
        }, timeout);
        request.once('socket', () => (connected = true));
        request.once('error', (error: NodeJS.ErrnoException) => {
          fail('CONNECTION_CUT', `The connection failed (${error.code ?? error.message}).`);
        });
        request.once('response', (response) => {
          readBody(response).then(
            (body) => {
              const parsed = parse(body);
              const status = response.statusCode ?? 0;
              if (parsed === null) {
                fail(
                  status >= 500 ? 'SERVER_ERROR' : 'UNREADABLE_ANSWER',
                  `An answer that is no JSON, status ${String(status)}.`,
                );
                return;
              }
              clearTimeout(timer);
              const digest = createHash('sha256').update(body).digest('hex');
              const flat = Object.fromEntries(
                Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
              );
              resolve(new Answer(status, { ...flat, [digestHeader]: digest }, parsed));
            },
            (error: Error) => {
              fail('CONNECTION_CUT', error.message);
            },
          );
        });
        request.end(data);
      });
    }
  }

  return new Client();
}

async function readBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new Error('The answer is longer than 8 MiB.');
    chunks.push(chunk);
  }
  if (!response.complete) throw new Error('The answer was cut off.');
  return Buffer.concat(chunks);
}

function parse(body: Buffer): object | null {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
