import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { DatabaseEffects } from '../../src/batch/databaseEffects.js';
import { repeatable } from '../../src/db/transaction.js';
import { postSettlements } from '../../src/ledger/postSettlements.js';
import { finishing } from '../../src/settlement/finishing.js';
import { newMessages } from '../../src/outbox/queries.js';
import { decodePayload } from '../../src/outbox/message.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { day, everyRow, givenOrders, givenVariedDay, moneyDump, runDay } from '../support/day.js';
import { soundAfter } from '../support/oracle.js';

type Step = 'open' | 'settle' | 'leftover' | 'post' | 'reconcile' | 'close' | 'finish';
const steps: readonly Step[] = ['open', 'settle', 'leftover', 'post', 'reconcile', 'close', 'finish'];

afterEach(() => {
  jest.restoreAllMocks();
});

/** Something that another connection does right before or after a step of the next run, once. */
function at(when: 'before' | 'after', step: Step, deed: () => Promise<unknown>): void {
  const original = DatabaseEffects.prototype[step] as (...given: unknown[]) => Promise<unknown>;
  let done = false;
  jest.spyOn(DatabaseEffects.prototype, step as 'leftover').mockImplementation(async function (
    this: DatabaseEffects,
    ...given: unknown[]
  ) {
    const first = !done;
    done = true;
    if (first && when === 'before') await deed();
    const result = await original.apply(this, given);
    if (first && when === 'after') await deed();
    return result as never;
  });
}

describe('an order with a low id that is committed late, on a real second connection', () => {
  const late = { orderNo: 'LATE', accountNo: 'A1', minor: 777 };
  const rest = Array.from({ length: 40 }, (_, no) => ({
    orderNo: `O${String(no)}`,
    accountNo: `A${String(no % 4)}`,
    minor: no + 1,
  }));

  test.each(steps.flatMap((step) => (['before', 'after'] as const).map((when) => ({ when, step }))))(
    '$when the $step of the run that has passed it: settled by this run or the next, once',
    async ({ when, step }) => {
      const { url, database, drop } = await createTestDatabase('server');
      const writer = await createConnection({ uri: url });
      try {
        await givenOrders(database, [{ orderNo: 'FIRST', accountNo: 'A1', minor: 5 }]);
        await writer.query('start transaction');
        await writer.query(
          `insert into settlement_order (order_no, account_no, batch_day, type, amount_minor, currency, channel, occurred_at)
           values (?, ?, ?, 'PAYMENT', ?, 'USD', 'CARD', '2026-11-29 10:00:00')`,
          [late.orderNo, late.accountNo, day, late.minor],
        );
        // Ids above it are committed first: the watermark will pass it.
        await givenOrders(database, rest);
        at(when, step, () => writer.query('commit'));
        const first = await runDay(database);
        jest.restoreAllMocks();
        const second = await runDay(database);
        // Seen after the sweep but before the proof, it keeps the day open, and the run says that something is left.
        expect([
          [0, true],
          [3, false],
        ]).toContainEqual([first.exitCode, first.closed]);
        expect([second.exitCode, second.closed]).toEqual([0, true]);
        const ids = await database.read((session) =>
          session.tuples(
            `select order_no, state from settlement_order where order_no in ('FIRST', 'LATE', 'O0') order by id`,
          ),
        );
        expect(ids.map((row) => row.map(String).join(' '))).toEqual(['FIRST SUCCESS', 'LATE SUCCESS', 'O0 SUCCESS']);
        await soundAfter(database, null);
      } finally {
        await writer.end();
        await drop();
      }
    },
  );
});

describe.each(databaseKinds)('confirmations of the relay that are lost or doubled [%s]', (kind) => {
  let current: TestDatabase;
  let undisturbed: string[];
  beforeEach(async () => {
    current = await createTestDatabase(kind);
    await givenVariedDay(current.database, 90);
    await runDay(current.database);
    undisturbed = await moneyDump(current.database);
  });
  afterEach(async () => {
    await current.drop();
  });

  const change = (sql: string) => current.database.transact(repeatable('test', (trx) => trx.change(sql)));

  test('every mark lost after its delivery: the next run delivers again, the ledger takes none twice', async () => {
    await change(`update outbox set state = 'NEW', sent_at = null`);
    await change(`update batch set state = 'POSTING', closed_at = null, orders_at_close = null`);
    const entries = await everyRow(current.database);
    await runDay(current.database);
    const ledgerOf = (rows: string): string[] => rows.split('\n').filter((row) => /^(journal|ledger)_entry/.test(row));
    expect(ledgerOf(await everyRow(current.database))).toEqual(ledgerOf(entries));
    await soundAfter(current.database, undisturbed);
  });

  test('some marks lost, some doubled', async () => {
    await change(`update outbox set state = 'NEW', sent_at = null where mod(id, 3) = 0`);
    await change(`update batch set state = 'POSTING', closed_at = null, orders_at_close = null`);
    await Promise.all([0, 1].map(() => runDay(current.database).catch((error: unknown) => error)));
    await runDay(current.database);
    await soundAfter(current.database, undisturbed);
  });

  test('a message delivered twice at the same time, and again when it is SENT: one entry, no row more', async () => {
    await change(`update outbox set state = 'NEW', sent_at = null`);
    const stored = await current.database.read((session) => newMessages(session, 'LEDGER', 0n, 1_000, null));
    await change(`update outbox set state = 'SENT', sent_at = '2026-11-30 01:00:00.000'`);
    const before = await everyRow(current.database);
    const messages = stored.map((message) => {
      const decoded = decodePayload(message.bizNo, message.payload, message.orders);
      if (decoded === null) throw new Error(`Message ${message.bizNo} cannot be read.`);
      const { id, bizNo, orders, batchDay } = message;
      return { id, bizNo, orders, batchDay, open: () => decoded };
    });
    const { signal } = new AbortController();
    const ports = {
      runId: 1n,
      now: () => '2026-11-30T01:00:00.000Z',
      fence: () => Promise.resolve(),
      finishing,
      signal,
    };
    await Promise.all([0, 1, 2].map(() => postSettlements(current.database, messages, ports)));
    expect(await everyRow(current.database)).toBe(before);
    await soundAfter(current.database, undisturbed);
  });
});
