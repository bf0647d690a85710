import { createHash } from 'node:crypto';
import { request as startRequest, type IncomingMessage } from 'node:http';
import type { ChannelAnswer, ChannelRules, PayoutChannel, PayoutInstruction } from '../channel.js';
import { ChannelConnections } from './httpConnections.js';
import { readAnswer, requestBody } from './httpProtocol.js';
import { signature, signatureHeader } from './httpSignature.js';

/** No answer of the protocol is longer; what is, is not read to its end. */
const bodyBytesMax = 64 * 1024;

export interface HttpChannelOptions {
  /** Without a slash at its end. */
  readonly url: string;
  readonly secret: string;
  /** Certificates to trust instead of those of the system, as PEM. */
  readonly ca: string | null;
}

/** A channel that speaks the JSON protocol of docs/payout-http.md. Follows no redirect, sends nothing twice by itself. */
export class HttpChannel implements PayoutChannel {
  private readonly url: URL;
  private readonly secret: string;
  private readonly connections: ChannelConnections;

  constructor(
    readonly name: string,
    readonly rules: ChannelRules,
    { url, secret, ca }: HttpChannelOptions,
  ) {
    this.url = new URL(url);
    this.secret = secret;
    this.connections = new ChannelConnections(this.url, { ca, ...rules });
  }

  async submit(payout: PayoutInstruction, signal: AbortSignal): Promise<ChannelAnswer> {
    return this.ask('submit', payout, signal, { method: 'POST', path: this.url.pathname, body: requestBody(payout) });
  }

  async query(payout: PayoutInstruction, signal: AbortSignal): Promise<ChannelAnswer> {
    const path = `${this.url.pathname.replace(/\/$/, '')}/${encodeURIComponent(payout.idempotencyKey)}`;
    return this.ask('query', payout, signal, { method: 'GET', path, body: '' });
  }

  close(): Promise<void> {
    this.connections.destroy();
    return Promise.resolve();
  }

  private async ask(
    ask: 'submit' | 'query',
    payout: PayoutInstruction,
    signal: AbortSignal,
    sent: { method: string; path: string; body: string },
  ): Promise<ChannelAnswer> {
    const outcome = await this.exchange(payout.idempotencyKey, signal, sent);
    if ('kind' in outcome) return outcome;
    const digest = createHash('sha256').update(outcome.bytes).digest('hex');
    const body = outcome.isWhole ? outcome.bytes.toString('utf8') : null;
    return { ...readAnswer(ask, payout, { ...outcome, body }), digest };
  }

  /** One request and its answer, within the channel's time-out, from the first look for a connection to the last byte. */
  private exchange(
    idempotencyKey: string,
    signal: AbortSignal,
    { method, path, body }: { method: string; path: string; body: string },
  ): Promise<RawAnswer | ChannelAnswer> {
    const code = signature(this.secret, Math.floor(Date.now() / 1_000), { method, path, idempotencyKey, body });
    return new Promise((resolve) => {
      const request = startRequest({
        agent: this.connections,
        method,
        path,
        headers: {
          host: this.url.host,
          accept: 'application/json',
          'idempotency-key': idempotencyKey,
          [signatureHeader]: code,
          ...(body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        },
      });
      let mayHaveLeft = false;
      const end = (outcome: RawAnswer | ChannelAnswer): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        resolve(outcome);
      };
      const giveUp = (failure: Failure): void => {
        end(mayHaveLeft ? unclear(failure) : { kind: 'UNREACHABLE', detail: failure.detail });
        request.destroy();
      };
      const onAbort = (): void => {
        giveUp({ cause: 'TIMEOUT', detail: 'The answer was not waited for, since the process was told to stop.' });
      };
      const timer = setTimeout(() => {
        giveUp({ cause: 'TIMEOUT', detail: `No whole answer within ${String(this.rules.timeoutMs)} ms.` });
      }, this.rules.timeoutMs);
      signal.addEventListener('abort', onAbort, { once: true });
      // From here on bytes may be on their way; whether they arrived nobody on this side can tell.
      request.once('socket', () => (mayHaveLeft = true));
      request.on('error', (error) => {
        giveUp(failureOf(error));
      });
      request.once('response', (response) => {
        readAll(response).then(end, (error: unknown) => {
          giveUp(failureOf(error as Error));
        });
      });
      if (signal.aborted) onAbort();
      else request.end(body);
    });
  }
}

interface RawAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly bytes: Buffer;
  readonly isWhole: boolean;
}

interface Failure {
  readonly cause: 'TIMEOUT' | 'CONNECTION_CUT' | 'UNREADABLE_ANSWER';
  readonly detail: string;
}

async function readAll(response: IncomingMessage): Promise<RawAnswer> {
  const parts: Buffer[] = [];
  let length = 0;
  const answer = (isWhole: boolean): RawAnswer => ({
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type'] ?? '',
    bytes: Buffer.concat(parts),
    isWhole,
  });
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part);
    length += part.length;
    if (length > bodyBytesMax) return answer(false); // leaving the loop closes the connection
  }
  return answer(true);
}

/** By the code alone: the message of an error may repeat what the other side sent. */
function failureOf(error: Error): Failure {
  const { code } = error as NodeJS.ErrnoException;
  if (code?.startsWith('HPE_') === true) {
    return { cause: 'UNREADABLE_ANSWER', detail: `The answer is not HTTP (${code}).` };
  }
  return { cause: 'CONNECTION_CUT', detail: `The connection failed (${code ?? error.message}).` };
}

function unclear({ cause, detail }: Failure): ChannelAnswer {
  return { kind: 'UNCLEAR', cause, detail };
}
