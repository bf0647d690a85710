import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Stage } from '../../src/batch/run.js';
import { Cancellation, cancellationCodes, type CancellationCode } from '../../src/kernel/cancellation.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { day, givenOrders, moneyDump, quiet, runDay, smallSettings } from '../support/day.js';

const orders = Array.from({ length: 40 }, (_, at) => ({
  orderNo: `O${String(at)}`,
  accountNo: `A${String(at % 5)}`,
  minor: at + 1,
}));
const settings = { ...smallSettings, lanes: 2, pageSize: 10, chunkSize: 4 };

/** What lies between the origin of a reason and the boundary may wrap it; nothing on the way looks inside. */
const wrappings: [string, (reason: Cancellation) => unknown][] = [
  ['as it is', (reason) => reason],
  ['as the cause of a library error', (reason) => new Error('aborted', { cause: reason })],
  ['among several errors', (reason) => new AggregateError([new Error('another'), new Error('x', { cause: reason })])],
];

// A bug is thrown and not only recorded; a shard's own reason never ends a run.
const codes = (Object.keys(cancellationCodes) as CancellationCode[]).filter(
  (code) => code !== 'INTERNAL_ERROR' && code !== 'SHARD_TIMEOUT',
);

describe.each(databaseKinds)('the reason of a stop [%s]', (kind) => {
  let current: TestDatabase;
  beforeEach(async () => {
    current = await createTestDatabase(kind);
    await givenOrders(current.database, orders);
  });
  afterEach(async () => {
    await current.drop();
  });

  /** A run that is told to stop with `reason` when it enters a stage, or when it has claimed a first chunk. */
  function stopped(at: Stage | 'first chunk', reason: unknown) {
    const controller = new AbortController();
    const progress = {
      ...quiet,
      stage: (name: string) => {
        if (name === at) controller.abort(reason);
      },
      advance: (what: string) => {
        if (at === 'first chunk' && what === 'claimed') controller.abort(reason);
      },
    };
    return runDay(current.database, { settings, progress, signal: controller.signal });
  }

  async function expectFinishedByTheNextRun(): Promise<void> {
    const other = await createTestDatabase(kind);
    try {
      await givenOrders(other.database, orders);
      await runDay(other.database, { settings });
      expect(await runDay(current.database, { settings })).toMatchObject({ outcome: 'OK', closed: true });
      expect(await moneyDump(current.database)).toEqual(await moneyDump(other.database));
    } finally {
      await other.drop();
    }
  }

  test.each(codes)('%s arrives on the run, in its document and in its exit code as it was given', async (code) => {
    for (const at of ['SETTLING', 'first chunk', 'POSTING'] as const) {
      const detail = `why ${code} was given at ${at}`;
      const document = await stopped(at, new Cancellation(code, detail));
      const { exitCode, retry } = cancellationCodes[code];
      expect(document).toMatchObject({
        outcome: 'INTERRUPTED',
        exitCode,
        closed: false,
        cancellation: { code, detail, mayRetry: retry },
      });
      const [row] = await current.database.read((session) =>
        session.tuples(
          'select state, exit_code, cancel_code, cancel_detail, cancel_stage from run order by id desc limit 1',
        ),
      );
      expect(row?.map(String)).toEqual(['INTERRUPTED', String(exitCode), code, detail, document.cancellation?.stage]);
    }
    await expectFinishedByTheNextRun();
  });

  test.each(wrappings)('is found %s', async (_how, wrap) => {
    const document = await stopped('first chunk', wrap(new Cancellation('DEADLINE', 'three hours are over')));
    expect(document).toMatchObject({
      exitCode: 12,
      cancellation: { code: 'DEADLINE', detail: 'three hours are over', stage: 'SETTLING' },
    });
  });

  test('given before the balances of the day are made is heard, and the next run makes them', async () => {
    const document = await stopped('RECONCILING', new Cancellation('SIGTERM', 'in time'));
    expect(document).toMatchObject({
      outcome: 'INTERRUPTED',
      closed: false,
      cancellation: { code: 'SIGTERM', detail: 'in time', stage: 'RECONCILING' },
    });
    await expectFinishedByTheNextRun();
  });

  test('given while the day is being proven comes too late: the day is closed, and the run says so', async () => {
    const controller = new AbortController();
    let reconciling = false;
    const progress = { ...quiet, stage: (name: string) => (reconciling = name === 'RECONCILING') };
    const { database } = current;
    const snapshot = database.snapshot.bind(database);
    const proof = jest.spyOn(database, 'snapshot').mockImplementation((work) => {
      if (reconciling) controller.abort(new Cancellation('SIGTERM', 'late')); // the proof is what takes a snapshot then
      return snapshot(work);
    });
    try {
      const document = await runDay(database, { settings, progress, signal: controller.signal });
      expect(controller.signal.aborted).toBe(true);
      expect(document).toMatchObject({ outcome: 'OK', exitCode: 0, closed: true, cancellation: null });
      expect(document.batchDay).toBe(day);
    } finally {
      proof.mockRestore();
    }
  });
});
