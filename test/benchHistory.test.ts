import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { EngineResult } from './bench/contest.js';
import { contestFigures, scaleFigures } from './bench/figures.js';
import { parseHistory, type ContestLine, type HistoryLine, type ScaleLine } from './bench/history.js';
import type { Lap } from './bench/laps.js';
import { firstMarker, lastMarker, withFigures } from './bench/readme.js';
import { commandText } from './bench/save.js';
import { growthOf } from './bench/scale.js';

function lap(more: Partial<Lap>): Lap {
  const none = { parts: {}, peakBytes: null, foreign: null, counts: null };
  return { orders: 1_000, ms: 100, ordersPerSecond: 10_000, messages: 400, ...none, ...more };
}

const foreign = (p50: number, p99: number, errors = 0) => ({ updates: 9, statements: 9, errors, p50, p99, max: 99 });
const counts = (statements: number, commits: number, deadlocks = 0) => ({ statements, commits, deadlocks });

/** Three rounds on a server, of which the second was the slow one. */
const measured: EngineResult = {
  engine: 'mariadb',
  server: 'MariaDB 10.11.19-log, log_bin = ON',
  floors: [
    {
      connections: 1,
      laps: [
        lap({ ordersPerSecond: 10_000, foreign: foreign(1, 5) }),
        lap({ ordersPerSecond: 4_000, foreign: foreign(2, 9) }),
        lap({ ordersPerSecond: 9_000, foreign: foreign(3, 7) }),
      ],
    },
  ],
  oneByOne: { connections: 16, lap: lap({ orders: 100, ordersPerSecond: 500 }) },
  settle: [
    lap({ ordersPerSecond: 12_000, peakBytes: 1e8, foreign: foreign(1, 6, 1), counts: counts(20, 2) }),
    lap({ ordersPerSecond: 3_000, peakBytes: 3e8, foreign: foreign(2, 90), counts: counts(31, 4, 1) }),
    lap({ ordersPerSecond: 11_000, peakBytes: 2e8, foreign: foreign(4, 8, 2), counts: counts(25, 3) }),
  ],
  elephant: [lap({ ordersPerSecond: 7_000, peakBytes: 5e8 })],
  ratios: { settleToFloor: 1.20004, settleToBestFloor: 1.1, settleToOneByOne: 22, elephantToEven: 1.05555 },
  foreignIdle: foreign(0.5, 2),
  differences: [],
};

describe('what is kept of a contest', () => {
  const figures = contestFigures(measured);

  test('is the median of the rates and latencies', () => {
    expect(figures.floors).toEqual([{ connections: 1, ordersPerSecond: 9_000, messages: 400 }]);
    expect(figures.settle.ordersPerSecond).toBe(11_000);
    expect(figures.foreign).toEqual({
      idle: { p50: 0.5, p99: 2, errors: 0 },
      besideFloor: { p50: 2, p99: 7, errors: 0 },
      besideSettle: { p50: 2, p99: 8, errors: 3 },
    });
    expect(figures.ratios).toMatchObject({ settleToFloor: 1.2, elephantToEven: 1.056 });
  });

  test('is the worst of memory and of what the server counted', () => {
    expect(figures.settle.peakBytes).toBe(3e8);
    expect(figures.elephant).toEqual({ ordersPerSecond: 7_000, peakBytes: 5e8 });
    expect(figures.settle.served).toEqual({ statementsPerThousand: 31, commitsPerThousand: 4, deadlocks: 1 });
  });

  test('has nothing where nothing was measured', () => {
    const alone = contestFigures({
      ...measured,
      settle: [lap({ peakBytes: 1 })],
      elephant: [],
      foreignIdle: null,
      ratios: { ...measured.ratios, elephantToEven: null },
    });
    expect(alone).toMatchObject({ elephant: null, foreign: null, settle: { served: null } });
    expect(alone.ratios.elephantToEven).toBeNull();
  });
});

const made = {
  date: '2026-12-01T10:00:00.000Z',
  commit: '0123456789abcdef0123456789abcdef01234567',
  command: 'npm run bench -- --orders 1000 --save',
  machine: { cpus: 2, cpu: 'Some Processor', memoryBytes: 25_276_059_648, node: 'v20.20.2', load: 0.25 },
};
const contestLine: ContestLine = {
  measure: 'contest',
  ...made,
  sizes: { orders: 1_000_000, accounts: 100, shape: 'even', lanes: null, sample: 100, rangeOrders: 10_000, repeat: 3 },
  engines: [contestFigures(measured)],
};
const scaleLine: ScaleLine = {
  measure: 'scale',
  ...made,
  command: 'npm run bench -- --scale 100,1000 --save',
  sizes: { orders: [100, 1_000], accounts: 50_000, shape: 'elephant', lanes: 2 },
  engines: [
    scaleFigures({
      engine: 'sqlite',
      server: 'SQLite 3.53.2, WAL',
      laps: [lap({ orders: 100, ms: 1_500, peakBytes: 1e8 }), lap({ ms: 15_750, peakBytes: 1.2e8 })],
      differences: [],
    }),
  ],
};
const textOf = (...lines: object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const later = (line: HistoryLine): HistoryLine => ({ ...line, date: '2026-12-02T10:00:00.000Z' });

describe('a line of the history', () => {
  test('is read as it was written', () => {
    const dirty = { ...later(scaleLine), dirty: true };
    expect(parseHistory(textOf(contestLine, dirty))).toEqual([contestLine, dirty]);
    expect(parseHistory('')).toEqual([]);
  });

  const [engine] = contestLine.engines as [ContestLine['engines'][number]];
  const withEngine = (more: object): object => ({ ...contestLine, engines: [{ ...engine, ...more }] });
  test.each<[string, object]>([
    ['an unknown measure', { ...contestLine, measure: 'guess' }],
    ['a short commit', { ...contestLine, commit: '0123456' }],
    ['"dirty": false', { ...contestLine, dirty: false }],
    ['a day for the instant', { ...contestLine, date: '2026-12-01' }],
    ['a local time', { ...contestLine, date: '2026-12-01T10:00:00.000+09:00' }],
    ['a key of its own', { ...contestLine, note: 'a good day' }],
    ['a nested key of its own', withEngine({ differences: [] })],
    ['no engine', { ...contestLine, engines: [] }],
    ['no machine', { ...contestLine, machine: undefined }],
    ['a rate of nothing', withEngine({ settle: { ...engine.settle, ordersPerSecond: 0 } })],
    ['a ratio that is no number', withEngine({ ratios: { ...engine.ratios, settleToFloor: NaN } })],
    ['a best floor worse than the others', withEngine({ ratios: { ...engine.ratios, settleToBestFloor: 1.3 } })],
    ['the sizes of the other measure', { ...contestLine, sizes: scaleLine.sizes }],
    ['one size to compare', { ...scaleLine, sizes: { ...scaleLine.sizes, orders: [100] } }],
  ])('is refused with %s', (_what, line) => {
    expect(() => parseHistory(textOf(line))).toThrow('Line 1 of the history');
  });

  test('is refused when it is not JSON, has no end or is not newer than the one before', () => {
    expect(() => parseHistory('{"measure"\n')).toThrow('Line 1 of the history is not JSON.');
    expect(() => parseHistory(textOf(contestLine).trimEnd())).toThrow('has no end');
    expect(() => parseHistory(textOf(later(contestLine), contestLine))).toThrow('Line 2 of the history is not newer');
    expect(() => parseHistory(textOf(contestLine, contestLine))).toThrow('Line 2 of the history is not newer');
  });
});

describe('the figures in a README', () => {
  const readme = `# Ours\n\n${firstMarker}\nOld.\n${lastMarker}\n\nThe end.\n`;
  const shown = (...lines: HistoryLine[]): string => withFigures(readme, lines);

  test('are a table of the newest contest and one of the newest sizes, each under its command', () => {
    expect(shown(contestLine, scaleLine)).toBe(`# Ours

${firstMarker}

\`\`\`sh
npm run bench -- --orders 1000 --save
\`\`\`

2026-12-01, commit 0123456, 2 × Some Processor, 24 GiB, load 0.3 before, Node 20.20.2.
MariaDB 10.11.19-log, log_bin = ON.
1,000,000 orders of 100 accounts, medians of 3 rounds, the floor in ranges of 10,000 orders:

| | MariaDB 10.11 |
|---|---|
| floor, 1 connection | 9,000 orders/s |
| one order a transaction | 500 orders/s |
| **Settle** | **11,000 orders/s** |
| Settle to the floor of 1 connection | 1.20 |
| Settle to one order a transaction | 22.0 |
| time when one account has 70 % of the orders | 1.06 × |
| peak memory | 300 MB |
| messages: floor, Settle | 400, 400 |
| statements, COMMITs per 1,000 orders | 31.0, 4.0 |
| deadlocks | 1 |
| foreign writer alone: p50, p99 | 0.5 ms, 2.0 ms |
| foreign writer beside Settle: p50, p99 | 2.0 ms, 8.0 ms |

\`\`\`sh
npm run bench -- --scale 100,1000 --save
\`\`\`

2026-12-01, commit 0123456, 2 × Some Processor, 24 GiB, load 0.3 before, Node 20.20.2.
SQLite 3.53.2, WAL.
Settle alone on 50,000 accounts, one of which has 70 % of the orders: time, in times of the row above too, and peak memory:

| | SQLite 3.53 |
|---|---|
| 100 orders | 1.5 s, 100 MB |
| 1,000 orders | 15.8 s (10.50 ×), 120 MB |

${lastMarker}

The end.
`);
  });

  test('are those of the last line, with the best of several floors, and a column for each engine', () => {
    const [one] = contestLine.engines as [ContestLine['engines'][number]];
    const floors = [...one.floors, { connections: 4, ordersPerSecond: 12_345_678, messages: 400 }];
    const newest = { ...later(contestLine), dirty: true, command: 'npm run bench -- --newest' } as ContestLine;
    newest.engines = [
      { ...one, floors },
      { ...one, server: 'SQLite 3.53.2, WAL', elephant: null, foreign: null },
    ];
    const text = shown(contestLine, newest);
    expect(text).toContain('npm run bench -- --newest\n');
    expect(text).not.toContain('--orders 1000');
    expect(text).toContain('commit 0123456 with changes that were not committed,');
    expect(text).toContain('| | MariaDB 10.11 | SQLite 3.53 |\n|---|---|---|\n');
    expect(text).toContain('| floor, 4 connections | 12,345,678 orders/s | – |\n');
    expect(text).toContain('| Settle to the best floor | 1.10 | 1.10 |\n');
    expect(text).toContain('| foreign writer alone: p50, p99 | 0.5 ms, 2.0 ms | – |\n');
  });

  test('replace what was between the markers, and nothing else, as often as one likes', () => {
    expect(shown()).toBe(readme.replace('Old.', '\nNo figures are saved yet.\n'));
    expect(withFigures(shown(contestLine), [contestLine])).toBe(shown(contestLine));
    expect(withFigures(shown(contestLine), [])).toBe(shown());
  });

  test.each([
    ['without markers', '# Ours\n'],
    ['with the first alone', `${firstMarker}\n`],
    ['with the last alone', `${lastMarker}\n`],
    ['with two of the first', `${firstMarker}\n${readme}`],
    ['with two of the last', `${readme}\n${lastMarker}\n`],
    ['with the last before the first', `${lastMarker}\n${firstMarker}\n`],
  ])('have no place in a README %s', (_what, text) => {
    expect(() => withFigures(text, [contestLine])).toThrow('README.md must have each of these lines once');
  });
});

test('what a size costs is told in times of the size before it', () => {
  const laps = [lap({ orders: 100, ms: 50, peakBytes: 100 }), lap({ ms: 600, peakBytes: 110 })];
  expect(growthOf(laps)).toEqual([null, { orders: 10, ms: 12, peakBytes: 1.1 }]);
});

test.each([
  [['--orders', '1000', '--scale', '1,2'], 'npm run bench -- --orders 1000 --scale 1,2'],
  [['--database', 'mysql://u:se%20cret@h:1/d'], 'npm run bench -- --database mysql://u@h:1/d'],
  [['--database=mysql://u:se%20cret@h:1/d'], 'npm run bench -- --database=mysql://u@h:1/d'],
  [['--range', "it's"], "npm run bench -- --range 'it'\\''s'"],
])('the command of %j is shown as it would be typed, without a password', (args, command) => {
  expect(commandText(args, { url: 'mysql://u:se%20cret@h:1/d', label: 'mysql://u@h:1/d' })).toBe(command);
});

describe('the figures of this repository', () => {
  const history = existsSync('test/bench/history.jsonl') ? readFileSync('test/bench/history.jsonl', 'utf8') : '';

  test('are whole lines', () => {
    expect(parseHistory(history).length).toBeGreaterThan(0);
  });

  test('stand in the README as the newest lines tell them (else: npm run bench -- --readme)', () => {
    const readme = readFileSync('README.md', 'utf8');
    expect(readme).toBe(withFigures(readme, parseHistory(history)));
  });
});
