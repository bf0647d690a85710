import { z } from 'zod';
import { scaleOf } from './kernel/money.js';

const currency = z
  .string()
  .refine((code) => scaleOf(code) !== undefined)
  .meta({ description: 'a currency code such as EUR' });

const timeZone = z
  .string()
  .refine((name) => {
    try {
      new Intl.DateTimeFormat('en', { timeZone: name });
      return true;
    } catch {
      return false;
    }
  })
  .meta({ description: 'a time zone of the IANA list, such as Asia/Shanghai' });

const kind = z.enum(['PAYMENT', 'REFUND', 'PAYOUT', 'RETURN', 'FEE', 'DISPUTE', 'TRANSFER', 'OTHER']);
const column = z.string().min(1);
const optional = column.nullable().default(null);
const words = z.array(z.string()).min(1);

const columns = z.strictObject({
  date: column,
  time: optional,
  amount: optional,
  credit: optional,
  debit: optional,
  direction: optional,
  fee: optional,
  net: optional,
  balance: optional,
  currency: optional,
  type: optional,
  status: optional,
  ourReference: optional,
  channelReference: optional,
  otherReferences: z.array(column).default([]),
  key: z.array(column).default([]),
});

const sign = z.discriminatedUnion('by', [
  z.strictObject({ by: z.literal('sign'), credit: z.enum(['positive', 'negative']).default('positive') }),
  z.strictObject({ by: z.literal('columns') }),
  z.strictObject({ by: z.literal('words'), credit: words, debit: words }),
]);

const decimals = z
  .strictObject({
    point: z.enum(['.', ',']).default('.'),
    groups: z.array(z.enum([',', '.', ' ', "'", '’', '\u00a0', '\u202f'])).default([]),
    negative: z.array(z.enum(['leading', 'trailing', 'parentheses', 'DR'])).default(['leading']),
    symbols: z.array(z.string().min(1)).default([]),
  })
  .refine(
    ({ point, groups }) => !groups.includes(point),
    'a mapping in which the point does not also stand between thousands',
  );

/** How files are read that no built-in format knows: `statements.profiles.NAME`. See docs/statements-formats.md. */
export const statementProfile = z
  .strictObject({
    encoding: z.enum(['utf-8', 'utf-16le', 'utf-16be', 'gb18030', 'windows-1250', 'windows-1252']).default('utf-8'),
    separator: z.enum([',', ';', '\t', '|']).default(','),
    quotes: z.enum(['strict', 'lenient', 'none']).default('strict'),
    preambleLines: z.int().min(0).max(1_000).default(0),
    footer: z
      .strictObject({
        starts: z.string().min(1),
        totals: z.boolean().default(true),
        linesBehind: z.int().min(0).max(100).default(0),
      })
      .nullable()
      .default(null),
    decimals: decimals.prefault({}),
    dates: z.enum(['YMD', 'DMY', 'MDY']).default('YMD'),
    timeZone: timeZone.nullable().default(null),
    currency: currency.nullable().default(null),
    columns,
    sign: sign.prefault({ by: 'sign' }),
    feeCost: z.enum(['positive', 'negative']).default('positive'),
    types: z.record(z.string(), kind).nullable().default(null),
    kinds: z.strictObject({ credit: kind.default('PAYMENT'), debit: kind.default('PAYOUT') }).prefault({}),
    statuses: z
      .strictObject({ done: words, ignored: z.array(z.string()).default([]) })
      .nullable()
      .default(null),
  })
  .superRefine((profile, context) => {
    const miss = (name: string, why: string): void => {
      context.addIssue({ code: 'custom', path: ['columns', name], message: `the name of a column, since ${why}` });
    };
    const { amount, credit, debit, direction, type, status } = profile.columns;
    if (profile.sign.by === 'columns') {
      if (credit === null) miss('credit', 'the sign is told by columns');
      if (debit === null) miss('debit', 'the sign is told by columns');
    } else if (amount === null) miss('amount', 'the sign is not told by columns');
    if (profile.sign.by === 'words' && direction === null) miss('direction', 'the sign is told by words');
    if (profile.types !== null && type === null) miss('type', 'there are types');
    if (profile.statuses !== null && status === null) miss('status', 'there are statuses');
  });

export type StatementProfileSettings = z.output<typeof statementProfile>;
