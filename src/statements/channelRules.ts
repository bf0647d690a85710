import type { BatchDay } from '../kernel/batchDay.js';
import type { AgreedFee } from './decideLine.js';

/** What is known of a channel's statements, for matching. */
export interface StatementChannel {
  readonly name: string;
  /** The channel that orders name; mostly the same. */
  readonly orderChannel: string;
  readonly matches: { readonly payouts: boolean; readonly orders: boolean };
  /** How many days a line, or a row of ours, may be later on the other side. */
  readonly crossDayDays: number;
  readonly fee: AgreedFee | null;
  /** The batch day that an instant falls on, by the channel's zone and cut-off. */
  dayOf(instant: string): BatchDay;
  /** The instant at which a day of the channel ends, in milliseconds. */
  endOf(day: BatchDay): number;
}

export interface MatchPorts {
  readonly channel: StatementChannel;
  readonly actor: string;
  now(): string;
  readonly signal: AbortSignal;
}
