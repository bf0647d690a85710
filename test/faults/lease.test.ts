import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { repeatable } from '../../src/db/transaction.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { day, everyRow, givenVariedDay, moneyDump, runDay } from '../support/day.js';
import { clock, strikeEverywhere } from '../support/faults.js';
import { soundAfter } from '../support/oracle.js';
import { settleInside } from '../support/inside.js';
import { settle, type Ended } from '../support/program.js';

// The lease, between real processes: one is stopped as a machine that swaps or a container that is paused would be, another
// takes over and ends the day, the first wakes up in the middle of what it was doing.

const slowly = ['--batch-day', day, '--page-size', '40', '--chunk-size', '4', '--lanes', '2'];
const shortLease = { SETTLE_BATCH_LEASE_DURATION: '3s' };
/** Long enough for such a lease to be over. */
const pastLease = 4_500;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.each(databaseKinds)('the lease between processes [%s]', (kind) => {
  let current: TestDatabase;
  let undisturbed: string[];
  beforeAll(async () => {
    const other = await createTestDatabase(kind);
    await givenVariedDay(other.database, 200);
    await runDay(other.database);
    undisturbed = await moneyDump(other.database);
    await other.drop();
  });
  beforeEach(async () => {
    current = await createTestDatabase(kind);
    await givenVariedDay(current.database, 200);
  });
  afterEach(async () => {
    await current.drop();
  });
  const column = async (sql: string): Promise<string[]> =>
    (await current.database.read((session) => session.tuples(sql))).map((row) => row.map(String).join(' '));
  const holder = (): Promise<string[]> => column('select owner from lease where owner is not null');

  // Milliseconds after the stage has begun: between two transactions, or (as likely) in the middle of one.
  const moments = (strikeEverywhere ? ['SETTLING', 'POSTING', 'RECONCILING'] : ['SETTLING']).flatMap((stage) =>
    (strikeEverywhere ? [0, 15, 60] : [20]).map((ms) => ({ stage, ms })),
  );

  test.each(moments)(
    'a holder stopped $ms ms into $stage, past its lease, writes nothing after it wakes up',
    async ({ stage, ms }) => {
      const first = settle(['run', ...slowly], { url: current.url, env: shortLease });
      let stopped = false;
      first.onStderr((text) => {
        if (stopped || !text.includes(`${stage} begins`)) return;
        stopped = true;
        setTimeout(() => {
          first.kill('SIGSTOP');
        }, ms);
      });
      const ended: { first?: Ended } = {};
      void first.then((result) => (ended.first = result));
      while (!stopped && ended.first === undefined) await pause(10);
      await pause(ms + pastLease);
      if (ended.first !== undefined) {
        // It was through before the signal came: then it ended as any run does.
        expect(ended.first.code).toBe(3);
        return;
      }
      const second = await settle(['run', ...slowly], { url: current.url });
      if (second.code === 75) {
        // Stopped inside a transaction, it holds the file's write lock: nobody can take over, and the second says so.
        expect({ kind, stderr: second.stderr }).toMatchObject({
          kind: 'sqlite',
          stderr: expect.stringMatching(
            /DATABASE_CONTENTION: .*\(process [0-9]+\) holds the lease[^]*next: .*kill/,
          ) as unknown,
        });
        first.kill('SIGCONT');
        expect((await first).code).toBe(3);
      } else if (second.stdout.includes('already closed')) {
        // The first had recorded its end when it was stopped: nothing was taken over, and it ends as it says.
        first.kill('SIGCONT');
        expect((await first).code).toBe(3);
        expect(await column('select state from run')).toEqual(['PARTIAL']);
      } else {
        expect({ code: second.code, stderr: second.stderr }).toMatchObject({ code: 3 });
        const after = await everyRow(current.database);
        first.kill('SIGCONT');
        const woken = await first;
        expect([11, 75]).toContain(woken.code);
        expect(await everyRow(current.database)).toBe(after);
        expect(await column('select state from run order by id')).toEqual(['ABANDONED', 'PARTIAL']);
      }
      await soundAfter(current.database, undisturbed);
    },
    240_000,
  );

  test('of two instances that start in the same moment one runs; the other exits 11 and has touched nothing', async () => {
    const rounds = strikeEverywhere ? 10 : 1;
    for (let round = 0; round < rounds; round += 1) {
      const place = await createTestDatabase(kind);
      try {
        await givenVariedDay(place.database, 200);
        const ends = await Promise.all([0, 1].map(() => settle(['run', ...slowly], { url: place.url })));
        const codes = ends
          .map(({ code, stdout }) => (stdout.includes('already closed') ? 'closed' : String(code)))
          .sort();
        // A loaded machine may start the second after the first is done: then it comes to a closed day.
        expect([
          ['11', '3'],
          ['3', 'closed'],
        ]).toContainEqual(codes);
        const traces = await place.database.read((session) =>
          session.tuples('select (select count(*) from run), (select max(fencing_no) from lease)'),
        );
        // The loser left no row and raised no number. One that had come to a closed day may have held the lease for a look.
        expect([['1', '1'], ...(codes[1] === 'closed' ? [['1', '2']] : [])]).toContainEqual(traces[0]?.map(String));
        await soundAfter(place.database, undisturbed);
      } finally {
        await place.drop();
      }
    }
  });

  test('the database decides when a lease is over: clocks of clients that are an hour off change nothing', async () => {
    const heldFor = (ms: number): Promise<unknown> =>
      current.database.transact(
        repeatable('hold', async (trx) => {
          const now =
            trx.dialect === 'sqlite'
              ? `cast(round((julianday('now') - 2440587.5) * 86400000) as integer)`
              : 'cast(unix_timestamp(now(3)) * 1000 as signed)';
          await trx.change('delete from lease');
          // A holder on another machine: nothing but silence will tell that it is gone.
          return trx.change(
            `insert into lease (job, fencing_no, owner, acquired_ms, heartbeat_ms, expires_ms)
             values ('batch', 7, '{"host":"elsewhere","pid":4711,"realm":"other","token":"t","startedAt":"2026-11-30T00:00:00.000Z","command":"settle run"}',
                     ${now}, ${now}, ${now} + ?)`,
            [ms],
          );
        }),
      );
    const shifted = (hours: number): Record<string, string> => ({
      ...clock,
      SHIFT_MS: String(hours * 3_600_000),
    });
    await heldFor(600_000);
    const before = await everyRow(current.database);
    for (const hours of [-1, 1]) {
      const refused = await settle(['run', ...slowly], { url: current.url, env: shifted(hours) });
      expect(refused).toMatchObject({
        code: 11,
        stderr: expect.stringContaining('elsewhere (process 4711)') as unknown,
      });
    }
    expect(await everyRow(current.database)).toBe(before);
    await heldFor(-1);
    const taken = await settle(['run', ...slowly], { url: current.url, env: shifted(-1) });
    expect(taken.code).toBe(3);
    expect(await column('select fencing_no from run')).toEqual(['8']);
    await soundAfter(current.database, undisturbed);
  });

  test('a holder that was killed on this machine is taken over at once, without waiting for its lease', async () => {
    const first = settle(['run', ...slowly], { url: current.url });
    first.onStderr((text) => {
      if (text.includes('SETTLING begins')) first.kill('SIGKILL');
    });
    expect((await first).signal).toBe('SIGKILL');
    expect(await holder()).toHaveLength(1);
    expect((await settleInside(['run', ...slowly], { url: current.url })).code).toBe(3);
    await soundAfter(current.database, undisturbed);
  });
});
