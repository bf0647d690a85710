import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { move, payoutMoves, type PayoutState } from '../../src/kernel/states.js';
import type { ChannelAnswer } from '../../src/payouts/channel.js';
import { decideCheck, decideLate, decideSubmission, type PayoutFacts } from '../../src/payouts/decide.js';
import { idempotencyKey } from '../../src/payouts/idempotencyKey.js';

const minute = 60_000;
const rules = {
  checkAfterMs: [minute, 5 * minute, 15 * minute],
  checks: 3,
  attempts: 3,
  settlingHorizonMs: 10 * minute,
  keyLifetimeMs: 24 * 60 * minute,
};
const facts: PayoutFacts = {
  state: 'UNKNOWN',
  amountMinor: 100n,
  currency: 'EUR',
  attempts: 1,
  fruitless: 0,
  sinceLastSentMs: 11 * minute,
  sinceFirstSentMs: 11 * minute,
};
const paid: ChannelAnswer = { kind: 'PAID', reference: 'R', amountMinor: 100n, currency: 'EUR' };
const timeout: ChannelAnswer = { kind: 'UNCLEAR', cause: 'TIMEOUT', detail: '' };
const answers: ChannelAnswer[] = [
  paid,
  { ...paid, amountMinor: 101n },
  { ...paid, currency: 'USD' },
  { kind: 'REFUSED', reference: null, reason: '' },
  { kind: 'NOT_PAID', reference: null, reason: '' },
  { kind: 'NOT_FOUND' },
  { kind: 'IN_PROGRESS', reference: null },
  timeout,
  { kind: 'UNREACHABLE', detail: '' },
];

describe('the answer to a submission', () => {
  test.each`
    answer                                        | events                     | code                   | minutes | because
    ${paid}                                       | ${['confirm']}             | ${'PAID'}              | ${null} | ${'it was paid'}
    ${{ ...paid, amountMinor: 99n }}              | ${['loseTrack', 'giveUp']} | ${'AMOUNT_DIFFERS'}    | ${null} | ${'another amount is nobody’s guess'}
    ${{ ...paid, currency: 'USD' }}               | ${['loseTrack', 'giveUp']} | ${'AMOUNT_DIFFERS'}    | ${null} | ${'nor is another currency'}
    ${{ kind: 'REFUSED' }}                        | ${['refuse']}              | ${'REFUSED'}           | ${null} | ${'the channel said so, finally'}
    ${{ kind: 'NOT_PAID' }}                       | ${['loseTrack']}           | ${'NOT_PAID'}          | ${10}   | ${'it may be submitted again after the horizon'}
    ${{ kind: 'NOT_FOUND' }}                      | ${['loseTrack']}           | ${'UNREADABLE_ANSWER'} | ${1}    | ${'that is no answer to a submission'}
    ${{ kind: 'IN_PROGRESS' }}                    | ${['loseTrack']}           | ${'IN_PROGRESS'}       | ${1}    | ${'it is asked again'}
    ${timeout}                                    | ${['loseTrack']}           | ${'TIMEOUT'}           | ${1}    | ${'a time-out is not a failure'}
    ${{ kind: 'UNCLEAR', cause: 'SERVER_ERROR' }} | ${['loseTrack']}           | ${'SERVER_ERROR'}      | ${1}    | ${'a 500 may come after the money left'}
    ${{ kind: 'UNREACHABLE' }}                    | ${['loseTrack']}           | ${'UNREACHABLE'}       | ${1}    | ${'nothing is assumed'}
  `('$answer.kind → $code: $because', ({ answer, events, code, minutes }) => {
    const found = decideSubmission({ ...facts, state: 'PROCESSING' }, answer as ChannelAnswer, rules);
    const checkAfterMs = minutes === null ? null : (minutes as number) * minute;
    expect(found).toMatchObject({ events, code, checkAfterMs });
  });
});

describe('the answer to a check', () => {
  test.each`
    answer                           | given                                        | events                        | code                    | minutes | fruitless | because
    ${paid}                          | ${{}}                                        | ${['confirm']}                | ${'PAID'}               | ${null} | ${0}      | ${'it was paid after all'}
    ${{ ...paid, amountMinor: 99n }} | ${{}}                                        | ${['giveUp']}                 | ${'AMOUNT_DIFFERS'}     | ${null} | ${0}      | ${'a person decides at once'}
    ${{ kind: 'REFUSED' }}           | ${{}}                                        | ${['provenUnpaid', 'refuse']} | ${'REFUSED'}            | ${null} | ${0}      | ${'the lost answer was a refusal'}
    ${{ kind: 'NOT_FOUND' }}         | ${{}}                                        | ${['provenUnpaid']}           | ${'NOT_FOUND'}          | ${null} | ${0}      | ${'after the horizon it may be submitted again'}
    ${{ kind: 'NOT_FOUND' }}         | ${{ sinceLastSentMs: 9.5 * minute }}         | ${[]}                         | ${'NOT_FOUND_EARLY'}    | ${0.5}  | ${0}      | ${'before it, it proves nothing, and uses up no check'}
    ${{ kind: 'NOT_FOUND' }}         | ${{ sinceLastSentMs: minute, fruitless: 2 }} | ${[]}                         | ${'NOT_FOUND_EARLY'}    | ${9}    | ${2}      | ${'it is asked again when the horizon is over, at the latest'}
    ${{ kind: 'NOT_PAID' }}          | ${{}}                                        | ${['provenUnpaid']}           | ${'NOT_PAID'}           | ${null} | ${0}      | ${'the channel’s explicit word'}
    ${{ kind: 'NOT_FOUND' }}         | ${{ attempts: 3 }}                           | ${['giveUp']}                 | ${'ATTEMPTS_EXHAUSTED'} | ${null} | ${0}      | ${'three submissions are enough'}
    ${{ kind: 'NOT_FOUND' }}         | ${{ sinceFirstSentMs: 24 * 60 * minute }}    | ${['giveUp']}                 | ${'KEY_EXPIRED'}        | ${null} | ${0}      | ${'the channel may take it for a new payout'}
    ${{ kind: 'IN_PROGRESS' }}       | ${{}}                                        | ${[]}                         | ${'IN_PROGRESS'}        | ${5}    | ${1}      | ${'it is asked again, later'}
    ${timeout}                       | ${{ fruitless: 1 }}                          | ${[]}                         | ${'TIMEOUT'}            | ${15}   | ${2}      | ${'a query that fails says nothing'}
    ${timeout}                       | ${{ fruitless: 2 }}                          | ${['giveUp']}                 | ${'CHECKS_EXHAUSTED'}   | ${null} | ${3}      | ${'after three of them a person decides'}
    ${{ kind: 'UNREACHABLE' }}       | ${{ fruitless: 2 }}                          | ${[]}                         | ${'UNREACHABLE'}        | ${15}   | ${2}      | ${'nobody was asked'}
  `('$answer.kind, given $given → $code: $because', ({ answer, given, events, code, minutes, fruitless }) => {
    const found = decideCheck({ ...facts, ...(given as object) }, answer as ChannelAnswer, rules);
    const checkAfterMs = minutes === null ? null : (minutes as number) * minute;
    expect(found).toMatchObject({ events, code, checkAfterMs, fruitless });
  });
});

describe('an answer that comes after somebody else moved the payout', () => {
  test.each`
    state           | answer                           | events                        | code                    | alarms
    ${'PROCESSING'} | ${paid}                          | ${['confirm']}                | ${'PAID'}               | ${undefined}
    ${'UNKNOWN'}    | ${paid}                          | ${['confirm']}                | ${'PAID'}               | ${undefined}
    ${'UNKNOWN'}    | ${{ kind: 'REFUSED' }}           | ${['provenUnpaid', 'refuse']} | ${'REFUSED'}            | ${undefined}
    ${'UNKNOWN'}    | ${timeout}                       | ${[]}                         | ${'UNCLEAR_LATE'}       | ${undefined}
    ${'UNKNOWN'}    | ${{ kind: 'NOT_FOUND' }}         | ${[]}                         | ${'NOT_FOUND_LATE'}     | ${undefined}
    ${'MANUAL'}     | ${paid}                          | ${[]}                         | ${'PAID_LATE'}          | ${undefined}
    ${'SUCCESS'}    | ${paid}                          | ${[]}                         | ${'PAID_LATE'}          | ${undefined}
    ${'SUCCESS'}    | ${{ ...paid, amountMinor: 99n }} | ${[]}                         | ${'ANSWERS_CONTRADICT'} | ${true}
    ${'SUCCESS'}    | ${{ kind: 'REFUSED' }}           | ${[]}                         | ${'ANSWERS_CONTRADICT'} | ${true}
    ${'FAILED'}     | ${paid}                          | ${[]}                         | ${'ANSWERS_CONTRADICT'} | ${true}
    ${'FAILED'}     | ${{ kind: 'REFUSED' }}           | ${[]}                         | ${'REFUSED_LATE'}       | ${undefined}
  `('$state, $answer.kind → $code', ({ state, answer, events, code, alarms }) => {
    const found = decideLate({ ...facts, state: state as PayoutState }, answer as ChannelAnswer, rules);
    expect({ events: found.events, code: found.code, alarms: found.alarms }).toEqual({ events, code, alarms });
  });
});

test('whatever is answered, and whenever: only the table’s moves, success only by PAID as asked, failure only by REFUSED, no resubmission before the horizon or after the key', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...answers),
      fc.constantFrom<PayoutState>('PROCESSING', 'UNKNOWN', 'MANUAL', 'SUCCESS', 'FAILED'),
      fc.record({
        attempts: fc.integer({ min: 1, max: 5 }),
        fruitless: fc.integer({ min: 0, max: 5 }),
        sinceLastSentMs: fc.integer({ min: 0, max: 30 * minute }),
        sinceFirstSentMs: fc.integer({ min: 0, max: 48 * 60 * minute }),
      }),
      fc.boolean(),
      (answer, state, moment, late) => {
        const payout = { ...facts, ...moment, state };
        const isOpen = state === 'PROCESSING' || state === 'UNKNOWN';
        const decide = late || !isOpen ? decideLate : state === 'UNKNOWN' ? decideCheck : decideSubmission;
        const { events, checkAfterMs } = decide(payout, answer, rules);
        let after: PayoutState = state;
        for (const event of events) after = move(payoutMoves, after, event) as PayoutState;
        if (after === 'SUCCESS' && state !== 'SUCCESS') expect(answer).toEqual(paid);
        if (after === 'FAILED' && state !== 'FAILED') expect(answer.kind).toBe('REFUSED');
        if (after === 'PROCESSING' && state === 'UNKNOWN') {
          expect(['NOT_FOUND', 'NOT_PAID']).toContain(answer.kind);
          expect(moment.sinceLastSentMs).toBeGreaterThanOrEqual(rules.settlingHorizonMs);
          expect(moment.sinceFirstSentMs).toBeLessThan(rules.keyLifetimeMs);
        }
        if (after === 'UNKNOWN' && !late) expect(checkAfterMs).not.toBeNull();
      },
    ),
    { numRuns: 2_000 },
  );
});

describe('the idempotency key', () => {
  const payout = { batchDay: '2026-11-29', accountNo: 'M00042', currency: 'EUR', seq: 1 };

  test('is the same for the same payout, and fits a header and the end-to-end id of ISO 20022', () => {
    expect(idempotencyKey('settle', payout)).toBe(idempotencyKey('settle', { ...payout }));
    expect(idempotencyKey('settle', payout)).toMatch(/^20261129-[0-9a-f]{26}$/);
  });

  test('differs with everything that a payout is, and nothing runs together', () => {
    const others = [
      idempotencyKey('settle', payout),
      idempotencyKey('other', payout),
      idempotencyKey('settle', { ...payout, batchDay: '2026-11-28' }),
      idempotencyKey('settle', { ...payout, accountNo: 'M0004' }),
      idempotencyKey('settle', { ...payout, currency: 'USD' }),
      idempotencyKey('settle', { ...payout, seq: 2 }),
      idempotencyKey('settle', { ...payout, accountNo: 'M00042EUR' }),
    ];
    expect(new Set(others).size).toBe(others.length);
  });
});
