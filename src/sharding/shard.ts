import { crc32 } from 'node:zlib';

/** One of `of` shares of the accounts, numbered from 1: the part of a day that one process works on. */
export interface Shard {
  readonly no: number;
  readonly of: number;
}

/** More would only read the day more often; a process has lanes too. */
export const shardsMax = 64;

/** "2/4". */
export function shardText({ no, of }: Shard): string {
  return `${String(no)}/${String(of)}`;
}

/** The shard that "2/4" names; null for what names none. */
export function parseShard(text: string): Shard | null {
  const [, no, of] = /^([1-9][0-9]?)\/([1-9][0-9]?)$/.exec(text) ?? [];
  const shard = { no: Number(no), of: Number(of) };
  return shard.no <= shard.of && shard.of <= shardsMax ? shard : null;
}

/** All shards of a day, beginning with this one, so that processes that look for work do not all look in one place. */
export function shardsFrom({ no, of }: Shard): Shard[] {
  return Array.from({ length: of }, (_, at) => ({ no: ((no - 1 + at) % of) + 1, of }));
}

/** Whether an account falls to the shard: by the checksum of the UTF-8 bytes of its number, the same on every database. */
export function isInShard(accountNo: string, { no, of }: Shard): boolean {
  return crc32(accountNo) % of === no - 1;
}

/** The same as a condition on a column, to follow other conditions; without a shard every account passes. */
export function andInShard(column: string, shard: Shard | null): string {
  return shard === null ? '' : `and crc32(${column}) % ${String(shard.of)} = ${String(shard.no - 1)}`;
}
