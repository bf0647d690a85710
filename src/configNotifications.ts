import { z } from 'zod';
import { secretPlace } from './configPayouts.js';
import { duration } from './configValues.js';

const targetName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/);

/** File of certificates to trust instead of those of the system. */
const ca = z.string().min(1).optional();

/** The URL of each is a secret: who knows it may speak in our name. */
const webhook = z.strictObject({ kind: z.literal('webhook'), url: secretPlace, secret: secretPlace, ca });
const slack = z.strictObject({ kind: z.literal('slack'), url: secretPlace, ca });
const ping = z.strictObject({ kind: z.literal('ping'), url: secretPlace, ca });

const address = z
  .string()
  .max(254)
  .regex(/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+$/)
  .meta({ description: 'an e-mail address such as ops@example.com' });

const email = z
  .strictObject({
    kind: z.literal('email'),
    host: z.string().min(1),
    port: z.int().min(1).max(65_535).default(465),
    /** From the first byte, from STARTTLS on, or not at all, which is for this machine only. */
    tls: z.enum(['always', 'starttls', 'none']).default('always'),
    ca,
    user: z.string().min(1).optional(),
    password: secretPlace.optional(),
    from: address,
    to: z.array(address).min(1).max(20),
  })
  .refine(({ tls, host }) => tls !== 'none' || isThisMachine(host), {
    path: ['tls'],
    message: 'always or starttls: none is for this machine only',
  })
  .refine(({ user, password }) => (user === undefined) === (password === undefined), {
    path: ['user'],
    message: 'given together with password, or neither of them',
  });

export function isThisMachine(host: string): boolean {
  return /^(localhost|127(\.[0-9]+){3}|\[?::1\]?)$/.test(host);
}

export const notificationTarget = z.discriminatedUnion('kind', [webhook, slack, email, ping]);
export type NotificationTarget = z.output<typeof notificationTarget>;

/** Who is told how a day ended, by name; no target may take longer than `timeout`. */
export const notificationsSchema = z
  .strictObject({
    timeout: duration.prefault('10s'),
    targets: z.record(targetName, notificationTarget).prefault({}),
  })
  .prefault({});
