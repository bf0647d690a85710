import { createHash } from 'node:crypto';
import { z } from 'zod';

/** What the channel does with the money; `LATE` pays only after `bookAfterMs`, whatever it answered meanwhile. */
const outcomes = ['PAID', 'REFUSED', 'NOTHING', 'LATE'] as const;

/** What the channel says; TRUTH is what its book says at that moment. */
const answers = [
  'TRUTH',
  'CUT',
  'CUT_BODY',
  'HANG',
  'DRIP',
  'ERROR_500',
  'HTML',
  'HTML_404',
  'IN_PROGRESS',
  'NOT_FOUND',
  'NOT_PAID',
  'REFUSED',
  'REFUSED_422',
  'FORBIDDEN_403',
  'OTHER_KEY',
  'OTHER_AMOUNT',
  'REDIRECT',
] as const;

const ms = z.int().min(0).max(86_400_000);

/** One way to behave. The first rule that fits a request decides; where none fits, the channel is an honest one. */
const rule = z.strictObject({
  on: z.enum(['submit', 'query']),
  /** The how-manieth request of its kind under its key, from 1. */
  nth: z.int().min(1).optional(),
  /** Share of the keys, chosen by the key alone, from `from` up to but without `to`, of 0 to 1. */
  keys: z.strictObject({ from: z.number().min(0).max(1), to: z.number().min(0).max(1) }).optional(),
  /** Only so long after the first submission of the key. */
  withinMs: ms.optional(),
  outcome: z.enum(outcomes).optional(),
  bookAfterMs: ms.optional(),
  /** Pays so much more, or less, than it was asked to. */
  extraMinor: z.int().optional(),
  answer: z.enum(answers).default('TRUTH'),
  delayMs: ms.default(0),
});

export const scenarioSchema = z.strictObject({
  /** Requests in any second; the others are answered with 429. */
  perSecond: z.number().positive().optional(),
  /** Keys are forgotten so long after their first submission. */
  forgetAfterMs: ms.optional(),
  rules: z.array(rule).max(100).default([]),
});

export type Scenario = z.output<typeof scenarioSchema>;
export type ScenarioRule = Scenario['rules'][number];
export type ScenarioInput = z.input<typeof scenarioSchema>;

/** The rule for a request, or null: an honest channel. */
export function ruleFor(
  { rules }: Scenario,
  request: { on: 'submit' | 'query'; key: string; nth: number; ageMs: number },
): ScenarioRule | null {
  const place = placeOf(request.key);
  const fits = ({ on, nth, keys, withinMs }: ScenarioRule): boolean =>
    on === request.on &&
    (nth === undefined || nth === request.nth) &&
    (keys === undefined || (place >= keys.from && place < keys.to)) &&
    (withinMs === undefined || request.ageMs < withinMs);
  return rules.find(fits) ?? null;
}

/** Where a key stands among all keys, from 0 to 1. */
export function placeOf(key: string): number {
  return createHash('sha256').update(key).digest().readUInt32BE(0) / 2 ** 32;
}

const submit = { on: 'submit', nth: 1 } as const;

/** Scenarios by name, for `--scenario`. */
export const scenarios = {
  honest: {},
  'accept-then-delay': { rules: [{ ...submit, delayMs: 60_000 }] },
  'accept-then-cut': { rules: [{ ...submit, answer: 'CUT' }] },
  'accept-late': { rules: [{ ...submit, outcome: 'LATE', bookAfterMs: 500, answer: 'CUT' }] },
  'error-after-accepting': { rules: [{ ...submit, answer: 'ERROR_500' }] },
  'error-before-accepting': { rules: [{ ...submit, outcome: 'NOTHING', answer: 'ERROR_500' }] },
  'decline-in-body': { rules: [{ on: 'submit', outcome: 'REFUSED' }] },
  refuse: { rules: [{ on: 'submit', outcome: 'REFUSED', answer: 'REFUSED_422' }] },
  html: { rules: [{ ...submit, answer: 'HTML' }] },
  'in-progress': {
    rules: [
      { ...submit, answer: 'IN_PROGRESS' },
      { on: 'query', nth: 1, answer: 'IN_PROGRESS' },
    ],
  },
  'not-found-then-found': {
    rules: [
      { ...submit, answer: 'CUT' },
      { on: 'query', withinMs: 2_000, answer: 'NOT_FOUND' },
    ],
  },
  'forgets-keys': { forgetAfterMs: 60_000, rules: [{ ...submit, answer: 'CUT' }] },
  'replays-error': { rules: [{ on: 'submit', outcome: 'NOTHING', answer: 'ERROR_500' }] },
  'answers-change': {
    rules: [
      { ...submit, answer: 'CUT' },
      { on: 'query', nth: 1, answer: 'IN_PROGRESS' },
      { on: 'query', nth: 2, answer: 'NOT_FOUND' },
      { on: 'query', nth: 3, answer: 'HTML' },
    ],
  },
  'slow-drip': { rules: [{ ...submit, answer: 'DRIP' }] },
  'another-amount': { rules: [{ on: 'submit', extraMinor: 1 }] },
  'rate-limit': { perSecond: 10 },
  storm: {
    rules: [
      { ...submit, keys: { from: 0, to: 0.1 }, answer: 'CUT' },
      { ...submit, keys: { from: 0.1, to: 0.2 }, outcome: 'NOTHING', answer: 'CUT' },
      { ...submit, keys: { from: 0.2, to: 0.3 }, answer: 'ERROR_500' },
      { ...submit, keys: { from: 0.3, to: 0.4 }, outcome: 'NOTHING', answer: 'ERROR_500' },
      { on: 'submit', keys: { from: 0.4, to: 0.5 }, outcome: 'REFUSED', answer: 'REFUSED_422' },
      { ...submit, keys: { from: 0.5, to: 0.55 }, answer: 'HTML' },
      { ...submit, keys: { from: 0.55, to: 0.6 }, answer: 'IN_PROGRESS' },
      { ...submit, keys: { from: 0.6, to: 0.65 }, answer: 'CUT_BODY' },
      { on: 'query', nth: 1, keys: { from: 0, to: 0.15 }, answer: 'HTML_404' },
      { on: 'query', nth: 1, keys: { from: 0.2, to: 0.35 }, answer: 'IN_PROGRESS' },
      { on: 'query', nth: 1, keys: { from: 0.5, to: 0.6 }, answer: 'FORBIDDEN_403' },
    ],
  },
} as const satisfies Record<string, ScenarioInput>;
