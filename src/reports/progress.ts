import { MultiBar, Presets, type SingleBar } from 'cli-progress';
import type { Clock } from '../kernel/clock.js';

export interface RunProgressView {
  stage(name: string, total: number): void;
  advance(what: 'read' | 'claimed' | 'posted', orders: number): void;
  lane(lane: number, accountNo: string | null): void;
  end(): void;
}

const silent: RunProgressView = {
  stage: () => undefined,
  advance: () => undefined,
  lane: () => undefined,
  end: () => undefined,
};

/** Bars on a terminal; elsewhere a plain line at stage borders and every 30 s; nothing with "none". */
export function runProgress(
  style: 'auto' | 'plain' | 'none',
  stream: NodeJS.WriteStream,
  say: (text: string) => void,
  clock: Clock,
): RunProgressView {
  if (style === 'none') return silent;
  return style === 'auto' && stream.isTTY ? bars(stream) : lines(say, clock);
}

const counters = ['read', 'claimed', 'posted'] as const;

function bars(stream: NodeJS.WriteStream): RunProgressView {
  const lanes = new Map<number, { accountNo: string | null; since: number }>();
  let multi: MultiBar | null = null;
  let shown: Record<(typeof counters)[number], SingleBar> | null = null;
  const create = (total: number): void => {
    multi = new MultiBar(
      {
        stream,
        clearOnComplete: false,
        hideCursor: true,
        etaBuffer: 50,
        fps: 8,
        gracefulExit: false,
        format: '{what} {bar} {percentage}%  {value}/{total}  {rate}/s  ETA {eta_formatted}  {slowest}',
      },
      Presets.shades_classic,
    );
    const bar = (what: string): SingleBar =>
      (multi as MultiBar).create(total, 0, { what: what.padEnd(7), rate: '0', slowest: '' });
    shown = { read: bar('read'), claimed: bar('claimed'), posted: bar('posted') };
  };
  const started = performance.now();
  return {
    stage: (_name, total) => {
      if (total > 0 && shown === null) create(total);
    },
    advance: (what, orders) => {
      const bar = shown?.[what];
      if (bar === undefined) return;
      const done = (bar as unknown as { value: number }).value + orders;
      const rate = Math.round((done * 1_000) / Math.max(1, performance.now() - started));
      bar.increment(orders, { rate: String(rate), slowest: what === 'claimed' ? slowestLane(lanes) : '' });
    },
    lane: (lane, accountNo) => {
      lanes.set(lane, { accountNo, since: performance.now() });
    },
    end: () => {
      multi?.stop();
      multi = null;
      shown = null;
    },
  };
}

/** "lane 4 M00001 1.2 s": the piece of work that has been going on longest. */
function slowestLane(lanes: ReadonlyMap<number, { accountNo: string | null; since: number }>): string {
  const [first] = [...lanes].sort(([, a], [, b]) => a.since - b.since);
  if (first === undefined) return '';
  const [lane, { accountNo, since }] = first;
  return `lane ${String(lane)}${accountNo === null ? '' : ` ${accountNo}`} ${((performance.now() - since) / 1_000).toFixed(1)} s`;
}

const lineEveryMs = 30_000;

function lines(say: (text: string) => void, clock: Clock): RunProgressView {
  const done = { read: 0, claimed: 0, posted: 0 };
  let stage = '';
  let total = 0;
  let since = performance.now();
  let last = since;
  const line = (): void => {
    const count = stage === 'POSTING' ? done.posted : done.claimed;
    const seconds = (performance.now() - since) / 1_000;
    const rate = seconds > 0 ? count / seconds : 0;
    const eta = rate > 0 && count < total ? `, ETA ${String(Math.ceil((total - count) / rate))} s` : '';
    say(
      `${clock.now().toISOString()} ${stage} ${String(count)}/${String(total)} orders, ${String(Math.round(rate))}/s${eta}`,
    );
    last = performance.now();
  };
  return {
    stage: (name, orders) => {
      if (stage !== '') line();
      [stage, total, since] = [name, orders, performance.now()];
      say(`${clock.now().toISOString()} ${name} begins, ${String(orders)} orders in the day`);
      last = performance.now();
    },
    advance: (what, orders) => {
      done[what] += orders;
      if (performance.now() - last >= lineEveryMs) line();
    },
    lane: () => undefined,
    end: () => {
      if (stage !== '') line();
      stage = '';
    },
  };
}
