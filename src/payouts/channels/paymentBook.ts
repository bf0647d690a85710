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
 * submitted again. With a file it outlives the process, one JSON line an entry.
 */
export class PaymentBook {
  private readonly byKey = new Map<string, BookedPayment>();

  constructor(private readonly file: string | null = null) {
    if (file === null) return;
    for (const line of linesOf(file)) {
      const { amountMinor, ...entry } = JSON.parse(line) as Omit<BookedPayment, 'amountMinor'> & {
        amountMinor: string;
      };
      this.byKey.set(entry.key, { ...entry, amountMinor: BigInt(amountMinor) });
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
    const reference = `SIM-${String(this.byKey.size + 1).padStart(8, '0')}`;
    const entry = { key, reference, outcome, amountMinor, currency, destination };
    if (this.file !== null)
      appendFileSync(this.file, `${JSON.stringify({ ...entry, amountMinor: String(amountMinor) })}\n`, { mode: 0o600 });
    this.byKey.set(key, entry);
    return entry;
  }

  get entries(): readonly BookedPayment[] {
    return [...this.byKey.values()];
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
