import { isSigned, signatureHeader } from '../payouts/channels/httpSignature.js';
import { faultIn, topicOfType, type SettleEvent } from '../outbox/events.js';

/** A message that is none of ours, or not as its schema says. Trying it again does not help. */
export class NotOurMessage extends Error {
  override readonly name = 'NotOurMessage';
}

/** A request that was not signed with the secret, or too long ago. */
export class NotSigned extends Error {
  override readonly name = 'NotSigned';
}

/** Reads a message as it came and checks it against its schema. Throws NotOurMessage. */
export function readEvent(content: Buffer | string): SettleEvent {
  let value: unknown;
  try {
    value = JSON.parse(content.toString());
  } catch (error) {
    throw new NotOurMessage('The message is not JSON.', { cause: error });
  }
  const { type } = (value ?? {}) as { type?: unknown };
  const topic = typeof type === 'string' ? topicOfType(type) : null;
  if (topic === null) throw new NotOurMessage(`The message has the type ${String(type)}, which is not known here.`);
  const fault = faultIn(topic, value);
  if (fault !== null) throw new NotOurMessage(`The message is not as its schema says (${fault}).`);
  return value as SettleEvent;
}

/** A request of the webhook sink, as it came. */
export interface WebhookRequest {
  method: string;
  /** As it stands in the first line of the request. */
  path: string;
  /** With names in lower case, as Node has them. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes of the body, not parsed and written again. */
  body: Buffer | string;
}

/**
 * Reads the message of a webhook after checking that it was signed with the secret within the last five minutes. Throws
 * NotSigned (answer 401) or NotOurMessage (answer 422).
 */
export function readWebhook(secret: string, request: WebhookRequest, nowMs = Date.now()): SettleEvent {
  const { method, path, headers } = request;
  const one = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  const idempotencyKey = one('idempotency-key') ?? '';
  const body = request.body.toString();
  if (!isSigned(secret, one(signatureHeader), Math.floor(nowMs / 1_000), { method, path, idempotencyKey, body })) {
    throw new NotSigned('The request is not signed with the secret, or was signed more than five minutes ago.');
  }
  const event = readEvent(body);
  if (event.id !== idempotencyKey) throw new NotOurMessage('The key of the request is not the id of its message.');
  return event;
}
