import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { orderOf, randomNumbers, type DayShape } from './bench/data.js';
import { dealRanges, type Range } from './bench/ranges.js';

describe('ranges of the floor', () => {
  test('deal each id out once, whoever takes the next range', () => {
    const asked = fc.record({
      orders: fc.integer({ min: 1, max: 500 }),
      rangeOrders: fc.integer({ min: 1, max: 600 }),
      /** Who takes a range next; the last goes on alone. */
      turns: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 600 }),
    });
    fc.assert(
      fc.property(asked, ({ orders, rangeOrders, turns }) => {
        const dealt = dealRanges(orders, rangeOrders);
        const taken: Range[][] = [[], [], [], []];
        for (const turn of turns) {
          const next = dealt.next();
          if (next.done !== true) taken[turn]?.push(next.value);
        }
        for (const range of dealt) taken[3]?.push(range);
        const ranges = taken.flat().sort((a, b) => a.chunkNo - b.chunkNo);
        const ids = ranges.flatMap(({ first, last }) =>
          Array.from({ length: last - first + 1 }, (_, at) => first + at),
        );
        expect(ids).toEqual(Array.from({ length: orders }, (_, at) => at + 1));
        expect(ranges.map(({ chunkNo }) => chunkNo)).toEqual(ranges.map((_, at) => at + 1));
        expect(ranges.every(({ first, last }) => last - first < rangeOrders)).toBe(true);
      }),
    );
  });

  test('stop for everybody when one who takes them fails', () => {
    const dealt = dealRanges(100, 10);
    const fail = ({ chunkNo }: Range): void => {
      throw new Error(`fails at ${String(chunkNo)}`);
    };
    expect(() => {
      for (const range of dealt) fail(range);
    }).toThrow('fails at 1');
    expect([...dealt]).toEqual([]);
  });
});

describe('the day', () => {
  const rows = (shape: DayShape, accounts: number, orders: number): unknown[][] => {
    const random = randomNumbers(20261129);
    return Array.from({ length: orders }, (_, at) => orderOf({ accounts, shape }, at, random, '2026-11-29'));
  };
  /** Share of the orders by account, the greatest first. */
  const shares = (shape: DayShape, accounts: number): [account: unknown, share: number][] => {
    const counts = new Map<unknown, number>();
    for (const [, , account] of rows(shape, accounts, 20_000)) counts.set(account, (counts.get(account) ?? 0) + 1);
    return [...counts].map(([account, n]) => [account, n / 20_000] as [unknown, number]).sort(([, a], [, b]) => b - a);
  };

  test.each([
    ['even', '27a1e747ae961ee4'],
    ['elephant', '3f189cf46524efde'],
  ] as const)('%s has the same orders as ever: with others the saved figures would not compare', (shape, digest) => {
    const text = JSON.stringify(rows(shape, 100, 1_000));
    expect(createHash('sha256').update(text).digest('hex').slice(0, 16)).toBe(digest);
  });

  test('gives one account 70 % of the orders on an elephant day, and none much on an even one', () => {
    const [elephant, next] = shares('elephant', 2_000);
    expect(elephant?.[0]).toBe('M0000001');
    expect(elephant?.[1]).toBeCloseTo(0.7, 1);
    expect(next?.[1]).toBeLessThan(0.05);
    expect(shares('even', 2_000)[0]?.[1]).toBeLessThan(0.06);
  });

  test('names accounts that exist, be it one', () => {
    const accounts = (shape: DayShape, of: number): Set<unknown> =>
      new Set(rows(shape, of, 2_000).map((row) => row[2]));
    expect(accounts('elephant', 1)).toEqual(new Set(['M0000001']));
    expect([...accounts('elephant', 3)].sort()).toEqual(['M0000001', 'M0000002', 'M0000003']);
    expect([...accounts('even', 3)].sort()).toEqual(['M0000001', 'M0000002', 'M0000003']);
  });
});
