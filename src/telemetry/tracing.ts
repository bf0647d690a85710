import {
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import type { Progress } from '../batch/deps.js';

/** Where finished spans go. */
export interface Exporting {
  readonly tracer: Tracer;
  /** Sends what is left. Rejects when it could not be delivered. */
  flush(): Promise<void>;
}

/** How the whole ended: `settle.batch_day` and the like. Never an account, an order, or what a person wrote. */
export type Ending = { exitCode: number; attributes: Attributes };

/** Spans of one run: the run, its stages, and in them the shards, the pieces of work of a lane. */
export class Tracing {
  private readonly run: Span;
  private readonly ofRun: Context;
  private stage: Span | null = null;
  private readonly shards = new Map<number, Span>();

  constructor(
    private readonly exporting: Exporting,
    command: string,
    environment: NodeJS.ProcessEnv,
  ) {
    const parent = parentIn(environment['TRACEPARENT']);
    this.run = exporting.tracer.startSpan(`settle ${command}`, {}, parent);
    this.ofRun = trace.setSpan(parent, this.run);
  }

  /** The same progress, which the spans follow. */
  following(progress: Progress): Progress {
    return {
      stage: (name, total, day) => {
        this.endStage();
        const attributes = { 'settle.batch_day': day, 'settle.orders': total };
        this.stage = this.exporting.tracer.startSpan(`settle.stage ${name}`, { attributes }, this.ofRun);
        progress.stage(name, total, day);
      },
      advance: (what, orders) => {
        progress.advance(what, orders);
      },
      lane: (lane, accountNo, orders) => {
        // Of which account is not told: a trace goes to others.
        const attributes = { 'settle.lane': lane, 'settle.orders': orders };
        const context = this.stage === null ? this.ofRun : trace.setSpan(this.ofRun, this.stage);
        this.shards.set(lane, this.exporting.tracer.startSpan('settle.shard', { attributes }, context));
        progress.lane(lane, accountNo, orders);
      },
      laneDone: (lane) => {
        this.shards.get(lane)?.end();
        this.shards.delete(lane);
        progress.laneDone(lane);
      },
      end: () => {
        this.endStage();
        progress.end();
      },
    };
  }

  /** Ends all spans and sends them, for at most `msMax`. Gives why they could not be delivered, or null. */
  async end({ exitCode, attributes }: Ending, msMax = 5_000): Promise<string | null> {
    this.endStage();
    this.run.setAttributes({ ...attributes, 'process.exit.code': exitCode });
    if (exitCode !== 0) this.run.setStatus({ code: SpanStatusCode.ERROR });
    this.run.end();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => {
        resolve(`not delivered within ${String(msMax / 1_000)} s`);
      }, msMax);
    });
    const sent = this.exporting.flush().then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    return Promise.race([sent, late]).finally(() => {
      clearTimeout(timer);
    });
  }

  private endStage(): void {
    for (const shard of this.shards.values()) shard.end(); // of a shard that ended in an error
    this.shards.clear();
    this.stage?.end();
    this.stage = null;
  }
}

/** The span of whoever started this process, as W3C Trace Context has it in a variable; else none. */
function parentIn(traceparent: string | undefined): Context {
  const [, traceId = '', spanId = '', flags = ''] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent?.trim() ?? '') ?? [];
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags || '0', 16), isRemote: true };
  return isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
}
