import { Agent as PlainAgent, request as requestPlain, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent, request as requestTls } from 'node:https';

/**
 * A node that failed, in words of ours: what is told never holds its address, a key, or a byte of what it sent. The error
 * that caused it is left behind for the same reason.
 */
export class NodeTrouble extends Error {
  override readonly name = 'NodeTrouble';
  constructor(
    readonly code: 'rpc-query-failed' | 'rpc-response-invalid',
    readonly detail: string,
    /** The same request may succeed in a moment. */
    readonly mayRetry: boolean,
  ) {
    super(`${code}: ${detail}`);
  }
}

/** 50 receipts of a few hundred logs each; a node that sends more is not believed. */
const answerBytesMax = 64 * 1024 * 1024;

export interface TransportOptions {
  /** With its key: a secret. */
  url: string;
  timeoutMs: number;
  connections: number;
}

/** Posts JSON to a node over connections that are kept. One deadline from the first byte to the last; nothing is cached. */
export class RpcTransport {
  private readonly agent: PlainAgent;
  private readonly url: URL;

  constructor(private readonly options: TransportOptions) {
    this.url = new URL(options.url);
    const kept = { keepAlive: true, maxSockets: options.connections, scheduling: 'lifo' as const, timeout: 3_000 };
    this.agent =
      this.url.protocol === 'https:' ? new TlsAgent({ ...kept, minVersion: 'TLSv1.2' }) : new PlainAgent(kept);
  }

  close(): void {
    this.agent.destroy();
  }

  /** The parsed answer to a JSON text. Throws NodeTrouble, or the reason of the signal. */
  post(body: string, signal: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
      const open = this.url.protocol === 'https:' ? requestTls : requestPlain;
      const request = open(this.url, { method: 'POST', agent: this.agent, headers });
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        settle();
      };
      const fail = (error: Error): void => {
        end(() => {
          reject(error);
        });
        request.destroy();
      };
      const onAbort = (): void => {
        fail(signal.reason as Error);
      };
      const timer = setTimeout(() => {
        fail(new NodeTrouble('rpc-query-failed', `no answer within ${String(this.options.timeoutMs)} ms`, true));
      }, this.options.timeoutMs);
      signal.addEventListener('abort', onAbort, { once: true });
      request.on('error', (error) => {
        fail(new NodeTrouble('rpc-query-failed', `not reached (${codeOf(error)})`, true));
      });
      request.on('response', (response) => {
        readAnswer(response, fail, (value) => {
          end(() => {
            resolve(value);
          });
        });
      });
      request.end(body);
    });
  }
}

function codeOf(error: NodeJS.ErrnoException): string {
  return /^[A-Z][A-Z0-9_]{1,39}$/.test(error.code ?? '') ? (error.code ?? '') : 'connection failed';
}

function readAnswer(response: IncomingMessage, fail: (error: Error) => void, done: (value: unknown) => void): void {
  const { statusCode = 0 } = response;
  if (statusCode !== 200) {
    response.resume();
    const mayRetry = statusCode === 408 || statusCode === 429 || statusCode >= 500;
    fail(new NodeTrouble('rpc-query-failed', `answered with HTTP ${String(statusCode)}`, mayRetry));
    return;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > answerBytesMax) fail(new NodeTrouble('rpc-response-invalid', 'answered with more than 64 MiB', false));
  });
  response.on('error', () => {
    fail(new NodeTrouble('rpc-query-failed', 'cut its answer off', true));
  });
  response.on('end', () => {
    try {
      done(JSON.parse(Buffer.concat(chunks).toString('utf8')));
    } catch {
      fail(new NodeTrouble('rpc-response-invalid', 'answered with what is no JSON', false));
    }
  });
}
