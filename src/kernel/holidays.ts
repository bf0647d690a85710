import { isBatchDay, type BatchDay } from './batchDay.js';

/** A day that is not like its weekday: closed although the week works, or worked although the week does not. */
export interface SpecialDay {
  readonly works: boolean;
  readonly name: string;
}

export interface HolidayFault {
  /** From 1. */
  line: number;
  problem: string;
}

/**
 * Reads a file of holidays: a day a line, with its name behind it ("2026-12-25 Christmas Day"). A plus sign in front
 * makes it a working day ("+2026-10-10 in place of 5 October"), as some countries work on a weekend to bridge holidays.
 * Blank lines and what follows a # are left out. A day that stands there twice, or is none, is a fault with its line.
 */
export function parseHolidays(text: string): Map<BatchDay, SpecialDay> | HolidayFault {
  const days = new Map<BatchDay, SpecialDay>();
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    const content = line.replace(/#.*$/, '').trim();
    if (content === '') continue;
    const [, plus, day = '', name = ''] = /^(\+?)([0-9-]+)(?:\s+(.*))?$/.exec(content) ?? [];
    if (!isBatchDay(day)) return { line: at + 1, problem: 'does not begin with a day, YYYY-MM-DD' };
    if (days.has(day)) return { line: at + 1, problem: `names ${day} again` };
    days.set(day, { works: plus === '+', name });
  }
  return days;
}
