import { readFileSync } from 'node:fs';
import type { NotificationTarget } from '../configNotifications.js';
import { SettleError } from '../kernel/errors.js';
import { serviceUrl } from '../notifications/ping.js';
import type { Place } from '../notifications/post.js';
import type { Sender } from '../notifications/sender.js';
import { fetchSecret } from './secret.js';

export type Ping = { name: string; place: Place };

/** Opens a target that is told how days end; what it needs beyond its own code is loaded then. Connects to nothing yet. */
export async function openSender(name: string, target: Exclude<NotificationTarget, { kind: 'ping' }>): Promise<Sender> {
  const setting = `notifications.targets.${name}`;
  switch (target.kind) {
    case 'webhook': {
      const { WebhookSender } = await import('../notifications/webhook.js');
      const secret = await fetchSecret(target.secret, `${setting}.secret`);
      return new WebhookSender(name, await placeOf(setting, target), secret);
    }
    case 'slack': {
      const { SlackSender } = await import('../notifications/webhook.js');
      return new SlackSender(name, await placeOf(setting, target));
    }
    case 'email': {
      const { EmailSender } = await import('../notifications/email.js');
      const { host, port, tls, from, to, user, password } = target;
      const login =
        user === undefined || password === undefined
          ? null
          : { user, pass: await fetchSecret(password, `${setting}.password`) };
      return new EmailSender(name, { host, port, tls, ca: certificates(setting, target.ca), login, from, to });
    }
  }
}

export async function openPing(name: string, target: Extract<NotificationTarget, { kind: 'ping' }>): Promise<Ping> {
  return { name, place: await placeOf(`notifications.targets.${name}`, target) };
}

async function placeOf(setting: string, { url, ca }: Extract<NotificationTarget, { url: unknown }>): Promise<Place> {
  return { url: serviceUrl(await fetchSecret(url, `${setting}.url`)), ca: certificates(setting, ca) };
}

function certificates(setting: string, file: string | undefined): string | null {
  if (file === undefined) return null;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new SettleError(
      'CONFIG_UNREADABLE',
      `${setting}.ca names a file that cannot be read: ${(error as Error).message}`,
      { details: { setting: `${setting}.ca` }, next: `Mend the path in ${setting}.ca.` },
    );
  }
}
