import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { faultIn, schemaFiles } from '../../src/outbox/events.js';
import { encodePayload } from '../../src/outbox/message.js';
import { deliveriesOf, laneOf, topicOf } from '../../src/outbox/routing.js';
import { toEvent, Unsendable, type OutsideMessage } from '../../src/outbox/toEvent.js';
import { reverseEntry } from '../../src/ledger/reverseEntry.js';
import { createTestDatabase } from '../support/databases.js';
import { givenOrders, runDay } from '../support/day.js';
import { moment, relayOnce, ScriptedSink } from '../support/outside.js';
import { plan, ScriptedChannel, submit } from '../support/payouts.js';

const net: OutsideMessage = {
  topic: 'SETTLEMENT',
  bizNo: 'S1.1.1',
  batchDay: '2026-11-29',
  accountNo: 'M1',
  orders: 2,
  payload: encodePayload({
    bizNo: 'S1.1.1',
    batchDay: '2026-11-29',
    accountNo: 'M1',
    currency: 'USD',
    netMinor: 9_007_199_254_740_993n,
    lines: [{ type: 'PAYMENT', channel: 'CARD', orders: 2, amountMinor: 9_007_199_254_740_993n }],
    terms: [{ reason: 'FEE_PLAN', amountMinor: -3n, originDay: '2026-11-29' }],
    orderIds: [7n, 9n],
  }),
  createdAt: moment,
};

describe('messages', () => {
  test('are CloudEvents, with every digit of the money', () => {
    expect(toEvent(net, '/settle')).toEqual({
      specversion: '1.0',
      id: 'S1.1.1',
      source: '/settle',
      type: 'settle.settlement.v1',
      subject: 'M1',
      time: moment,
      datacontenttype: 'application/json',
      dataschema: 'urn:settle:schema:settlement:v1',
      partitionkey: 'M1',
      data: {
        batchDay: '2026-11-29',
        accountNo: 'M1',
        currency: 'USD',
        netMinor: '9007199254740993',
        orders: 2,
        lines: [{ type: 'PAYMENT', channel: 'CARD', orders: 2, amountMinor: '9007199254740993' }],
        terms: [{ reason: 'FEE_PLAN', amountMinor: '-3', originDay: '2026-11-29' }],
      },
    });
    expect(faultIn('SETTLEMENT', toEvent(net, '/settle'))).toBeNull();
  });

  test.each([
    ['no JSON', 'SETTLEMENT', '{'],
    ['another number of orders', 'SETTLEMENT', net.payload.replace('7,9', '7')],
    ['an alert without its code', 'ALERT', '{"v":1,"suggestedAction":"x"}'],
    ['an alert with a number', 'ALERT', '{"v":1,"code":"C","suggestedAction":"x","minor":1}'],
    ['a list', 'REVERSAL', '[]'],
  ] as const)('%s cannot be sent', (_what, topic, payload) => {
    expect(() => toEvent({ ...net, topic, payload }, '/settle')).toThrow(Unsendable);
  });

  test('have JSON Schemas, which are those in docs/schemas (else: npm run schemas)', () => {
    const files = schemaFiles();
    expect(readdirSync('docs/schemas').sort()).toEqual([...files.keys()].sort());
    for (const [name, text] of files) expect(readFileSync(`docs/schemas/${name}`, 'utf8')).toBe(text);
  });
});

describe('the lane of a message', () => {
  test('is its account’s, and the first for what has none and for alerts', () => {
    const lanes = new Set(Array.from({ length: 500 }, (_, at) => laneOf('SETTLEMENT', `A${String(at)}`, 16)));
    expect([...lanes].sort((a, b) => a - b)).toEqual(Array.from({ length: 15 }, (_, at) => at + 1));
    expect(laneOf('PAYOUT', 'A7', 16)).toBe(laneOf('SETTLEMENT', 'A7', 16));
    expect([laneOf('ALERT', 'A7', 16), laneOf('DAY_CLOSED', null, 16), laneOf('SETTLEMENT', 'A7', 1)]).toEqual([
      0, 0, 0,
    ]);
  });

  test('a row that is nobody’s business goes nowhere', () => {
    const row = { outboxTopic: 'LEDGER', bizNo: 'P1.SUBMITTED', batchDay: '2026-11-29', accountNo: 'A1' };
    const head = '{"v":3,"type":"PAYOUT","batchDay":"2026-11-29"';
    expect(topicOf({ ...row, head })).toBeNull();
    expect(topicOf({ ...row, bizNo: 'P1.PAID', head })).toBe('PAYOUT');
    expect(deliveriesOf({ ...row, head }, { sinksOf: new Map([['PAYOUT', []]]) })).toEqual([]);
  });
});

test('a day that was settled, paid out, closed and corrected is told as it was', async () => {
  const place = await createTestDatabase('sqlite');
  try {
    await givenOrders(place.database, [
      { orderNo: 'O1', accountNo: 'A1', minor: 1_000 },
      { orderNo: 'O2', accountNo: 'A2', minor: 700 },
      { orderNo: 'O3', accountNo: 'A2', type: 'FEE', minor: 30 },
    ]);
    await runDay(place.database);
    await plan(place.database);
    await submit(place.database, new ScriptedChannel());
    const [booked] = await place.database.read((session) =>
      session.rows(`select biz_no from outbox where account_no = 'A2' and biz_no like 'S%'`),
    );
    const bizNo = String(booked?.['biz_no']);
    await reverseEntry(place.database, bizNo, { by: 'alice', reason: 'wrong account', at: moment });
    const sink = new ScriptedSink();
    await relayOnce(place.database, [sink]);
    await relayOnce(place.database, [sink]);
    const told = [...sink.bodies.values()].map(
      (text) => JSON.parse(text) as { type: string; subject?: string; data: Record<string, string | undefined> },
    );
    for (const event of told) {
      const topic = { settlement: 'SETTLEMENT', payout: 'PAYOUT', reversal: 'REVERSAL', dayClosed: 'DAY_CLOSED' }[
        event.type.split('.')[1] ?? ''
      ];
      expect(faultIn(topic as 'PAYOUT', event)).toBeNull();
    }
    const lines = told.map(({ type, subject = '-', data }) => {
      const amount = data['netMinor'] ?? data['amountMinor'] ?? data['settlements'] ?? data['reverses'];
      return `${type} ${subject} ${String(amount)} ${data['state'] ?? ''}`.trim();
    });
    expect(lines.sort()).toEqual([
      'settle.dayClosed.v1 - 2',
      'settle.payout.v1 A1 1000 SUCCESS',
      'settle.payout.v1 A2 670 SUCCESS',
      `settle.reversal.v1 A2 ${bizNo}`,
      'settle.settlement.v1 A1 1000',
      'settle.settlement.v1 A2 670',
    ]);
    // Nothing of it is new to the books.
    const open = await place.database.read((session) =>
      session.rows(`select biz_no from outbox where state <> 'SENT'`),
    );
    expect(open).toEqual([]);
  } finally {
    await place.drop();
  }
});
