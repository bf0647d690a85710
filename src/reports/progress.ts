import { MultiBar, Presets, type SingleBar } from 'cli-progress';
import type { Clock } from '../kernel/clock.js';

export interface RunProgressView {
  stage(name: string, total: number): void;
  advance(what: 'read' | 'claimed' | 'posted', orders: number): void;
  lane(lane: number, accountNo: string | null): void;
  laneDone(lane: number): void;
  end(): void;
}

const silent: RunProgressView = {
  stage: () => undefined,
  advance: () => undefined,
  lane: () => undefined,
  laneDone: () => undefined,
  end: () => undefined,
};

/** Bars on a terminal; elsewhere a plain line at stage borders and every `lineEveryMs`; nothing with "none". */
export function runProgress(
  style: 'auto' | 'plain' | 'none',
  stream: NodeJS.WriteStream,
  say: (text: string) => void,
  clock: Clock,
  lineEveryMs = 30_000,
): RunProgressView {
  if (style === 'none') return silent;
  return style === 'auto' && stream.isTTY ? bars(stream) : lines(say, clock, lineEveryMs);
}

type Counter = 'read' | 'claimed' | 'posted';

function bars(stream: NodeJS.WriteStream): RunProgressView {
  const lanes = new Map<number, { accountNo: string | null; since: number }>();
  let multi: MultiBar | null = null;
  let shown: Record<Counter, SingleBar> | null = null;
  const create = (total: number): void => {
    multi = new MultiBar(
      {
        stream,
        clearOnComplete: false,
        hideCursor: true,
        etaBuffer: 50,
        fps: 8,
        gracefulExit: false,
        barsize: 18, // with all else on its line it fits 80 columns
        format: '{what} {bar} {percentage}%  {value}/{total}  {rate}/s  ETA {eta_formatted} {slowest}',
      },
      Presets.shades_classic,
    );
    const bar = (what: string): SingleBar =>
      (multi as MultiBar).create(total, 0, { what: what.padEnd(7), rate: '0', slowest: '' });
    shown = { read: bar('read'), claimed: bar('claimed'), posted: bar('posted') };
  };
  const since = { read: performance.now(), claimed: performance.now(), posted: performance.now() };
  return {
    stage: (name, total) => {
      if (name === 'POSTING') since.posted = performance.now();
      if (total > 0 && shown === null) create(total);
    },
    advance: (what, orders) => {
      const bar = shown?.[what];
      if (bar === undefined) return;
      const done = (bar as unknown as { value: number }).value + orders;
      const rate = Math.round((done * 1_000) / Math.max(1, performance.now() - since[what]));
      bar.increment(orders, { rate: String(rate), slowest: what === 'claimed' ? slowestLane(lanes) : '' });
    },
    lane: (lane, accountNo) => {
      lanes.set(lane, { accountNo, since: performance.now() });
    },
    laneDone: (lane) => {
      lanes.delete(lane);
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
  return `lane ${String(lane)}${accountNo === null ? '' : ` ${accountNo.slice(0, 12)}`} ${((performance.now() - since) / 1_000).toFixed(1)} s`;
}

function lines(say: (text: string) => void, clock: Clock, lineEveryMs: number): RunProgressView {
  const done = { read: 0, claimed: 0, posted: 0 };
  let current: { name: string; total: number; since: number; before: number } | null = null;
  let last = performance.now();
  const tell = (text: string): void => {
    say(`${clock.now().toISOString()} ${text}`);
    last = performance.now();
  };
  const counted = (): number => (current?.name === 'POSTING' ? done.posted : done.claimed);
  const rate = (): number => {
    const seconds = (performance.now() - (current?.since ?? 0)) / 1_000;
    return seconds > 0 ? (counted() - (current?.before ?? 0)) / seconds : 0;
  };
  const ended = (): void => {
    if (current === null || current.name === 'RECONCILING') return;
    tell(
      `${current.name} done: ${String(counted())} of ${String(current.total)} orders, ${String(Math.round(rate()))}/s`,
    );
  };
  return {
    stage: (name, total) => {
      ended();
      if (name === 'SETTLING') Object.assign(done, { read: 0, claimed: 0, posted: 0 }); // another day begins
      current = { name, total, since: performance.now(), before: 0 };
      current.before = counted();
      tell(`${name} begins`);
    },
    advance: (what, orders) => {
      done[what] += orders;
      if (current === null || performance.now() - last < lineEveryMs) return;
      const left = Math.max(0, current.total - counted());
      const eta = rate() > 0 ? `, ETA ${String(Math.ceil(left / rate()))} s` : '';
      tell(
        `${current.name} ${String(counted())}/${String(current.total)} orders, ${String(Math.round(rate()))}/s${eta}`,
      );
    },
    lane: () => undefined,
    laneDone: () => undefined,
    end: () => {
      ended();
      current = null;
    },
  };
}
