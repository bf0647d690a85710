import type { BatchDay } from '../kernel/batchDay.js';
import type { Check, Reconciliation } from '../reconciliation/reconcile.js';
import type { CurrencyTotal, Order } from '../orders/order.js';
import type { SettlementPlan } from '../settlement/planSettlement.js';
import type { SetAside } from '../settlement/quarantine.js';
import type { EndedDay } from '../terms/bookEndOfDay.js';
import type { CancelledShard } from './cancelledShard.js';
import type { RunEnd, RunProgress } from './runQueries.js';
import type { Run, RunRequest, Stage } from './run.js';

/** Orders left in INIT, by account and currency. */
export interface Leftover extends CurrencyTotal {
  accountNo: string;
}

export interface WithdrawnOrder {
  id: bigint;
  orderNo: string;
  state: string;
}

/** A check as the document of a run lists it: those of the reconciliation, and the run's own. */
export type RunCheck = Omit<Check, 'name'> & { name: string };

/** How the outbox is delivered: until when, and who is told. */
export interface Posting {
  signal: AbortSignal;
  /** How long one delivery may take; one that takes longer is undone, and left to the next run. */
  shardMs: number;
  onPosted(orders: number): void;
  onCancelled(shard: CancelledShard): Promise<void>;
}

/** What reconciliation found of a day. */
export interface DayProof {
  outcome: Reconciliation['outcome'];
  checks: RunCheck[];
  /** Orders of the day that the proof covers; one that became visible later is owed, not closed. */
  orders: number;
  totals: Reconciliation['totals'];
}

export interface ClosedRun {
  settledAccounts: number;
  carriedForward: number;
  closed: boolean;
  /** The end of the day's hash chain; null while it has none. */
  ledgerHead: LedgerHead | null;
}

/** What an auditor writes down of a day: its ledger cannot be changed without changing this. */
export interface LedgerHead {
  link: number;
  /** Journal entries in that link. */
  entries: number;
  head: string;
  previousHead: string;
}

/**
 * Everything that the main path changes, and what it reads back of it. Two implementations: `databaseEffects` does it;
 * `dryEffects` does the arithmetic of it on read-only sessions, which is what makes a dry run take the same path.
 */
export interface BatchEffects {
  readonly dryRun: boolean;
  /** Freezes the input of the day and opens a run over it. */
  open(day: BatchDay, request: RunRequest): Promise<Run>;
  /** Moves the batch to the stage, forward only. */
  enter(run: Run, stage: Stage): Promise<void>;
  /** Renews the lease and writes how far the run is. Throws LEASE_LOST when another run has taken over. */
  beat(run: Run, progress: RunProgress): Promise<void>;
  /** Registers accounts that a table of others names and nobody has registered. */
  register(accountNos: readonly string[]): Promise<void>;
  setAside(run: Run, accounts: readonly SetAside[]): Promise<void>;
  /**
   * Settles one chunk, whole or not at all; throws OrdersMoved when one of its orders is not as it was read. An abort
   * of `signal` undoes it.
   */
  settle(run: Run, plan: SettlementPlan, signal: AbortSignal): Promise<void>;
  /** Stores why a shard of the run ended early. */
  noteCancelledShard(run: Run, shardNo: number, shard: CancelledShard): Promise<void>;
  /** Lists orders that somebody else moved; returns them. */
  withdraw(run: Run, orderIds: readonly bigint[]): Promise<WithdrawnOrder[]>;
  /** Those of these orders that are still as they were read. */
  unchanged(run: Run, orders: readonly Order[]): Promise<readonly Order[]>;
  /** The sweep over the state column. */
  leftover(run: Run): Promise<Leftover[]>;
  /** Freezes the source totals anew, after orders appeared below the watermark. */
  refreeze(run: Run): Promise<void>;
  /** Delivers the outbox until nothing is NEW; returns how many messages of the day are not SENT. */
  post(run: Run, posting: Posting): Promise<number>;
  /** Ends a day that is wholly posted as the terms of its accounts want it; returns what that makes. */
  bookTerms(run: Run): Promise<EndedDay>;
  /** Makes the balances of the day from its entries; an abort of `signal` undoes what is not committed. */
  balance(run: Run, signal: AbortSignal): Promise<void>;
  reconcile(run: Run): Promise<DayProof>;
  /** Ends the day if `complete`, as holding the `orders` that were proven. */
  close(run: Run, complete: boolean, leftover: readonly Leftover[], orders: number): Promise<ClosedRun>;
  /** Nets of the day by currency; with `own`, only what this run claimed. */
  claimed(run: Run, own: boolean): Promise<CurrencyTotal[]>;
  /** Discrepancies of the day that are open. */
  openDiscrepancies(run: Run): Promise<number>;
  /** Records how the run ended. */
  finish(run: Run, end: RunEnd): Promise<void>;
}
