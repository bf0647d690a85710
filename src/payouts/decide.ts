import type { PayoutEvent, PayoutState } from '../kernel/states.js';
import type { ChannelAnswer, ChannelRules } from './channel.js';

/** What of a payout bears on what an answer means. */
export interface PayoutFacts {
  readonly state: PayoutState;
  readonly amountMinor: bigint;
  readonly currency: string;
  /** Submissions so far, the one that is answered included. */
  readonly attempts: number;
  /** Checks so far that told nothing. */
  readonly fruitless: number;
  /** Since the last submission, and since the first one under the key. */
  readonly sinceLastSentMs: number;
  readonly sinceFirstSentMs: number;
}

/** What an answer does to a payout. */
export interface Decision {
  /** Moves one after the other, all or none; empty: it stays as it is. */
  readonly events: readonly PayoutEvent[];
  /** Why, as the audit trail and alerts have it. */
  readonly code: string;
  /** Pause before the next check; null where none is due. */
  readonly checkAfterMs: number | null;
  readonly fruitless: number;
  /** A person must look at it, although it does not move. */
  readonly alarms?: boolean;
}

type Rules = Pick<ChannelRules, 'checkAfterMs' | 'checks' | 'attempts' | 'settlingHorizonMs' | 'keyLifetimeMs'>;

/**
 * What the channel's answer to a submission means (state PROCESSING). Nothing but its explicit, final refusal is a failure,
 * and nothing but "paid", over the amount that was asked for, a success.
 */
export function decideSubmission(payout: PayoutFacts, answer: ChannelAnswer, rules: Rules): Decision {
  const first = rules.checkAfterMs[0] ?? 0;
  const unknown = (code: string, checkAfterMs = first): Decision => ({
    events: ['loseTrack'],
    code,
    checkAfterMs,
    fruitless: 0,
  });
  switch (answer.kind) {
    case 'PAID':
      return isAsAsked(payout, answer)
        ? final('confirm', 'PAID')
        : { ...final('loseTrack', 'AMOUNT_DIFFERS'), events: ['loseTrack', 'giveUp'] };
    case 'REFUSED':
      return final('refuse', 'REFUSED');
    case 'NOT_PAID':
      return unknown('NOT_PAID', Math.max(first, rules.settlingHorizonMs));
    case 'NOT_FOUND':
      return unknown('UNREADABLE_ANSWER');
    case 'IN_PROGRESS':
    case 'UNREACHABLE':
      return unknown(answer.kind);
    case 'UNCLEAR':
      return unknown(answer.cause);
  }
}

/** What the channel's answer to a query means (state UNKNOWN). A query that fails changes nothing but a counter. */
export function decideCheck(payout: PayoutFacts, answer: ChannelAnswer, rules: Rules): Decision {
  switch (answer.kind) {
    case 'PAID':
      return isAsAsked(payout, answer) ? final('confirm', 'PAID') : final('giveUp', 'AMOUNT_DIFFERS');
    case 'REFUSED':
      // The channel has the last word on the submission that was lost: it is answered now, and refused.
      return { ...final('refuse', 'REFUSED'), events: ['provenUnpaid', 'refuse'] };
    case 'NOT_PAID':
    case 'NOT_FOUND':
      return decideUnpaid(payout, answer.kind, rules);
    case 'UNREACHABLE':
      return stay(answer.kind, rules, payout.fruitless);
    case 'IN_PROGRESS':
    case 'UNCLEAR': {
      const code = answer.kind === 'UNCLEAR' ? answer.cause : answer.kind;
      const fruitless = payout.fruitless + 1;
      return fruitless >= rules.checks
        ? { ...final('giveUp', 'CHECKS_EXHAUSTED'), fruitless }
        : stay(code, rules, fruitless);
    }
  }
}

/**
 * What an answer means to a payout that somebody else has moved since it was asked for: it may tell what is not known yet,
 * but what is final stays, and what a person has before them is theirs. An answer against what is final raises an alert.
 */
export function decideLate(payout: PayoutFacts, answer: ChannelAnswer, rules: Rules): Decision {
  const { kind } = answer;
  if (payout.state === 'PROCESSING' && (kind === 'PAID' || kind === 'REFUSED')) {
    return decideSubmission(payout, answer, rules);
  }
  if (payout.state === 'UNKNOWN' && (kind === 'PAID' || kind === 'REFUSED')) return decideCheck(payout, answer, rules);
  const contradicts =
    (payout.state === 'SUCCESS' && kind === 'REFUSED') ||
    (payout.state === 'FAILED' && kind === 'PAID') ||
    (payout.state === 'SUCCESS' && kind === 'PAID' && !isAsAsked(payout, answer));
  const noted = { events: [], checkAfterMs: null, fruitless: payout.fruitless };
  return contradicts ? { ...noted, code: 'ANSWERS_CONTRADICT', alarms: true } : { ...noted, code: `${kind}_LATE` };
}

/** "Not paid" holds once the channel can no longer change its mind, and until then says nothing. */
function decideUnpaid(payout: PayoutFacts, code: string, rules: Rules): Decision {
  const untilHorizonMs = rules.settlingHorizonMs - payout.sinceLastSentMs;
  if (untilHorizonMs > 0) {
    const again = stay(`${code}_EARLY`, rules, payout.fruitless);
    return { ...again, checkAfterMs: Math.min(Math.max(again.checkAfterMs ?? 0, 1_000), untilHorizonMs) };
  }
  if (payout.attempts >= rules.attempts) return final('giveUp', 'ATTEMPTS_EXHAUSTED');
  if (isKeyExpired(payout, rules)) return final('giveUp', 'KEY_EXPIRED');
  return { events: ['provenUnpaid'], code, checkAfterMs: null, fruitless: 0 };
}

/** Whether the channel may have forgotten the key, so that it would take a submission for another payout. */
export function isKeyExpired(
  { sinceFirstSentMs }: Pick<PayoutFacts, 'sinceFirstSentMs'>,
  { keyLifetimeMs }: Pick<Rules, 'keyLifetimeMs'>,
): boolean {
  return sinceFirstSentMs >= keyLifetimeMs;
}

function isAsAsked(payout: PayoutFacts, paid: { amountMinor: bigint; currency: string }): boolean {
  return paid.amountMinor === payout.amountMinor && paid.currency === payout.currency;
}

function final(event: PayoutEvent, code: string): Decision {
  return { events: [event], code, checkAfterMs: null, fruitless: 0 };
}

function stay(code: string, { checkAfterMs }: Rules, fruitless: number): Decision {
  const pause = checkAfterMs[Math.min(fruitless, checkAfterMs.length - 1)] ?? 0;
  return { events: [], code, checkAfterMs: pause, fruitless };
}
