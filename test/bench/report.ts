import type { ContestOptions, EngineResult } from './contest.js';
import { contestFigures, scaleFigures } from './figures.js';
import type { ContestLine, Made, ScaleLine } from './history.js';
import { printedContest, printedScale } from './print.js';
import type { ScaleOptions, ScaleResult } from './scale.js';

/** What was measured, as it is shown and as it is saved. */
export interface Report {
  document: object;
  text: string;
  saved: Omit<ContestLine, keyof Made> | Omit<ScaleLine, keyof Made>;
  /** Why the figures count for nothing; empty when they count. */
  differences: readonly string[];
}

export function contestReport(options: ContestOptions, engines: readonly EngineResult[]): Report {
  const { day, lanes, sample, rangeOrders, repeat } = options;
  const head = { measure: 'contest' as const, sizes: { ...day, lanes: lanes ?? null, sample, rangeOrders, repeat } };
  const same = 'Same books: nets, ledger balances and settled orders of (a) and (c) are equal.';
  return {
    document: { ...head, engines },
    text: engines.map((engine) => `${printedContest(engine)}\n${verdict(engine.differences, same)}\n`).join('\n'),
    saved: { ...head, engines: engines.map(contestFigures) },
    differences: engines.flatMap(({ differences }) => differences),
  };
}

export function scaleReport({ sizes, day, lanes }: ScaleOptions, engines: readonly ScaleResult[]): Report {
  const head = { measure: 'scale' as const, sizes: { orders: [...sizes], ...day, lanes: lanes ?? null } };
  const same = 'Whole books: each day is settled, netted and posted to its last order.';
  return {
    document: { ...head, engines },
    text: engines.map((engine) => `${printedScale(engine)}\n${verdict(engine.differences, same)}\n`).join('\n'),
    saved: { ...head, engines: engines.map(scaleFigures) },
    differences: engines.flatMap(({ differences }) => differences),
  };
}

function verdict(differences: readonly string[], same: string): string {
  if (differences.length === 0) return same;
  const shown = 10;
  const more = differences.length > shown ? [`… and ${String(differences.length - shown)} more`] : [];
  return ['THE BOOKS DIFFER; the figures count for nothing:', ...differences.slice(0, shown), ...more].join('\n');
}
