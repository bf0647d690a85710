import { addDays, daysIn, isBatchDay, type BatchDay } from '../../kernel/batchDay.js';
import { refusal, shown, type Place } from './place.js';

/** "261129": two digits of the year are of 1980 to 2079. */
export function dayOfSixDigits(text: string, field: string, place: Place): BatchDay {
  const day = /^\d{6}$/.test(text) ? `${yearOf(text)}-${text.slice(2, 4)}-${text.slice(4)}` : '';
  if (!isBatchDay(day)) throw refusal('BAD_DATE', `${field} is ${shown(text)}, which is no day (YYMMDD).`, place);
  return day;
}

function yearOf(text: string): string {
  return (text >= '80' ? '19' : '20') + text.slice(0, 2);
}

/**
 * The day of the value date in a statement line. Banks that count 30 days a month write 30 February; that is the last of
 * the month then, and good only to find the year of the entry date.
 */
export function valueDayOf(text: string, field: string, place: Place): { day: BatchDay; real: boolean } {
  const last = daysIn(Number(yearOf(text)), 2);
  if (/^\d\d02(29|30)$/.test(text) && Number(text.slice(4)) > last) {
    return { day: `${yearOf(text)}-02-${String(last)}`, real: false };
  }
  return { day: dayOfSixDigits(text, field, place), real: true };
}

/** An entry date states no year: it is the one in which the day is nearest to the value date. */
export function entryDayOf(monthAndDay: string, valueDay: BatchDay, field: string, place: Place): BatchDay {
  const year = Number(valueDay.slice(0, 4));
  const days = [year - 1, year, year + 1]
    .map((one) => `${String(one)}-${monthAndDay.slice(0, 2)}-${monthAndDay.slice(2)}`)
    .filter(isBatchDay)
    .sort((left, right) => distance(left, valueDay) - distance(right, valueDay));
  const [nearest] = days;
  if (nearest === undefined) {
    throw refusal('BAD_DATE', `${field} is ${shown(monthAndDay)}, which is no day (MMDD).`, place);
  }
  return nearest;
}

/** The day of the year, 1 to 366, in the year in which it is nearest to the other day. */
export function dayOfYear(text: string, near: BatchDay, field: string, place: Place): BatchDay {
  const number = Number(text);
  const year = Number(near.slice(0, 4));
  const days = [year - 1, year, year + 1]
    .map((one) => ({ one, day: addDays(`${String(one)}-01-01`, number - 1) }))
    .filter(({ one, day }) => number >= 1 && day.startsWith(String(one)))
    .map(({ day }) => day)
    .sort((left, right) => distance(left, near) - distance(right, near));
  const [nearest] = days;
  if (nearest === undefined) throw refusal('BAD_DATE', `${field} is ${shown(text)}, which is no day of a year.`, place);
  return nearest;
}

function distance(left: BatchDay, right: BatchDay): number {
  return Math.abs(Date.parse(left) - Date.parse(right));
}

const xmlDay = /^(\d{4}-\d\d-\d\d)(?:Z|[+-]\d\d:\d\d)?$/;
const xmlTime = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:\d\d)?$/;

/** A day of XML, whose zone is the bank's and moves nothing. */
export function dayOfXml(text: string, field: string, place: Place): BatchDay {
  const day = xmlDay.exec(text)?.[1] ?? '';
  if (!isBatchDay(day)) throw refusal('BAD_DATE', `${field} is ${shown(text)}, which is no day.`, place);
  return day;
}

export interface XmlTime {
  /** As it is written, in the bank's own calendar. */
  readonly day: BatchDay;
  readonly time: string;
  /** "Z" or "+01:00"; null where the text has none. */
  readonly offset: string | null;
}

export function timeOfXml(text: string, field: string, place: Place): XmlTime {
  const [, day = '', time = '', offset = null] = xmlTime.exec(text) ?? [];
  if (!isBatchDay(day) || !/^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d|^24:00:00(?:\.0+)?$/.test(time)) {
    throw refusal('BAD_TIME', `${field} is ${shown(text)}, which is no time.`, place);
  }
  return { day, time, offset };
}
