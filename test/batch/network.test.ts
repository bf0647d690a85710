import { expect, test } from '@jest/globals';
import { Database } from '../../src/db/database.js';
import { parseDatabaseUrl } from '../../src/db/url.js';
import { createTestDatabase } from '../support/databases.js';
import { givenVariedDay, moneyDump, runDay, smallSettings } from '../support/day.js';
import { startProxy } from '../support/proxy.js';

const settings = { ...smallSettings, lanes: 2, elephantLanes: 1, pageSize: 200, chunkSize: 30 };

/** A run through a proxy that strikes once, at the nth COMMIT. Returns what it left behind. */
async function runWithFault(nth: number, fault: 'drop' | 'dropAnswer' | 'deliverLate' | null) {
  const { url, database, drop } = await createTestDatabase('server');
  const proxy = await startProxy(url);
  const far = await Database.open(parseDatabaseUrl(proxy.url), { connections: 8, statementMsMax: 5_000 });
  try {
    await givenVariedDay(database, 60);
    let commits = 0;
    proxy.onStatement(/^commit$/, () => {
      commits += 1;
      if (commits === nth && fault !== null) proxy.next(/^commit$/, fault);
    });
    const document = await runDay(far, { settings });
    const runs = await database.read((session) => session.tuples('select state, exit_code from run'));
    return {
      commits,
      struck: proxy.struck(),
      outcome: `${document.outcome} ${String(document.exitCode)} ${String(document.closed)}`,
      runs: runs.map((row) => row.map(String).join(' ')),
      money: await moneyDump(database),
    };
  } finally {
    await far.close();
    await proxy.close();
    await drop();
  }
}

/** The usual suite takes every other COMMIT, each fault beginning at another. */
const step = process.env['SETTLE_TEST_FAULTS'] === 'every' ? 1 : 2;

test.each([
  ['drop', 1],
  ['dropAnswer', 2],
  ['deliverLate', 1],
] as const)(
  'a COMMIT of a run, lost once by "%s": nothing twice, nothing missing, one run, the same document',
  async (fault, first) => {
    const undisturbed = await runWithFault(0, null);
    let boundaries = 0;
    for (let nth = Math.min(first, step); nth <= undisturbed.commits; nth += step) {
      const { struck, outcome, runs, money } = await runWithFault(nth, fault);
      expect({ nth, outcome, runs, money }).toEqual({
        nth,
        outcome: undisturbed.outcome,
        runs: undisturbed.runs,
        money: undisturbed.money,
      });
      boundaries += struck;
    }
    // Which lane commits when may change their number by a heartbeat, not by more.
    expect(boundaries).toBeGreaterThanOrEqual(Math.floor(undisturbed.commits / step) - 2);
    expect(undisturbed.commits).toBeGreaterThan(15);
  },
  240_000,
);
