import { crc32 } from 'node:zlib';
import type { Order } from './order.js';

/** What of an order its net is made from. */
export type Netted = Pick<Order, 'id' | 'accountNo' | 'type' | 'amountMinor' | 'currency' | 'channel'>;

/**
 * Checksum of what nets are made from, added up over orders; the database makes the same from its rows when they are
 * claimed. It notices that somebody edited an order after its page was read; it is no proof against a forger.
 */
export function fingerprint(orders: Iterable<Netted>): bigint {
  let sum = 0;
  for (const { id, accountNo, type, amountMinor, currency, channel } of orders) {
    sum += crc32(`${String(id)}|${accountNo}|${type}|${String(amountMinor)}|${currency}|${channel}`);
  }
  return BigInt(sum); // 32 bits each, so that more orders than a chunk can hold stay exact
}

/** The same of a row, in SQL; SQLite is given the function when it is opened. */
export const fingerprintSql = `crc32(concat_ws('|', id, account_no, type, amount_minor, currency, channel))`;
