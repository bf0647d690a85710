import type { Database } from '../db/database.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { Cancellation } from '../kernel/cancellation.js';
import type { CancelledShard } from './cancelledShard.js';
import type { BatchEffects } from './effects.js';

/** Where the run says how far it is; bars on a terminal, plain lines elsewhere, nothing in tests. */
export interface Progress {
  stage(name: string, total: number, day: BatchDay): void;
  advance(what: 'read' | 'claimed' | 'posted', orders: number): void;
  /** A lane begins a piece of work: of one account, or (null) of several. */
  lane(lane: number, accountNo: string | null, orders: number): void;
  laneDone(lane: number): void;
  end(): void;
}

/** With what a run was made; kept in its document, so that a report of it can say so later. */
export interface Provenance {
  /** Of the program. */
  version: string;
  /** SHA-256 of the settings without their secrets, as `settle config show` prints it. */
  configHash: string;
  timeZone: string;
  /** Local time in that zone at which a day ends. */
  cutOff: string;
}

export interface BatchSettings {
  provenance?: Provenance;
  lanes: number;
  elephantLanes: number;
  pageSize: number;
  /** Pages that may be unfinished while the next one is read. */
  pagesAhead: number;
  chunkSize: number;
  /** Outbox messages read at once. */
  messagesMax: number;
  leaseMs: number;
  /** How long one shard's piece of work may take, a chunk to settle or a delivery to post. */
  shardMs: number;
}

export interface BatchDeps {
  database: Database;
  effects: BatchEffects;
  settings: BatchSettings;
  progress: Progress;
  /** Aborted, with a Cancellation as its reason, when the run shall stop. */
  signal: AbortSignal;
  /** Aborts `signal` from within: the lease or the database is lost. */
  giveUp: (reason: Cancellation) => void;
  /** Told when the end of a run could not be recorded. */
  onUnrecorded: (error: unknown) => void;
  onShardCancelled: (shard: CancelledShard) => void;
}
