import { NotDelivered } from './sender.js';
import { post, type Place } from './post.js';

/** What a dead-man's switch is told: that a run starts, how it ended, or, to see whether it listens, a line for its log. */
export type PingEvent = 'start' | 'log' | number;

/** Tells a dead-man's switch, in the way of Healthchecks: URL/start, then URL/EXIT. It raises the alarm when nothing comes. */
export async function ping(place: Place, event: PingEvent, within: AbortSignal): Promise<void> {
  const url = new URL(place.url);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${String(event)}`;
  await post({ ...place, url }, { method: 'POST', headers: {}, body: '' }, within);
}

/** An address of somebody else's service; null where it may not be used: in the clear it may not leave this machine. */
export function serviceUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isUsable =
    url !== null &&
    url.username + url.password === '' &&
    (url.protocol === 'https:' ||
      (url.protocol === 'http:' && /^(localhost|127(\.[0-9]+){3}|\[::1\])$/.test(url.hostname)));
  if (!isUsable) throw new NotDelivered('its URL is not an https one without user (http only to this machine)', true);
  return url;
}
