import { throwIfCancelled } from '../kernel/cancellation.js';
import type { BatchDeps } from './deps.js';
import { startHeartbeat, type Heartbeat } from './heartbeat.js';
import type { Run, Stage } from './run.js';
import type { Tally } from './tally.js';

/** The stage at hand, its time, and the heartbeat that tells the database about it. */
export class Stages {
  readonly times: { stage: string; durationMs: number }[] = [];
  current: Stage = 'FREEZE';
  private since: number;
  private ended = false;
  private readonly heartbeat: Heartbeat;

  constructor(
    private readonly deps: BatchDeps,
    private readonly run: Run,
    private readonly tally: Tally,
    /** `performance.now()` when the freeze began. */
    private readonly startedAt: number,
  ) {
    this.since = startedAt;
    this.heartbeat = startHeartbeat(() => this.beat(), {
      everyMs: Math.min(1_000, deps.settings.leaseMs / 3),
      leaseMs: deps.settings.leaseMs,
      mayBeSilent: deps.database.target.dialect !== 'sqlite',
      giveUp: deps.giveUp,
    });
  }

  async enter(stage: Stage): Promise<void> {
    throwIfCancelled(this.deps.signal);
    this.clock();
    this.current = stage;
    await this.deps.effects.enter(this.run, stage);
    this.deps.progress.stage(
      stage,
      this.run.source.reduce((sum, total) => sum + total.orders, 0),
      this.run.day,
    );
  }

  /** Ends the last stage; what follows is only recorded. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.clock();
    this.deps.progress.end();
  }

  /** Stops the heartbeat, so that nothing is written after the run has ended. Until then it notices a silent database. */
  async stop(): Promise<void> {
    await this.heartbeat.stop();
  }

  get durationMs(): number {
    return Math.round(performance.now() - this.startedAt);
  }

  private clock(): void {
    const now = performance.now();
    this.times.push({ stage: this.current, durationMs: Math.round(now - this.since) });
    this.since = now;
  }

  beat(): Promise<void> {
    const { read, claimed, posted } = this.tally.orders;
    const { reachedId } = this.tally;
    const atWork = this.tally.atWorkText(performance.now());
    return this.deps.effects.beat(this.run, { stage: this.current, reachedId, read, claimed, posted, atWork });
  }
}
