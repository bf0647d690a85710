import type { Database } from '../db/database.js';
import { repeatable } from '../db/transaction.js';
import type { Cancellation } from '../kernel/cancellation.js';
import { instantText } from '../kernel/clock.js';
import type { Shard } from '../sharding/shard.js';
import { DatabaseEffects } from './databaseEffects.js';
import type { BatchDeps } from './deps.js';
import type { BatchEffects } from './effects.js';
import { startHeartbeat } from './heartbeat.js';
import { acquireLease, releaseLease, renewLease, type Lease } from './lease.js';
import type { RunDaysOptions } from './runDaysOptions.js';
import { abandonRuns } from './runQueries.js';
import { ShardEffects } from './shardEffects.js';

/**
 * Takes the lease of a shard, or of all accounts (null), abandons the runs of dead holders, does the work, and gives the
 * lease back however the work ends. Throws BATCH_LOCKED while another holds it.
 */
export async function underLease<T>(
  database: Database,
  options: RunDaysOptions,
  shard: Shard | null,
  work: (deps: BatchDeps) => Promise<T>,
): Promise<T> {
  const { leaseMs } = options.settings;
  const lease = await acquireLease(database, {
    shard,
    durationMs: leaseMs,
    command: options.command,
    startedAt: instantText(options.clock.now()),
  });
  const within = new AbortController();
  const signal = AbortSignal.any([options.signal, within.signal]);
  const giveUp = (reason: Cancellation): void => {
    within.abort(reason);
    // What the run still waits for would hold it for a statement limit, and may not be written any more.
    if (reason.code === 'DATABASE_LOST') database.abandon(reason);
  };
  const Effects = shard === null ? DatabaseEffects : ShardEffects;
  const effects = new Effects(database, lease, {
    ...options.settings,
    calendar: options.calendar,
    clock: options.clock,
  });
  // A run renews the lease with its progress; this one goes on while the input of a large day is read.
  const heartbeat = startHeartbeat(
    () => database.transact(repeatable('renew lease', (trx) => renewLease(trx, lease, leaseMs))),
    { everyMs: leaseMs / 3, leaseMs, mayBeSilent: database.target.dialect !== 'sqlite', giveUp },
  );
  try {
    await abandonDead(database, options);
    return await work(depsFor(database, effects, options, signal, giveUp));
  } finally {
    await heartbeat.stop();
    await giveBack(database, lease, options.say);
  }
}

export function depsFor(
  database: Database,
  effects: BatchEffects,
  { settings, progress, say }: RunDaysOptions,
  signal: AbortSignal,
  giveUp: (reason: Cancellation) => void,
): BatchDeps {
  return {
    database,
    effects,
    settings,
    progress,
    signal,
    giveUp,
    onUnrecorded: (error) => {
      say(`How the run ended could not be recorded: ${error instanceof Error ? error.message : String(error)}`);
    },
    onShardCancelled: ({ lane, accounts, firstAccountNo, cancellation }) => {
      const others = accounts > 1 ? ` and ${String(accounts - 1)} more` : '';
      say(
        `${cancellation.code}: account ${firstAccountNo}${others} in lane ${String(lane)} left to the next run. ${cancellation.detail}`,
      );
    },
  };
}

async function abandonDead(database: Database, { clock, say }: RunDaysOptions): Promise<void> {
  const dead = await database.transact(
    repeatable('abandon dead runs', (trx) => abandonRuns(trx, instantText(clock.now()))),
  );
  if (dead > 0) say(`Found ${String(dead)} run(s) dead; going on from what they committed.`);
}

async function giveBack(database: Database, lease: Lease, say: (text: string) => void): Promise<void> {
  try {
    await database.transact(repeatable('release lease', (trx) => releaseLease(trx, lease)));
  } catch (error) {
    say(`The lease could not be given back and will expire: ${error instanceof Error ? error.message : String(error)}`);
  }
}
