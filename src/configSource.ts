import { z } from 'zod';
import { timeZone } from './configValues.js';
import { scaleOf } from './kernel/money.js';
import { orderMoves, orderTypes, type OrderState } from './kernel/states.js';

// How a table of orders that is not ours is read. Names and values come into statements as they stand here, so that only
// what cannot be anything else is let through.

const nameShape = /^[\p{L}_$][\p{L}\p{N}_$]{0,63}$/u;
const column = z.string().regex(nameShape).meta({ description: 'the name of a column (letters, digits, _ and $)' });

const value = z.union([z.int(), z.string().regex(/^[^'"\\\p{Cc}]{0,64}$/u)]);
const values = z
  .union([value, z.array(value).min(1).max(50)])
  .transform((given) => (Array.isArray(given) ? given : [given]))
  .meta({ description: 'a whole number or a text of up to 64 letters without quotes, or a list of them' });

const states = Object.keys(orderMoves) as [OrderState, ...OrderState[]];

/** A map of our words to those of a column: each value once, so that it can be read back. */
function valueMap<Word extends string>(words: readonly [Word, ...Word[]], needed: readonly Word[]) {
  return z.partialRecord(z.enum(words), values).superRefine((map, context) => {
    const issue = (message: string): void => context.addIssue({ code: 'custom', message });
    const missing = needed.filter((word) => map[word] === undefined);
    if (missing.length > 0) issue(`a mapping that has a value for ${missing.join(', ')} too`);
    const seen = new Map<string, string>();
    for (const [word, own] of Object.entries(map) as [string, (string | number)[]][]) {
      for (const each of own) {
        // Most databases take "a" and "A" for the same.
        const key = String(each).trimEnd().toLowerCase();
        const other = seen.get(key);
        if (other !== undefined)
          issue(`a mapping with each value once; ${String(each)} stands for ${other} and for ${word}`);
        seen.set(key, word);
      }
    }
  });
}

const moment = {
  timeZone: timeZone.default('UTC'),
  unit: z
    .enum(['datetime', 'iso', 'seconds', 'milliseconds'])
    .default('datetime')
    .meta({ description: 'one of datetime, iso, seconds, milliseconds' }),
};

const columns = z.strictObject({
  id: column,
  orderNo: column,
  accountNo: column,
  batchDay: column.optional(),
  instant: z.strictObject({ column, ...moment }).optional(),
  type: z
    .union([
      z.strictObject({ column, values: valueMap(orderTypes, []) }),
      z.strictObject({ always: z.enum(orderTypes) }),
    ])
    .meta({ description: 'a mapping with a column and values (each value once), or with always' }),
  amount: z.strictObject({
    column,
    unit: z.enum(['minor', 'major']).meta({ description: 'minor (1250 for 12.50) or major (12.50)' }),
    sign: z
      .enum(['type', 'effect'])
      .default('type')
      .meta({ description: 'type (a refund is positive) or effect (a refund is negative)' }),
  }),
  currency: z
    .union([
      z.strictObject({ column }),
      z.strictObject({
        always: z
          .string()
          .refine((code) => scaleOf(code) !== undefined)
          .meta({ description: 'a currency code such as CNY' }),
      }),
    ])
    .meta({ description: 'a mapping with a column, or with always and a currency code such as CNY' }),
  channel: z
    .union([z.strictObject({ column }), z.strictObject({ always: z.string().regex(/^[^'"\\\s\p{Cc}]{1,64}$/u) })])
    .meta({ description: 'a mapping with a column, or with always and the name of a channel' }),
  state: z.strictObject({ column, values: valueMap(states, ['INIT', 'PROCESSING', 'SUCCESS']) }),
  version: column.optional(),
  reversalOf: column.optional(),
  finishedAt: z.strictObject({ column, ...moment }).optional(),
  cancelCode: column.optional(),
  runId: column.optional(),
  chunkNo: column.optional(),
});

/** Which table holds the orders, if not the one that Settle makes; see docs/own-tables.md. */
export const sourceSchema = z
  .strictObject({
    schema: z.string().regex(nameShape).meta({ description: 'the name of a schema of the same server' }).optional(),
    table: z.string().regex(nameShape).meta({ description: 'the name of a table; its schema stands in source.schema' }),
    columns: columns
      .refine(
        ({ batchDay, instant }) => (batchDay === undefined) !== (instant === undefined),
        'a mapping with one of batchDay and instant',
      )
      .refine(
        ({ runId, chunkNo }) => (runId === undefined) === (chunkNo === undefined),
        'a mapping with both runId and chunkNo, or neither',
      ),
    where: z
      .array(
        z
          .strictObject({ column, is: values.optional(), isNot: values.optional() })
          .refine(
            ({ is, isNot }) => (is === undefined) !== (isNot === undefined),
            'a mapping with one of is and isNot',
          ),
      )
      .max(20)
      .default([])
      .meta({ description: 'a list of conditions such as { column: deleted, is: 0 }' }),
  })
  .optional();

export type SourceSettings = NonNullable<z.output<typeof sourceSchema>>;
