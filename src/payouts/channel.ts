import type { BatchDay } from '../kernel/batchDay.js';

/** What a channel is told of a payout, the same on every attempt and query. */
export interface PayoutInstruction {
  readonly idempotencyKey: string;
  readonly amountMinor: bigint;
  readonly currency: string;
  /** Where the money goes, as the channel names it: an account of its own, an IBAN, a wallet. Never printed or logged. */
  readonly destination: string;
  readonly holder: string;
  readonly batchDay: BatchDay;
  /** The id that the channel gave back before, where it did. */
  readonly channelReference?: string | null;
}

/** Why an answer says nothing about the money. The request may have been carried out all the same. */
export type UnclearCause =
  'TIMEOUT' | 'CONNECTION_CUT' | 'UNREADABLE_ANSWER' | 'SERVER_ERROR' | 'RATE_LIMITED' | 'SUBMITTER_LOST';

/** What a channel said. Only its explicit word counts; whatever else happens is UNCLEAR. */
export type ChannelAnswer = { readonly digest?: string | null } & (
  | {
      readonly kind: 'PAID';
      readonly reference: string | null;
      readonly amountMinor: bigint;
      readonly currency: string;
    }
  /** Explicit and final: it will never be paid under this key. */
  | { readonly kind: 'REFUSED'; readonly reference: string | null; readonly reason: string }
  /** Explicit, not final: not paid, and it may be submitted again. */
  | { readonly kind: 'NOT_PAID'; readonly reference: string | null; readonly reason: string }
  /** To a query: no such payout. Soon after a submission this proves nothing. */
  | { readonly kind: 'NOT_FOUND' }
  | { readonly kind: 'IN_PROGRESS'; readonly reference: string | null }
  | { readonly kind: 'UNCLEAR'; readonly cause: UnclearCause; readonly detail: string }
  /** Nothing was asked: no address, no connection, or the channel did not let us in. */
  | { readonly kind: 'UNREACHABLE'; readonly detail: string }
);

/** What a channel promises, as far as it is to be relied on. */
export interface ChannelRules {
  /** How long it knows an idempotency key. A payout whose key is older is not submitted again. */
  keyLifetimeMs: number;
  /** How long after a submission "not found" or "not paid" may still turn into "paid". */
  settlingHorizonMs: number;
  /** Pauses before the checks, the last one repeated. */
  checkAfterMs: readonly number[];
  /** Checks without a result after which a person decides. */
  checks: number;
  /** Submissions after which a person decides. */
  attempts: number;
  /** Requests in a second, over all processes. */
  perSecond: number;
  /** Requests at the same time in a process. */
  concurrency: number;
  timeoutMs: number;
  /** Currencies that it pays in; null: all. */
  currencies: ReadonlySet<string> | null;
  /** Largest single payout by currency; a larger payable is paid in parts. */
  maximum: ReadonlyMap<string, bigint>;
}

/** One rail that executes payouts. */
export interface PayoutChannel {
  readonly name: string;
  readonly rules: ChannelRules;
  /** Asks for payment. Never throws for what the channel does; an abort of `signal` is UNCLEAR. */
  submit(payout: PayoutInstruction, signal: AbortSignal): Promise<ChannelAnswer>;
  /** Asks what became of a payout. */
  query(payout: PayoutInstruction, signal: AbortSignal): Promise<ChannelAnswer>;
  close(): Promise<void>;
}
