import { DateTime, IANAZone } from 'luxon';
import { addDays, type BatchDay } from '../kernel/batchDay.js';

export interface Calendar {
  /** IANA name; the host's zone plays no part. */
  timeZone: string;
  /** Local time at which a batch day ends; 00:00 is the midnight that ends it. */
  cutOff: string;
}

const dayMs = 86_400_000;

/**
 * The instant that ends a batch day. Where the clocks show that local time twice, the first; where they skip it, the
 * first instant after the gap. Luxon's own choice depends on the season in which it is asked.
 */
export function cutOffOf(day: BatchDay, { timeZone, cutOff }: Calendar): Date {
  const date = cutOff === '00:00' ? addDays(day, 1) : day;
  const zone = IANAZone.create(timeZone);
  const offsetMs = (instant: number): number => zone.offset(instant) * 60_000;
  const local = Date.parse(`${date}T${cutOff}:00Z`);
  const [before, after] = [offsetMs(local - dayMs), offsetMs(local + dayMs)];
  for (const offset of [before, after]) {
    if (offsetMs(local - offset) === offset) return new Date(local - offset);
  }
  let [low, high] = [local - after, local - before];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMs(middle) === after) high = middle;
    else low = middle;
  }
  return new Date(high);
}

/** The date that clocks in the calendar's zone show. */
export function localDay(now: Date, { timeZone }: Calendar): BatchDay {
  return DateTime.fromJSDate(now, { zone: timeZone }).toISODate() as BatchDay;
}

/** The last batch day whose cut-off has passed. */
export function dueDay(now: Date, calendar: Calendar): BatchDay {
  let day = localDay(now, calendar);
  while (cutOffOf(day, calendar) > now) day = addDays(day, -1);
  return day;
}
