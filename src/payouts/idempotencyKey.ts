import { createHash } from 'node:crypto';
import type { BatchDay } from '../kernel/batchDay.js';

/** What a payout is, apart from where it stands: the same for every attempt, and of no two payouts. */
export interface PayoutIdentity {
  batchDay: BatchDay;
  accountNo: string;
  currency: string;
  /** Number among the payouts of the account's day and currency, from 1. */
  seq: number;
}

/**
 * The key under which a channel knows a payout: the day, and 104 bits of SHA-256 over what it is (as netstrings), such as
 * `20261129-5f0c…`, 35 characters of `[0-9a-f-]`: it fits an HTTP header and the end-to-end id of ISO 20022 alike.
 * `namespace` keeps two installations apart that pay through one channel.
 */
export function idempotencyKey(namespace: string, { batchDay, accountNo, currency, seq }: PayoutIdentity): string {
  const text = [namespace, batchDay, accountNo, currency, String(seq)]
    .map((part) => `${String(Buffer.byteLength(part))}:${part},`)
    .join('');
  const digest = createHash('sha256').update(text).digest('hex');
  return `${batchDay.replaceAll('-', '')}-${digest.slice(0, 26)}`;
}
