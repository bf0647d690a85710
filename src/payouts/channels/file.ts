import type { ChannelAnswer, ChannelRules, PayoutChannel, PayoutInstruction } from '../channel.js';
import type { Debtor } from '../pain001.js';
import type { PaymentFolder } from './paymentFolder.js';

/** What of a file channel's rules is so for every bank. */
export const fileRules = {
  // A bank does not know keys: what has been in a file never goes into another one.
  keyLifetimeMs: 0,
  settlingHorizonMs: 0,
  attempts: 1,
  perSecond: 10_000,
  concurrency: 1,
  timeoutMs: 10_000,
} as const;

export interface FileSettings {
  readonly debtor: Debtor;
  readonly paymentsPerFile: number;
  /** The day on which the bank is asked to pay what is written at this moment (RFC 3339). */
  executionDay(now: string): string;
  /** Tells files of two installations apart that write for one bank. */
  readonly namespace: string;
}

/**
 * A bank that takes payment files. Payouts are not submitted one by one but in files (see `paymentFiles.ts`); what became
 * of them is told by status reports, and until then a query only knows that they are in a file.
 */
export class FileChannel implements PayoutChannel {
  constructor(
    readonly name: string,
    readonly rules: ChannelRules,
    readonly settings: FileSettings,
    readonly folder: PaymentFolder,
    /** The message id of the file of this channel that holds a payout. */
    private readonly fileWith: (idempotencyKey: string) => Promise<string | null>,
  ) {}

  submit(): Promise<ChannelAnswer> {
    return Promise.resolve({ kind: 'UNREACHABLE', detail: 'Payouts of this channel go out in files.' });
  }

  async query({ idempotencyKey }: PayoutInstruction): Promise<ChannelAnswer> {
    const reference = await this.fileWith(idempotencyKey);
    if (reference !== null) return { kind: 'IN_PROGRESS', reference };
    // Submitted when the channel was of another kind: that it is in no file does not say that it is not paid.
    return { kind: 'UNCLEAR', cause: 'UNREADABLE_ANSWER', detail: 'No payment file of this channel holds the payout.' };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
