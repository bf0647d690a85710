import { dayOf, instantOf } from '../batch/calendar.js';
import type { Config } from '../config.js';
import { SettleError } from '../kernel/errors.js';
import { idProblem } from '../kernel/ids.js';
import { shown } from '../kernel/printable.js';
import type { StatementChannel } from '../statements/channelRules.js';
import { parseBasisPoints } from '../terms/rate.js';

/** A channel as its statements are matched, by its settings or else by the calendar. */
export function statementChannel(config: Config, name: string): StatementChannel {
  const { channels } = config.statements;
  const settings = Object.hasOwn(channels, name) ? channels[name] : undefined;
  const orderChannel = settings?.orderChannel ?? name;
  const own = config.calendar.channels.get(orderChannel) ?? config.calendar;
  const { timeZone = own.timeZone, cutOff = own.cutOff } = settings ?? {};
  const matches = settings?.matches ?? ['payouts', 'orders'];
  const fee = settings?.fee;
  return {
    name,
    orderChannel,
    matches: { payouts: matches.includes('payouts'), orders: matches.includes('orders') },
    crossDayDays: settings?.crossDayDays ?? 1,
    fee:
      fee === undefined
        ? null
        : { rate: parseBasisPoints(fee.basisPoints) ?? 0n, fixed: fee.fixed ?? new Map<string, bigint>() },
    dayOf: (instant) => dayOf(new Date(instant), { timeZone, cutOff }),
    endOf: (day) => instantOf(day, { timeZone, cutOff }).getTime(),
  };
}

/** Throws USAGE for what is no name of a channel. */
export function requireChannelName(name: string): string {
  if (idProblem(name) === null && /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name)) return name;
  throw new SettleError('USAGE', `${shown(name)} is no name of a channel: letters, digits, "_", "." and "-".`, {
    details: { channel: name },
    next: 'Give --channel the name that orders or payouts have for it.',
  });
}
