import { durationMs, isShort } from '../configValues.js';
import { isBatchDay, type BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import { parseShard, shardsMax, type Shard } from '../sharding/shard.js';

/** A batch day from a flag, checked; undefined when the flag is not given. Throws USAGE. */
export function requireBatchDay(text: string | undefined, flag = '--batch-day'): BatchDay | undefined {
  if (text === undefined || isBatchDay(text)) return text;
  throw new SettleError('USAGE', `${flag}: "${text}" is not a day such as 2026-11-29.`, {
    details: { flag, value: text },
    next: 'Give a real day as YYYY-MM-DD.',
  });
}

const limitMax = 1_000_000;

/** A limit of rows from --limit, or its default. Throws USAGE for 0, which would show nothing and look like nothing. */
export function requireLimit(limit: number | undefined, fallback: number): number {
  if (limit === undefined) return fallback;
  if (limit >= 1 && limit <= limitMax) return limit;
  throw new SettleError('USAGE', `--limit must be between 1 and ${String(limitMax)}.`, {
    details: { flag: '--limit', value: limit },
    next: 'Give a number of rows.',
  });
}

/** Milliseconds of a time from a flag, such as 90s, 15m or 2h. Throws USAGE. */
export function requireDuration(flag: string, text: string): number {
  if (!/^[1-9][0-9]{0,8}(ms|s|m|h)$/.test(text)) {
    throw new SettleError('USAGE', `${flag} "${text}" is not a duration such as 90s, 15m or 2h.`);
  }
  const ms = durationMs(text);
  if (!isShort(ms)) throw new SettleError('USAGE', `${flag} "${text}" is longer than 24 days (576h).`);
  return ms;
}

/** A shard from --shard, such as "2/4". Throws USAGE. */
export function requireShard(text: string): Shard {
  const shard = parseShard(text);
  if (shard !== null) return shard;
  throw new SettleError('USAGE', `--shard: "${text}" is none of 1/N to N/N, with N at most ${String(shardsMax)}.`, {
    details: { flag: '--shard', value: text },
    next: 'Write it as 2/4: the second of four.',
  });
}
