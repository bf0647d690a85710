import { z } from 'zod';

const minor = z.string().regex(/^(0|-?[1-9][0-9]*)$/);

const payloadSchema = z
  .object({
    v: z.union([z.literal(1), z.literal(2)]),
    batchDay: z.string(),
    accountNo: z.string(),
    currency: z.string(),
    netMinor: minor,
    lines: z.array(
      z.object({
        type: z.enum(['PAYMENT', 'REFUND', 'FEE', 'ADJUSTMENT']),
        channel: z.string(),
        orders: z.int().min(1),
        amountMinor: minor,
      }),
    ),
    terms: z.array(z.object({ reason: z.literal('FEE_PLAN'), amountMinor: minor, originDay: z.string() })).optional(),
    orderIds: z.string().regex(/^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$/),
  })
  .refine(({ v, terms = [] }) => (v === 2) === terms.length > 0, { path: ['v'] });

/** Read here by its written form alone, not by the code that wrote it. */
export type Payload = z.output<typeof payloadSchema>;

const ownSchema = z.object({
  v: z.literal(3),
  type: z.string(),
  batchDay: z.string(),
  accountNo: z.string(),
  reverses: z.string().optional(),
  entries: z.array(
    z.object({
      ledgerAccount: z.string(),
      subAccount: z.string(),
      side: z.enum(['DEBIT', 'CREDIT']),
      amountMinor: minor,
      currency: z.string(),
      reason: z.string().optional(),
    }),
  ),
});

/** The message of an entry that no run posted. */
export type OwnPayload = z.output<typeof ownSchema>;

/** The message's content, or what makes it unreadable. */
export function readPayload(text: string): Payload | { unreadable: string } {
  return readAs(payloadSchema, text);
}

export function readOwnPayload(text: string): OwnPayload | { unreadable: string } {
  return readAs(ownSchema, text);
}

function readAs<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> | { unreadable: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { unreadable: 'the payload is not JSON' };
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  return { unreadable: `the payload has a wrong ${result.error.issues[0]?.path.join('.') || 'form'}` };
}

/** Whether "5-9,12" names exactly these ids, in ascending order. Never expands more than it is asked to compare. */
export function namesExactly(orderIds: string, ids: readonly bigint[]): boolean {
  let at = 0;
  for (const run of orderIds.split(',')) {
    const [first = '', last = first] = run.split('-');
    const end = BigInt(last);
    if (end < BigInt(first)) return false;
    for (let id = BigInt(first); id <= end; id += 1n) {
      if (ids[at] !== id) return false;
      at += 1;
    }
  }
  return at === ids.length;
}

/** Count and sum of a net's orders of one type and channel; adjustments of either sign apart. */
export interface Line {
  type: string;
  channel: string;
  orders: number;
  amountMinor: bigint;
}

/** Lines under what makes them one: type, channel, and whether they take away. */
export function linesByKey(lines: readonly Line[]): Map<string, Line> {
  const found = new Map<string, Line>();
  for (const line of lines) {
    const key = `${line.type} ${line.amountMinor < 0n ? '-' : '+'} ${line.channel}`;
    const before = found.get(key);
    const [orders, amountMinor] = [before?.orders ?? 0, before?.amountMinor ?? 0n];
    found.set(key, { ...line, orders: orders + line.orders, amountMinor: amountMinor + line.amountMinor });
  }
  return found;
}

/**
 * What the ledger must have booked for these lines: amounts by "ledger account / sub account / side". Payments raise
 * what we owe the account and what the channel owes us, refunds lower both, fees are our income. `feeMinor` is what the
 * fee plan takes of them.
 */
export function expectedLegs(accountNo: string, lines: readonly Line[], feeMinor = 0n): Map<string, bigint> {
  const legs = new Map<string, bigint>();
  const book = (ledgerAccount: string, subAccount: string, side: 'DEBIT' | 'CREDIT', amountMinor: bigint): void => {
    const key = legKey(ledgerAccount, subAccount, side);
    if (amountMinor !== 0n) legs.set(key, (legs.get(key) ?? 0n) + amountMinor);
  };
  for (const { type, channel, amountMinor } of lines) {
    const adds = type === 'PAYMENT' || type === 'ADJUSTMENT';
    const raises = amountMinor >= 0n ? adds : !adds; // below zero: it takes back what the type does
    const magnitude = amountMinor < 0n ? -amountMinor : amountMinor;
    const [other, sub] =
      type === 'FEE'
        ? ['FEE_INCOME', '']
        : type === 'ADJUSTMENT'
          ? ['ADJUSTMENTS', '']
          : ['CHANNEL_RECEIVABLE', channel];
    book(other, sub, raises ? 'DEBIT' : 'CREDIT', magnitude);
    book('MERCHANT_PAYABLE', accountNo, raises ? 'CREDIT' : 'DEBIT', magnitude);
  }
  if (feeMinor !== 0n) {
    legs.set(legKey('MERCHANT_PAYABLE', accountNo, 'DEBIT', 'FEE_PLAN'), feeMinor);
    legs.set(legKey('FEE_INCOME', '', 'CREDIT', 'FEE_PLAN'), feeMinor);
  }
  return legs;
}

export function legKey(ledgerAccount: string, subAccount: string, side: string, reason: string | null = null): string {
  return `${side} ${ledgerAccount}${subAccount === '' ? '' : `/${subAccount}`}${reason === null ? '' : ` for ${reason}`}`;
}
