import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { bestFor, bounds, checkedSize, holds, roundsMax } from './bounds.js';
import type { EngineResult } from './contest.js';
import { contestFigures } from './figures.js';
import type { ContestFigures } from './history.js';

// npm run test:speed: whether a change made Settle much slower, hungrier or chattier. Apart from the other tests, which
// run side by side and would be measured with it.

const rounds: { server: ContestFigures[]; sqlite: ContestFigures[] } = { server: [], sqlite: [] };
const kinds = ['server', 'sqlite'] as const;

beforeAll(() => {
  for (let round = 0; round < roundsMax; round += 1) {
    measureRound();
    if (kinds.every((kind) => bounds[kind].every((bound) => holds(bound, rounds[kind])))) return;
  }
}, 600_000);

/** Both engines, in private places; a server that is missing fails it, as do books that differ. */
function measureRound(): void {
  const args = ['dist/test/bench/main.js', ...checkedSize, '--json'];
  const ended = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1e8 });
  if (ended.status !== 0) throw new Error(`The benchmark ended with ${String(ended.status)}:\n${ended.stderr}`);
  const { engines } = JSON.parse(ended.stdout) as { engines: EngineResult[] };
  const [server, sqlite] = engines.map(contestFigures);
  if (server === undefined || server.engine === 'sqlite' || sqlite?.engine !== 'sqlite') {
    throw new Error(`Not measured on both engines, but on: ${engines.map(({ engine }) => engine).join(', ')}`);
  }
  rounds.server.push(server);
  rounds.sqlite.push(sqlite);
}

describe.each(kinds)('settle run on %s', (kind) => {
  test.each(bounds[kind])('$figure is $is $value', (bound) => {
    const best = bestFor(bound, rounds[kind]);
    process.stderr.write(`${kind}: ${bound.figure} ${best.toFixed(2)}, ${bound.is} ${String(bound.value)}\n`);
    if (bound.is === 'at least') expect(best).toBeGreaterThanOrEqual(bound.value);
    else expect(best).toBeLessThanOrEqual(bound.value);
  });
});
