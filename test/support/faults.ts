import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Whether every place is to be struck (`npm run test:faults`), or a few of each kind (`npm test`). */
export const strikeEverywhere = process.env['SETTLE_TEST_FAULTS'] === 'every';

/** The numbers 1 to `places`, or `sampled` of them spread evenly; never none. */
export function everyPlace(places: number, sampled: number): number[] {
  const all = Array.from({ length: places }, (_, at) => at + 1);
  if (strikeEverywhere || sampled >= places) return all;
  const step = places / sampled;
  return Array.from({ length: sampled }, (_, at) => Math.floor(step * at + step / 2) + 1);
}

/** Environment of a process whose clock is to be moved; see `shiftedClock.mjs` for the other variables. */
export const clock = {
  NODE_OPTIONS: `--import=${pathToFileURL(join(process.cwd(), 'test', 'support', 'shiftedClock.mjs')).href}`,
};
