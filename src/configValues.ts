import { z } from 'zod';

export const duration = z
  .string()
  .regex(/^[1-9][0-9]*(ms|s|m|h)$/)
  .transform(durationMs)
  .refine(isShort)
  .meta({ description: 'a duration such as 500ms, 30s, 15m or 2h, at most 24 days (576h)' });

export const timeZone = z
  .string()
  .refine(isTimeZone)
  .meta({ description: 'a time zone of the IANA list, such as Asia/Shanghai' });

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export const localTime = z
  .string()
  .regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/)
  .meta({ description: 'a local time such as "22:30"' });

/** What a timer of Node holds; a longer one would fire at once. */
export function isShort(ms: number): boolean {
  return ms <= 576 * 3_600_000;
}

/** Milliseconds of "500ms", "30s", "15m", "2h". */
export function durationMs(text: string): number {
  const [, amount, unit] = /^([0-9]+)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[unit ?? 'ms'] ?? 1;
  return Number(amount) * factor;
}
