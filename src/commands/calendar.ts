import { DateTime } from 'luxon';
import { closedBecause, cutOffOf, dueDay } from '../batch/calendar.js';
import { addDays, isBatchDay, weekdayOf, type BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import type { Command } from './context.js';

interface ShowOptions {
  from?: string;
  days?: number;
}

interface CalendarDay {
  batchDay: BatchDay;
  weekday: string;
  /** Why it has no cut-off of its own; null for a business day. */
  closedBecause: string | null;
  /** When the day ends: its own cut-off, or that of the next business day. */
  cutOffLocal: string;
  cutOffUtc: string;
}

const daysShown = 10;
const daysMax = 3_660;

/** `settle calendar show`: which day is due now, and when the next ones end. Reads the settings only. */
const show: Command<ShowOptions> = async (context, options) => {
  const { calendar } = context.config;
  const due = dueDay(context.clock.now(), calendar);
  const first = options.from ?? due;
  if (!isBatchDay(first)) throw new SettleError('USAGE', `--from "${first}" is not a day of the calendar, YYYY-MM-DD.`);
  const count = options.days ?? daysShown;
  if (count < 1 || count > daysMax) throw new SettleError('USAGE', `--days must be from 1 to ${String(daysMax)}.`);
  const days = Array.from({ length: count }, (_, at): CalendarDay => {
    const batchDay = addDays(first, at);
    const cutOff = cutOffOf(batchDay, calendar);
    return {
      batchDay,
      weekday: weekdayOf(batchDay),
      closedBecause: closedBecause(batchDay, calendar),
      cutOffLocal: DateTime.fromJSDate(cutOff, { zone: calendar.timeZone }).toISO({ suppressMilliseconds: true }) ?? '',
      cutOffUtc: cutOff.toISOString(),
    };
  });
  const { timeZone, cutOff } = calendar;
  if (context.output !== 'text') {
    await context.document({ schema: 'settle.calendar', timeZone, cutOff, dueDay: due, days });
    return 0;
  }
  await context.print(`Due now: ${due}. A day ends at ${cutOff} in ${timeZone}.`);
  for (const day of days) {
    const ends = day.closedBecause === null ? '' : `  with the next business day (${day.closedBecause})`;
    await context.print(
      `${day.batchDay}  ${day.weekday.slice(0, 3)}  ends ${day.cutOffLocal}  ${day.cutOffUtc.slice(0, 19)}Z${ends}`,
    );
  }
  return 0;
};

export const calendarCommands = { show };
