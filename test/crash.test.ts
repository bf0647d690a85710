import { describe, expect, test } from '@jest/globals';
import { givenCrashDay } from './crash/days.js';
import { chunkFaults, contradictions } from './crash/oracle.js';
import type { ScenarioName } from './crash/scenarios.js';
import { walk } from './crash/walk.js';
import { createTestDatabase, databaseKinds, onEachDatabase, serverUrl } from './support/databases.js';
import { day, runDay } from './support/day.js';
import { plant } from './support/plants.js';

// A sample of `npm run test:crash`, which walks all of them: prime steps, so that begin, write and commit take turns.
const samples: [ScenarioName, number][] = [
  ['run', 197],
  ['parked', 293],
  ['import', 43],
  ['migrate', 53],
];

describe.each(databaseKinds)('killed at a statement and started again [%s]', (engine) => {
  test.each(samples)(
    'settle comes to the same end as undisturbed: %s, every %ith boundary',
    async (scenario, every) => {
      const { walked, boundaries, statements, violations } = await walk({
        ...{ engine, scenario, every, offset: 5, serverUrl: serverUrl(), ownServer: false, afterWrites: false },
        ...{ workers: 2, doubles: scenario === 'run' ? 1 : 0, seed: 1, only: null, onProgress: () => undefined },
      });
      expect(violations).toEqual([]);
      expect(walked).toBe(Math.ceil((boundaries - 5) / every));
      expect(boundaries).toBeGreaterThan(statements);
      expect(walked).toBeGreaterThan(0);
    },
    600_000,
  );
});

onEachDatabase('the check of chunks', (current) => {
  test.each([
    ['a message', `delete from outbox where biz_no = (select min(biz_no) from net)`],
    [
      'an order that is INIT again',
      `update settlement_order set state = 'INIT', run_id = null, chunk_no = null, finished_at = null where order_no = 'A1'`,
    ],
    ['a net', `update net set orders = orders + 1 where account_no = 'ELEPHANT'`],
    ['a journal entry', `delete from journal_entry where batch_day = '${day}'`],
  ])('finds a chunk that is whole but for %s', async (_, damage) => {
    const { database, drop } = await createTestDatabase(
      current().database.target.dialect === 'sqlite' ? 'sqlite' : 'server',
    );
    try {
      await givenCrashDay(database);
      await runDay(database);
      expect([...(await chunkFaults(database)), ...(await contradictions(database, 'OK'))]).toEqual([]);
      await plant(database, damage);
      expect(await chunkFaults(database)).not.toEqual([]);
    } finally {
      await drop();
    }
  });
});
