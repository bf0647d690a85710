import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { repeatable } from '../../src/db/transaction.js';
import { appendAlerts } from '../../src/outbox/append.js';
import { fanOut } from '../../src/outbox/fanOut.js';
import { laneOf } from '../../src/outbox/routing.js';
import { confirmed } from '../../src/outbox/sink.js';
import { endTurn, keepLanesOf, takeTurn, type Turn } from '../../src/outbox/turns.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import {
  countOf,
  deliveries,
  emptyOutbox,
  givenSettlements,
  letAttemptsBeDue,
  moment,
  relayOnce,
  routingTo,
  ScriptedSink,
  settlementPayload,
  settlements,
} from '../support/outside.js';

describe.each(databaseKinds)('the relay to others [%s]', (kind) => {
  let current: TestDatabase;
  let sink: ScriptedSink;
  beforeAll(async () => {
    current = await createTestDatabase(kind);
  });
  beforeEach(async () => {
    await emptyOutbox(current.database);
    sink = new ScriptedSink();
  });
  afterAll(() => current.drop());

  test('delivers every message that the ledger has, once, and marks it', async () => {
    await givenSettlements(current.database, settlements(250, 40));
    expect(await relayOnce(current.database, [sink])).toMatchObject([{ sent: 250, parked: 0, trouble: null }]);
    expect(new Set(sink.came).size).toBe(250);
    expect(sink.came).toHaveLength(250);
    expect(await countOf(current.database, `select count(*) from delivery where state = 'SENT'`)).toBe(250);
    expect(await relayOnce(current.database, [sink])).toMatchObject([{ sent: 0 }]);
    expect(sink.came).toHaveLength(250);
  });

  test('keeps the order of an account, whatever lane it is in', async () => {
    await givenSettlements(current.database, settlements(400, 7));
    await relayOnce(current.database, [sink]);
    for (let account = 0; account < 7; account += 1) {
      const own = sink.came.map((id) => Number(id.split('.')[2]) - 1).filter((at) => at % 7 === account);
      expect(own).toEqual([...own].sort((a, b) => a - b));
    }
  });

  test('does not tell of a message before the ledger has it', async () => {
    await givenSettlements(current.database, settlements(3, 3));
    await current.database.transact(
      repeatable('not posted', (trx) =>
        trx.change(`update outbox set state = 'NEW', sent_at = null where biz_no = 'S1.1.2'`),
      ),
    );
    await relayOnce(current.database, [sink]);
    expect([...sink.came].sort()).toEqual(['S1.1.1', 'S1.1.3']);
    await current.database.transact(
      repeatable('posted', (trx) =>
        trx.change(`update outbox set state = 'SENT', sent_at = created_at where biz_no = 'S1.1.2'`),
      ),
    );
    await relayOnce(current.database, [sink]);
    expect([...sink.came].sort()).toEqual(['S1.1.1', 'S1.1.2', 'S1.1.3']);
  });

  test('finds a low id that becomes visible after higher ones have gone out', async () => {
    // An id below, which nobody has taken.
    await givenSettlements(current.database, [{ bizNo: 'S0.0.0', accountNo: 'A0' }]);
    await emptyOutbox(current.database);
    await givenSettlements(current.database, settlements(10, 10));
    const first = await countOf(current.database, 'select min(id) from outbox');
    await relayOnce(current.database, [sink]);
    expect(sink.came).toHaveLength(10);
    await current.database.transact(
      repeatable('late', (trx) =>
        trx.insertMany(
          'outbox',
          ['id', 'topic', 'biz_no', 'batch_day', 'account_no', 'orders', 'payload', 'state', 'created_at', 'sent_at'],
          [
            [
              ...[
                first - 1,
                'LEDGER',
                'S0.1.1',
                '2026-11-29',
                'A1',
                1,
                settlementPayload('A1', '2026-11-29', 5),
                'SENT',
              ],
              ...['2026-11-30 00:00:00.000', '2026-11-30 00:00:00.000'],
            ],
          ],
        ),
      ),
    );
    await relayOnce(current.database, [sink]);
    expect(sink.came[10]).toBe('S0.1.1');
  });

  test('a message that is refused waits for its next attempt, with its account and nobody else', async () => {
    await givenSettlements(current.database, [
      { bizNo: 'S1.1.1', accountNo: 'BAD' },
      { bizNo: 'S1.1.2', accountNo: 'BAD' },
      { bizNo: 'S1.1.3', accountNo: 'GOOD' },
    ]);
    sink.behave = ({ id }) => (id === 'S1.1.1' ? { kind: 'REFUSED', reason: 'no' } : confirmed);
    await relayOnce(current.database, [sink]);
    expect(sink.came).toEqual(['S1.1.3']);
    await letAttemptsBeDue(current.database);
    sink.behave = () => confirmed;
    await relayOnce(current.database, [sink]);
    expect(sink.came).toEqual(['S1.1.3', 'S1.1.1', 'S1.1.2']);
  });

  test('parks a message after its attempts, with the reason, and later ones of its account flow', async () => {
    await givenSettlements(current.database, [
      { bizNo: 'S1.1.1', accountNo: 'BAD' },
      { bizNo: 'S1.1.2', accountNo: 'BAD' },
    ]);
    const parked: string[] = [];
    sink.behave = ({ id }) => (id === 'S1.1.1' ? { kind: 'REFUSED', reason: 'never\u001b' } : confirmed);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await letAttemptsBeDue(current.database);
      await relayOnce(current.database, [sink], {
        onParked: (name, bizNo, reason) => parked.push(`${name} ${bizNo} ${reason}`),
      });
    }
    expect(parked).toEqual(['scripted S1.1.1 never\\u{1b}']);
    expect(sink.came).toEqual(['S1.1.2']);
    expect(await deliveries(current.database)).toEqual(['scripted S1.1.1 PARKED', 'scripted S1.1.2 SENT']);
  });

  test.each([
    ['cannot be read', '{"v":1,', /cannot be read/],
    [
      'is too large',
      settlementPayload('BAD', '2026-11-29', 1).replace('CARD', 'C'.repeat(20_000)),
      /this sink takes 10000/,
    ],
  ])('a message that %s is parked at once, alone', async (_what, payload, reason) => {
    await givenSettlements(current.database, [
      { bizNo: 'S1.1.1', accountNo: 'BAD', payload },
      { bizNo: 'S1.1.2', accountNo: 'BAD' },
    ]);
    const reasons: string[] = [];
    await relayOnce(current.database, [sink], { onParked: (_sink, _bizNo, why) => reasons.push(why) });
    expect(reasons).toEqual([expect.stringMatching(reason)]);
    expect(sink.came).toEqual(['S1.1.2']);
  });

  test('a receiver that takes nothing costs no message an attempt, and is given up with --once', async () => {
    await givenSettlements(current.database, settlements(5, 5));
    sink.behave = () => ({ kind: 'UNCLEAR', reason: 'no queue' });
    sink.retryAfterMs = 20_000;
    const told: string[] = [];
    const [tally] = await relayOnce(current.database, [sink], { onTrouble: (_sink, text) => told.push(text) });
    expect(tally).toMatchObject({ sent: 0, refused: 0, parked: 0, trouble: 'no queue' });
    expect(told).toEqual(['no queue']);
    expect(await countOf(current.database, 'select count(*) from delivery where attempts > 0')).toBe(0);
  });

  test('a sink in trouble does not hold up another', async () => {
    await givenSettlements(current.database, settlements(50, 50));
    const broken = new ScriptedSink('broken');
    broken.trouble = 'gone';
    broken.retryAfterMs = 60_000;
    const tallies = await relayOnce(current.database, [broken, sink]);
    expect(tallies).toMatchObject([
      { sink: 'broken', sent: 0, trouble: 'gone' },
      { sink: 'scripted', sent: 50 },
    ]);
    expect(await countOf(current.database, `select count(*) from delivery where state = 'NEW'`)).toBe(50);
  });

  test('of two relays each takes lanes of its own, and no message goes out twice', async () => {
    await givenSettlements(current.database, settlements(600, 100));
    sink.messagesMax = 10;
    sink.onSend = () => new Promise((resolve) => setTimeout(resolve, 2));
    await Promise.all([relayOnce(current.database, [sink]), relayOnce(current.database, [sink])]);
    await relayOnce(current.database, [sink]);
    expect(sink.came).toHaveLength(600);
    expect(new Set(sink.came).size).toBe(600);
  });

  test('a lane is one relay’s until its time is over; who lost it still writes down what was confirmed', async () => {
    await givenSettlements(current.database, [{ bizNo: 'S1.1.1', accountNo: 'A1' }]);
    await fanOut(current.database, routingTo([sink]), new Map());
    await keepLanesOf(current.database, sink.name, sink.lanes);
    const first = await takeTurn(current.database, sink.name, 'first', 300);
    expect(first?.laneNo).toBe(laneOf('SETTLEMENT', 'A1', 16));
    expect(await takeTurn(current.database, sink.name, 'second', 300)).toBeNull();
    await new Promise((resolve) => setTimeout(resolve, 400));
    const second = await takeTurn(current.database, sink.name, 'second', 30_000);
    expect(second?.laneNo).toBe(first?.laneNo);
    const id = BigInt(await countOf(current.database, 'select outbox_id from delivery'));
    await endTurn(current.database, first as Turn, { sentIds: [id], ownIds: [], refusals: [], freeInMs: 0 }, moment);
    expect(await deliveries(current.database)).toEqual(['scripted S1.1.1 SENT']);
    // The lane is the second one's still.
    expect(await countOf(current.database, `select count(*) from relay_lane where owner = 'second'`)).toBe(1);
  });

  test('an alert is SENT once every sink has it, and stays NEW while nobody wants it', async () => {
    const other = new ScriptedSink('other');
    await current.database.transact(
      repeatable('alert', (trx) =>
        appendAlerts(
          trx,
          [
            {
              bizNo: 'A1.LOST',
              batchDay: '2026-11-29',
              accountNo: 'A1',
              content: { code: 'LOST', suggestedAction: 'settle payout show 1' },
            },
          ],
          moment,
        ),
      ),
    );
    const state = () => countOf(current.database, `select count(*) from outbox where state = 'SENT'`);
    await relayOnce(current.database, [sink], { routing: routingTo([sink], ['SETTLEMENT']) });
    expect(await state()).toBe(0);
    other.trouble = 'gone';
    other.retryAfterMs = 60_000;
    await relayOnce(current.database, [sink, other]);
    expect([sink.came, await state()]).toEqual([['A1.LOST'], 0]);
    other.trouble = null;
    await relayOnce(current.database, [sink, other]);
    expect([other.came, await state()]).toEqual([['A1.LOST'], 1]);
    expect(JSON.parse(other.bodies.get('A1.LOST') ?? '')).toMatchObject({
      type: 'settle.alert.v1',
      data: { code: 'LOST', suggestedAction: 'settle payout show 1', accountNo: 'A1' },
    });
  });

  test('messages of days before a sink’s first day are not for it', async () => {
    await givenSettlements(current.database, [
      { bizNo: 'S1.1.1', accountNo: 'A1', batchDay: '2026-11-28' },
      { bizNo: 'S2.1.1', accountNo: 'A1', batchDay: '2026-11-29' },
    ]);
    const routed = [{ name: sink.name, lanes: sink.lanes, since: '2026-11-29' }];
    await relayOnce(current.database, [sink], { routing: { sinksOf: new Map([['SETTLEMENT', routed]]) } });
    expect(sink.came).toEqual(['S2.1.1']);
  });

  test('stops after what is on its way, and the next relay goes on from there', async () => {
    await givenSettlements(current.database, settlements(100, 100));
    sink.messagesMax = 5;
    const stop = new AbortController();
    sink.onSend = () => {
      if (sink.came.length > 20) stop.abort();
    };
    await relayOnce(current.database, [sink], { once: false, signal: stop.signal });
    expect(sink.came.length).toBeLessThan(60);
    expect(await countOf(current.database, `select count(*) from delivery where state = 'SENT'`)).toBe(
      sink.came.length,
    );
    await relayOnce(current.database, [sink]);
    expect([sink.came.length, new Set(sink.came).size]).toEqual([100, 100]);
  });
});
