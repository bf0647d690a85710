import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Database } from '../../src/db/database.js';
import { parseDatabaseUrl } from '../../src/db/url.js';
import { emptyBooks } from '../support/books.js';
import { createTestDatabase, type TestDatabase } from '../support/databases.js';
import { givenVariedDay, moneyDump, runDay } from '../support/day.js';
import { everyPlace } from '../support/faults.js';
import { soundAfter } from '../support/oracle.js';
import { startProxy, type Fault, type Proxy } from '../support/proxy.js';

// A whole run through a network that fails once, at every packet the program sends: logins, reads, BEGIN, each write,
// the fence, COMMIT, the release of the lease. `npm run test:faults` walks all of them, `npm test` every nth.

const settings = {
  lanes: 1,
  elephantLanes: 1,
  pageSize: 40,
  pagesAhead: 1,
  chunkSize: 30,
  messagesMax: 4_000,
  leaseMs: 30_000,
  shardMs: 900_000,
  lookBackDays: 31,
  messageAttempts: 2,
};

let place: TestDatabase;
let proxy: Proxy;
let undisturbed: string[];
let packets: number;

beforeAll(async () => {
  place = await createTestDatabase('server');
  proxy = await startProxy(place.url);
  packets = (await runThrough(null)).packets;
  undisturbed = await moneyDump(place.database);
});
afterAll(async () => {
  await proxy.close();
  await place.drop();
});

/** One run of a fresh day, by way of the proxy, which strikes at its nth packet. */
async function runThrough(strike: { nth: number; fault: Fault } | null) {
  await emptyBooks(place.database);
  await givenVariedDay(place.database, 45);
  const [before, struckBefore] = [proxy.sent().length, proxy.struck()];
  if (strike !== null) proxy.at(strike.nth, strike.fault);
  const far = await Database.open(parseDatabaseUrl(proxy.url), { connections: 5, statementMsMax: 1_500 });
  try {
    const document = await runDay(far, { settings });
    return {
      outcome: `${document.outcome} ${String(document.exitCode)} ${String(document.closed)}`,
      packets: proxy.sent().length - before,
      struckAt: proxy.struckAt().slice(struckBefore),
    };
  } finally {
    await far.close();
  }
}

describe.each<{ fault: Fault; sampled: number }>([
  { fault: 'drop', sampled: 9 },
  { fault: 'halfRequest', sampled: 3 },
  { fault: 'dropAnswer', sampled: 9 },
  { fault: 'halfAnswer', sampled: 3 },
  { fault: 'holdAnswer', sampled: 2 },
  { fault: 'deliverLate', sampled: 2 },
])('a run whose network fails once by "$fault"', ({ fault, sampled }) => {
  test('at any packet: it ends as if nothing had been, and the books are those of an undisturbed run', async () => {
    const struck: string[] = [];
    const places = everyPlace(packets, sampled);
    for (const nth of places) {
      const { outcome, struckAt } = await runThrough({ nth, fault });
      expect({ nth, struckAt, outcome }).toEqual({ nth, struckAt, outcome: 'PARTIAL 3 true' });
      await soundAfter(place.database, undisturbed).catch((error: unknown) => {
        throw new Error(`${fault} at packet ${String(nth)}, ${struckAt.join()}`, { cause: error });
      });
      struck.push(...struckAt);
    }
    // Which lane goes first may shift the last packets by a heartbeat or two.
    expect(struck.length).toBeGreaterThanOrEqual(places.length - 3);
    expect(packets).toBeGreaterThan(80);
    process.stdout.write(
      `${fault}: ${String(struck.length)} of ${String(packets)} packets, ${String(new Set(struck).size)} kinds\n`,
    );
  }, 1_800_000);
});
