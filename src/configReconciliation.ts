import { z } from 'zod';
import { amountsByCurrency, channelName, currency } from './configPayouts.js';
import { statementProfile } from './configStatements.js';
import { localTime, timeZone } from './configValues.js';

/** What is known of the statements of a channel; see docs/reconciliation.md. */
const channelStatements = z.strictObject({
  /** By content, where it is not said. */
  format: z.string().min(1).max(40).optional(),
  /** Of a table that no format knows: the name of its profile. */
  profile: channelName.optional(),
  /** Of times without an offset, and of the channel's days; the calendar's, where it is not said. */
  timeZone: timeZone.optional(),
  cutOff: localTime.optional(),
  currency: currency.optional(),
  crossDayDays: z.int().min(0).max(31).default(1),
  /** What its lines are matched with. */
  matches: z.array(z.enum(['payouts', 'orders'])).prefault(['payouts', 'orders']),
  /** The channel that orders name, where it is another. */
  orderChannel: channelName.optional(),
  /** What the channel may take of each payment. */
  fee: z
    .strictObject({
      basisPoints: z
        .string()
        .regex(/^(0|[1-9][0-9]{0,4})(\.[0-9]{1,4})?$/)
        .meta({ description: 'basis points as a text, such as "60" or "12.5"' })
        .default('0'),
      fixed: amountsByCurrency.optional(),
    })
    .optional(),
});

export type ChannelStatements = z.output<typeof channelStatements>;

/** Channels by name; one that is not here is read by content, in the calendar's zone. */
export const statementsSchema = z
  .strictObject({
    channels: z.record(channelName, channelStatements).prefault({}),
    /** How tables are read that no format knows; see docs/statements-formats.md. */
    profiles: z.record(channelName, statementProfile).prefault({}),
  })
  .superRefine(({ channels, profiles }, context) => {
    for (const [name, { profile }] of Object.entries(channels)) {
      if (profile === undefined || Object.hasOwn(profiles, profile)) continue;
      context.addIssue({ code: 'custom', path: ['channels', name, 'profile'], message: 'the name of a profile' });
    }
  })
  .prefault({});

export const discrepanciesSchema = z
  .strictObject({
    /** From these amounts on two people must decide the same. */
    secondPersonAbove: amountsByCurrency.optional(),
    /** How often what is missing is looked for again before a person has it. */
    attempts: z.int().min(1).max(100).default(5),
  })
  .prefault({});
