import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { bestFor, bounds, holds, type Bound } from './bench/bounds.js';
import type { ContestFigures } from './bench/history.js';

// The check of speed is run alone (npm run test:speed); here is that its bounds can fail.

interface Measured {
  toFloor: number;
  toOneByOne: number;
  statementsPerThousand: number;
  commitsPerThousand: number;
  peakMegabytes: number;
}

/** Figures far on the right side of every bound, but for these. */
function round(more: Partial<Measured>): ContestFigures {
  const far = { toFloor: 9, toOneByOne: 900, statementsPerThousand: 0.1, commitsPerThousand: 0.01, peakMegabytes: 1 };
  const { toFloor, toOneByOne, statementsPerThousand, commitsPerThousand, peakMegabytes } = { ...far, ...more };
  const served = { statementsPerThousand, commitsPerThousand, deadlocks: 0 };
  return {
    ...{ engine: 'mariadb', server: 'MariaDB', elephant: null, foreign: null },
    floors: [{ connections: 1, ordersPerSecond: 1, messages: 1 }],
    oneByOne: { connections: 16, ordersPerSecond: 1 },
    settle: { ordersPerSecond: 1, messages: 1, peakBytes: peakMegabytes * 1e6, served },
    ratios: {
      ...{ settleToFloor: toFloor, settleToBestFloor: toFloor, settleToOneByOne: toOneByOne, elephantToEven: null },
    },
  };
}
const beyond = ({ is, value }: Bound): number => (is === 'at least' ? value * 0.99 : value * 1.01);

describe.each(['server', 'sqlite'] as const)('a run on %s', (kind) => {
  test('far from its bounds holds them all', () => {
    expect(bounds[kind].filter((bound) => !holds(bound, [round({})]))).toEqual([]);
  });

  test.each(bounds[kind])('is noticed when only $figure is not $is $value', (bound) => {
    const worse = round({ [bound.figure]: beyond(bound) });
    expect(bounds[kind].filter((each) => !holds(each, [worse]))).toEqual([bound]);
  });

  test.each(bounds[kind])('has the best of its rounds counted for $figure', (bound) => {
    const worse = round({ [bound.figure]: beyond(bound) });
    expect(holds(bound, [worse, round({ [bound.figure]: bound.value }), worse])).toBe(true);
    expect(bestFor(bound, [worse, round({}), worse])).toBe(bestFor(bound, [round({})]));
    expect(holds(bound, [worse, worse])).toBe(false);
  });
});

test('a figure that was not measured holds nothing', () => {
  const [toFloor] = bounds.server as [Bound];
  const statements = bounds.server.find(({ figure }) => figure === 'statementsPerThousand') as Bound;
  const uncounted = { ...round({}), settle: { ...round({}).settle, served: null } };
  expect(() => holds(statements, [round({}), uncounted])).toThrow('"statementsPerThousand" was not measured: 0.1, NaN');
  expect(() => holds(toFloor, [])).toThrow('was not measured');
  expect(() => holds(toFloor, [round({ toFloor: NaN })])).toThrow('was not measured');
  expect(() => holds({ ...toFloor, is: 'at most' }, [round({ toFloor: 0 })])).toThrow('was not measured');
});

test('every change must pass the check: .ci/run starts it, and counts its tests', () => {
  const ci = readFileSync('.ci/run', 'utf8');
  expect(ci).toMatch(/^npm run test:speed -- --json --outputFile="\$results\/speed\.json" .*\|\| failed=1$/m);
  expect(ci).toContain(`['all.json', 'east.json', 'speed.json']`);
});
