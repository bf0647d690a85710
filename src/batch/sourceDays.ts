import { DateTime } from 'luxon';
import { addDays, isBatchDay, type BatchDay } from '../kernel/batchDay.js';
import { invariant } from '../kernel/invariant.js';
import type { SourceInstants, SourceValue } from '../kernel/orderSource.js';
import { closedBecause, instantOf, type Calendar } from './calendar.js';

/** How a column spells instants: a date and time in a zone (`iso`: as a text with a T between them), or a count since 1970. */
export interface InstantSpelling {
  timeZone: string;
  unit: 'datetime' | 'iso' | 'seconds' | 'milliseconds';
}

/** The day of what is no instant, such as nothing or 0000-00-00: one that no run ever settles. */
const noDay: BatchDay = '1000-01-01';

/**
 * The batch days of instants in a column. A day begins where the one before ends, so that no spelling of an instant is of
 * two days or of none, also where clocks go back.
 */
export function sourceDays(calendar: Calendar, spelling: InstantSpelling): SourceInstants {
  const ends = new Map<BatchDay, SourceValue>();
  const endOf = (day: BatchDay): SourceValue => {
    let end = ends.get(day);
    if (end === undefined) ends.set(day, (end = spelt(dayEnd(day, calendar), spelling)));
    return end;
  };
  return {
    timeZone: spelling.timeZone,
    bounds: (day) => [endOf(addDays(day, -1)), endOf(day)],
    dayOf: (value) => {
      const found = comparable(value, spelling);
      const near = nearDay(found, calendar, spelling);
      if (!isBatchDay(near)) return noDay;
      let day = addDays(near, -1);
      for (let at = 0; at < 4; at += 1, day = addDays(day, 1)) if (found < endOf(day)) return day;
      invariant(false, 'VALUE_NOT_EXACT', `The database gave ${String(value)} where an instant belongs.`);
    },
  };
}

/** Where a day ends for what happens on it, whatever its channel: at the calendar's cut-off, or when the date changes if it has none of its own. */
function dayEnd(day: BatchDay, calendar: Calendar): Date {
  const { timeZone, cutOff } = calendar;
  return instantOf(day, { timeZone, cutOff: closedBecause(day, calendar) === null ? cutOff : '00:00' });
}

/** A moment (RFC 3339, UTC) as a column spells it, to the second. */
export function momentIn(spelling: InstantSpelling): (instant: string) => SourceValue {
  return (instant) => spelt(new Date(instant), spelling);
}

function spelt(instant: Date, { timeZone, unit }: InstantSpelling): SourceValue {
  const ms = instant.getTime();
  if (unit === 'milliseconds') return ms;
  if (unit === 'seconds') return Math.floor(ms / 1_000);
  return DateTime.fromMillis(ms, { zone: timeZone }).toFormat(
    unit === 'iso' ? "yyyy-MM-dd'T'HH:mm:ss" : 'yyyy-MM-dd HH:mm:ss',
  );
}

/** As the database gives it, so that it compares with the ends of days: texts by their letters, counts as numbers. */
function comparable(value: unknown, { unit }: InstantSpelling): SourceValue {
  const text = String(value);
  return unit === 'datetime' || unit === 'iso' ? text : Number(text);
}

/** The day, or one beside it. */
function nearDay(value: SourceValue, calendar: Calendar, { unit }: InstantSpelling): BatchDay {
  if (typeof value === 'string') return value.slice(0, 10);
  const ms = unit === 'seconds' ? value * 1_000 : value;
  return DateTime.fromMillis(ms, { zone: calendar.timeZone }).toISODate() ?? '';
}
