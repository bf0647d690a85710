import { hash } from 'node:crypto';
import type { StatementLine } from './statement.js';

/** Where a line stands: its channel, the account there, and whether its statement is an intraday report. */
export interface LinePlace {
  readonly channel: string;
  readonly accountRef: string | null;
  readonly intraday: boolean;
}

/**
 * Makes a line one and the same over all files of its channel: by the format's own key, or else by all that the line says,
 * its running balance included. Lines of one file that are equal in that are told apart by their number of occurrence, so
 * the same day in another file has the same keys again. 40 hexadecimal digits. Memory: 8 bytes a line and its free room.
 */
export class LineKeys {
  private readonly seen = new DigestSet();
  /** Of those that occurred before: how often. */
  private readonly again = new Map<string, number>();

  keyOf(line: StatementLine, { channel, accountRef, intraday }: LinePlace): { key: string; occurrence: number } {
    const what = line.lineKey === null ? contentOf(line) : ['K', line.lineKey];
    const base = digestOf([channel, accountRef ?? '', intraday ? 'I' : 'S', line.state, ...what]);
    const occurrence = this.occurrenceOf(base);
    const key = occurrence === 1 ? base : digestOf([base.toString('hex'), String(occurrence)]);
    return { key: key.toString('hex', 0, 20), occurrence };
  }

  private occurrenceOf(base: Buffer): number {
    if (this.seen.add(base)) return 1;
    const text = base.toString('hex');
    const count = (this.again.get(text) ?? 1) + 1;
    this.again.set(text, count);
    return count;
  }
}

function contentOf(line: StatementLine): string[] {
  const { feeMinor, netMinor, balanceMinor, ourReference, channelReference, occurredAt, batchReference } = line;
  return [
    'C',
    ...[line.bookedDay, line.kind, line.channelType, line.direction, line.currency, String(line.amountMinor)],
    ...[feeMinor, netMinor, balanceMinor, ourReference, channelReference, occurredAt, batchReference].map((value) =>
      value === null ? '-' : `=${String(value)}`,
    ),
    ...line.otherReferences,
  ];
}

/** SHA-256 over netstrings, so that no two lists of texts are alike. */
function digestOf(parts: readonly string[]): Buffer {
  let text = '';
  for (const part of parts) text += `${String(part.length)}:${part},`;
  return hash('sha256', text, 'buffer');
}

/** A set of digests by their first 64 bits, in flat memory: two of a million lines are taken for one in 3 of 10^8 files. */
class DigestSet {
  private slots = new BigUint64Array(1024);
  private size = 0;

  /** False when it was there. */
  add(digest: Buffer): boolean {
    const value = digest.readBigUInt64LE(0) | 1n; // 0 marks a free slot
    if (!this.put(this.slots, value)) return false;
    this.size += 1;
    if (this.size * 2 > this.slots.length) this.grow();
    return true;
  }

  private put(slots: BigUint64Array, value: bigint): boolean {
    const mask = slots.length - 1;
    for (let at = Number(value & 0xffffffffn) >>> 1; ; at += 1) {
      const found = slots[at & mask] as bigint;
      if (found === value) return false;
      if (found !== 0n) continue;
      slots[at & mask] = value;
      return true;
    }
  }

  private grow(): void {
    const larger = new BigUint64Array(this.slots.length * 2);
    for (const value of this.slots) if (value !== 0n) this.put(larger, value);
    this.slots = larger;
  }
}
