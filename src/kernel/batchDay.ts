/** A batch day is a plain date string, "2026-11-29": never a Date, never in anybody's time zone. */
export type BatchDay = string;

const dayShape = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/;

/** True for a real day of the Gregorian calendar from year 1000 (what every database's DATE can hold). */
export function isBatchDay(text: string): boolean {
  const match = dayShape.exec(text);
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  return year >= 1000 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
}

export function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** The day that is `days` after (before, when negative). */
export function addDays(day: BatchDay, days: number): BatchDay {
  const moved = new Date(`${day}T00:00:00.000Z`);
  moved.setUTCDate(moved.getUTCDate() + days);
  return moved.toISOString().slice(0, 10);
}

export const weekdays = ['SUNDAY', 'MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY'] as const;
export type Weekday = (typeof weekdays)[number];

export function weekdayOf(day: BatchDay): Weekday {
  return weekdays[new Date(`${day}T00:00:00Z`).getUTCDay()] as Weekday;
}
