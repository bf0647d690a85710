import { daysIn } from './batchDay.js';

const rfc3339 =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?([Zz]|[+-][0-9]{2}:[0-9]{2})$/;

/**
 * Reads an RFC 3339 instant with an offset or Z, strictly: impossible dates do not roll over, 24:00 and leap seconds
 * are refused. Returns it in UTC with six decimals ("2026-11-29T10:00:00.000000Z"), so that two spellings of one
 * instant are equal; finer digits than microseconds are dropped, since no database here keeps them.
 */
export function parseInstant(text: string): string | null {
  const match = rfc3339.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (year < 1000 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 59) return null;
  const offset = match[8] ?? 'Z';
  const offsetMinutes = minutesOf(offset);
  if (offsetMinutes === null) return null;
  const micros = (match[7] ?? '').slice(0, 6).padEnd(6, '0');
  if (offsetMinutes === 0) return `${text.slice(0, 10)}T${text.slice(11, 19)}.${micros}Z`;
  const utc = new Date(Date.UTC(year, month - 1, day, hour, minute - offsetMinutes, second));
  if (utc.getUTCFullYear() < 1000 || utc.getUTCFullYear() > 9999) return null;
  return `${utc.toISOString().slice(0, 19)}.${micros}Z`;
}

function minutesOf(offset: string): number | null {
  if (offset === 'Z' || offset === 'z') return 0;
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(4, 6))];
  if (hours > 23 || minutes > 59) return null;
  const total = hours * 60 + minutes;
  return offset.startsWith('-') ? -total : total;
}
