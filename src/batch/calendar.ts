import { DateTime } from 'luxon';
import type { BatchDay } from '../kernel/batchDay.js';

/**
 * The last batch day whose cut-off has passed, in the calendar's zone. Midnight ends the day before it; any other local
 * time ends the day it lies in.
 */
export function dueDay(now: Date, calendar: { timeZone: string; cutOff: string }): BatchDay {
  const local = DateTime.fromJSDate(now, { zone: calendar.timeZone });
  const passed = calendar.cutOff !== '00:00' && local.toFormat('HH:mm') >= calendar.cutOff;
  return local.minus({ days: passed ? 0 : 1 }).toFormat('yyyy-MM-dd');
}
