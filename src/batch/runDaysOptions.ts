import type { BatchDay } from '../kernel/batchDay.js';
import type { Clock } from '../kernel/clock.js';
import type { Shard } from '../sharding/shard.js';
import type { Calendar } from './calendar.js';
import type { BatchSettings, Progress } from './deps.js';
import type { RunRequest } from './run.js';

export interface RunDaysOptions {
  target: BatchDay;
  /** Asked for `target` only (a rerun of a part); null: whatever is owed up to `target`. */
  request: RunRequest | null;
  kind: 'RUN' | 'RESUME';
  dryRun: boolean;
  accounts: readonly string[] | null;
  /** This shard of the accounts, beside other processes; null: all of them, alone. */
  shard: Shard | null;
  settings: BatchSettings & { lookBackDays: number; messageAttempts: number };
  calendar: Calendar;
  clock: Clock;
  /** For the lease: what was typed. */
  command: string;
  progress: Progress;
  signal: AbortSignal;
  say: (text: string) => void;
}
