import type { ContestFigures } from './history.js';

/** The size at which the bounds hold; a larger day would tell more, and take longer than a change may wait. */
export const checkedSize = ['--orders', '60000', '--accounts', '6000', '--sample', '1500'];

/** A machine that does something else meanwhile slows a lap: the best of so many rounds counts. */
export const roundsMax = 3;

type Figure = 'toFloor' | 'toOneByOne' | 'statementsPerThousand' | 'commitsPerThousand' | 'peakMegabytes';

export interface Bound {
  figure: Figure;
  is: 'at least' | 'at most';
  value: number;
}

/**
 * About half of the worst that two cores gave on 2026-12-01 with eight other programs at work: to the floor 0.58 on
 * MariaDB 10.11 and 0.49 on SQLite, to one order a transaction 18 and 23, 7.7 statements and 1.0 COMMITs for 1,000
 * orders. A quiet machine does better in all of them. Memory was 137 and 149 MB; the machine matters less to it, so that
 * its bound is nearer. One statement for each net would be 50 or more, one for each order 1,000.
 */
export const bounds: Record<'server' | 'sqlite', readonly Bound[]> = {
  server: [
    { figure: 'toFloor', is: 'at least', value: 0.3 },
    { figure: 'toOneByOne', is: 'at least', value: 8 },
    { figure: 'statementsPerThousand', is: 'at most', value: 15 },
    { figure: 'commitsPerThousand', is: 'at most', value: 2 },
    { figure: 'peakMegabytes', is: 'at most', value: 200 },
  ],
  sqlite: [
    { figure: 'toFloor', is: 'at least', value: 0.25 },
    { figure: 'toOneByOne', is: 'at least', value: 8 },
    { figure: 'peakMegabytes', is: 'at most', value: 200 },
  ],
};

/** The best that the rounds gave for a bound. Throws when one of them did not measure it: that is not a figure that holds. */
export function bestFor({ figure, is }: Bound, rounds: readonly ContestFigures[]): number {
  const values = rounds.map((round) => figureOf(round, figure));
  if (values.length === 0 || !values.every((value) => Number.isFinite(value) && value > 0)) {
    throw new Error(`"${figure}" was not measured: ${values.join(', ')}`);
  }
  return is === 'at least' ? Math.max(...values) : Math.min(...values);
}

export function holds(bound: Bound, rounds: readonly ContestFigures[]): boolean {
  const best = bestFor(bound, rounds);
  return bound.is === 'at least' ? best >= bound.value : best <= bound.value;
}

function figureOf({ ratios, settle }: ContestFigures, figure: Figure): number {
  switch (figure) {
    case 'toFloor':
      return ratios.settleToFloor;
    case 'toOneByOne':
      return ratios.settleToOneByOne;
    case 'statementsPerThousand':
      return settle.served?.statementsPerThousand ?? NaN;
    case 'commitsPerThousand':
      return settle.served?.commitsPerThousand ?? NaN;
    case 'peakMegabytes':
      return settle.peakBytes / 1e6;
  }
}
