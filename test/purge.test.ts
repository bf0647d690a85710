import { beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { supersededRuns, type RunTrace } from '../src/batch/purgeRuns.js';
import { purge } from '../src/commands/purge.js';
import { missingTriggers } from '../src/db/appendOnly.js';
import type { Database } from '../src/db/database.js';
import { repeatable } from '../src/db/transaction.js';
import { verifyBooks } from '../src/reconciliation/verify.js';
import { commandContext, type TestContext } from './support/commandContext.js';
import { day, everyRow, givenAccounts, givenOrders, runDay, variedDay } from './support/day.js';
import { onEachDatabase } from './support/databases.js';
import { countOf, relayOnce, ScriptedSink } from './support/outside.js';

const by = { by: 'alice', reason: 'a quarter is kept' };
const longAgo = '2026-01-01 00:00:00.000';

async function change(database: Database, ...statements: string[]): Promise<void> {
  for (const sql of statements) await database.transact(repeatable('given', (trx) => trx.change(sql)));
}

async function contradictions(database: Database): Promise<unknown[]> {
  return (await verifyBooks(database)).flatMap((check) => check.contradictions);
}

/** A run of the day that was cut off before it settled anything. */
function cutOffRun(batchDay: string, more: Partial<Record<'kind' | 'reason' | 'cancel_code', string>> = {}): string {
  const { kind = 'RUN', reason = null, cancel_code = 'DATABASE_LOST' } = more;
  return `insert into run (batch_day, kind, state, fencing_no, owner, reason, from_id, reached_id, top_id, stage, started_at,
      heartbeat_at, finished_at, cancel_code, exit_code)
    values ('${batchDay}', '${kind}', 'INTERRUPTED', 0, 'x', ${reason === null ? 'null' : `'${reason}'`}, 0, 0, 0,
      'PREPARE', '${longAgo}', '${longAgo}', '${longAgo}', '${cancel_code}', 75)`;
}

onEachDatabase('settle purge', (current) => {
  const open = (options: { json?: boolean; yes?: boolean; answers?: string[] } = {}): TestContext =>
    commandContext({ SETTLE_DATABASE_URL: current().url }, options);
  const left = (sql: string): Promise<number> => countOf(current().database, sql);

  /** A day that closed a year ago with everything sent, one with an account set aside, and one that closed just now. */
  beforeAll(async () => {
    const { database } = current();
    const days = ['2025-11-01', '2025-11-02', day];
    await givenAccounts(database, { FROZEN: 'FROZEN' });
    for (const [at, batchDay] of days.entries()) {
      const orders = variedDay(12).filter(({ accountNo }) => at === 1 || !/FROZEN|CLOSED/.test(accountNo));
      await givenOrders(
        database,
        orders.map((order) => ({ ...order, orderNo: `${batchDay}-${order.orderNo}`, batchDay })),
      );
      await change(database, cutOffRun(batchDay), cutOffRun(batchDay, { kind: 'RERUN', reason: 'asked by audit' }));
      await runDay(database, { target: batchDay });
    }
    await relayOnce(database, [new ScriptedSink('old'), new ScriptedSink('slow')]);
    const moment = (text: string): string => (database.engine === 'sqlite' ? text.replace(' ', 'T').concat('Z') : text);
    await change(
      database,
      `update batch set closed_at = '${moment(longAgo)}' where batch_day < '${day}'`,
      `update delivery set sent_ms = 1 where sink = 'old'`,
      `update delivery set state = 'NEW', sent_ms = null where sink = 'slow' and outbox_id = 1`,
      ...days.map(
        (batchDay) =>
          `insert into cancelled_shard (run_id, shard_no, batch_day, stage, lane, accounts, first_account_no, orders,
             cancel_code, cancel_detail, noticed_at)
           values (${String(days.indexOf(batchDay) + 1)}, 1, '${batchDay}', 'SETTLE', 'lane-1', 1, 'A1', 1, 'SHARD_TIMEOUT', 'slow', '${longAgo}')`,
      ),
    );
  });

  test('counts what it would delete, and with --dry-run touches nothing', async () => {
    const before = await everyRow(current().database);
    const { context, document } = open({ json: true });
    expect(await purge(context, { olderThan: 30, dryRun: true })).toBe(0);
    expect(document()).toMatchObject({
      schema: 'settle.purge',
      olderThanDays: 30,
      dryRun: true,
      found: {
        deliveries: await left(`select count(*) from delivery where sink = 'old'`),
        runs: 1,
        cancelledShards: 1,
      },
      deleted: null,
    });
    expect(await everyRow(current().database)).toBe(before);
  });

  test('deletes nothing without a name, a reason, and a yes', async () => {
    const before = await everyRow(current().database);
    await expect(purge(open({ yes: true }).context, { olderThan: 30 })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(purge(open().context, { olderThan: 30, ...by })).rejects.toMatchObject({
      code: 'CONFIRMATION_NEEDED',
      next: expect.stringContaining('settle purge --older-than 30 --dry-run'),
    });
    const declined = open({ answers: [''] });
    expect(await purge(declined.context, { olderThan: 30, ...by })).toBe(0);
    expect(declined.asked[0]?.question).toMatch(/^Delete \d+ rows for good\? \[y\/N\] $/);
    expect(declined.said()).toContain('Nothing was deleted.');
    await expect(purge(open({ yes: true }).context, { olderThan: 0, ...by })).rejects.toMatchObject({ code: 'USAGE' });
    expect(await everyRow(current().database)).toBe(before);
  });

  test('deletes traces only: the books, what waits, and what a person decided stay, and verify finds nothing', async () => {
    const { database } = current();
    expect(await contradictions(database)).toEqual([]);
    const money = ['settlement_order', 'net', 'chunk', 'outbox', 'journal_entry', 'ledger_entry', 'chain_link'];
    const rows = (): Promise<number[]> => Promise.all(money.map((table) => left(`select count(*) from ${table}`)));
    const before = await rows();
    const runsBefore = await left('select count(*) from run');
    const { context, printed } = open({ answers: ['y'] });
    expect(await purge(context, { olderThan: 30, ...by })).toBe(0);
    expect(printed()).toMatch(/Deleted\.\nNext: settle verify$/);

    expect(await rows()).toEqual(before);
    expect(await left('select count(*) from run')).toBe(runsBefore - 1);
    expect(await left(`select count(*) from run where kind = 'RERUN'`)).toBe(3);
    // The day with an account set aside, and the one that closed just now, keep everything.
    expect(await left(`select count(*) from run where batch_day = '2025-11-01'`)).toBe(2);
    expect(await left(`select count(*) from run where batch_day = '2025-11-02'`)).toBe(3);
    expect(await left('select count(*) from cancelled_shard')).toBe(2);
    expect(await left(`select count(*) from delivery where sink = 'old'`)).toBe(0);
    expect(await left(`select count(*) from delivery where sink = 'slow' and state = 'NEW'`)).toBe(1);
    expect(await left(`select count(*) from operator_action where action = 'PURGE' and by_name = 'alice'`)).toBe(1);
    expect(await database.read(missingTriggers)).toEqual([]);
    expect(await contradictions(database)).toEqual([]);
  });

  test('again there is nothing to delete, nothing is sent twice, and the days still run', async () => {
    const again = open({ yes: true });
    expect(await purge(again.context, { olderThan: 30, ...by })).toBe(0);
    expect(again.printed()).toContain('There is nothing to delete.');
    const sinks = [new ScriptedSink('old'), new ScriptedSink('slow')];
    const tallies = await relayOnce(current().database, sinks);
    expect(tallies.map(({ sent }) => sent)).toEqual([0, 1]);
    expect((await runDay(current().database)).outcome).toBe('OK');
    expect(await contradictions(current().database)).toEqual([]);
  });
});

describe('a run that may be forgotten', () => {
  const run: RunTrace = {
    ...{ id: 1n, kind: 'RUN', state: 'INTERRUPTED', isShard: false, reachedId: 0n },
    ...{ claimed: 0, posted: 0, byHand: false, hasDocument: true },
  };
  const good: RunTrace = { ...run, id: 9n, state: 'OK', reachedId: 50n, claimed: 50, posted: 3 };

  test('settled nothing, and another came after it', () => {
    expect(supersededRuns([run, good])).toEqual([1n]);
    expect(supersededRuns([run])).toEqual([]);
  });

  test.each<[string, Partial<RunTrace>]>([
    ['settled something', { claimed: 1 }],
    ['posted something', { posted: 1 }],
    ['still runs', { state: 'RUNNING' }],
    ['was asked for with a reason', { kind: 'RERUN' }],
    ['was stopped by a person', { byHand: true }],
    ['came farther than all that stay', { reachedId: 51n }],
    ['is the last that came to an end', { id: 8n, state: 'PARTIAL' }],
  ])('is none that %s', (_what, own) => {
    const last = own.id === undefined ? good : { ...good, state: 'INTERRUPTED' };
    expect(supersededRuns([{ ...run, ...own }, last])).toEqual([]);
  });

  test('is never what the report, a resume or the watermark of the day is read from', () => {
    const traces = fc
      .array(
        fc.record({
          kind: fc.constantFrom('RUN', 'RESUME', 'RERUN'),
          state: fc.constantFrom('OK', 'PARTIAL', 'INTEGRITY', 'INTERRUPTED', 'ABANDONED', 'RUNNING'),
          isShard: fc.boolean(),
          reachedId: fc.bigInt(0n, 5n),
          claimed: fc.nat(1),
          posted: fc.nat(1),
          byHand: fc.boolean(),
          hasDocument: fc.boolean(),
        }),
        { maxLength: 8 },
      )
      .map((rows): RunTrace[] => rows.map((row, at) => ({ ...row, id: BigInt(at + 1) })));
    // Each as the program reads it: the newest row that fits.
    const views: ((runs: readonly RunTrace[]) => unknown)[] = [
      (runs) => runs.at(-1),
      (runs) => runs.findLast(({ isShard }) => !isShard),
      (runs) => runs.findLast(({ isShard, hasDocument }) => !isShard && hasDocument),
      (runs) =>
        runs.findLast(
          ({ isShard, hasDocument, state }) =>
            !isShard && hasDocument && ['OK', 'PARTIAL', 'INTEGRITY'].includes(state),
        ),
      (runs) => runs.reduce((most, { reachedId }) => (reachedId > most ? reachedId : most), 0n),
    ];
    fc.assert(
      fc.property(traces, (runs) => {
        const gone = supersededRuns(runs);
        const rest = runs.filter(({ id }) => !gone.includes(id));
        for (const view of views) expect(view(rest)).toEqual(view(runs));
      }),
    );
  });
});
