import type { BatchDay } from '../kernel/batchDay.js';
import type { PayoutState } from '../kernel/states.js';
import type { PayoutInstruction } from './channel.js';
import type { PayoutIdentity } from './idempotencyKey.js';

/** A payout as it is stored. Milliseconds are of the database's clock. */
export interface Payout extends PayoutIdentity, PayoutInstruction {
  readonly batchDay: BatchDay;
  readonly currency: string;
  readonly id: bigint;
  readonly channel: string;
  /** First day on which it may be submitted. */
  readonly dueDay: BatchDay;
  readonly state: PayoutState;
  readonly version: number;
  /** Submissions. */
  readonly attempts: number;
  /** Queries. */
  readonly checkCount: number;
  /** Queries since the last submission that told nothing. */
  readonly fruitless: number;
  /** UNKNOWN: when to ask next. PROCESSING: until when its submitter has it; null: nobody has. */
  readonly nextMs: bigint | null;
  readonly firstSentMs: bigint | null;
  readonly lastSentMs: bigint | null;
  /** Days of the books on which its amount left the payable, and came back. */
  readonly submittedOn: BatchDay | null;
  readonly returnedOn: BatchDay | null;
  readonly channelReference: string | null;
  readonly lastCode: string | null;
  /** Why it is not submitted although it is due. */
  readonly heldCode: HeldCode | null;
  readonly createdAt: string;
  readonly finishedAt: string | null;
}

export const heldCodes = ['ACCOUNT_NOT_ACTIVE', 'PAYOUT_HOLD', 'BALANCE_TOO_LOW'] as const;
export type HeldCode = (typeof heldCodes)[number];
