import { beforeEach, expect, test } from '@jest/globals';
import { repeatable } from '../src/db/transaction.js';
import { fromInstant } from '../src/db/values.js';
import { requeueMessages } from '../src/outbox/requeue.js';
import { outboxStatus } from '../src/outbox/views.js';
import { onEachDatabase } from './support/databases.js';
import { settleInside as settle } from './support/inside.js';

const decision = { by: 'alice', reason: 'disk replaced', at: '2026-11-30T08:00:00.000Z' };

onEachDatabase('The outbox', (db) => {
  const rows = async (sql: string) => db().database.read((session) => session.rows(sql));

  beforeEach(async () => {
    await db().database.transact(
      repeatable('messages in every state', async (trx) => {
        await trx.change('delete from outbox');
        await trx.change('delete from operator_action');
        const at = fromInstant(trx.dialect, '2026-11-29T00:00:10.000Z');
        const message = (bizNo: string, state: string, error: string | null) =>
          ['LEDGER', bizNo, '2026-11-28', 'M1', 2, '{}', state, 3, error, at, state === 'SENT' ? at : null] as const;
        await trx.insertMany(
          'outbox',
          'topic biz_no batch_day account_no orders payload state attempts last_error created_at sent_at'.split(' '),
          [
            message('S1.1.1', 'SENT', null),
            message('S1.1.2', 'NEW', null),
            message('S1.1.3', 'PARKED', 'bad\u001b[2Jpayload'),
            message('S1.1.4', 'PARKED', 'bad payload'),
          ],
        );
      }),
    );
  });

  test('counts messages by state, and says how long the oldest has waited by the clock of the database', async () => {
    const status = await db().database.snapshot(outboxStatus);
    expect(status.counts).toEqual({ NEW: 1, SENT: 1, PARKED: 2 });
    expect(status.oldestNew?.createdAt).toBe('2026-11-29T00:00:10.000Z');
    const elapsed = Date.now() - Date.parse('2026-11-29T00:00:10.000Z');
    expect(Math.abs((status.oldestNew?.ageMs ?? 0) - elapsed)).toBeLessThan(60_000);
    expect(status.parked.map((message) => message.bizNo)).toEqual(['S1.1.3', 'S1.1.4']);
  });

  test('requeue puts one parked message back with fresh attempts, and records who decided', async () => {
    expect((await requeueMessages(db().database, ['S1.1.4'], decision)).messages).toEqual(['S1.1.4']);
    const [row] = await rows(`select state, attempts from outbox where biz_no = 'S1.1.4'`);
    expect([row?.['state'], Number(row?.['attempts'])]).toEqual(['NEW', 0]);
    const [action] = await rows('select action, subject, by_name, reason from operator_action');
    expect(action).toMatchObject({
      action: 'OUTBOX_REQUEUE',
      subject: 'messages S1.1.4',
      by_name: 'alice',
      reason: 'disk replaced',
    });
  });

  test('requeue without names takes all parked ones, and a second time finds none and records nothing', async () => {
    expect((await requeueMessages(db().database, [], decision)).messages).toEqual(['S1.1.3', 'S1.1.4']);
    expect((await requeueMessages(db().database, [], decision)).messages).toEqual([]);
    expect(await rows('select id from operator_action')).toHaveLength(1);
  });

  test('a message that is not parked is refused, and then none is moved', async () => {
    const asked = requeueMessages(db().database, ['S1.1.3', 'S1.1.1'], decision);
    await expect(asked).rejects.toMatchObject({ code: 'NOT_FOUND', exitCode: 2, details: { bizNos: ['S1.1.1'] } });
    expect(await rows(`select id from outbox where state = 'PARKED'`)).toHaveLength(2);
  });

  test.each([
    ['', 'why'],
    ['alice', ' '],
  ])('by %p for %p is refused: the record would say nothing', async (by, reason) => {
    const asked = requeueMessages(db().database, [], { ...decision, by, reason });
    await expect(asked).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
  });

  test('settle outbox status shows the parked ones with what they hide', async () => {
    const { code, stdout } = await settle(['outbox', 'status'], { url: db().url });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^parked {2}2$/m);
    expect(stdout).toContain('bad\\u{1b}[2Jpayload');
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  test('settle outbox requeue says what to type next', async () => {
    const args = ['outbox', 'requeue', '--by', 'alice', '--reason', 'disk replaced'];
    const { code, stdout } = await settle(args, { url: db().url });
    expect([code, stdout]).toEqual([0, 'Put back 2 messages.\nNext: settle run\n']);
  });
});
