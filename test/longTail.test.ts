import { describe, expect, test } from '@jest/globals';
import { longTailText, type SlowPiece } from '../src/reports/longTail.js';

const piece = (over: Partial<SlowPiece>): SlowPiece => ({
  ...{ lane: 2, accountNo: null, orders: 1_234, durationMs: 900, medianMs: 300 },
  ...over,
});

describe('the slowest piece of work of a run', () => {
  test.each<[string, SlowPiece[], string | null]>([
    ['is nothing to speak of where there was none', [], null],
    [
      'is no tail below a second, however short the median',
      [piece({ durationMs: 999, medianMs: 0 })],
      'No long tail: at the most 1,234 orders of several accounts in lane 2 took 1.0 s, 999.0 times the median of 0.0 s.',
    ],
    [
      'is no tail below three times the median',
      [piece({ durationMs: 2_999, medianMs: 1_000 })],
      'No long tail: at the most 1,234 orders of several accounts in lane 2 took 3.0 s, 3.0 times the median of 1.0 s.',
    ],
    [
      'is a tail from three times the median on, with its account',
      [piece({ durationMs: 3_000, medianMs: 1_000, accountNo: 'A' }), piece({ durationMs: 2_000 })],
      'A long tail: 1,234 orders of account A in lane 2 took 3.0 s, 3.0 times the median of 1.0 s.',
    ],
  ])('%s', (_name, slowest, text) => {
    expect(longTailText(slowest)).toBe(text);
  });
});
