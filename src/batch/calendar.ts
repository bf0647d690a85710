import { DateTime } from 'luxon';
import { addDays, type BatchDay } from '../kernel/batchDay.js';

export interface Calendar {
  /** IANA name; the host's zone plays no part. */
  timeZone: string;
  /** Local time at which a batch day ends; 00:00 is the midnight that ends it. */
  cutOff: string;
}

/** The instant that ends a batch day. Where the clocks skip that local time, the first instant after the gap. */
export function cutOffOf(day: BatchDay, { timeZone, cutOff }: Calendar): Date {
  const date = cutOff === '00:00' ? addDays(day, 1) : day;
  return DateTime.fromISO(`${date}T${cutOff}`, { zone: timeZone }).toJSDate();
}

/** The last batch day whose cut-off has passed. */
export function dueDay(now: Date, calendar: Calendar): BatchDay {
  let day = DateTime.fromJSDate(now, { zone: calendar.timeZone }).toISODate() as BatchDay;
  while (cutOffOf(day, calendar) > now) day = addDays(day, -1);
  return day;
}
