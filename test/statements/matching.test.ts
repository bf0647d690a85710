import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { day, givenOrders } from '../support/day.js';
import { withoutTriggers } from '../support/plants.js';
import {
  discrepancyLines,
  emptied,
  givenPaymentFile,
  givenPayouts,
  importText,
  keyOf,
  match,
  statementText,
  type TestLine,
} from '../support/matching.js';

// Lines of a channel's statement against payouts and orders: what belongs together is matched once, and each difference is
// one row of its class, however often it is looked for.

const next = '2026-11-30';
const [a1, a2, a3] = ['A1', 'A2', 'A3'].map((account) => keyOf(account)) as [string, string, string];

describe.each(databaseKinds)('matching of statements [%s]', (kind) => {
  let place: TestDatabase;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    await withoutTriggers(place.database);
  });
  afterAll(() => place.drop());
  beforeEach(() => emptied(place.database));

  const states = async (): Promise<string[]> =>
    (await place.database.read((session) => session.tuples('select state from payout order by id'))).map(String);
  const statement = (...lines: TestLine[]): string => statementText({ lines });

  describe('payouts', () => {
    beforeEach(() =>
      givenPayouts(place.database, [
        { accountNo: 'A1', minor: 100, reference: 'R1' },
        { accountNo: 'A2', minor: 200 },
        { accountNo: 'A3', minor: 300, state: 'UNKNOWN' },
      ]),
    );

    test('agree by key, by the reference of the channel, and by other numbers; what was unknown is paid', async () => {
      await importText(
        place.database,
        statement({ minor: 100, their: 'R1' }, { minor: 200, others: ['x', a2] }, { minor: 300, our: a3, their: 'R3' }),
      );
      expect(await match(place.database)).toMatchObject({ lines: 3, matched: 3, missing: 0, waiting: 0 });
      expect(await discrepancyLines(place.database)).toEqual([]);
      expect(await states()).toEqual(['SUCCESS', 'SUCCESS', 'SUCCESS']);
      expect(await match(place.database)).toMatchObject({ lines: 0, matched: 0, missing: 0 });
    });

    test.each<[string, TestLine[], string[]]>([
      ['another amount', [{ minor: 101, our: a1 }], [`AMOUNT ${a1} OPEN -100 -101`]],
      ['another currency', [{ minor: 100, our: a1, currency: 'EUR' }], [`CURRENCY ${a1} OPEN -100 -100`]],
      [
        'a second line',
        [
          { minor: 100, our: a1 },
          { minor: 100, our: a1 },
        ],
        [`DUPLICATE ${a1} OPEN - -100`],
      ],
      [
        'one that came back',
        [
          { minor: 100, our: a1 },
          { kind: 'RETURN', direction: 'CREDIT', minor: 100, our: a1 },
        ],
        [`STATE ${a1} OPEN 100 100`],
      ],
      [
        'a refusal of what we have as paid',
        [
          { minor: 100, our: a1 },
          { minor: 100, our: a1, state: 'FAILED' },
        ],
        [`STATE ${a1} OPEN -100 -100`],
      ],
      [
        'a line of which we know nothing',
        [
          { minor: 100, our: a1 },
          { minor: 7, our: 'strange' },
        ],
        [`MISSING_OURS strange OPEN - -7`],
      ],
      ['no line', [], [`MISSING_THEIRS ${a1} OPEN -100 -`]],
    ])('%s is one discrepancy, found again or not', async (_what, lines, expected) => {
      const rest: TestLine[] = [
        { minor: 200, our: a2 },
        { minor: 300, our: a3 },
      ];
      await importText(place.database, statement(...lines, ...rest));
      await match(place.database);
      expect(await discrepancyLines(place.database)).toEqual(expected);
      await match(place.database);
      expect(await discrepancyLines(place.database)).toEqual(expected);
    });

    test('of unknown outcome are failed by a refusal and by a return, and a person’s when the amount is another', async () => {
      await givenPayouts(place.database, [
        { accountNo: 'A4', minor: 400, state: 'UNKNOWN' },
        { accountNo: 'A5', minor: 500, state: 'UNKNOWN' },
      ]);
      const [a4, a5] = [keyOf('A4'), keyOf('A5')];
      await importText(
        place.database,
        statement(
          ...[
            { minor: 100, our: a1 },
            { minor: 200, our: a2 },
            { minor: 300, our: a3, state: 'FAILED' },
          ],
          ...[
            { kind: 'RETURN', direction: 'CREDIT' as const, minor: 400, our: a4 },
            { minor: 501, our: a5 },
          ],
        ),
      );
      await match(place.database);
      expect(await states()).toEqual(['SUCCESS', 'SUCCESS', 'FAILED', 'FAILED', 'MANUAL']);
      expect(await discrepancyLines(place.database)).toEqual([`AMOUNT ${a5} OPEN -500 -501`]);
    });

    test('that a later statement has are missing no more, and their history says so', async () => {
      await importText(place.database, statement({ minor: 200, our: a2 }, { minor: 300, our: a3 }));
      await match(place.database);
      await importText(
        place.database,
        statementText({ from: next, to: next, lines: [{ minor: 100, our: a1, day: next }] }),
      );
      await match(place.database);
      expect(await discrepancyLines(place.database)).toEqual([`MISSING_THEIRS ${a1} RESOLVED -100 -`]);
      const moves = await place.database.read((session) =>
        session.tuples('select event, to_state, reason from discrepancy_move order by id'),
      );
      expect(moves.map((row) => row.join(' '))).toEqual(['find OPEN ', 'clear RESOLVED found on a statement']);
    });

    test('are not missing before the days that a line may be late are covered', async () => {
      await importText(place.database, statement({ minor: 200, our: a2 }, { minor: 300, our: a3 }));
      await match(place.database, { crossDayDays: 1 });
      expect(await discrepancyLines(place.database)).toEqual([]);
      await importText(place.database, statementText({ from: next, to: next, lines: [] }));
      await match(place.database, { crossDayDays: 1 });
      expect(await discrepancyLines(place.database)).toEqual([`MISSING_THEIRS ${a1} OPEN -100 -`]);
    });
  });

  describe('orders', () => {
    beforeEach(() =>
      givenOrders(place.database, [
        { orderNo: 'O1', accountNo: 'A1', minor: 1_000 },
        { orderNo: 'F1', accountNo: 'A1', minor: 400, type: 'REFUND' },
        { orderNo: 'X1', accountNo: 'A1', minor: 5, type: 'FEE' },
        { orderNo: 'W1', accountNo: 'A1', minor: 9, channel: 'WALLET' },
      ]),
    );
    const payment = { kind: 'PAYMENT', minor: 1_000, our: 'O1' };
    const refund = { kind: 'REFUND', minor: 400, our: 'F1' };

    test('agree by number and direction; fees of ours and other channels are not expected', async () => {
      await importText(place.database, statement(payment, refund, { kind: 'FEE', minor: 12 }));
      expect(await match(place.database)).toMatchObject({ matched: 2, missing: 0, waiting: 0 });
      expect(await discrepancyLines(place.database)).toEqual([]);
    });

    test('a refund of an order that we paid in full only is missing with us', async () => {
      await importText(
        place.database,
        statement(payment, refund, { kind: 'REFUND', minor: 100, our: 'F2', others: ['O1'] }),
      );
      await match(place.database);
      expect(await discrepancyLines(place.database)).toEqual(['MISSING_OURS F2 OPEN - -100']);
    });

    test('fees are compared where the line states one and one is agreed', async () => {
      const fee = { rate: 6_000_00n, fixed: new Map([['USD', 2n]]) }; // 60 basis points and 2
      await importText(place.database, statement({ ...payment, fee: 8 }, refund));
      await match(place.database, { fee });
      expect(await discrepancyLines(place.database)).toEqual([]);
      await givenOrders(place.database, [{ orderNo: 'O2', accountNo: 'A1', minor: 1_000, batchDay: next }]);
      await importText(
        place.database,
        statementText({ from: next, to: next, lines: [{ ...payment, our: 'O2', fee: 9, day: next }] }),
      );
      await match(place.database, { fee });
      expect(await discrepancyLines(place.database)).toEqual(['FEE O2 OPEN 8 9']);
    });

    test('that come a day later are found then; until that day is over nothing is missing', async () => {
      const early = { kind: 'PAYMENT', minor: 50, our: 'O9' };
      await importText(place.database, statement(payment, refund, early));
      expect(await match(place.database, { crossDayDays: 1 })).toMatchObject({ matched: 2, waiting: 1 });
      expect(await discrepancyLines(place.database)).toEqual([]);
      await givenOrders(place.database, [{ orderNo: 'O9', accountNo: 'A1', minor: 50, batchDay: next }]);
      expect(await match(place.database, { crossDayDays: 1 })).toMatchObject({ matched: 1, waiting: 0 });
      await importText(place.database, statementText({ from: next, to: '2026-12-01', lines: [] }));
      await match(place.database, { crossDayDays: 1 });
      expect(await discrepancyLines(place.database)).toEqual([]);
    });

    test('that never come are missing once the day after is covered, and found when they do come', async () => {
      await importText(place.database, statement(payment, refund, { kind: 'PAYMENT', minor: 50, our: 'O9' }));
      await importText(place.database, statementText({ from: next, to: next, lines: [] }));
      await match(place.database, { crossDayDays: 1 });
      expect(await discrepancyLines(place.database)).toEqual(['MISSING_OURS O9 OPEN - 50']);
      await givenOrders(place.database, [{ orderNo: 'O9', accountNo: 'A1', minor: 50 }]);
      await match(place.database, { crossDayDays: 1 });
      expect(await discrepancyLines(place.database)).toEqual(['MISSING_OURS O9 RESOLVED - 50']);
    });
  });

  test('pending lines are no money, and their booked line is another', async () => {
    await givenPayouts(place.database, [{ accountNo: 'A1', minor: 100 }]);
    await importText(place.database, statement({ minor: 100, our: a1, key: 'k', state: 'PENDING' }));
    expect(await match(place.database)).toMatchObject({ lines: 0, missing: 1 });
    await importText(place.database, statement({ minor: 100, our: a1, key: 'k' }, { minor: 0, key: 'z', kind: 'FEE' }));
    expect(await match(place.database)).toMatchObject({ matched: 1 });
    expect(await discrepancyLines(place.database)).toEqual([`MISSING_THEIRS ${a1} RESOLVED -100 -`]);
    expect(day).toBe('2026-11-29');
  });

  describe('a booking that stands for a payment file', () => {
    const file: TestLine = { minor: 600, our: 'FILE-1' };
    beforeEach(async () => {
      await givenPayouts(place.database, [
        { accountNo: 'A1', minor: 100 },
        { accountNo: 'A2', minor: 200, state: 'UNKNOWN' },
        { accountNo: 'A3', minor: 300 },
      ]);
      await givenPaymentFile(place.database, 'FILE-1', ['A1', 'A2', 'A3']);
    });

    test.each([
      ['the message id, with the count', { our: 'FILE-1', batchCount: 3 }],
      ['the group of its currency, without a count', { our: 'FILE-1-USD' }],
      ['another number of the line', { others: ['x', 'FILE-1'] }],
    ])('by %s matches every payout of the file; what was unknown is paid', async (_what, line) => {
      await importText(place.database, statement({ minor: 600, ...line }));
      expect(await match(place.database)).toMatchObject({ lines: 1, missing: 0, waiting: 0 });
      expect(await discrepancyLines(place.database)).toEqual([]);
      expect(await states()).toEqual(['SUCCESS', 'SUCCESS', 'SUCCESS']);
      const matched = await place.database.read((session) =>
        session.tuples('select ours, role from statement_match order by ours_id'),
      );
      expect(matched.map(String)).toEqual(Array(3).fill('PAYOUT,MOVED'));
    });

    test.each<[string, TestLine]>([
      ['another sum', { minor: 599, our: 'FILE-1', batchCount: 3 }],
      ['another count', { minor: 600, our: 'FILE-1', batchCount: 2 }],
    ])('with %s matches none of them, and is one discrepancy, found again or not', async (_what, line) => {
      await importText(place.database, statement(line));
      for (let round = 0; round < 2; round += 1) {
        await match(place.database);
        const found = await discrepancyLines(place.database);
        expect(found.filter((text) => text.startsWith('AMOUNT'))).toEqual([
          `AMOUNT FILE-1 OPEN -600 -${String(line.minor)}`,
        ]);
      }
      expect(await states()).toEqual(['SUCCESS', 'UNKNOWN', 'SUCCESS']);
    });

    test.each<[string, TestLine[], string[]]>([
      ['a line of its own before it', [{ minor: 100, our: a1 }, file], ['AMOUNT FILE-1 OPEN -600 -600']],
      ['a line of its own behind it', [file, { minor: 100, our: a1 }], [`DUPLICATE ${a1} OPEN - -100`]],
      ['a second booking of the file', [file, file], ['AMOUNT FILE-1 OPEN -600 -600']],
    ])('and %s: each payout is matched once, and the other line is one discrepancy', async (_what, lines, expected) => {
      await importText(place.database, statement(...lines));
      await match(place.database);
      await match(place.database);
      const found = await discrepancyLines(place.database);
      expect(found.filter((text) => !text.startsWith('MISSING_THEIRS'))).toEqual(expected);
    });
  });
});
