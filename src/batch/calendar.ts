import { DateTime, IANAZone } from 'luxon';
import { addDays, weekdayOf, type BatchDay, type Weekday } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import type { SpecialDay } from '../kernel/holidays.js';

/** A local time that ends a day. */
export interface LocalCutOff {
  /** IANA name; the host's zone plays no part. */
  timeZone: string;
  /** Local time at which a batch day ends; 00:00 is the midnight that ends it. */
  cutOff: string;
}

export interface Calendar extends LocalCutOff {
  /** Channels whose day ends at another local time. A batch day ends when it has ended for all of them. */
  channels?: ReadonlyMap<string, LocalCutOff>;
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
 * The instant that ends a batch day: the last of its cut-offs, so that no channel has orders of it to come. A day that
 * is no business day ends with the next one.
 */
export function cutOffOf(day: BatchDay, calendar: Calendar): Date {
  return [...cutOffsOf(day, calendar).values()].reduce((last, instant) => (instant > last ? instant : last));
}

/** The cut-offs of a batch day: the calendar's own, under null, and those of channels by their names. */
export function cutOffsOf(day: BatchDay, calendar: Calendar): Map<string | null, Date> {
  const business = businessDayFrom(day, calendar);
  const found = new Map<string | null, Date>([[null, instantOf(business, calendar)]]);
  for (const [channel, cutOff] of calendar.channels ?? []) found.set(channel, instantOf(business, cutOff));
  return found;
}

/**
 * The instant at which a local cut-off ends a day. Where the clocks show that local time twice, the first; where they
 * skip it, the first instant after the gap. Luxon's own choice depends on the season in which it is asked.
 */
export function instantOf(day: BatchDay, { timeZone, cutOff }: LocalCutOff): Date {
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
export function localDay(now: Date, { timeZone }: LocalCutOff): BatchDay {
  return DateTime.fromJSDate(now, { zone: timeZone }).toISODate() as BatchDay;
}

/** The day that an instant falls on: the first that a local cut-off ends after it. */
export function dayOf(instant: Date, cutOff: LocalCutOff): BatchDay {
  const day = localDay(instant, cutOff);
  return instantOf(day, cutOff) > instant ? day : addDays(day, 1);
}

/** The last business day that has ended, for every channel. */
export function dueDay(now: Date, calendar: Calendar): BatchDay {
  let day = localDay(now, calendar);
  while (closedBecause(day, calendar) !== null || cutOffOf(day, calendar) > now) day = addDays(day, -1);
  return day;
}
