import { signature, signatureHeader } from '../payouts/channels/httpSignature.js';
import { noticeDocument, noticeText, type Notice } from './notice.js';
import { post, type Place } from './post.js';
import type { Sender } from './sender.js';

/**
 * A POST of the JSON document, signed as the outbox signs what it sends: HMAC-SHA256 over time, method, path, key and body.
 * The key names the change, so that a receiver knows the second of two.
 */
export class WebhookSender implements Sender {
  constructor(
    readonly name: string,
    private readonly place: Place,
    private readonly secret: string,
  ) {}

  send(notice: Notice, within: AbortSignal): Promise<void> {
    const body = noticeDocument(notice);
    const { pathname, search } = this.place.url;
    const signed = { method: 'POST', path: pathname + search, idempotencyKey: notice.id, body };
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'idempotency-key': notice.id,
      [signatureHeader]: signature(this.secret, Math.floor(Date.now() / 1_000), signed),
    };
    return post(this.place, { method: 'POST', headers, body }, within);
  }
}

/** What Slack takes, and Mattermost, Rocket.Chat and others after it: one text. */
export class SlackSender implements Sender {
  constructor(
    readonly name: string,
    private readonly place: Place,
  ) {}

  send(notice: Notice, within: AbortSignal): Promise<void> {
    const text = noticeText(notice).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    return post(this.place, { method: 'POST', headers, body: JSON.stringify({ text }) }, within);
  }
}
