import type { Database } from '../db/database.js';
import type { Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { nowMs, toBigInt } from '../db/values.js';
import type { PayoutState } from '../kernel/states.js';
import type { ChannelAnswer, ChannelRules } from './channel.js';
import { decideCheck, decideLate, decideSubmission, type Decision, type PayoutFacts } from './decide.js';
import type { Payout } from './payout.js';
import { maskedReason, maskedReference } from './masked.js';
import { payoutsOf } from './queries.js';
import { applyTransitions, type Transition } from './transitions.js';

/** What a channel said of a payout that was claimed. */
export interface Heard {
  readonly payout: Payout;
  readonly answer: ChannelAnswer;
}

/** What became of a payout by an answer. */
export interface Outcome {
  readonly payout: Payout;
  readonly state: PayoutState;
  readonly code: string;
}

export interface RecorderPorts {
  actor: string;
  now: () => string;
  onOutcome(outcome: Outcome): void;
}

/** Answers in one transaction, and how long the first of them waits for others: a commit for each would be the slowest part. */
const answersMax = 50;
const waitMs = 200;

/** Writes answers down, several in a transaction when they come close together. */
export class AnswerRecorder {
  private heard: Heard[] = [];
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();
  private failure: Error | undefined;
  private unwritten = 0;

  constructor(
    private readonly database: Database,
    private readonly rules: ChannelRules,
    private readonly ports: RecorderPorts,
  ) {}

  /** Takes an answer; throws what an earlier write failed with. */
  add(heard: Heard): void {
    if (this.failure !== undefined) throw this.failure;
    this.heard.push(heard);
    if (this.heard.length >= answersMax) this.write();
    else
      this.timer ??= setTimeout(() => {
        this.write();
      }, waitMs);
  }

  /** Answers that are not written yet. */
  get backlog(): number {
    return this.heard.length + this.unwritten;
  }

  /** Resolves once what is being written now is written. */
  get written(): Promise<void> {
    return this.writing;
  }

  /** Everything that was added is written. */
  async flush(): Promise<void> {
    this.write();
    await this.writing;
    if (this.failure !== undefined) throw this.failure;
  }

  private write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const heard = this.heard;
    this.heard = [];
    if (heard.length === 0) return;
    this.unwritten += heard.length;
    this.writing = this.writing
      .then(() => recordAnswers(this.database, heard, this.rules, this.ports))
      .catch((error: unknown) => {
        this.failure ??= error instanceof Error ? error : new Error(String(error));
      })
      .finally(() => (this.unwritten -= heard.length));
  }
}

/** One transaction, and a second one for the payouts that somebody else has moved meanwhile. */
export async function recordAnswers(
  database: Database,
  heard: readonly Heard[],
  rules: ChannelRules,
  ports: RecorderPorts,
): Promise<void> {
  const answers = new Map(heard.map(({ payout, answer }) => [payout.id, answer]));
  const record = (payouts: (trx: Transaction) => Promise<readonly Payout[]>, decide: typeof decideLate) =>
    database.transact(
      repeatable('record answers', async (trx) => {
        const at = await databaseMs(trx);
        const transitions = (await payouts(trx)).map((payout) => {
          const answer = answers.get(payout.id) as ChannelAnswer;
          return transitionOf(payout, answer, decide(factsOf(payout, at), answer, rules), at, ports.actor);
        });
        return { transitions, lost: await applyTransitions(trx, transitions, ports.now()) };
      }),
    );
  const first = await record(
    () => Promise.resolve(heard.map(({ payout }) => payout)),
    (facts, answer) => (facts.state === 'UNKNOWN' ? decideCheck : decideSubmission)(facts, answer, rules),
  );
  const lostIds = first.lost.map(({ payout }) => payout.id).sort((a, b) => (a < b ? -1 : 1));
  const second = lostIds.length === 0 ? null : await record((trx) => payoutsOf(trx, lostIds), decideLate);
  const lost = new Set(first.lost);
  for (const transition of [...first.transitions.filter((one) => !lost.has(one)), ...(second?.transitions ?? [])]) {
    ports.onOutcome(outcomeOf(transition));
  }
}

export async function databaseMs(trx: Transaction): Promise<bigint> {
  const [row] = await trx.rows(`select ${nowMs(trx.dialect)} as now_ms`);
  return toBigInt(row?.['now_ms']);
}

export function factsOf(payout: Payout, at: bigint): PayoutFacts {
  return {
    ...payout,
    sinceLastSentMs: Number(at - (payout.lastSentMs ?? at)),
    sinceFirstSentMs: Number(at - (payout.firstSentMs ?? at)),
  };
}

export function transitionOf(
  payout: Payout,
  answer: ChannelAnswer,
  decision: Decision,
  at: bigint,
  actor: string,
): Transition {
  const { events, code, checkAfterMs, fruitless, alarms } = decision;
  const kept = events.length === 0 && checkAfterMs === null ? payout.nextMs : null;
  return {
    payout,
    events,
    code,
    actor,
    channelReference: maskedReference('reference' in answer ? answer.reference : null, payout),
    responseDigest: answer.digest ?? null,
    reason: maskedReason(reasonOf(answer), payout),
    nextMs: checkAfterMs === null ? kept : at + BigInt(checkAfterMs),
    fruitless,
    // The answer to a submission: whatever is asked from now on, the horizon counts from here at the latest.
    ...(payout.state === 'PROCESSING' ? { heardMs: at } : {}),
    ...(alarms === undefined ? {} : { alarms }),
  };
}

function reasonOf(answer: ChannelAnswer): string | null {
  if ('reason' in answer) return answer.reason;
  return 'detail' in answer ? answer.detail : null;
}

const stateAfter: Partial<Record<string, PayoutState>> = {
  confirm: 'SUCCESS',
  refuse: 'FAILED',
  loseTrack: 'UNKNOWN',
  provenUnpaid: 'PROCESSING',
  giveUp: 'MANUAL',
};

export function outcomeOf({ payout, events, code }: Transition): Outcome {
  const last = events[events.length - 1];
  return { payout, state: (last === undefined ? undefined : stateAfter[last]) ?? payout.state, code };
}
