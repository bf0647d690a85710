import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { acquireLease } from '../../src/batch/lease.js';
import { repeatable } from '../../src/db/transaction.js';
import { createTestDatabase, kindsForProcesses, type TestDatabase } from '../support/databases.js';
import { day, everyRow, givenVariedDay, moneyDump, runDay } from '../support/day.js';
import { settleInside } from '../support/inside.js';
import { settle } from '../support/program.js';

/** Small pages and chunks, so that a run of a few hundred orders has many places to be killed at. */
const slowly = ['--batch-day', day, '--page-size', '40', '--chunk-size', '4', '--lanes', '2'];

describe.each(kindsForProcesses('server'))('after an interruption [%s]', (kind) => {
  let current: TestDatabase;
  let undisturbed: string[];
  beforeEach(async () => {
    const other = await createTestDatabase(kind);
    await givenVariedDay(other.database, 400);
    await runDay(other.database);
    undisturbed = await moneyDump(other.database);
    await other.drop();
    current = await createTestDatabase(kind);
    await givenVariedDay(current.database, 400);
  });
  afterEach(async () => {
    await current.drop();
  });
  const column = async (sql: string): Promise<string[]> =>
    (await current.database.read((session) => session.tuples(sql))).map((row) => row.map(String).join(' '));

  test('kill -9 at any moment, started again until it is done: the same books as an undisturbed run', async () => {
    let kills = 0;
    for (let wait = 300; ; wait *= 1.15) {
      const run = settle(['run', ...slowly], { url: current.url });
      const timer = setTimeout(() => {
        run.kill('SIGKILL');
      }, wait);
      const { signal, code, stderr } = await run;
      clearTimeout(timer);
      if (signal === null) {
        expect({ code, stderr }).toMatchObject({ code: 3 });
        break;
      }
      kills += 1;
      // Whatever moment it was: no order is half-done.
      expect(
        await column(
          `select o.id from settlement_order o left join chunk c on c.run_id = o.run_id and c.chunk_no = o.chunk_no
            where (o.state = 'INIT') <> (c.run_id is null)`,
        ),
      ).toEqual([]);
    }
    expect(kills).toBeGreaterThan(3);
    expect(await moneyDump(current.database)).toEqual(undisturbed);
    expect(await column(`select count(*) from run where state = 'RUNNING'`)).toEqual(['0']);
    expect((await settleInside(['verify', '--batch-day', day], { url: current.url })).code).toBe(0);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'a first %s drains, stores its reason and exits with its code; resume goes on',
    async (signal) => {
      const run = settle(['run', ...slowly, '--json'], { url: current.url });
      run.onStderr((text) => {
        if (text.includes('SETTLING begins')) run.kill(signal);
      });
      const ended = await run;
      const exitCode = signal === 'SIGINT' ? 130 : 143;
      expect(ended.code).toBe(exitCode);
      expect(JSON.parse(ended.stdout)).toMatchObject({
        outcome: 'INTERRUPTED',
        exitCode,
        cancellation: { code: signal },
      });
      expect(await column('select state, cancel_code, exit_code from run')).toEqual([
        `INTERRUPTED ${signal} ${String(exitCode)}`,
      ]);
      expect(await column('select owner from lease')).toEqual(['null']);
      expect((await settleInside(['resume'], { url: current.url })).code).toBe(3);
      expect(await moneyDump(current.database)).toEqual(undisturbed);
    },
  );

  test('a second signal stops at once', async () => {
    const run = settle(['run', ...slowly], { url: current.url });
    run.onStderr((text) => {
      if (text.includes('SETTLING begins') || text.includes('a second one stops at once')) run.kill('SIGTERM');
    });
    expect((await run).code).toBe(143);
    expect((await settleInside(['run', '--batch-day', day], { url: current.url })).code).toBe(3);
    expect(await moneyDump(current.database)).toEqual(undisturbed);
  });

  test('--max-duration ends the run in good order with exit code 12', async () => {
    const ended = await settle(['run', ...slowly, '--max-duration', '1ms', '--json'], { url: current.url });
    expect(ended.code).toBe(12);
    expect(JSON.parse(ended.stdout)).toMatchObject({ cancellation: { code: 'DEADLINE' }, closed: false });
  });

  test('a --max-duration longer than a timer can hold is refused instead of ending the run at once', async () => {
    const ended = await settle(['run', ...slowly, '--max-duration', '600h'], { url: current.url });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('--max-duration "600h" is longer than 24 days (576h).');
  });

  test('a run that starts while another holds the lease names the holder, exits 11 and has touched nothing', async () => {
    const startedAt = '2026-11-30T01:00:00.000Z';
    await acquireLease(current.database, { durationMs: 600_000, command: 'settle run', startedAt });
    const before = await everyRow(current.database);
    const ended = await settle(['run', ...slowly], { url: current.url });
    expect(ended.code).toBe(11);
    expect(ended.stderr).toMatch(
      new RegExp(
        `BATCH_LOCKED: settle run on .* \\(process ${String(process.pid)}\\) holds the lease since ${startedAt}`,
      ),
    );
    expect(await everyRow(current.database)).toBe(before);
  });

  test('of runs started together one does the work; the others are locked out, or come to a closed day', async () => {
    const ended = await Promise.all([0, 1, 2].map(() => settle(['run', ...slowly], { url: current.url })));
    const worked = ended.filter(({ code, stdout }) => code !== 11 && !stdout.includes('already closed'));
    expect(worked.map(({ code }) => code)).toEqual([3]);
    expect(await column('select count(*) from run')).toEqual(['1']);
    expect(await moneyDump(current.database)).toEqual(undisturbed);
  });

  test('a run whose lease was taken over writes nothing more', async () => {
    const run = settle(['run', ...slowly], { url: current.url });
    let taken: Promise<string> | null = null;
    run.onStderr((text) => {
      if (!text.includes('SETTLING begins') || taken !== null) return;
      taken = current.database
        .transact(
          repeatable('take over', (trx) =>
            trx.change(
              `update lease set fencing_no = fencing_no + 1, owner = '{"host":"elsewhere","pid":1,"realm":"x"}', expires_ms = 1`,
            ),
          ),
        )
        .then(() => everyRow(current.database));
    });
    const { code, stderr } = await run;
    expect({ code, stderr }).toMatchObject({ code: 11, stderr: expect.stringContaining('LEASE_LOST') as unknown });
    expect(await everyRow(current.database)).toBe(await (taken as Promise<string> | null));
    expect((await settleInside(['run', '--batch-day', day], { url: current.url })).code).toBe(3);
    expect(await moneyDump(current.database)).toEqual(undisturbed);
    expect(await column(`select state from run order by id`)).toEqual(['ABANDONED', 'PARTIAL']);
  });
});
