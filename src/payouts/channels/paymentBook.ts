import { appendFileSync, readFileSync } from 'node:fs';
import type { PayoutInstruction } from '../channel.js';

/** What a simulated channel did under one key. */
export interface BookedPayment {
  readonly key: string;
  readonly reference: string;
  readonly outcome: 'PAID' | 'REFUSED';
  readonly amountMinor: bigint;
  readonly currency: string;
  readonly destination: string;
}

/**
 * The book that a simulated channel keeps of what it really did, as a bank keeps its own: one entry a key, whatever is
 * submitted again, unless it forgets the key: then it pays again, and the book shows it. With a file it outlives the process, one
 * JSON line an entry.
 */
export class PaymentBook {
  private readonly byKey = new Map<string, BookedPayment>();
  private readonly all: BookedPayment[] = [];

  constructor(private readonly file: string | null = null) {
    if (file === null) return;
    for (const line of linesOf(file)) {
      const { amountMinor, ...entry } = JSON.parse(line) as Omit<BookedPayment, 'amountMinor'> & {
        amountMinor: string;
      };
      this.keep({ ...entry, amountMinor: BigInt(amountMinor) });
    }
  }

  find(key: string): BookedPayment | undefined {
    return this.byKey.get(key);
  }

  /** Executes a payout, or gives what was done under its key before. */
  execute(payout: PayoutInstruction, outcome: 'PAID' | 'REFUSED'): BookedPayment {
    const { idempotencyKey: key, amountMinor, currency, destination } = payout;
    const known = this.byKey.get(key);
    if (known !== undefined) return known;
    const reference = `SIM-${String(this.all.length + 1).padStart(8, '0')}`;
    const entry = { key, reference, outcome, amountMinor, currency, destination };
    if (this.file !== null)
      appendFileSync(this.file, `${JSON.stringify({ ...entry, amountMinor: String(amountMinor) })}\n`, { mode: 0o600 });
    this.keep(entry);
    return entry;
  }

  /** Knows nothing of a key any more; what was done under it stays in the book. */
  forget(key: string): void {
    this.byKey.delete(key);
  }

  /** In the order in which they were made; several of one key if it was forgotten in between. */
  get entries(): readonly BookedPayment[] {
    return this.all;
  }

  private keep(entry: BookedPayment): void {
    this.byKey.set(entry.key, entry);
    this.all.push(entry);
  }
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
