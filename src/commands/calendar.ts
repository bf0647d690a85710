import { DateTime } from 'luxon';
import { closedBecause, cutOffOf, cutOffsOf, dueDay, type Calendar } from '../batch/calendar.js';
import { addDays, isBatchDay, weekdayOf, type BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import { textTable } from '../reports/tables.js';
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
  /** When the day ends: its own last cut-off, or that of the next business day. */
  cutOffLocal: string;
  cutOffUtc: string;
  /** Where channels have cut-offs of their own: each in its own zone; the calendar's, for all others, under null. */
  channels: { channel: string | null; cutOffLocal: string; cutOffUtc: string }[];
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
  const days = Array.from({ length: count }, (_, at) => shownDay(addDays(first, at), calendar));
  if (context.output !== 'text') {
    const { timeZone, cutOff } = calendar;
    const channels = [...calendar.channels].map(([channel, own]) => ({ channel, ...own }));
    await context.document({ schema: 'settle.calendar', timeZone, cutOff, channels, dueDay: due, days });
  } else await context.print(`${headText(due, calendar)}\n${daysText(days)}`);
  return 0;
};

function shownDay(batchDay: BatchDay, calendar: Calendar): CalendarDay {
  const { channels } = calendar;
  const inZone = (instant: Date, channel: string | null): { cutOffLocal: string; cutOffUtc: string } => {
    const { timeZone } = (channel === null ? undefined : channels?.get(channel)) ?? calendar;
    const local = DateTime.fromJSDate(instant, { zone: timeZone }).toISO({ suppressMilliseconds: true }) ?? '';
    return { cutOffLocal: local, cutOffUtc: instant.toISOString() };
  };
  const own = channels === undefined || channels.size === 0 ? [] : [...cutOffsOf(batchDay, calendar)];
  return {
    batchDay,
    weekday: weekdayOf(batchDay),
    closedBecause: closedBecause(batchDay, calendar),
    ...inZone(cutOffOf(batchDay, calendar), null),
    channels: own.map(([channel, instant]) => ({ channel, ...inZone(instant, channel) })),
  };
}

function headText(due: BatchDay, { timeZone, cutOff, channels }: Calendar): string {
  const head = `Due now: ${due}. A day ends at ${cutOff} in ${timeZone}`;
  if (channels === undefined || channels.size === 0) return `${head}.`;
  const own = [...channels].map(([channel, at]) => `for ${channel} at ${at.cutOff} in ${at.timeZone}`);
  return `${head}, ${own.join(', ')}.\nIt is due when it has ended for all of them.`;
}

function daysText(days: readonly CalendarDay[]): string {
  const rows = days.flatMap((day) => {
    const why = day.closedBecause === null ? '' : `with the next business day (${day.closedBecause})`;
    const line = (label: string, at: { cutOffLocal: string; cutOffUtc: string }): string[] => [
      ...[label, at.cutOffLocal, `${at.cutOffUtc.slice(0, 19)}Z`],
    ];
    return [
      [day.batchDay, day.weekday.slice(0, 3), ...line('ends', day), why],
      ...day.channels.map((one) => ['', '', ...line(one.channel ?? 'others', one), '']),
    ];
  });
  const titles = ['batch day', '', '', 'local time', 'UTC', ''].map((title) => ({ title }));
  return textTable(titles, rows);
}

export const calendarCommands = { show };
