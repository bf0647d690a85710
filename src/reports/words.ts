/** Text of foreign origin made fit for a terminal or a log: what cannot be seen is shown as its code point. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu, (character) => {
    if (character === '\n' || character === '\r' || character === '\t') return ' ';
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** "3.4 s", "2 min 05 s", "1 h 02 min", "3 d 4 h": for people; documents carry milliseconds. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const two = (value: number): string => String(value).padStart(2, '0');
  const whole = Math.floor(seconds);
  if (whole < 3_600) return `${String(Math.floor(whole / 60))} min ${two(whole % 60)} s`;
  if (whole < 86_400) return `${String(Math.floor(whole / 3_600))} h ${two(Math.floor((whole % 3_600) / 60))} min`;
  return `${String(Math.floor(whole / 86_400))} d ${String(Math.floor((whole % 86_400) / 3_600))} h`;
}

/** "12,345" */
export function countText(count: number | bigint): string {
  return count.toString().replace(/\B(?=(\d{3})+$)/g, ',');
}

/** "1 order", "2 orders". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** "2026-11-30 00:00:12 UTC" from an RFC 3339 instant in UTC; a dash for none. */
export function momentText(instant: string | null): string {
  return instant === null ? '-' : `${instant.slice(0, 19).replace('T', ' ')} UTC`;
}

export function msBetween(from: string, to: string): number {
  return new Date(to).getTime() - new Date(from).getTime();
}

/** What kind of run it was: "RUN", or "RUN 2/4" over a shard of the accounts. */
export function kindText({ kind, shard }: { kind: string; shard: string | null }): string {
  return shard === null ? kind : `${kind} ${shard}`;
}
