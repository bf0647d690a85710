import { z } from 'zod';
import { channelName } from './configPayouts.js';
import { localTime, timeZone } from './configValues.js';
import { weekdays, type BatchDay } from './kernel/batchDay.js';
import { parseHolidays, type SpecialDay } from './kernel/holidays.js';
import { shown } from './kernel/printable.js';
import { readSmallFile } from './kernel/smallFile.js';

/** The days of all files; a day that two of them name must be the same in both. */
function readHolidays(files: readonly string[], context: z.core.$RefinementCtx): Map<BatchDay, SpecialDay> {
  const all = new Map<BatchDay, SpecialDay>();
  const refuse = (file: string, problem: string): void => {
    context.addIssue({ code: 'custom', message: `a list of files with a day a line; ${shown(file)} ${problem}` });
  };
  for (const file of files) {
    const days = holidaysIn(file);
    if (!(days instanceof Map)) {
      refuse(file, days.problem);
      continue;
    }
    for (const [day, special] of days) {
      if (all.has(day) && all.get(day)?.works !== special.works) refuse(file, `contradicts another file on ${day}`);
      all.set(day, special);
    }
  }
  return all;
}

function holidaysIn(file: string): Map<BatchDay, SpecialDay> | { problem: string } {
  try {
    const days = parseHolidays(readSmallFile(file));
    return days instanceof Map ? days : { problem: `is wrong in line ${String(days.line)}, which ${days.problem}` };
  } catch (error) {
    return { problem: `cannot be read: ${(error as Error).message}` };
  }
}

const channelCutOff = z.strictObject({
  /** The calendar's, where it is not said. */
  timeZone: timeZone.optional(),
  cutOff: localTime,
});

/** When a batch day ends, and which days are business days. */
export const calendarSchema = z
  .strictObject({
    timeZone: timeZone.default('UTC'),
    cutOff: localTime.default('00:00'),
    weekend: z
      .array(z.enum(weekdays))
      .max(6)
      .default([])
      .meta({ description: 'a list of at most six weekdays, such as [SATURDAY, SUNDAY]' }),
    holidays: z.array(z.string()).default([]).transform(readHolidays),
    /** Channels whose day ends at another local time than the calendar's. */
    channels: z.record(channelName, channelCutOff).prefault({}),
  })
  .transform(({ channels, ...calendar }) => ({
    ...calendar,
    channels: new Map(
      Object.entries(channels).map(([name, { timeZone: zone = calendar.timeZone, cutOff }]) => [
        name,
        { timeZone: zone, cutOff },
      ]),
    ),
  }))
  .prefault({});
