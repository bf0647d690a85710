import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { StatementRefusal } from '../../src/statements/refusal.js';
import type { StatementEvent } from '../../src/statements/statement.js';
import { bankFile, claimed, readBank, told } from '../support/bankFiles.js';
import {
  amountMax,
  bai2,
  camt053,
  mt940,
  nachaReturn,
  type BankDay,
  type BankDayLine,
  type Writer,
} from '../support/bankWriters.js';

const formats: [name: string, format: string, write: Writer, isReturns: boolean][] = [
  ['camt.053 version 2', 'camt.053', camt053(2), false],
  ['camt.053 version 4', 'camt.053', camt053(4), false],
  ['camt.053 version 8', 'camt.053', camt053(8), false],
  ['mt940', 'mt940', mt940, false],
  ['bai2', 'bai2', bai2, false],
  ['nacha-return', 'nacha-return', nachaReturn, true],
];

const lineOf = (minorMax: bigint, isReturns: boolean): fc.Arbitrary<BankDayLine> => {
  const trace = fc.integer({ min: 1, max: 9_999_999 }).map((number) => `0910000${String(number).padStart(8, '0')}`);
  // Patterns are slow to make by fast-check; these are of the same characters and of every length.
  const reference = (max: number): fc.Arbitrary<string> =>
    fc.string({ unit: fc.constantFrom(...'ABCXYZ123456789'), minLength: 2, maxLength: max });
  return fc.record({
    isCredit: fc.boolean(),
    minor: fc.bigInt(0n, minorMax),
    our: isReturns ? trace : reference(35),
    bank: isReturns ? trace : reference(16),
  });
};

function dayOf(isReturns: boolean): fc.Arbitrary<BankDay> {
  if (isReturns) {
    const lines = fc.array(lineOf(9_999_999_999n, true), { minLength: 1, maxLength: 12 });
    return lines.map((found) => ({ currency: 'USD', openingMinor: 0n, lines: found }));
  }
  return fc.constantFrom('EUR', 'JPY', 'KWD', 'USD').chain((currency) =>
    fc.record({
      currency: fc.constant(currency),
      openingMinor: fc.bigInt(-amountMax(currency), amountMax(currency)),
      lines: fc.array(lineOf(amountMax(currency), false), { minLength: 1, maxLength: 12 }),
    }),
  );
}

const moneyOf = (events: readonly StatementEvent[]): unknown[] =>
  events.flatMap((event) =>
    event.kind === 'line'
      ? [
          [
            event.line.direction === 'CREDIT',
            event.line.netMinor,
            event.line.currency,
            event.line.ourReference,
            event.line.channelReference,
          ],
        ]
      : [],
  );
const problemsOf = (events: readonly StatementEvent[]): number =>
  events.filter(({ kind }) => kind === 'problem').length;

describe.each(formats)('%s', (_, format, write, isReturns) => {
  test('any day is read back to the last unit, in any chunks, and proves itself', async () => {
    const property = fc.asyncProperty(dayOf(isReturns), fc.integer({ min: 1, max: 500 }), async (day, chunkBytes) => {
      const text = write(day);
      expect(claimed(text)).toEqual([format]);
      const events = await readBank(format, text, { chunkBytes });
      expect(problemsOf(events)).toBe(0);
      expect(moneyOf(events)).toEqual(
        day.lines.map(({ isCredit, minor, our, bank }) => [
          isCredit,
          isCredit ? minor : -minor,
          day.currency,
          our,
          bank,
        ]),
      );
      const balances = events.flatMap((event) => (event.kind === 'balance' ? [event.balance.minor] : []));
      const moved = day.lines.reduce((sum, { isCredit, minor }) => sum + (isCredit ? minor : -minor), 0n);
      expect(balances).toEqual(isReturns ? [] : [day.openingMinor, day.openingMinor + moved]);
    });
    await fc.assert(property, { numRuns: 40 });
  });

  test('one amount, one unit more or less, is always flagged; so is a line taken out or said twice', async () => {
    const property = fc.asyncProperty(dayOf(isReturns), fc.nat(), fc.constantFrom(1n, -1n), async (day, at, by) => {
      const index = at % day.lines.length;
      const [line] = day.lines.slice(index);
      if (line === undefined) return;
      const minor = line.minor + by < 0n || line.minor + by > 9_999_999_999n ? line.minor - by : line.minor + by;
      const changed = { ...day, lines: day.lines.with(index, { ...line, minor }) };
      expect(problemsOf(await readBank(format, write(changed, day)))).toBeGreaterThan(0);
      if (line.minor === 0n) return;
      const twice = { ...day, lines: [...day.lines, line] };
      expect(problemsOf(await readBank(format, write(twice, day)))).toBeGreaterThan(0);
      expect(problemsOf(await readBank(format, write(day, twice)))).toBeGreaterThan(0);
    });
    await fc.assert(property, { numRuns: 40 });
  });

  test('a file that is cut anywhere is refused, or tells all of it', async () => {
    const property = fc.asyncProperty(dayOf(isReturns), fc.nat(), async (day, at) => {
      const bytes = Buffer.from(write(day));
      await expectWholeOrRefused(format, bytes, at % bytes.length);
    });
    await fc.assert(property, { numRuns: 60 });
  });
});

async function expectWholeOrRefused(format: string, bytes: Buffer, at: number): Promise<void> {
  const whole = told(await readBank(format, bytes));
  let events: string[];
  try {
    events = told(await readBank(format, bytes.subarray(0, at)));
  } catch (error) {
    expect(error).toBeInstanceOf(StatementRefusal);
    return;
  }
  expect(events).toEqual(whole);
}

// Every byte takes minutes; near the end a cut is most easily taken for the whole.
const every = process.env['SETTLE_TEST_FAULTS'] === 'every';

test.each([
  ['camt.053', 'camt053-v02.xml'],
  ['camt.053', 'camt053-v08.xml'],
  ['camt.054', 'camt054-v08.xml'],
  ['mt942', 'mt942.sta'],
  ['bai2', 'bai2.txt'],
  ['nacha-return', 'nacha-return.ach'],
])(
  '%s: our sample %s, cut within its end, is refused or tells all of it',
  async (format, file) => {
    const bytes = bankFile(file);
    for (let at = every ? 1 : bytes.length - 100; at < bytes.length; at += 1)
      await expectWholeOrRefused(format, bytes, at);
  },
  600_000,
);
