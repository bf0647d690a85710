import { runHistory, type HistoryOptions, type Violation } from './history.js';
import type { Plan } from './plan.js';

export interface Shrunk {
  /** The fewest operations found that still fail alike; null when a replay did not fail at all. */
  only: number[] | null;
  violation: Violation | null;
  replays: number;
}

/** Tries to leave operations out, halves first and single ones last, for as long as the time allows. */
export async function shrink(plan: Plan, failed: Violation, options: HistoryOptions, msMax: number): Promise<Shrunk> {
  const end = Date.now() + msMax;
  const upTo = failed.index ?? plan.operations.length;
  let kept = plan.operations.map(({ index }) => index).filter((index) => index <= upTo);
  if (options.only !== undefined) kept = kept.filter((index) => options.only?.includes(index) === true);
  let replays = 0;
  let found: Violation | null = null;
  const fails = async (only: number[]): Promise<boolean> => {
    replays += 1;
    const { violation } = await runHistory(plan, { ...options, only });
    if (violation === null || kindOf(violation) !== kindOf(failed)) return false;
    found = violation;
    return true;
  };
  if (!(await fails(kept))) return { only: null, violation: null, replays };
  for (
    let size = Math.ceil(kept.length / 2);
    size >= 1 && Date.now() < end;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let start = 0; start < kept.length && Date.now() < end;) {
      const fewer = [...kept.slice(0, start), ...kept.slice(start + size)];
      if (fewer.length > 0 && (await fails(fewer))) kept = fewer;
      else start += size;
    }
  }
  return { only: kept, violation: found, replays };
}

/** Its first sentence without names and figures: what makes two failures alike. */
function kindOf({ problems }: Violation): string {
  return (problems[0] ?? '').replaceAll(/\S*[0-9]\S*/g, '').slice(0, 40);
}
