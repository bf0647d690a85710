import { describe, expect, test } from '@jest/globals';
import { Database } from '../src/db/database.js';
import { repeatable, type Unit } from '../src/db/transaction.js';
import { parseDatabaseUrl } from '../src/db/url.js';
import { Cancellation } from '../src/kernel/cancellation.js';
import { createTestDatabase, onEachDatabase, type TestDatabase } from './support/databases.js';
import { startProxy } from './support/proxy.js';

const reason = new Cancellation('SHARD_TIMEOUT', 'Not done in time.');

async function notes(database: Database): Promise<unknown[]> {
  return (await database.read((session) => session.tuples('select at from operator_action'))).flat();
}

const insertNote = `insert into operator_action (at, action, subject, by_name, reason) values ('2026-11-29 00:00:00.000', 'T', '', '', '')`;

onEachDatabase('a unit whose signal is aborted', (place) => {
  test('before it begins is not begun, and throws the reason of the signal itself', async () => {
    let begun = false;
    const unit = repeatable('never', () => Promise.resolve((begun = true)));
    await expect(place().database.transact(unit, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(begun).toBe(false);
  });

  test('between two statements is undone whole, and the connection serves the next', async () => {
    const { database } = place();
    const controller = new AbortController();
    const unit = repeatable('halfway', async (trx) => {
      await trx.change(insertNote);
      controller.abort(reason);
      await trx.change(insertNote);
    });
    await expect(database.transact(unit, controller.signal)).rejects.toBe(reason);
    expect(await notes(database)).toEqual([]);
  });

  test('after its last statement is not committed', async () => {
    const { database } = place();
    const controller = new AbortController();
    const unit = repeatable('at the end', async (trx) => {
      await trx.change(insertNote);
      controller.abort(reason);
    });
    await expect(database.transact(unit, controller.signal)).rejects.toBe(reason);
    expect(await notes(database)).toEqual([]);
  });

  test('does not stop another unit on the same connection afterwards', async () => {
    const { database } = place();
    const controller = new AbortController();
    await database.transact(
      repeatable('first', (trx) => trx.change(insertNote)),
      controller.signal,
    );
    controller.abort(reason);
    expect(await notes(database)).toHaveLength(1);
    await database.transact(repeatable('second', (trx) => trx.change('delete from operator_action')));
    expect(await notes(database)).toEqual([]);
  });
});

describe('on a server, a unit whose signal is aborted', () => {
  async function withPlace(work: (place: TestDatabase) => Promise<void>): Promise<void> {
    const place = await createTestDatabase('server');
    try {
      await work(place);
    } finally {
      await place.drop();
    }
  }

  test('in the middle of a statement ends at once, not when the statement does', () =>
    withPlace(async ({ database }) => {
      const controller = new AbortController();
      const started = performance.now();
      setTimeout(() => {
        controller.abort(reason);
      }, 100);
      const unit = repeatable('asleep', async (trx) => {
        await trx.change(insertNote);
        await trx.rows('select sleep(50)');
      });
      await expect(database.transact(unit, controller.signal)).rejects.toBe(reason);
      expect(performance.now() - started).toBeLessThan(20_000);
      expect(await notes(database)).toEqual([]);
    }));

  test('while its COMMIT is on the way is done, and says so, although the answer was lost', () =>
    withPlace(async ({ url, database }) => {
      const proxy = await startProxy(url);
      const far = await Database.open(parseDatabaseUrl(proxy.url), { connections: 2, statementMsMax: 5_000 });
      try {
        const controller = new AbortController();
        proxy.onStatement(/^commit$/, () => {
          controller.abort(reason);
        });
        proxy.next(/^commit$/, 'dropAnswer');
        const unit: Unit<string> = {
          name: 'marked',
          work: async (trx) => {
            await trx.change(insertNote);
            return 'done';
          },
          landed: async (session) =>
            (await session.rows('select id from operator_action')).length === 1 ? 'landed' : undefined,
        };
        expect(await far.transact(unit, controller.signal)).toBe('landed');
        expect(proxy.struck()).toBe(1);
        expect(await notes(database)).toHaveLength(1);
      } finally {
        await far.close();
        await proxy.close();
      }
    }));
});
