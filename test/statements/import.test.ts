import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { StatementRefusal } from '../../src/statements/refusal.js';
import { listFiles } from '../../src/statements/storedFiles.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { withoutTriggers } from '../support/plants.js';
import { discrepancyLines, emptied, importText, statementText, type TestLine } from '../support/matching.js';

// A file of a channel is taken whole or not at all, once, and its lines are the same lines in whichever file they come.

describe.each(databaseKinds)('import of statements [%s]', (kind) => {
  let place: TestDatabase;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    await withoutTriggers(place.database);
  });
  afterAll(() => place.drop());
  beforeEach(() => emptied(place.database));

  const count = async (table: string): Promise<number> => {
    const rows = await place.database.read((session) => session.tuples(`select count(*) from ${table}`));
    return Number(rows[0]?.[0]);
  };
  const lines = (...minors: number[]): TestLine[] => minors.map((minor) => ({ minor, key: `K${String(minor)}` }));

  test('books lines, totals and balances; the same file again changes nothing and says so', async () => {
    const text = statementText({ opening: 50, closing: 45, lines: [...lines(3, 4), { kind: 'PAYMENT', minor: 2 }] });
    const booked = await importText(place.database, text);
    expect(booked).toMatchObject({ outcome: 'booked', lines: 3, newLines: 3, knownLines: 0, problems: [] });
    expect(booked.byCurrency).toMatchObject([
      { currency: 'USD', creditMinor: 2n, debitMinor: 7n, feeMinor: 0n, openingMinor: 50n, closingMinor: 45n },
    ]);
    const again = await importText(place.database, text);
    expect(again).toMatchObject({ outcome: 'repeat', lines: 3, byCurrency: booked.byCurrency });
    expect([await count('statement_file'), await count('statement_line')]).toEqual([1, 3]);
  });

  test('the same file of another channel is another file', async () => {
    const text = statementText({ lines: lines(1) });
    await importText(place.database, text);
    expect(await importText(place.database, text, { channel: 'other' })).toMatchObject({
      outcome: 'booked',
      newLines: 1,
    });
  });

  test('lines of overlapping files are known by their key, or by what they say and their number', async () => {
    const same = { kind: 'PAYMENT', minor: 9, their: 'x' };
    await importText(place.database, statementText({ lines: [...lines(1, 2), same, same] }));
    const text = statementText({ to: '2026-11-30', lines: [...lines(2, 3), same, same, same] });
    expect(await importText(place.database, text)).toMatchObject({
      lines: 5,
      newLines: 2,
      knownLines: 3,
      outcome: 'booked',
    });
    expect(await count('statement_line')).toBe(6);
  });

  test('one key twice in one file is two lines', async () => {
    await importText(place.database, statementText({ lines: lines(1, 1) }));
    expect(await count('statement_line')).toBe(2);
  });

  test('a known line that says something else now flags the file', async () => {
    await importText(place.database, statementText({ lines: [{ minor: 5, key: 'k' }] }));
    const text = statementText({ to: '2026-11-30', lines: [{ minor: 6, key: 'k' }] });
    const flagged = await importText(place.database, text);
    expect(flagged).toMatchObject({ outcome: 'flagged', newLines: 0, problems: [{ code: 'LINE_CHANGED', line: 2 }] });
    expect(await discrepancyLines(place.database)).toEqual([expect.stringMatching(/^STATEMENT file \d+ line 2 OPEN/)]);
  });

  test('balances that the lines do not make flag the file', async () => {
    const text = statementText({ opening: 10, closing: 10, lines: lines(3) });
    expect(await importText(place.database, text)).toMatchObject({
      outcome: 'flagged',
      problems: [{ code: 'BALANCE_DIFFERS' }],
    });
  });

  test('a fee that is taken with its line is part of the balance', async () => {
    const text = statementText({ opening: 10, closing: 5, lines: [{ minor: 4, fee: 1, key: 'k' }] });
    expect(await importText(place.database, text)).toMatchObject({ outcome: 'booked', problems: [] });
  });

  test('a gap is a discrepancy until the statement comes that fills it', async () => {
    const of = (sequence: number, day: string, opening: number): string =>
      statementText({
        sequence,
        from: day,
        to: day,
        opening,
        closing: opening - 1,
        lines: [{ minor: 1, key: day, day }],
      });
    await importText(place.database, of(1, '2026-11-27', 10));
    const third = await importText(place.database, of(3, '2026-11-29', 8));
    expect(third).toMatchObject({ outcome: 'flagged' });
    expect(third.problems.map(({ code }) => code).sort()).toEqual(['BALANCE_DIFFERS', 'SEQUENCE_DIFFERS']);
    expect((await discrepancyLines(place.database)).map((line) => line.replace(/\d+\/1/g, 'N'))).toEqual([
      'BALANCE statements N and N OPEN 9 8',
      'GAP statements N and N OPEN - -',
    ]);
    expect(await importText(place.database, of(2, '2026-11-28', 9))).toMatchObject({ outcome: 'booked', problems: [] });
    expect((await discrepancyLines(place.database)).every((line) => line.includes(' RESOLVED '))).toBe(true);
  });

  test.each<[string, string, string, number | null]>([
    ['a broken end', statementText({ lines: lines(1, 2) }).replace(/\{"record":"end".*/, ''), 'TRUNCATED', null],
    [
      'a line that is no object',
      statementText({ lines: lines(1) }).replace('"kind":"PAYOUT"', '"kind'),
      'BAD_RECORD',
      2,
    ],
    [
      'an amount with a point',
      statementText({ lines: lines(1) }).replace('"amount_minor":"1"', '"amount_minor":"1.0"'),
      'BAD_AMOUNT',
      2,
    ],
    ['an amount beyond 64 bits', statementText({ lines: [{ minor: 2n ** 63n }] }), 'AMOUNT_OUT_OF_RANGE', 2],
    ['a currency that is none', statementText({ lines: [{ minor: 1, currency: 'XXA' }] }), 'UNKNOWN_CURRENCY', 2],
    ['a day that is none', statementText({ lines: [{ minor: 1, day: '2026-02-30' }] }), 'BAD_DATE', 2],
    ['too few lines', statementText({ lines: lines(1) }).replace('"lines":1', '"lines":2'), 'COUNT_DIFFERS', 3],
    ['nothing', '', 'EMPTY_FILE', null],
  ])('with %s it is refused, and nothing of it is stored', async (_what, text, code, line) => {
    const error: unknown = await importText(place.database, text).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StatementRefusal);
    expect(error).toMatchObject({ code, line });
    expect([await count('statement_file'), await count('statement_line')]).toEqual([0, 0]);
  });

  test('a file that was left half read by a dead process is removed by the next import; a living one is left alone', async () => {
    await place.database.read((session) =>
      session.change(
        `insert into statement_file (channel, name, format, digest, state, staging, owner, alive_ms, staged_lines, imported_at)
         values ('bank', 'x', 'f', 'd', 'STAGED', 1, 'other process 2', 9999999999999, 0, '2026-11-30 00:00:00.000')`,
      ),
    );
    const text = statementText({ lines: lines(1) });
    await expect(importText(place.database, text, { isAlive: true })).rejects.toMatchObject({
      code: 'STATEMENT_LOCKED',
    });
    expect(await importText(place.database, text)).toMatchObject({ outcome: 'booked' });
    expect(await place.database.read((session) => listFiles(session, 'bank', 10))).toMatchObject([
      { state: 'BOOKED', lines: 1 },
    ]);
  });

  test('more lines than are stored at once', async () => {
    const many = Array.from({ length: 9_000 }, (_, at): TestLine => ({ minor: at, key: `M${String(at)}` }));
    await importText(place.database, statementText({ lines: many }));
    const text = statementText({ to: '2026-11-30', lines: [...many.slice(4_500), { minor: 1, key: 'new' }] });
    expect(await importText(place.database, text)).toMatchObject({ newLines: 1, knownLines: 4_500 });
  });
});
