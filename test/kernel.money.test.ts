import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import * as iso4217 from 'dinero.js/currencies';
import { formatMinor, formatMinorGrouped, minorMax, parseMajor, scaleOf } from '../src/kernel/money.js';

describe('the scale of a currency', () => {
  test.each([
    ['JPY', 0],
    ['KRW', 0],
    ['VND', 0],
    ['CLP', 0],
    ['UGX', 0],
    ['ISK', 0],
    ['USD', 2],
    ['EUR', 2],
    ['CNY', 2],
    ['HUF', 2],
    ['MGA', 2], // divides by five in daily life, by a hundred in ISO 4217
    ['MRU', 2],
    ['KWD', 3],
    ['BHD', 3],
    ['OMR', 3],
    ['TND', 3],
    ['JOD', 3],
    ['IQD', 3],
    ['LYD', 3],
    ['CLF', 4],
    ['UYW', 4],
  ])('%s has %i decimals', (currency, decimals) => {
    expect(scaleOf(currency)).toBe(decimals);
  });

  test.each([
    'XXX',
    'XTS',
    'XAU',
    'XAG',
    'XPT',
    'XPD',
    'XAD',
    'XBA',
    'XBB',
    'XBC',
    'XBD',
    'XDR',
    'XSU',
    'XUA',
    'usd',
    'US',
    'USDT',
    '',
    ' USD',
    'toString',
    '__proto__',
  ])('%p is no money that can be settled', (currency) => {
    expect(scaleOf(currency)).toBeUndefined();
  });
});

describe('reading an amount in major units', () => {
  test.each`
    text                      | scale | minor                    | because
    ${'12.50'}                | ${2}  | ${1250n}                 | ${'plain'}
    ${'12.5'}                 | ${2}  | ${1250n}                 | ${'fewer decimals than the currency has are fine'}
    ${'12'}                   | ${2}  | ${1200n}                 | ${'so are none'}
    ${'19.99'}                | ${2}  | ${1999n}                 | ${'times 100 in floats gives 1998'}
    ${'1.13'}                 | ${2}  | ${113n}                  | ${'times 100 in floats gives 112.99'}
    ${'0.07'}                 | ${2}  | ${7n}                    | ${'leading zeros of the decimals count'}
    ${'500'}                  | ${0}  | ${500n}                  | ${'yen have no minor unit'}
    ${'1.234'}                | ${3}  | ${1234n}                 | ${'dinars have three decimals'}
    ${'-2.80'}                | ${2}  | ${-280n}                 | ${'a minus in front'}
    ${'0'}                    | ${2}  | ${0n}                    | ${'zero'}
    ${'-0.00'}                | ${2}  | ${0n}                    | ${'minus zero is zero'}
    ${'90071992547409.93'}    | ${2}  | ${9007199254740993n}     | ${'exact past 2^53'}
    ${'92233720368547758.07'} | ${2}  | ${9223372036854775807n}  | ${'the largest that fits'}
    ${'-9223372036854775807'} | ${0}  | ${-9223372036854775807n} | ${'the smallest that fits'}
    ${'92233720368547758.08'} | ${2}  | ${'AMOUNT_OUT_OF_RANGE'} | ${'one more does not fit 64 bits'}
    ${'-9223372036854775808'} | ${0}  | ${'AMOUNT_OUT_OF_RANGE'} | ${'its magnitude has no positive counterpart'}
    ${'9'.repeat(5000)}       | ${0}  | ${'AMOUNT_OUT_OF_RANGE'} | ${'however long'}
    ${'0.5'}                  | ${0}  | ${'TOO_MANY_DECIMALS'}   | ${'half a yen does not exist'}
    ${'1.005'}                | ${2}  | ${'TOO_MANY_DECIMALS'}   | ${'nothing is rounded'}
    ${'1.000'}                | ${2}  | ${'TOO_MANY_DECIMALS'}   | ${'not even a zero'}
    ${''}                     | ${2}  | ${'BAD_AMOUNT'}          | ${'empty is not zero'}
    ${' '}                    | ${2}  | ${'BAD_AMOUNT'}          | ${'nor is blank'}
    ${' 1'}                   | ${2}  | ${'BAD_AMOUNT'}          | ${'no space around'}
    ${'1\n'}                  | ${2}  | ${'BAD_AMOUNT'}          | ${'no line end behind'}
    ${'+1'}                   | ${2}  | ${'BAD_AMOUNT'}          | ${'no plus'}
    ${'--1'}                  | ${2}  | ${'BAD_AMOUNT'}          | ${'one minus'}
    ${'-'}                    | ${2}  | ${'BAD_AMOUNT'}          | ${'digits are needed'}
    ${'1.'}                   | ${2}  | ${'BAD_AMOUNT'}          | ${'a point wants decimals'}
    ${'.5'}                   | ${2}  | ${'BAD_AMOUNT'}          | ${'and a whole part'}
    ${'01.00'}                | ${2}  | ${'BAD_AMOUNT'}          | ${'no leading zero'}
    ${'1,234.56'}             | ${2}  | ${'BAD_AMOUNT'}          | ${'no grouping'}
    ${'1.234,56'}             | ${2}  | ${'BAD_AMOUNT'}          | ${'nor the continental one'}
    ${'1 234'}                | ${2}  | ${'BAD_AMOUNT'}          | ${'nor the French one'}
    ${'1_000'}                | ${2}  | ${'BAD_AMOUNT'}          | ${"nor JavaScript's"}
    ${'1e3'}                  | ${2}  | ${'BAD_AMOUNT'}          | ${'no exponent'}
    ${'0x10'}                 | ${2}  | ${'BAD_AMOUNT'}          | ${'no other base'}
    ${'Infinity'}             | ${2}  | ${'BAD_AMOUNT'}          | ${'no words'}
    ${'NaN'}                  | ${2}  | ${'BAD_AMOUNT'}          | ${'no words'}
    ${'١٢'}                   | ${2}  | ${'BAD_AMOUNT'}          | ${'only the digits 0 to 9'}
    ${'１２'}                 | ${2}  | ${'BAD_AMOUNT'}          | ${'not full-width ones'}
    ${'−5'}                   | ${2}  | ${'BAD_AMOUNT'}          | ${'the minus of a keyboard, not of typography'}
    ${'$5'}                   | ${2}  | ${'BAD_AMOUNT'}          | ${'no sign of a currency'}
  `('$text at scale $scale gives $minor: $because', ({ text, scale, minor }) => {
    expect(parseMajor(text as string, scale as number)).toBe(minor);
  });

  const settleable = Object.values(iso4217)
    .map((currency) => currency.code)
    .filter((code) => scaleOf(code) !== undefined);

  test('there are as many currencies as ISO 4217 lists today, give or take a reform', () => {
    expect(settleable.length).toBeGreaterThan(150);
  });

  const edge = fc.constantFrom(0n, 1n, -1n, 99n, -100n, minorMax, -minorMax);
  const any = fc.bigInt({ min: -minorMax, max: minorMax });

  test('whatever the currency: what is written is read back, to the last unit', () => {
    const place = fc.record({ currency: fc.constantFrom(...settleable), minor: fc.oneof(edge, any) });
    fc.assert(
      fc.property(place, ({ currency, minor }) => {
        const text = formatMinor(minor, currency);
        expect(parseMajor(text, scaleOf(currency) ?? -1)).toBe(minor);
        expect(text).toMatch(/^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/);
      }),
      { numRuns: 1_000 },
    );
  });

  test('an amount that is accepted is never another amount than the text says', () => {
    const text = fc.tuple(
      fc.constantFrom('', '-'),
      fc.bigInt({ min: 0n, max: 10n ** 20n }),
      fc.option(fc.stringMatching(/^[0-9]{1,5}$/)),
      fc.constantFrom(0, 2, 3, 4),
    );
    fc.assert(
      fc.property(text, ([sign, whole, fraction, scale]) => {
        const given = `${sign}${String(whole)}${fraction === null ? '' : `.${fraction}`}`;
        const minor = parseMajor(given, scale);
        if (typeof minor !== 'bigint') return;
        // The same number in units of 10^-5, by another way.
        const hundredThousandths = BigInt(`${String(whole)}${(fraction ?? '').padEnd(5, '0')}`);
        const magnitude = minor < 0n ? -minor : minor;
        expect(magnitude * 10n ** BigInt(5 - scale)).toBe(hundredThousandths);
        expect(minor < 0n).toBe(sign === '-' && magnitude > 0n);
      }),
    );
  });
});

describe('writing an amount', () => {
  test.each([
    [0n, 'USD', '0.00'],
    [-5n, 'USD', '-0.05'],
    [-1250n, 'USD', '-12.50'],
    [500n, 'JPY', '500'],
    [0n, 'JPY', '0'],
    [1n, 'KWD', '0.001'],
    [-minorMax, 'KWD', '-9223372036854775.807'],
    [10n ** 37n, 'USD', `1${'0'.repeat(35)}.00`], // a sum of many orders is wider than one
  ])('%p %s is %s', (minor, currency, text) => {
    expect(formatMinor(minor, currency)).toBe(text);
  });

  test.each([
    [123456789n, 'USD', '1,234,567.89'],
    [-100000n, 'USD', '-1,000.00'],
    [99999n, 'USD', '999.99'],
    [1234567n, 'JPY', '1,234,567'],
    [1234567n, 'KWD', '1,234.567'],
  ])('for people %p %s is %s', (minor, currency, text) => {
    expect(formatMinorGrouped(minor, currency)).toBe(text);
  });
});
