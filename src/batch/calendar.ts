import { DateTime, IANAZone } from 'luxon';
import { addDays, weekdayOf, type BatchDay, type Weekday } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import type { SpecialDay } from '../kernel/holidays.js';

export interface Calendar {
  /** IANA name; the host's zone plays no part. */
  timeZone: string;
  /** Local time at which a batch day ends; 00:00 is the midnight that ends it. */
  cutOff: string;
  /** Weekdays without a cut-off of their own. */
  weekend?: readonly Weekday[];
  /** Days that differ from their weekday. */
  holidays?: ReadonlyMap<BatchDay, SpecialDay>;
}

const dayMs = 86_400_000;

/** Why a day has no cut-off of its own: the name of the holiday, or its weekday; null for a business day. */
export function closedBecause(day: BatchDay, { weekend = [], holidays }: Calendar): string | null {
  const special = holidays?.get(day);
  if (special !== undefined) return special.works ? null : special.name || 'holiday';
  const weekday = weekdayOf(day);
  return weekend.includes(weekday) ? weekday : null;
}

/** More closed days in a row than any calendar has. */
const closedMax = 370;

/** The day itself if it is a business day, otherwise the next one. Throws CONFIG_INVALID where none follows. */
export function businessDayFrom(day: BatchDay, calendar: Calendar): BatchDay {
  for (let at = 0, next = day; at <= closedMax; at += 1, next = addDays(next, 1)) {
    if (closedBecause(next, calendar) === null) return next;
  }
  throw new SettleError('CONFIG_INVALID', `The calendar has no business day within a year after ${day}.`, {
    details: { settings: ['calendar.holidays', 'calendar.weekend'] },
    next: 'settle calendar show',
  });
}

/**
 * The instant that ends a batch day: its cut-off, or for a day that is no business day that of the next one. Where the clocks show that local time twice, the first; where they skip it, the
 * first instant after the gap. Luxon's own choice depends on the season in which it is asked.
 */
export function cutOffOf(day: BatchDay, calendar: Calendar): Date {
  const { timeZone, cutOff } = calendar;
  const business = businessDayFrom(day, calendar);
  const date = cutOff === '00:00' ? addDays(business, 1) : business;
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

/** The batch day that an instant falls on: the first whose cut-off is after it. */
export function batchDayOf(instant: Date, calendar: Calendar): BatchDay {
  const day = localDay(instant, calendar);
  return cutOffOf(day, calendar) > instant ? day : addDays(day, 1);
}

/** The last business day whose cut-off has passed. */
export function dueDay(now: Date, calendar: Calendar): BatchDay {
  let day = localDay(now, calendar);
  while (closedBecause(day, calendar) !== null || cutOffOf(day, calendar) > now) day = addDays(day, -1);
  return day;
}
