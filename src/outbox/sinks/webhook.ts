import { request as startRequest, type IncomingMessage } from 'node:http';
import { ChannelConnections } from '../../payouts/channels/httpConnections.js';
import { signature, signatureHeader } from '../../payouts/channels/httpSignature.js';
import { sharedLanes } from '../routing.js';
import { confirmed, unsent, type OutsideSink, type Outgoing, type Sent, type SinkOutcome } from '../sink.js';

export interface WebhookOptions {
  readonly url: string;
  readonly secret: string;
  /** Certificates to trust instead of those of the system, as PEM. */
  readonly ca: string | null;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly bytesMax: number;
}

/** Of an answer's body nothing is used: so much is read that the connection can be used again, and no more. */
const bodyBytesMax = 64 * 1024;
const messagesMax = 200;
/** No receiver is waited for longer than that, whatever it asks for. */
const retryAfterMsMax = 3_600_000;

/** Refusals of what was sent: another message may be taken. */
const ofTheMessage = new Set([400, 409, 413, 415, 422, 500]);
const patience = new Set([429, 503]);

interface Answer {
  readonly outcome: SinkOutcome;
  /** The receiver itself is not to be had. */
  readonly trouble: string | null;
  readonly retryAfterMs: number | null;
}

/** A receiver over HTTPS: one POST a message, signed, under a key that stays. Follows no redirect. */
export class WebhookSink implements OutsideSink {
  readonly lanes = sharedLanes;
  readonly messagesMax = messagesMax;
  readonly bytesMax: number;
  readonly timeoutMs: number;
  private readonly url: URL;
  private readonly connections: ChannelConnections;

  constructor(
    readonly name: string,
    private readonly options: WebhookOptions,
  ) {
    this.url = new URL(options.url);
    this.bytesMax = options.bytesMax;
    this.timeoutMs = options.timeoutMs;
    this.connections = new ChannelConnections(this.url, options);
  }

  async send(messages: readonly Outgoing[], stop: AbortSignal): Promise<Sent> {
    const outcomes: SinkOutcome[] = messages.map(() => unsent);
    let trouble: string | null = null;
    let retryAfterMs: number | null = null;
    let next = 0;
    const work = async (): Promise<void> => {
      while (trouble === null && !stop.aborted && next < messages.length) {
        const at = next;
        next += 1;
        const answer = await this.post(messages[at] as Outgoing);
        outcomes[at] = answer.outcome;
        trouble ??= answer.trouble;
        if (answer.retryAfterMs !== null) retryAfterMs = Math.max(retryAfterMs ?? 0, answer.retryAfterMs);
      }
    };
    await Promise.all(Array.from({ length: this.options.concurrency }, work));
    return { outcomes, trouble, retryAfterMs };
  }

  close(): Promise<void> {
    this.connections.destroy();
    return Promise.resolve();
  }

  private post(message: Outgoing): Promise<Answer> {
    const { secret, timeoutMs } = this.options;
    const path = this.url.pathname;
    const signed = { method: 'POST', path, idempotencyKey: message.id, body: message.body.toString('utf8') };
    return new Promise((resolve) => {
      const request = startRequest({
        agent: this.connections,
        method: 'POST',
        path,
        headers: {
          host: this.url.host,
          accept: '*/*',
          'user-agent': 'settle',
          'content-type': 'application/cloudevents+json; charset=utf-8',
          'content-length': message.body.length,
          'idempotency-key': message.id,
          [signatureHeader]: signature(secret, Math.floor(Date.now() / 1_000), signed),
        },
      });
      const end = (answer: Answer): void => {
        clearTimeout(timer);
        resolve(answer);
      };
      const fail = (trouble: string): void => {
        end({ outcome: unsent, trouble, retryAfterMs: null });
        request.destroy();
      };
      const timer = setTimeout(() => {
        fail(`No answer within ${String(timeoutMs / 1_000)} s.`);
      }, timeoutMs);
      request.on('error', (error) => {
        fail(`The connection failed (${(error as NodeJS.ErrnoException).code ?? error.message}).`);
      });
      request.once('response', (response) => {
        // The status says it all; a body that never ends must not hold the message back.
        const answer = answerOf(response);
        discard(response).then(
          () => {
            end(answer);
          },
          () => {
            end(answer);
          },
        );
      });
      request.end(message.body);
    });
  }
}

function answerOf({ statusCode = 0, headers }: IncomingMessage): Answer {
  const status = `HTTP status ${String(statusCode)}`;
  if (statusCode >= 200 && statusCode < 300) return { outcome: confirmed, trouble: null, retryAfterMs: null };
  if (ofTheMessage.has(statusCode)) {
    return { outcome: { kind: 'REFUSED', reason: `${status}.` }, trouble: null, retryAfterMs: null };
  }
  const retryAfterMs = patience.has(statusCode) ? retryAfterIn(headers['retry-after'], Date.now()) : null;
  const redirected = statusCode >= 300 && statusCode < 400 ? ', a redirect, which is not followed' : '';
  return { outcome: unsent, trouble: `${status}${redirected}.`, retryAfterMs };
}

/** Seconds or a date, as RFC 9110 has them; null for anything else. */
export function retryAfterIn(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  const at = Date.parse(text);
  const ms = /^[0-9]{1,9}$/.test(text) ? Number(text) * 1_000 : /GMT$/.test(text) ? at - nowMs : NaN;
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, ms), retryAfterMsMax);
}

async function discard(response: IncomingMessage): Promise<void> {
  let length = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > bodyBytesMax) return; // leaving the loop closes the connection
  }
}
