import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { debtMoves, type Debt } from '../../src/terms/debt.js';
import { payoutDue } from '../../src/terms/payout.js';
import { rateOne, shareOf } from '../../src/terms/rate.js';

const dayAt = (at: number): string => new Date(Date.UTC(2026, 0, 1 + at)).toISOString().slice(0, 10);

describe('debt', () => {
  test('is paid back oldest first, as far as the position reaches', () => {
    const debts: Debt[] = [
      { originDay: '2026-11-03', openMinor: 50n },
      { originDay: '2026-11-01', openMinor: 20n },
    ];
    expect(debtMoves(60n, debts)).toEqual({
      newDebtMinor: 0n,
      recoveries: [
        { debt: debts[1], amountMinor: 20n },
        { debt: debts[0], amountMinor: 40n },
      ],
      payableMinor: 0n,
    });
    expect(debtMoves(100n, debts)).toMatchObject({ payableMinor: 30n });
    expect(debtMoves(-5n, debts)).toEqual({ newDebtMinor: 5n, recoveries: [], payableMinor: 0n });
    expect(debtMoves(0n, debts)).toEqual({ newDebtMinor: 0n, recoveries: [], payableMinor: 0n });
  });

  test('over any run of days: recovered never exceeds debt, nothing is lost, a later debt waits for the earlier', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: -1_000n, max: 1_000n }), { maxLength: 30 }), (positions) => {
        const open = new Map<string, bigint>();
        let paid = 0n;
        for (const [at, position] of positions.entries()) {
          const debts = [...open].map(([originDay, openMinor]) => ({ originDay, openMinor }));
          const moves = debtMoves(position, debts.reverse());
          if (moves.newDebtMinor > 0n) open.set(dayAt(at), moves.newDebtMinor);
          for (const { debt, amountMinor } of moves.recoveries) {
            const { originDay } = debt;
            const left = (open.get(originDay) ?? 0n) - amountMinor;
            expect(amountMinor > 0n && left >= 0n).toBe(true);
            const older = [...open].filter(([day]) => day < originDay);
            open.set(originDay, left);
            expect(older.every(([, minor]) => minor === 0n)).toBe(true);
          }
          paid += moves.payableMinor;
          const owed = [...open.values()].reduce((sum, minor) => sum + minor, 0n);
          expect(moves.payableMinor === 0n || owed === 0n).toBe(true);
          expect(paid - owed).toBe(positions.slice(0, at + 1).reduce((sum, minor) => sum + minor, 0n));
        }
      }),
      { numRuns: 500 },
    );
  });
});

test('a reserve is a share of the whole, never more than it', () => {
  const gross = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
  fc.assert(
    fc.property(gross, fc.bigInt({ min: 0n, max: rateOne }), (amount, rate) => {
      const held = shareOf(amount, rate);
      expect(held >= 0n && held <= amount).toBe(true);
    }),
  );
  expect(shareOf(12_345n, 10_000_000n)).toBe(1_234n);
});

describe('what is due for payout', () => {
  const terms = { minimumPayout: new Map([['USD', 2_500n]]), payoutHold: false, payoutDelayDays: 2 };

  test.each`
    payable   | currency | given                   | due       | held               | because
    ${2_500n} | ${'USD'} | ${{}}                   | ${2_500n} | ${null}            | ${'it is as much as the minimum'}
    ${2_499n} | ${'USD'} | ${{}}                   | ${0n}     | ${'BELOW_MINIMUM'} | ${'it is carried forward'}
    ${1n}     | ${'EUR'} | ${{}}                   | ${1n}     | ${null}            | ${'the minimum is of another currency'}
    ${9_999n} | ${'USD'} | ${{ payoutHold: true }} | ${0n}     | ${'HOLD'}          | ${'nothing is paid out'}
    ${0n}     | ${'USD'} | ${{ payoutHold: true }} | ${0n}     | ${null}            | ${'there is nothing to hold'}
    ${-400n}  | ${'USD'} | ${{}}                   | ${0n}     | ${null}            | ${'a debt is not paid out'}
  `('of $payable $currency is $due: $because', ({ payable, currency, given, due, held }) => {
    const found = payoutDue(payable as bigint, currency as string, '2026-12-31', { ...terms, ...(given as object) });
    expect(found).toEqual({ dueDay: '2027-01-02', dueMinor: due, held });
  });
});
