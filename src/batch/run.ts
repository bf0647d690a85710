import type { BatchDay } from '../kernel/batchDay.js';
import type { CurrencyTotal } from '../orders/order.js';
import type { Shard } from '../sharding/shard.js';

export type RunKind = 'RUN' | 'RESUME' | 'RERUN';
export type Stage = 'FREEZE' | 'SETTLING' | 'POSTING' | 'RECONCILING' | 'DONE';

/** What is asked of one execution for one day. */
export interface RunRequest {
  kind: RunKind;
  /** Orders after this id only; null: from the stored watermark. */
  fromId: bigint | null;
  /** Orders up to this id only; null: up to the top of the day. */
  untilId: bigint | null;
  accounts: readonly string[] | null;
  /** The shard's accounts only, beside other processes; null: all. */
  shard: Shard | null;
  reason: string | null;
}

export const wholeDay: RunRequest = {
  kind: 'RUN',
  fromId: null,
  untilId: null,
  accounts: null,
  shard: null,
  reason: null,
};

/** One execution, opened: its input is frozen. */
export interface Run {
  /** 0 in a dry run, which has no row. */
  readonly id: bigint;
  readonly day: BatchDay;
  readonly request: RunRequest;
  readonly cutOff: string;
  readonly fromId: bigint;
  /** Last id this run works on. */
  readonly untilId: bigint;
  /** Greatest order id of the day when the input was frozen. */
  readonly topId: bigint;
  /** What the day asks to settle: frozen at the start, and anew when orders below `topId` came or went meanwhile. */
  source: CurrencyTotal[];
  /** What earlier runs of the day have claimed. */
  readonly claimedBefore: CurrencyTotal[];
  /** Orders that earlier runs found withdrawn: they stay in the source, listed row by row. */
  readonly withdrawnBefore: CurrencyTotal[];
  /** Quarantine rows that were released before this run began and that no run has tried again: it does. */
  readonly released: readonly bigint[];
  /** Accounts already set aside for the day. */
  readonly setAside: Set<string>;
  /** Accounts of shards that were cancelled: this run keeps off them, the next one settles them. */
  readonly leftToNext: Set<string>;
  /** The day was closed before: what is settled now came late. */
  readonly late: boolean;
}
