import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { givenOrders } from '../support/day.js';
import { withoutTriggers } from '../support/plants.js';
import {
  discrepancyLines,
  emptied,
  givenPayouts,
  importText,
  keyOf,
  match,
  statementText,
  type TestLine,
} from '../support/matching.js';

// From a pair of books that agree, k random errors: exactly k discrepancies, each of its class and of its item, and none
// where there is none. Errors are on either side.

type Mutation =
  'theirs missing' | 'ours missing' | 'amount' | 'currency' | 'duplicate' | 'state' | 'date' | 'reference';
const mutations: Mutation[] = [
  ...(['theirs missing', 'ours missing', 'amount', 'currency', 'duplicate', 'state', 'date', 'reference'] as const),
];

const rows = 24;
const cases = fc.record({
  amounts: fc.array(fc.bigInt({ min: 1n, max: 2n ** 62n }), { minLength: rows, maxLength: rows }),
  errors: fc.dictionary(fc.nat(rows - 1).map(String), fc.constantFrom(...mutations), { maxKeys: 8 }),
});

describe.each(databaseKinds)('random errors in books that agree [%s]', (kind) => {
  let place: TestDatabase;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    await withoutTriggers(place.database);
  });
  afterAll(() => place.drop());

  test('are found, each once and as what it is', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ amounts, errors }) => {
        await emptied(place.database);
        const { lines, expected } = await given(amounts, errors);
        await importText(place.database, statementText({ lines }));
        await match(place.database);
        const found = (await discrepancyLines(place.database)).map((line) => line.split(' ').slice(0, 2).join(' '));
        expect(found).toEqual(expected.sort());
        await match(place.database);
        expect(await discrepancyLines(place.database)).toHaveLength(expected.length);
      }),
      { numRuns: kind === 'sqlite' ? 40 : 8 },
    );
  }, 120_000);

  /** Half of the rows are payouts, half are orders. */
  async function given(
    amounts: readonly bigint[],
    errors: Readonly<Record<string, Mutation>>,
  ): Promise<{ lines: TestLine[]; expected: string[] }> {
    const lines: TestLine[] = [];
    const expected: string[] = [];
    const payouts: Parameters<typeof givenPayouts>[1][number][] = [];
    const orders: Parameters<typeof givenOrders>[1][number][] = [];
    for (const [at, minor] of amounts.entries()) {
      const isPayout = at % 2 === 0;
      const key = isPayout ? keyOf(`A${String(at)}`) : `O${String(at)}`;
      const error = errors[String(at)];
      if (error !== 'ours missing') {
        if (isPayout)
          payouts.push({ accountNo: `A${String(at)}`, minor, state: error === 'state' ? 'FAILED' : 'SUCCESS' });
        else orders.push({ orderNo: key, accountNo: 'A', minor });
      }
      const line: TestLine = { kind: isPayout ? 'PAYOUT' : 'PAYMENT', minor, our: key };
      if (error === 'theirs missing') expected.push(`MISSING_THEIRS ${key}`);
      else lines.push(line);
      const own = lines.at(-1) as TestLine;
      if (error === 'ours missing') expected.push(`MISSING_OURS ${key}`);
      if (error === 'amount') {
        own.minor = minor + (at % 4 < 2 ? 1n : -1n);
        expected.push(`AMOUNT ${key}`);
      }
      if (error === 'currency') {
        own.currency = 'EUR';
        expected.push(`CURRENCY ${key}`);
      }
      if (error === 'duplicate') {
        lines.push({ ...line });
        expected.push(`DUPLICATE ${key}`);
      }
      if (error === 'date') own.day = '2026-11-28'; // another day is none: the money is there
      if (error === 'state') {
        if (!isPayout) own.state = 'FAILED';
        expected.push(`STATE ${key}`);
      }
      if (error === 'reference') {
        own.our = `X${String(at)}`; // a reference that is not ours: a line of nobody, and a row without a line
        expected.push(`MISSING_OURS X${String(at)}`, `MISSING_THEIRS ${key}`);
      }
    }
    await givenPayouts(place.database, payouts);
    if (orders.length > 0) await givenOrders(place.database, orders);
    return { lines, expected };
  }
});
