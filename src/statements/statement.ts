import type { BatchDay } from '../kernel/batchDay.js';
import type { CsvProfile } from './profile.js';

/**
 * What a reader makes of a channel's file: one shape for wallets, processors and banks. Money is in minor units of its
 * currency (bigint); a direction is that of the money for the holder of the account at the channel, which is us.
 */
export type StatementEvent =
  | { readonly kind: 'open'; readonly statement: StatementHead }
  | { readonly kind: 'line'; readonly line: StatementLine }
  | { readonly kind: 'balance'; readonly balance: StatementBalance }
  | { readonly kind: 'problem'; readonly problem: StatementProblem }
  | { readonly kind: 'close' };

/** A file holds one statement or several (accounts, days); lines lie between its open and its close. */
export interface StatementHead {
  /** The account at the channel: merchant number, IBAN, payout batch; null where the format does not say. */
  readonly accountRef: string | null;
  /** As the channel numbers its statements; runs without gaps where the format says so. */
  readonly sequence: { readonly number: bigint; readonly page: number; readonly lastPage: boolean } | null;
  /** The days the statement covers, both inclusive; null where the file does not say. */
  readonly fromDay: BatchDay | null;
  readonly toDay: BatchDay | null;
  /** An intraday report, whose lines come again in the statement of the day: its lines are proven but not matched. */
  readonly intraday: boolean;
}

/** Of one currency of a statement. A statement has one of each kind and currency at most. */
export interface StatementBalance {
  readonly kind: 'OPENING' | 'CLOSING';
  readonly currency: string;
  readonly minor: bigint;
  readonly day: BatchDay | null;
}

export const lineKinds = ['PAYMENT', 'REFUND', 'PAYOUT', 'RETURN', 'FEE', 'DISPUTE', 'TRANSFER', 'OTHER'] as const;
/** PAYOUT: money to a beneficiary. RETURN: a payout that came back. TRANSFER: between our own accounts (sweep to the bank). */
export type LineKind = (typeof lineKinds)[number];

export const lineStates = ['DONE', 'PENDING', 'FAILED'] as const;
export type LineState = (typeof lineStates)[number];

/** A money line: never a header, a footer, a pending entry or a memo. */
export interface StatementLine {
  /** Physical place in the file, from 1; of XML the line of the element. */
  readonly line: number;
  readonly kind: LineKind;
  /** The channel's own word for it, as it stands in the file. */
  readonly channelType: string;
  readonly direction: 'CREDIT' | 'DEBIT';
  readonly currency: string;
  /** Gross magnitude, never negative. */
  readonly amountMinor: bigint;
  /** What the row states as fee in a column of its own: positive is a cost of ours, negative one given back; null: no such column. */
  readonly feeMinor: bigint | null;
  /** What the row is after its fee, signed by direction; null where the format does not say. */
  readonly netMinor: bigint | null;
  /** The number that we gave: merchant order number, refund number, EndToEndId of a payout. Null: none, or NOTPROVIDED. */
  readonly ourReference: string | null;
  /** The channel's own number of it. */
  readonly channelReference: string | null;
  /** Other numbers by which we may know it, in the order of trust, without repeats. */
  readonly otherReferences: readonly string[];
  /**
   * What makes the line this line and no other, over all files of the channel: id with type, refund number or event code.
   * Null where the format gives no ids: the importer then goes by running balance and occurrence number.
   */
  readonly lineKey: string | null;
  /** Balance after the line, where the format states it. */
  readonly balanceMinor: bigint | null;
  readonly state: LineState;
  /** RFC 3339 UTC, by the zone of the file; null where only a day is stated. */
  readonly occurredAt: string | null;
  /** The day in the file's own calendar on which the channel booked it. */
  readonly bookedDay: BatchDay;
  /** Of a line that stands for several payments and does not list them: how many, if stated. */
  readonly batchCount: number | null;
  /** Lines of one batch booking that are listed one by one share it. */
  readonly batchReference: string | null;
}

/** The file can be read, but contradicts itself: it is stored for people to see, and must not pass as clean. */
export interface StatementProblem {
  readonly code: string;
  readonly message: string;
  readonly line: number | null;
  readonly column: number | null;
}

/** Bytes that can be read more than once. A reader keeps no more of them than a record needs. */
export interface StatementSource {
  /** As the user typed it, with the entry's name for a file in an archive; for messages only. */
  readonly name: string;
  chunks(): AsyncIterable<Buffer>;
}

/** What the config says of a channel's files, for readers that need it. */
export interface StatementSettings {
  /** IANA zone of times without an offset; null: the format's own. */
  readonly timeZone: string | null;
  /** Of files that name no currency. */
  readonly currency: string | null;
  /** How a plain table is read; only the format "csv" asks for it. */
  readonly profile?: CsvProfile | null;
}

export interface StatementFormat {
  /** Stable name, as in --format: "camt.053", "wechat-trade". */
  readonly name: string;
  /** By content alone, from up to the first 64 KiB; false where unsure. */
  sniff(head: Buffer): boolean;
  /**
   * Reads strictly. Throws a StatementRefusal (code, message, line, column) for what is not a whole, well-formed file of the
   * format, however late that shows: who consumes it stores nothing before the last event.
   */
  read(source: StatementSource, settings: StatementSettings): AsyncIterable<StatementEvent>;
}
