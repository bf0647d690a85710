import { z } from 'zod';
import { secretPlace } from './configPayouts.js';
import { duration } from './configValues.js';
import { topicKeys, type TopicKey } from './kernel/topics.js';

const sinkName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/);

/** What every kind of sink is told. */
const common = {
  /** Messages of earlier batch days are not sent. */
  since: z
    .string()
    .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/)
    .meta({ description: 'a batch day such as "2026-12-01"' })
    .optional(),
  attempts: z.int().min(1).max(100).default(10),
  maxBytes: z.int().min(1_024).max(134_217_728).default(1_048_576),
};

const amqp = z.strictObject({
  kind: z.literal('amqp'),
  ...common,
  url: z.string().refine(isBrokerUrl).meta({
    description:
      'an amqps URL without password, such as amqps://settle@mq.example/prod (amqp only to this machine, or with plainText: true)',
  }),
  password: secretPlace.optional(),
  /** Certificates to trust instead of those of the system. */
  ca: z.string().min(1).optional(),
  /** Lets amqp:// leave this machine: inside a network that encrypts by itself. */
  plainText: z.boolean().default(false),
  exchange: z.string().max(255),
  /** {topic} stands for settlement, reversal, payout, alert or dayClosed. */
  routingKey: z.string().max(255).default('settle.{topic}'),
  inFlight: z.int().min(1).max(10_000).default(1_000),
  confirmTimeout: duration.prefault('30s'),
});

const webhook = z.strictObject({
  kind: z.literal('webhook'),
  ...common,
  url: z.string().refine(isWebhookUrl).meta({
    description: 'an https URL without user, query and fragment (http only to this machine)',
  }),
  secret: secretPlace,
  ca: z.string().min(1).optional(),
  concurrency: z.int().min(1).max(64).default(4),
  timeout: duration.prefault('10s'),
});

const file = z.strictObject({ kind: z.literal('file'), ...common, path: z.string().min(1) });
const stdout = z.strictObject({ kind: z.literal('stdout'), ...common });

const local = /^(localhost|127(\.[0-9]+){3}|\[::1\])$/;

function isBrokerUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, password, search, hash, hostname } = new URL(text);
  return /^amqps?:$/.test(protocol) && hostname !== '' && password + search + hash === '' && !/[?#]/.test(text);
}

function isWebhookUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  if (username + password + search + hash !== '' || /[?#@]/.test(text)) return false;
  return protocol === 'https:' || (protocol === 'http:' && local.test(hostname));
}

/** Whether this URL would carry a password in the clear over a network. */
function isBare({ url, plainText }: { url: string; plainText: boolean }): boolean {
  if (!URL.canParse(url)) return false; // said already
  const { protocol, hostname } = new URL(url);
  return protocol === 'amqp:' && !plainText && !local.test(hostname);
}

export const sinkSettings = z.discriminatedUnion('kind', [
  amqp.refine((settings) => !isBare(settings), { path: ['url'], message: 'an amqps URL, or plainText: true' }),
  webhook,
  file,
  stdout,
]);
export type SinkSettings = z.output<typeof sinkSettings>;

/** Who listens, by name. */
export const sinksSchema = z.record(sinkName, sinkSettings).prefault({});

const sinkNames = z
  .union([
    z.array(sinkName).max(50),
    z.string().transform((text) =>
      text
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    ),
  ])
  .meta({ description: 'a list of names of sinks' })
  .optional();

/** Which sinks get what. A topic without a sink is not looked at. */
export const routesSchema = z
  .strictObject(Object.fromEntries(topicKeys.map((key) => [key, sinkNames])) as Record<TopicKey, typeof sinkNames>)
  .prefault({});

/** How what is in the outbox gets to the sinks. */
export const outboxSchema = z
  .strictObject({
    source: z
      .string()
      .regex(/^[\x21-\x7e]{1,200}$/)
      .meta({
        description: 'a URI reference of visible ASCII characters, such as /settle or https://example.com/settle',
      })
      .default('/settle'),
    leaseDuration: duration.prefault('2m'),
  })
  .prefault({});
