import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { amountExceeded, feeOf, ruleFor, type FeePlan, type FeeRule, type FeeTier } from '../../src/terms/feePlan.js';
import { basisPointsText, halfEven, parseBasisPoints, rateOne } from '../../src/terms/rate.js';

/** A tier: from this amount on, so many basis points, plus, at least, at most (minor units). */
const tier = (from: number, basisPoints: string, fixed = 0, minimum = 0, maximum: number | null = null): FeeTier => ({
  fromMinor: BigInt(from),
  rate: parseBasisPoints(basisPoints) ?? -1n,
  fixedMinor: BigInt(fixed),
  minimumMinor: BigInt(minimum),
  maximumMinor: maximum === null ? null : BigInt(maximum),
});

const rule = (tiers: FeeTier[], given: Partial<FeeRule> = {}): FeeRule => ({
  type: 'PAYMENT',
  channel: null,
  currency: null,
  mode: 'SLAB',
  capAtOrder: false,
  tiers,
  ...given,
});

describe('basis points', () => {
  test.each([
    ['0', 0n],
    ['290', 2_900_000n],
    ['12.5', 125_000n],
    ['0.0001', 1n],
    ['10000', rateOne],
    ['20000', 2n * rateOne],
  ])('%s is exact', (text, rate) => {
    expect(parseBasisPoints(text)).toBe(rate);
    expect(basisPointsText(rate)).toBe(text);
  });

  test.each(['', '-1', '1.', '.5', '1.00001', '1e2', '01', '1,5', ' 1', '12345678901'])('%j is refused', (text) => {
    expect(parseBasisPoints(text)).toBeNull();
  });
});

describe('half-even', () => {
  test.each([
    [1n, 2n, 0n],
    [3n, 2n, 2n],
    [5n, 2n, 2n],
    [-1n, 2n, 0n],
    [-3n, 2n, -2n],
    [7n, 4n, 2n],
    [5n, 4n, 1n],
    [-5n, 4n, -1n],
    [-7n, 4n, -2n],
  ])('%s / %s is %s', (numerator, denominator, rounded) => {
    expect(halfEven(numerator, denominator)).toBe(rounded);
  });

  test('is never further than a half, and on a tie even', () => {
    const whole = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
    fc.assert(
      fc.property(whole, fc.bigInt({ min: 1n, max: 10n ** 12n }), (numerator, denominator) => {
        const rounded = halfEven(numerator, denominator);
        const off = 2n * (numerator - rounded * denominator);
        const magnitude = off < 0n ? -off : off;
        expect(magnitude < denominator || (magnitude === denominator && rounded % 2n === 0n)).toBe(true);
      }),
    );
  });
});

describe('the fee of an order', () => {
  test.each`
    amount     | of                                                                   | fee      | because
    ${10_000}  | ${rule([tier(0, '290', 30)], { capAtOrder: true })}                  | ${320}   | ${'2.9 % of 100.00 and 0.30'}
    ${25}      | ${rule([tier(0, '290', 30)], { capAtOrder: true })}                  | ${25}    | ${'never more than the order'}
    ${0}       | ${rule([tier(0, '290', 30)], { capAtOrder: true })}                  | ${0}     | ${'nothing of nothing'}
    ${100}     | ${rule([tier(0, '250', 0)])}                                         | ${2}     | ${'2.5 rounds to the even 2'}
    ${300}     | ${rule([tier(0, '250', 0)])}                                         | ${8}     | ${'7.5 rounds to the even 8'}
    ${100}     | ${rule([tier(0, '10', 0, 50)], { capAtOrder: true })}                | ${50}    | ${'the minimum'}
    ${900_000} | ${rule([tier(0, '100', 0, 0, 5_000)])}                               | ${5_000} | ${'the maximum'}
    ${9_999}   | ${rule([tier(0, '300'), tier(10_000, '200')])}                       | ${300}   | ${'SLAB: below the second tier'}
    ${10_000}  | ${rule([tier(0, '300'), tier(10_000, '200')])}                       | ${200}   | ${'SLAB: all of it in the second tier'}
    ${15_000}  | ${rule([tier(0, '300'), tier(10_000, '200')], { mode: 'MARGINAL' })} | ${400}   | ${'MARGINAL: 3 % of 100.00 and 2 % of 50.00'}
    ${10_000}  | ${rule([tier(0, '300'), tier(10_000, '200')], { mode: 'MARGINAL' })} | ${300}   | ${'MARGINAL: nothing in the second tier yet'}
  `('of $amount is $fee: $because', ({ amount, of, fee }) => {
    expect(feeOf(of as FeeRule, BigInt(amount as number)).feeMinor).toBe(BigInt(fee as number));
  });
});

// The reference: fractions of any size, worked out from the words of the specification and not from the code.
interface Fraction {
  over: bigint;
  under: bigint;
}
const fraction = (over: bigint, under = 1n): Fraction => ({ over, under });
const plus = (a: Fraction, b: Fraction): Fraction => fraction(a.over * b.under + b.over * a.under, a.under * b.under);
const isLess = (a: Fraction, b: Fraction): boolean => a.over * b.under < b.over * a.under;
const least = (a: Fraction, b: Fraction): Fraction => (isLess(b, a) ? b : a);
const most = (a: Fraction, b: Fraction): Fraction => (isLess(a, b) ? b : a);

/** To the nearest whole; of two that are as near, the even one. Fractions here are zero or positive. */
function nearestEven({ over, under }: Fraction): bigint {
  const below = over / under;
  const [down, up] = [over - below * under, (below + 1n) * under - over];
  if (down !== up) return down < up ? below : below + 1n;
  return below % 2n === 0n ? below : below + 1n;
}

function referenceFee({ mode, tiers, capAtOrder }: FeeRule, amount: bigint): Fraction {
  const parts = tiers.map(({ fromMinor, rate }, at) => {
    const end = tiers[at + 1]?.fromMinor ?? null;
    const top = end === null || amount < end ? amount : end;
    return { share: fraction((top > fromMinor ? top - fromMinor : 0n) * rate, 10n ** 8n) };
  });
  const inTier = [...tiers].reverse().find(({ fromMinor }) => fromMinor <= amount) as FeeTier;
  const terms = mode === 'SLAB' ? inTier : (tiers[0] as FeeTier);
  const share =
    mode === 'SLAB'
      ? fraction(amount * terms.rate, 10n ** 8n)
      : parts.reduce((sum, part) => plus(sum, part.share), fraction(0n));
  const charged = most(plus(share, fraction(terms.fixedMinor)), fraction(terms.minimumMinor));
  const limited = terms.maximumMinor === null ? charged : least(charged, fraction(terms.maximumMinor));
  return capAtOrder ? least(limited, fraction(amount)) : limited;
}

const amounts = fc.oneof(fc.bigInt({ min: 0n, max: 100_000n }), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }));
const rates = fc.oneof(fc.bigInt({ min: 0n, max: rateOne }), fc.constantFrom(0n, 1n, 250_000n, 5_000_000n, rateOne));

/** Rules as the door lets them in: what could exceed the order is capped. */
const rules: fc.Arbitrary<FeeRule> = fc
  .record({
    mode: fc.constantFrom('SLAB' as const, 'MARGINAL' as const),
    cap: fc.boolean(),
    starts: fc.uniqueArray(fc.bigInt({ min: 1n, max: 50_000n }), { maxLength: 3 }),
    tiers: fc.array(
      fc.record({
        rate: rates,
        fixed: fc.bigInt({ min: 0n, max: 200n }),
        minimum: fc.bigInt({ min: 0n, max: 300n }),
        above: fc.option(fc.bigInt({ min: 0n, max: 5_000n })),
      }),
      { minLength: 4, maxLength: 4 },
    ),
  })
  .map(({ mode, cap, starts, tiers }) => {
    const from = [0n, ...starts.sort((a, b) => (a < b ? -1 : 1))];
    const made = rule(
      from.map((fromMinor, at) => {
        const { rate, fixed, minimum, above } = tiers[at] as (typeof tiers)[number];
        const plain = mode === 'MARGINAL' && at > 0;
        return {
          fromMinor,
          rate,
          fixedMinor: plain ? 0n : fixed,
          minimumMinor: plain ? 0n : minimum,
          maximumMinor: plain || above === null ? null : minimum + above,
        };
      }),
      { mode },
    );
    return { ...made, capAtOrder: cap || amountExceeded(made) !== null };
  });

describe('fees, against fractions', () => {
  test('are exact to the minor unit, and say what rounding did', () => {
    fc.assert(
      fc.property(rules, amounts, (of, amount) => {
        const exact = referenceFee(of, amount);
        const { feeMinor, rest } = feeOf(of, amount);
        expect(feeMinor).toBe(nearestEven(exact));
        expect((feeMinor * rateOne + rest) * exact.under).toBe(exact.over * rateOne);
      }),
      { numRuns: 2_000 },
    );
  });

  test('with what rounding took and gave, add up to the exact total of all orders', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(rules, amounts), { maxLength: 40 }), (orders) => {
        const exact = orders.reduce((sum, [of, amount]) => plus(sum, referenceFee(of, amount)), fraction(0n));
        const fees = orders.map(([of, amount]) => feeOf(of, amount));
        const charged = fees.reduce((sum, { feeMinor }) => sum + feeMinor, 0n);
        const rest = fees.reduce((sum, fee) => sum + fee.rest, 0n);
        expect(charged + halfEven(rest + charged * rateOne, rateOne) - charged).toBe(nearestEven(exact));
      }),
      { numRuns: 300 },
    );
  });

  test('lie between nothing and the whole order', () => {
    fc.assert(
      fc.property(rules, amounts, (of, amount) => {
        const { feeMinor } = feeOf(of, amount);
        expect(feeMinor >= 0n && feeMinor <= amount).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test('never fall when the order grows, but in SLAB where a cheaper tier begins', () => {
    fc.assert(
      fc.property(rules, amounts, fc.bigInt({ min: 0n, max: 1_000n }), (of, amount, more) => {
        const isNextTier = of.tiers.some(({ fromMinor }) => fromMinor > amount && fromMinor <= amount + more);
        fc.pre(of.mode === 'MARGINAL' || !isNextTier);
        expect(feeOf(of, amount + more).feeMinor >= feeOf(of, amount).feeMinor).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

test('a rule that could take more than the order is told by the first such amount, and only such a rule', () => {
  expect(amountExceeded(rule([tier(0, '10000')]))).toBeNull();
  expect(amountExceeded(rule([tier(0, '290', 30)]))).toBe(0n);
  expect(amountExceeded(rule([tier(0, '100'), tier(30, '0', 30)]))).toBeNull();
  expect(amountExceeded(rule([tier(0, '100'), tier(29, '0', 30)]))).toBe(29n);
  expect(amountExceeded(rule([tier(0, '0', 0, 50, 50), tier(100, '1')]))).toBe(0n);
  const small = fc.bigInt({ min: 0n, max: 60_000n });
  fc.assert(
    fc.property(rules, small, (given, amount) => {
      const free = { ...given, capAtOrder: false };
      const exceeded = amountExceeded(free);
      const takesAll = isLess(fraction(amount), referenceFee(free, amount));
      if (takesAll) expect(exceeded !== null && exceeded <= amount).toBe(true);
      if (exceeded !== null) expect(isLess(fraction(exceeded), referenceFee(free, exceeded))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

describe('the rule of an order', () => {
  const named = (channel: string | null, currency: string | null): FeeRule =>
    rule([tier(0, '1')], { channel, currency });
  const plan = (...rules: FeeRule[]): FeePlan => ({ name: 'P', rules });
  const [any, usd, card, cardUsd] = [named(null, null), named(null, 'USD'), named('CARD', null), named('CARD', 'USD')];

  test.each`
    rules                        | channel   | currency | found
    ${[any, usd, card, cardUsd]} | ${'CARD'} | ${'USD'} | ${cardUsd}
    ${[cardUsd, card, usd, any]} | ${'CARD'} | ${'EUR'} | ${card}
    ${[any, usd, card]}          | ${'CARD'} | ${'USD'} | ${card}
    ${[any, usd, card, cardUsd]} | ${'BANK'} | ${'USD'} | ${usd}
    ${[any, usd, card, cardUsd]} | ${'BANK'} | ${'EUR'} | ${any}
    ${[usd, card, cardUsd]}      | ${'BANK'} | ${'EUR'} | ${'UNCOVERED'}
  `('names its channel before its currency: $channel $currency', ({ rules: own, channel, currency, found }) => {
    expect(ruleFor(plan(...(own as FeeRule[])), 'PAYMENT', channel as string, currency as string)).toBe(found);
  });

  test('is of its own type; a type of which the plan says nothing is free', () => {
    const refund = rule([tier(0, '1')], { type: 'REFUND', currency: 'USD' });
    expect(ruleFor(plan(refund), 'PAYMENT', 'CARD', 'USD')).toBe('FREE');
    expect(ruleFor(plan(refund, any), 'REFUND', 'CARD', 'USD')).toBe(refund);
    expect(ruleFor(plan(refund, any), 'REFUND', 'CARD', 'EUR')).toBe('UNCOVERED');
    for (const type of ['FEE', 'ADJUSTMENT'] as const)
      expect(ruleFor(plan(refund, any), type, 'CARD', 'EUR')).toBe('FREE');
  });
});
