import { isBatchDay, type BatchDay } from '../kernel/batchDay.js';
import { parseInstant } from '../kernel/instant.js';

/** A wall clock's reading, as a file states it: "2026-11-29" and "10:00:00". */
export interface LocalTime {
  readonly day: BatchDay;
  readonly clock: string;
}

const minuteMs = 60_000;

/** "2026-11-29 10:00:00"; null for what is no time. */
export function readLocalTime(text: string): LocalTime | null {
  const match = /^([0-9]{4}-[0-9]{2}-[0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2})$/.exec(text);
  if (match === null) return null;
  const [, day = '', clock = ''] = match;
  return isBatchDay(day) && isClock(clock) ? { day, clock } : null;
}

export function isClock(text: string): boolean {
  return /^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$/.test(text);
}

let lastHour = { key: '', start: '' };

/** The instant of a local time at a fixed offset such as "+08:00", in RFC 3339 UTC. */
export function atOffset({ day, clock }: LocalTime, offset: string): string {
  if (offset !== 'Z' && !offset.endsWith(':00')) return exactly(day, clock, offset);
  // Rows stand in the order of their times: most are of the hour of the row before.
  const key = `${day} ${clock.slice(0, 2)}${offset}`;
  if (lastHour.key !== key) lastHour = { key, start: exactly(day, `${clock.slice(0, 2)}:00:00`, offset).slice(0, 13) };
  return `${lastHour.start}${clock.slice(2)}.000000Z`;
}

function exactly(day: BatchDay, clock: string, offset: string): string {
  const instant = parseInstant(`${day}T${clock}${offset}`);
  if (instant === null) throw new Error(`No instant: ${day} ${clock} ${offset}`);
  return instant;
}

/** China has had one zone and no summer time since 1991. */
export const china = '+08:00';

/**
 * The instant of a local time in a zone of the IANA list, in RFC 3339 UTC. Where the clocks show it twice, the first; null
 * where they skip it.
 */
export function inZone({ day, clock }: LocalTime, timeZone: string): string | null {
  const local = Date.parse(`${day}T${clock}Z`);
  const offsets = offsetsAround(local, timeZone);
  for (const offset of offsets) {
    const instant = local - offset * minuteMs;
    if (offsetAt(instant, timeZone) === offset) return new Date(instant).toISOString().replace('Z', '000Z');
  }
  return null;
}

const hourMs = 60 * minuteMs;
const knownOffsets = new Map<string, readonly [number, number]>();

/** Offsets in minutes half a day before and after a local time, the larger first: it is that of the earlier instant. */
function offsetsAround(local: number, timeZone: string): readonly [number, number] {
  const key = `${timeZone} ${String(Math.floor(local / hourMs))}`;
  const known = knownOffsets.get(key);
  if (known !== undefined) return known;
  const hour = Math.floor(local / hourMs) * hourMs;
  const [before, after] = [offsetAt(hour - 13 * hourMs, timeZone), offsetAt(hour + 13 * hourMs, timeZone)];
  const found: [number, number] = before > after ? [before, after] : [after, before];
  if (knownOffsets.size > 1_000) knownOffsets.clear();
  knownOffsets.set(key, found);
  return found;
}

const formats = new Map<string, Intl.DateTimeFormat>();
let last = { key: '', minutes: 0 };

/** Minutes by which the clocks of a zone are ahead of UTC at an instant. */
function offsetAt(instant: number, timeZone: string): number {
  // Offsets change at whole quarters of an hour.
  const quarter = Math.floor(instant / (15 * minuteMs));
  const key = `${timeZone} ${String(quarter)}`;
  if (last.key === key) return last.minutes;
  let format = formats.get(timeZone);
  if (format === undefined) {
    const parts = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const;
    format = new Intl.DateTimeFormat('en-CA', { timeZone, hourCycle: 'h23', ...parts });
    formats.set(timeZone, format);
  }
  const at = quarter * 15 * minuteMs;
  const of = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const shownAt = Date.parse(
    `${of['year'] ?? ''}-${of['month'] ?? ''}-${of['day'] ?? ''}T${of['hour'] ?? ''}:${of['minute'] ?? ''}Z`,
  );
  last = { key, minutes: Math.round((shownAt - at) / minuteMs) };
  return last.minutes;
}

/** Whether a zone is in the IANA list. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
