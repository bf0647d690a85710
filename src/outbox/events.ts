import { z } from 'zod';
import { keyOf, topics, type Topic } from '../kernel/topics.js';

// What others are told, as CloudEvents 1.0. docs/schemas is made from here: npm run schemas.

const minor = z
  .string()
  .regex(/^-?(0|[1-9][0-9]{0,18})$/)
  .meta({ description: 'a whole number of minor units' });
const count = z.int().min(0);
const day = z
  .string()
  .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/)
  .meta({ description: 'a calendar day' });
const currency = z.string().regex(/^[A-Z]{3}$/);
const text = z.string();

/** An account's orders of a day in one currency, or what its terms do to it, as booked. */
const settlement = z.object({
  batchDay: day,
  accountNo: text,
  currency,
  /** Positive: we owe the account. */
  netMinor: minor,
  orders: count,
  lines: z.array(z.object({ type: text, channel: text, orders: count, amountMinor: minor })),
  terms: z.array(z.object({ reason: text, amountMinor: minor, originDay: day })),
});

/** A journal entry that was taken back by another. */
const reversal = z.object({
  batchDay: day,
  accountNo: text,
  reverses: text,
  entries: z.array(
    z.object({
      ledgerAccount: text,
      subAccount: text,
      side: z.enum(['DEBIT', 'CREDIT']),
      amountMinor: minor,
      currency,
    }),
  ),
});

/** A payout that is final. */
const payout = z.object({
  batchDay: day,
  accountNo: text,
  payoutId: text,
  state: z.enum(['SUCCESS', 'FAILED']),
  currency,
  amountMinor: minor,
});

/** Something that a person must look at; what else it says is text too. */
const alert = z
  .object({ batchDay: day, accountNo: text, code: text, suggestedAction: text })
  .catchall(z.string().nullable());

/** A day whose books are closed. A receiver that has so many settlements of it has all of them. */
const dayClosed = z.object({ batchDay: day, closedAt: text, orders: count, settlements: count });

const dataSchemas = {
  SETTLEMENT: settlement,
  REVERSAL: reversal,
  PAYOUT: payout,
  ALERT: alert,
  DAY_CLOSED: dayClosed,
} as const satisfies Record<Topic, z.ZodType>;

export type DataOf = { [T in Topic]: z.output<(typeof dataSchemas)[T]> };

/** Every message carries its topic's name and version in `type`; a change that old readers could not read raises it. */
export function typeOf(topic: Topic): string {
  return `settle.${keyOf(topic)}.v1`;
}

export function schemaNameOf(topic: Topic): string {
  return `urn:settle:schema:${keyOf(topic)}:v1`;
}

function envelope<T extends Topic>(topic: T) {
  return z.strictObject({
    specversion: z.literal('1.0'),
    /** With `source` the identity of the message, the same on every delivery. */
    id: z.string().min(1).max(40),
    source: z.string().min(1),
    type: z.literal(typeOf(topic)),
    subject: z.string().optional(),
    time: z.string(),
    datacontenttype: z.literal('application/json'),
    dataschema: z.literal(schemaNameOf(topic)),
    /** Messages of one key come in order, at their first delivery. */
    partitionkey: z.string().optional(),
    data: dataSchemas[topic],
  });
}

const envelopes = {
  SETTLEMENT: envelope('SETTLEMENT'),
  REVERSAL: envelope('REVERSAL'),
  PAYOUT: envelope('PAYOUT'),
  ALERT: envelope('ALERT'),
  DAY_CLOSED: envelope('DAY_CLOSED'),
} as const;

/** A message as it goes out. */
export interface SettleEvent<T extends Topic = Topic> {
  specversion: '1.0';
  id: string;
  source: string;
  type: string;
  subject?: string | undefined;
  time: string;
  datacontenttype: 'application/json';
  dataschema: string;
  partitionkey?: string | undefined;
  data: DataOf[T];
}

/** Which topic a type of ours is of; null for a type that is none. */
export function topicOfType(type: string): Topic | null {
  return Object.values(topics).find((topic) => typeOf(topic) === type) ?? null;
}

/** What is wrong with a message of a topic, or null. */
export function faultIn(topic: Topic, event: unknown): string | null {
  const { success, error } = envelopes[topic].safeParse(event);
  if (success) return null;
  const [issue] = error.issues;
  return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`;
}

/** The JSON Schemas of all messages by the names of their files. */
export function schemaFiles(): Map<string, string> {
  return new Map(
    Object.values(topics).map((topic) => {
      const schema = { ...z.toJSONSchema(envelopes[topic]), $id: schemaNameOf(topic) };
      return [`${keyOf(topic)}.v1.json`, `${JSON.stringify(schema, null, 2)}\n`];
    }),
  );
}
