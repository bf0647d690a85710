import { createHash } from 'node:crypto';
import type { ChannelAnswer, ChannelRules, PayoutChannel, PayoutInstruction } from '../channel.js';
import { PaymentBook, type BookedPayment } from './paymentBook.js';

/**
 * A channel inside this process, for the demo and for trying things out: it keeps a book of what it paid, in a file. What
 * it does is decided by the key alone: most payouts are paid at once, of some the answer is lost on the way although they
 * are paid, a few are refused.
 */
export class SimulatorChannel implements PayoutChannel {
  private readonly book: PaymentBook;

  constructor(
    readonly name: string,
    readonly rules: ChannelRules,
    bookFile: string | null,
  ) {
    this.book = new PaymentBook(bookFile);
  }

  submit(payout: PayoutInstruction): Promise<ChannelAnswer> {
    const chance = createHash('sha256').update(payout.idempotencyKey).digest().readUInt16BE(0) % 100;
    const booked = this.book.execute(payout, chance < 2 ? 'REFUSED' : 'PAID');
    return Promise.resolve(
      chance < 5 && chance >= 2
        ? { kind: 'UNCLEAR', cause: 'TIMEOUT', detail: 'The simulated channel did not answer in time.' }
        : answerOf(booked),
    );
  }

  query({ idempotencyKey }: PayoutInstruction): Promise<ChannelAnswer> {
    const booked = this.book.find(idempotencyKey);
    return Promise.resolve(booked === undefined ? { kind: 'NOT_FOUND' } : answerOf(booked));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function answerOf({ outcome, reference, amountMinor, currency }: BookedPayment): ChannelAnswer {
  return outcome === 'PAID'
    ? { kind: 'PAID', reference, amountMinor, currency }
    : { kind: 'REFUSED', reference, reason: 'Refused by the simulated channel.' };
}
