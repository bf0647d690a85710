import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/databases.js';
import { day, givenVariedDay, moneyDump, runDay } from '../support/day.js';
import { strikeEverywhere } from '../support/faults.js';
import { soundAfter } from '../support/oracle.js';
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
  }, 90_000);
  const ended = await running;
  clearTimeout(limit);
  return { ...ended, opened: openedAt > 0, silentMs: Date.now() - openedAt };
}

/** The silent connections are cut, as TCP will some day; the next start finishes the day. */
async function nextStartFinishes(): Promise<void> {
  await proxy.heal();
  const ended = await settle(['run', ...tuning], { url: place.url });
  expect(ended).toMatchObject({ code: 3 });
  await soundAfter(place.database, undisturbed);
}

const during: [string, RegExp][] = [
  ['a claim', /^update settlement_order set state = 'PROCESSING'/],
  ['a COMMIT', /^commit$/],
  ['the heartbeat', /^update lease set heartbeat_ms/],
  ['a posting', /^insert into journal_entry/],
  ['a proof', /^start transaction with consistent snapshot/],
  ['the end of the run', /^update run set state/],
];

describe('a server that falls silent', () => {
  test.each(strikeEverywhere ? during : during.slice(0, 1))(
    'during %s: the run gives up when its lease is over, whatever the statement limit, and the next start finishes',
    async (_what, statement) => {
      const ended = await runInto(statement, { SETTLE_BATCH_LEASE_DURATION: '5s' });
      expect(ended).toMatchObject({ code: 75, opened: true });
      // The statement limit is five minutes here; the lease ends after five seconds.
      expect(ended.silentMs).toBeLessThan(60_000);
      await nextStartFinishes();
    },
    120_000,
  );

  test('before the run has begun: the statement limit ends it, once and not once a retry', async () => {
    const ended = await runInto(/^update lease set fencing_no/, { SETTLE_DATABASE_STATEMENT_TIMEOUT: '2s' });
    expect(ended).toMatchObject({ code: 75, opened: true });
    expect(ended.stderr).toContain('DATABASE_UNREACHABLE');
    expect(ended.silentMs).toBeLessThan(120_000);
    await nextStartFinishes();
  }, 180_000);
});
