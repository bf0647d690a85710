import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { repeatable } from '../../src/db/transaction.js';
import { createTestDatabase, type TestDatabase } from '../support/databases.js';
import {
  countOf,
  deliveries,
  givenSettlements,
  moment,
  relayOnce,
  ScriptedSink,
  settlementPayload,
  settlements,
} from '../support/outside.js';
import { settleInside as settle } from '../support/inside.js';
import type { Ended } from '../support/program.js';

describe('settle outbox', () => {
  let place: TestDatabase;
  let folder: string;
  beforeEach(async () => {
    place = await createTestDatabase('sqlite');
    folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
  });
  afterEach(async () => {
    await place.drop();
    rmSync(folder, { recursive: true, force: true });
  });
  const outbox = (...args: string[]): Promise<Ended> => settle(['outbox', ...args], { url: place.url, cwd: folder });
  const given = (yaml: string): void => {
    writeFileSync(join(folder, 'settle.yaml'), yaml);
  };

  test('relay to a file, requeue of what it could not take, and purge, as a person types them', async () => {
    given('sinks: { feed: { kind: file, path: feed.ndjson } }\nroutes: { settlement: [feed] }\n');
    await givenSettlements(place.database, [
      ...settlements(3, 3),
      { bizNo: 'S9.1.1', accountNo: 'BAD', payload: '{}' },
    ]);
    const relayed = await outbox('relay', '--once', '--json');
    expect(relayed.code).toBe(3);
    expect(JSON.parse(relayed.stdout)).toMatchObject({
      schema: 'settle.outboxRelay',
      schemaVersion: 1,
      sinks: [{ sink: 'feed', sent: 3, waiting: 0, parked: 1, trouble: null }],
    });
    const lines = readFileSync(join(folder, 'feed.ndjson'), 'utf8').trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(['S1.1.1', 'S1.1.2', 'S1.1.3']);

    const status = await outbox('status');
    expect(status.stdout).toMatch(/feed +0 +1/);
    expect(status.stdout).toMatch(/S9\.1\.1 .*cannot be read/);
    expect(status.stdout).toContain('settle outbox requeue --by NAME --reason TEXT, then settle outbox relay');

    await place.database.transact(
      repeatable('mended', (trx) =>
        trx.change(`update outbox set payload = ? where biz_no = 'S9.1.1'`, [
          settlementPayload('BAD', '2026-11-29', 1),
        ]),
      ),
    );
    const by = ['--by', 'alice', '--reason', 'mended'];
    expect((await outbox('requeue', 'S9.1.1', '--sink', 'nobody', ...by)).code).toBe(2);
    const requeued = await outbox('requeue', ...by);
    expect(requeued.stdout).toBe('Put back 1 delivery.\nNext: settle outbox relay\n');
    expect((await outbox('relay', '--once')).stdout).toBe('feed: 1 sent, 0 waiting, 0 parked\n');

    expect((await outbox('purge', '--days', '1', ...by)).stdout).toBe('Forgot 0 deliveries.\n');
    await place.database.transact(
      repeatable('long ago', (trx) => trx.change(`update delivery set sent_ms = 1 where outbox_id < 4`)),
    );
    expect((await outbox('purge', '--days', '1', ...by)).stdout).toBe('Forgot 3 deliveries.\n');
    expect((await outbox('relay', '--once')).stdout).toBe('feed: 0 sent, 0 waiting, 0 parked\n');
    expect(await countOf(place.database, 'select count(*) from outbox')).toBe(4);
    expect(await countOf(place.database, 'select count(*) from operator_action')).toBe(3);
  });

  test('relay to standard output prints the messages there, and how it went where messages go', async () => {
    given('sinks: { out: { kind: stdout } }\nroutes: { settlement: [out] }\n');
    await givenSettlements(place.database, settlements(2, 2));
    const ended = await outbox('relay', '--once');
    expect(ended).toMatchObject({ code: 0, stderr: 'out: 2 sent, 0 waiting, 0 parked\n' });
    expect(ended.stdout.trim().split('\n')).toHaveLength(2);
    expect((await outbox('relay', '--once', '--json')).code).toBe(2);
  });

  test.each([
    ['without a route', '', 'USAGE', 'No route leads to a sink'],
    ['with a route to nowhere', 'routes: { alert: [mq] }\n', 'CONFIG_INVALID', 'routes.alert names the sink "mq"'],
    [
      'without its secret',
      `sinks: { hook: { kind: webhook, url: 'http://127.0.0.1:1/', secret: { env: NO_SUCH } } }\nroutes: { alert: [hook] }\n`,
      'CONFIG_UNREADABLE',
      'sinks.hook.secret',
    ],
  ])('relay %s says what is missing', async (_what, yaml, code, text) => {
    given(yaml);
    const ended = await outbox('relay', '--once');
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(`settle: ${code}: `);
    expect(ended.stderr).toContain(text);
  });

  test('a message that was relayed to one sink first is not lost to the others', async () => {
    given('sinks: { a: { kind: file, path: a }, b: { kind: file, path: b } }\nroutes: { settlement: [a, b] }\n');
    await givenSettlements(place.database, settlements(5, 5));
    expect((await outbox('relay', '--once', '--sink', 'a')).stdout).toBe('a: 5 sent, 0 waiting, 0 parked\n');
    expect((await outbox('relay', '--once')).stdout).toBe(
      'a: 0 sent, 0 waiting, 0 parked\nb: 5 sent, 0 waiting, 0 parked\n',
    );
    expect(await deliveries(place.database)).toHaveLength(10);
  });
});

test('a message whose transaction is still open while later ones go out is not lost', async () => {
  const place = await createTestDatabase('server');
  const other = await createConnection(place.url);
  try {
    const columns = 'topic, biz_no, batch_day, account_no, orders, payload, state, created_at, sent_at';
    await other.query('start transaction');
    await other.query(
      `insert into outbox (${columns}) values ('LEDGER', 'S0.1.1', '2026-11-29', 'EARLY', 1, ?, 'SENT', now(3), now(3))`,
      [settlementPayload('EARLY', '2026-11-29', 1)],
    );
    // What a run has not committed is NEW, and nothing of it may hold a relay up, or be held up by one.
    await other.query(
      `insert into outbox (${columns}) values ('LEDGER', 'S0.1.2', '2026-11-29', 'EARLY', 1, '{}', 'NEW', now(3), null)`,
    );
    await givenSettlements(place.database, settlements(50, 50));
    const sink = new ScriptedSink();
    await relayOnce(place.database, [sink], { now: () => moment });
    expect(sink.came).toHaveLength(50);
    await other.query('commit');
    await relayOnce(place.database, [sink]);
    expect(sink.came[50]).toBe('S0.1.1');
    const [first] = await place.database.read((session) =>
      session.rows('select biz_no from outbox order by id limit 1'),
    );
    expect(first?.['biz_no']).toBe('S0.1.1');
  } finally {
    await other.end();
    await place.drop();
  }
});
