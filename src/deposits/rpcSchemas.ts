import { z } from 'zod';
import type { Block, Receipt, ReceiptLog } from './receipt.js';

// Nodes send more than is asked for, each something else, so that unknown keys are let be.

/** A quantity as JSON-RPC writes it: hexadecimal, of at most 256 bits. */
const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform((text) => BigInt(text));

const bytes = (length: number): z.ZodType<string> =>
  z
    .string()
    .regex(new RegExp(`^0x[0-9a-fA-F]{${String(length * 2)}}$`))
    .transform((text) => text.toLowerCase());

const hash = bytes(32);
const address = bytes(20);

/** A log index is a number of JavaScript: no receipt has more logs than that can count. */
const index = quantity.refine((value) => value <= 0x7fffffffn).transform(Number);

const log = z.object({
  address,
  topics: z.array(hash).max(4),
  data: z
    .string()
    .regex(/^0x([0-9a-fA-F]{2})*$/)
    .transform((text) => text.toLowerCase()),
  logIndex: index,
  blockNumber: quantity,
  blockHash: hash,
  transactionHash: hash,
  // Some nodes leave it out, which means the same as false.
  removed: z.boolean().nullish(),
});

const receipt = z.object({
  transactionHash: hash,
  blockNumber: quantity,
  blockHash: hash,
  status: quantity.nullish(),
  logs: z.array(log),
});

const block = z.object({ number: quantity, hash, parentHash: hash, timestamp: quantity });

export function readQuantity(value: unknown): bigint | null {
  const read = quantity.safeParse(value);
  return read.success ? read.data : null;
}

export function readBlock(value: unknown): Block | null {
  const read = block.safeParse(value);
  return read.success ? read.data : null;
}

/**
 * A receipt that agrees with itself: it is of this transaction, and each of its logs names the same block and transaction.
 * `log-index-not-unique` where two logs have one index.
 */
export function readReceipt(value: unknown, transactionHash: string): Receipt | 'log-index-not-unique' | null {
  const read = receipt.safeParse(value);
  if (!read.success) return null;
  const { status, logs, blockNumber, blockHash } = read.data;
  if (read.data.transactionHash !== transactionHash) return null;
  const isOwn = logs.every(
    (one) => one.blockHash === blockHash && one.blockNumber === blockNumber && one.transactionHash === transactionHash,
  );
  if (!isOwn) return null;
  if (new Set(logs.map(({ logIndex }) => logIndex)).size < logs.length) return 'log-index-not-unique';
  return {
    transactionHash,
    blockNumber,
    blockHash,
    status: status === 1n ? 'success' : status === 0n ? 'failure' : 'unknown',
    logs: logs.map((one): ReceiptLog => {
      return {
        address: one.address,
        topics: one.topics,
        data: one.data,
        logIndex: one.logIndex,
        removed: one.removed ?? false,
      };
    }),
  };
}
