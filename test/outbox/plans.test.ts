import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Binding } from '../../src/db/session.js';
import { repeatable } from '../../src/db/transaction.js';
import { fanOut, unroutedSql } from '../../src/outbox/fanOut.js';
import { freeLanesSql, keepLanesOf, waitingSql } from '../../src/outbox/turns.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { givenSettlements, routingTo, ScriptedSink, settlements } from '../support/outside.js';

// What a relay asks for at every turn is found along an index, whether a hundred messages wait or a million.

describe.each(databaseKinds)('the way to what waits [%s]', (kind) => {
  let place: TestDatabase;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    const sink = new ScriptedSink('mq');
    await givenSettlements(place.database, settlements(12_000, 3_000));
    await keepLanesOf(place.database, sink.name, sink.lanes);
    const cursor = new Map();
    while ((await fanOut(place.database, routingTo([sink]), cursor)) > 0);
    // As it is after a while: most are sent, some wait, and some nobody has seen.
    await place.database.transact(
      repeatable('sent', (trx) =>
        trx.change(`update delivery set state = 'SENT', sent_ms = 1 where outbox_id <= 8000 and state = 'NEW'`),
      ),
    );
    await givenSettlements(place.database, settlements(3_000, 3_000, 'S2.1.'));
    await place.database.read(async (session) => {
      if (kind === 'sqlite') await session.change('analyze');
      else await session.rows('analyze table outbox, delivery, relay_lane');
    });
  });
  afterAll(() => place.drop());

  interface Step {
    table: string;
    way: string;
  }

  /** How each table is gone to, as both engines tell it: the index, and whether anything is sorted. */
  async function planOf(sql: string, bindings: readonly Binding[]): Promise<{ steps: Step[]; sorts: boolean }> {
    return place.database.read(async (session) => {
      if (kind === 'sqlite') {
        const rows = await session.rows(`explain query plan ${sql}`, bindings);
        const details = rows.map((row) => String(row['detail']));
        return {
          steps: details.flatMap((detail) => {
            const [, table = '', way = ''] = /^SEARCH (\w+) USING (?:COVERING )?(?:INDEX )?(.+)$/.exec(detail) ?? [];
            return table === '' ? [] : [{ table, way: way.replace(/^INTEGER PRIMARY KEY.*/, 'PRIMARY') }];
          }),
          sorts: details.some((detail) => /TEMP B-TREE|^SCAN/.test(detail)),
        };
      }
      const rows = await session.rows(`explain ${sql}`, bindings);
      return {
        steps: rows.map((row) => ({ table: String(row['table']), way: String(row['key']) })),
        sorts: rows.some((row) => /filesort|temporary/i.test(String(row['Extra'])) || row['type'] === 'ALL'),
      };
    });
  }
  const wayTo = (steps: readonly Step[], table: string): string =>
    steps.find((step) => step.table === table)?.way ?? '';

  test('in a lane goes along the index of deliveries in their order, and to each message by its key', async () => {
    const { dialect } = await place.database.read((session) => Promise.resolve(session));
    const { steps, sorts } = await planOf(waitingSql(dialect, 100), ['mq', 3]);
    expect(wayTo(steps, 'd')).toContain('delivery_due');
    expect(wayTo(steps, 'm')).toBe('PRIMARY');
    expect(sorts).toBe(false);
  });

  test('of a sink is one look into each lane', async () => {
    const { dialect } = await place.database.read((session) => Promise.resolve(session));
    const { steps } = await planOf(freeLanesSql(dialect), ['mq', 'mq']);
    expect(wayTo(steps, 'd')).toContain('delivery_due');
  });

  test('that no relay has seen goes along its index, in the order of ids', async () => {
    const { dialect } = await place.database.read((session) => Promise.resolve(session));
    const { steps, sorts } = await planOf(unroutedSql(dialect), ['LEDGER', 0n]);
    expect(wayTo(steps, 'outbox')).toContain('outbox_unrouted');
    expect(sorts).toBe(false);
  });
});
