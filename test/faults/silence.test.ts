import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/databases.js';
import { day, givenVariedDay, moneyDump, runDay } from '../support/day.js';
import { strikeEverywhere } from '../support/faults.js';
import { soundAfter } from '../support/oracle.js';
import { settleInside } from '../support/inside.js';
import { settle } from '../support/program.js';
import { startProxy, type Proxy } from '../support/proxy.js';

// A server, or the network before it, that says nothing more and closes nothing. The real program with its real limits:
// it must end by itself, say why, and be over and done with: no process may linger on a socket that nobody will close.

const tuning = ['--batch-day', day, '--page-size', '40', '--chunk-size', '10', '--lanes', '2', '--json'];

let place: TestDatabase;
let proxy: Proxy;
let undisturbed: string[];

beforeAll(async () => {
  const other = await createTestDatabase('server');
  await givenVariedDay(other.database, 60);
  await runDay(other.database);
  undisturbed = await moneyDump(other.database);
  await other.drop();
});
beforeEach(async () => {
  place = await createTestDatabase('server');
  await givenVariedDay(place.database, 60);
  proxy = await startProxy(place.url);
});
afterEach(async () => {
  await proxy.close();
  await place.drop();
});

/** The program until it ends; the hole opens when the statement is about to pass. */
async function runInto(statement: RegExp, env: Record<string, string>) {
  let openedAt = 0;
  proxy.onStatement(statement, () => {
    if (openedAt === 0) openedAt = Date.now();
    proxy.blackHole();
  });
  const running = settle(['run', ...tuning], { url: proxy.url, env });
  const limit = setTimeout(() => {
    running.kill('SIGKILL');
  }, 180_000);
  const ended = await running;
  clearTimeout(limit);
  return { ...ended, opened: openedAt > 0, silentMs: Date.now() - openedAt };
}

/** The silent connections are cut, as TCP will some day; the next start finishes the day. */
async function nextStartFinishes(): Promise<void> {
  await proxy.heal();
  const ended = await settleInside(['run', ...tuning], { url: place.url });
  expect(ended).toMatchObject({ code: 3 });
  await soundAfter(place.database, undisturbed);
}

const lease = { SETTLE_BATCH_LEASE_DURATION: '5s' };
const places: { place: string; statement: RegExp; env: Record<string, string> }[] = [
  { place: 'a claim', statement: /^update settlement_order set state = 'PROCESSING'/, env: lease },
  { place: 'a message', statement: /^insert into outbox/, env: lease },
  { place: 'the heartbeat', statement: /^update lease set heartbeat_ms/, env: lease },
  { place: 'a posting', statement: /^insert into journal_entry/, env: lease },
  { place: 'the step to the proof', statement: /^update batch set[^]*RECONCILING/, env: lease },
  { place: 'the end of the run', statement: /^update run set state = '(OK|PARTIAL)'/, env: lease },
  // No heartbeat yet: here the limits of statements and retries must do.
  {
    place: 'the taking of the lease',
    statement: /^update lease set fencing_no/,
    env: { SETTLE_DATABASE_STATEMENT_TIMEOUT: '2s' },
  },
  { place: 'its COMMIT', statement: /^commit$/, env: { SETTLE_DATABASE_STATEMENT_TIMEOUT: '2s' } },
];

test.each(strikeEverywhere ? places : places.slice(0, 1))(
  'a server that falls silent at $place: the run gives up, and the next start finishes',
  async ({ statement, env }) => {
    const ended = await runInto(statement, env);
    expect(ended).toMatchObject({ code: 75, opened: true });
    // The statement limit is five minutes; the lease ends after five seconds, and a new connection is waited for as long.
    expect(ended.silentMs).toBeLessThan(90_000);
    await nextStartFinishes();
  },
  240_000,
);
