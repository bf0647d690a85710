import { z } from 'zod';
import { duration } from './configValues.js';
import { isBic, isLatinName, readIban } from './kernel/iban.js';
import { minorMax, parseMajor, scaleOf } from './kernel/money.js';

export const currency = z
  .string()
  .refine((code) => scaleOf(code) !== undefined)
  .meta({ description: 'a currency code such as EUR' });

/** "EUR 1000.00; JPY 100000" as minor units by currency. */
export const amountsByCurrency = z
  .string()
  .transform((text, context): Map<string, bigint> => {
    const amounts = new Map<string, bigint>();
    for (const part of text.split(';').map((one) => one.trim())) {
      const [, code = '', major = ''] = /^([A-Z]{3}) ([0-9.]+)$/.exec(part) ?? [];
      const minor = parseMajor(major, scaleOf(code) ?? 0);
      if (scaleOf(code) === undefined || typeof minor !== 'bigint' || minor > minorMax || amounts.has(code)) {
        context.addIssue({ code: 'custom', message: 'amounts by currency' });
        return z.NEVER;
      }
      amounts.set(code, minor);
    }
    return amounts;
  })
  .meta({ description: 'amounts by currency, each once, such as "EUR 1000.00; JPY 100000"' });

/** A secret is named and not written: an environment variable, a file, or a command that prints it. */
export const secretPlace = z
  .union([
    z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/) }),
    z.strictObject({ file: z.string().min(1) }),
    z.strictObject({ command: z.array(z.string()).min(1) }),
  ])
  .meta({ description: 'a mapping with env, file or command: where the secret is found' });

export type SecretPlace = z.output<typeof secretPlace>;

/** What every kind of channel is told; see `ChannelRules`. */
const rules = {
  currencies: z.array(currency).min(1).optional(),
  maximum: amountsByCurrency.optional(),
  perSecond: z.number().min(0.01).max(10_000).default(10),
  concurrency: z.int().min(1).max(256).default(8),
  timeout: duration.prefault('10s'),
  keyLifetime: duration.prefault('23h'),
  settlingHorizon: duration.prefault('15m'),
  checkAfter: z.array(duration).min(1).max(20).prefault(['1m', '5m', '15m']),
  checks: z.int().min(1).max(100).default(3),
  attempts: z.int().min(1).max(100).default(3),
};

const simulator = z.strictObject({
  kind: z.literal('simulator'),
  ...rules,
  /** The channel knows accounts by our own numbers, so that none needs a beneficiary. */
  paysByAccountNo: z.boolean().default(true),
  book: z.string().optional(),
});

/** Speaks the JSON protocol of docs/payout-http.md. */
const http = z.strictObject({
  kind: z.literal('http'),
  ...rules,
  paysByAccountNo: z.boolean().default(false),
  url: z.string().refine(isChannelUrl).meta({
    description:
      'an https URL without user, query and fragment, such as https://bank.example/payouts (http only to this machine)',
  }),
  secret: secretPlace,
  /** File of certificates to trust instead of those of the system. */
  ca: z.string().min(1).optional(),
});

const minute = 60_000;

/** Pays by transfers to connected accounts, or by payouts to banks, which take days to be paid. */
const stripe = z.strictObject({
  kind: z.literal('stripe'),
  ...rules,
  mode: z.enum(['transfers', 'payouts']).default('transfers'),
  apiKey: secretPlace,
  url: z.string().refine(isChannelUrl).default('https://api.stripe.com').meta({
    description: 'an https URL without user, query and fragment (http only to this machine)',
  }),
  /** By default a transfer is asked about for minutes, and a payout for a week. */
  checkAfter: z.array(duration).min(1).max(20).optional(),
  checks: z.int().min(1).max(100).optional(),
});

/** How the outcome of what Stripe has is asked for, where the settings do not say. */
export const stripeChecks = {
  transfers: { checkAfterMs: [minute, 5 * minute, 15 * minute], checks: 3 },
  payouts: { checkAfterMs: [minute, 60 * minute, 360 * minute], checks: 30 },
};

/** Writes ISO 20022 payment files for a bank; see docs/payouts.md. */
const file = z.strictObject({
  kind: z.literal('file'),
  currencies: rules.currencies,
  maximum: rules.maximum,
  checkAfter: z.array(duration).min(1).max(20).prefault(['24h']),
  checks: z.int().min(1).max(100).default(5),
  /** From where the bank fetches the files. */
  dir: z.string().min(1),
  paymentsPerFile: z.int().min(1).max(10_000).default(1_000),
  debtor: z.strictObject({
    name: z.string().refine(isLatinName).meta({
      description: "1 to 70 of the characters that banks take: A-Z a-z 0-9 / - ? : ( ) . , ' + and blanks",
    }),
    iban: z
      .string()
      .refine((text) => readIban(text) !== null)
      .transform((text) => readIban(text) ?? '')
      .meta({ description: 'an IBAN' }),
    bic: z.string().refine(isBic).meta({ description: 'a BIC of 8 or 11 characters' }).optional(),
  }),
});

function isChannelUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  if (username + password + search + hash !== '' || /[?#@]/.test(text)) return false;
  return protocol === 'https:' || (protocol === 'http:' && /^(localhost|127(\.[0-9]+){3}|\[::1\])$/.test(hostname));
}

export const channelSettings = z.discriminatedUnion('kind', [simulator, http, stripe, file]);
export type ChannelSettings = z.output<typeof channelSettings>;

export const channelName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/);

/** Channels by name. */
export const channelsSchema = z.record(channelName, channelSettings).prefault({});

/** Which channel pays what. Without one, nothing is paid out. */
export const payoutsSchema = z
  .strictObject({
    channel: channelName.optional(),
    channelByCurrency: z.record(currency, channelName).prefault({}),
    namespace: z
      .string()
      .regex(/^[\x21-\x7e]{1,64}$/)
      .meta({ description: 'up to 64 visible ASCII characters' })
      .default('settle'),
    secondPersonAbove: amountsByCurrency.optional(),
  })
  .prefault({});
