import { createHash } from 'node:crypto';
import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import type { Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { fromInstant, toCount, toText } from '../db/values.js';
import { SettleError } from '../kernel/errors.js';
import { shown } from '../kernel/printable.js';
import { FileRefusal } from '../orders/importProblems.js';
import type { ChannelAnswer, ChannelRules } from './channel.js';
import { decideLate, type PayoutFacts } from './decide.js';
import { readStatusReport, type StatusReport } from './pain002.js';
import { instructionId, payoutsIn } from './paymentFiles.js';
import type { Payout } from './payout.js';
import { payoutsOf } from './queries.js';
import { databaseMs, factsOf, outcomeOf, transitionOf, type RecorderPorts } from './recorder.js';
import { answersOf, type ReportedAnswer } from './reportedAnswers.js';
import { applyTransitions, type Transition } from './transitions.js';

export interface AnswersImported {
  messageId: string;
  originalMessageId: string;
  /** The same file was taken before, and nothing is changed. */
  isRepeat: boolean;
  /** Payments on which the report says something. */
  answers: number;
  /** What it says that was known before. */
  known: number;
  moved: Record<'paid' | 'refused' | 'manual', number>;
  /** Noted: not final yet, or too late to move anything. */
  noted: number;
  /** Answers against what is final, each with an alert. */
  contradictions: number;
}

/**
 * Takes a bank's payment status report on a file of this channel, all of it or nothing, in one transaction; the same file
 * again changes nothing. Throws a FileRefusal for a file that cannot be taken.
 */
export async function importAnswers(
  database: Database,
  channel: { name: string; rules: ChannelRules },
  chunks: AsyncIterable<Buffer>,
  ports: RecorderPorts,
): Promise<AnswersImported> {
  const hash = createHash('sha256');
  const report = await readStatusReport(hashed(chunks, hash));
  const digest = hash.digest('hex');
  const unit = repeatable('import payment answers', (trx) => takeReport(trx, channel, report, digest, ports));
  const { imported, transitions } = await afterOthers(() => database.transact(unit));
  for (const transition of transitions) ports.onOutcome(outcomeOf(transition));
  return imported;
}

async function* hashed(chunks: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

async function takeReport(
  trx: Transaction,
  { name: channel, rules }: { name: string; rules: ChannelRules },
  report: StatusReport,
  digest: string,
  ports: RecorderPorts,
): Promise<{ imported: AnswersImported; transitions: Transition[] }> {
  const { messageId, originalMessageId } = report;
  const payouts = await payoutsIn(trx, channel, await fileNoOf(trx, channel, originalMessageId));
  const answers = answersOf(
    report,
    payouts.map((payout) => ({ ...payout, instructionId: instructionId(payout) })),
  );
  const known = await trx.rows('select answers from payment_answer_file where channel = ? and digest = ?', [
    channel,
    digest,
  ]);
  const isRepeat = known.length > 0;
  const now = ports.now();
  const transitions = isRepeat
    ? []
    : await applyAnswers(
        trx,
        payouts.filter(({ id }) => answers.has(id)),
        (payout, at) => transitionFor(payout, answers.get(payout.id) as ReportedAnswer, digest, at, rules, ports.actor),
        now,
      );
  if (!isRepeat) {
    await trx.insertMany(
      'payment_answer_file',
      ['channel', 'digest', 'message_id', 'original_message_id', 'answers', 'imported_at'],
      [[channel, digest, messageId, originalMessageId, answers.size, fromInstant(trx.dialect, now)]],
    );
  }
  const count = (is: (transition: Transition) => boolean): number => transitions.filter(is).length;
  const ends = (event: string) => count(({ events }) => events[events.length - 1] === event);
  const imported = {
    ...{ messageId, originalMessageId, isRepeat, answers: answers.size },
    known: answers.size - transitions.length,
    moved: { paid: ends('confirm'), refused: ends('refuse'), manual: ends('giveUp') },
    noted: count(({ events }) => events.length === 0),
    contradictions: count(({ alarms }) => alarms === true),
  };
  return { imported, transitions };
}

async function fileNoOf(trx: Transaction, channel: string, messageId: string): Promise<number> {
  const [row] = await trx.rows('select file_no, message_id from payment_file where channel = ? and message_id = ?', [
    channel,
    messageId,
  ]);
  if (row !== undefined && toText(row['message_id']) === messageId) return toCount(row['file_no']);
  const message = `The report is on ${shown(messageId)}, which is no payment file of channel ${channel}.`;
  throw new FileRefusal('UNKNOWN_PAYMENT', message);
}

/** Payouts that others move meanwhile are read and decided again; more often than this they are not moved. */
const roundsMax = 5;

async function applyAnswers(
  trx: Transaction,
  payouts: readonly Payout[],
  transition: (payout: Payout, at: bigint) => Transition | null,
  now: string,
): Promise<Transition[]> {
  const done: Transition[] = [];
  let left = payouts;
  for (let round = 0; left.length > 0; round += 1) {
    if (round === roundsMax) {
      throw new SettleError('DATABASE_CONTENTION', 'The payouts of the report are being moved by others all the time.');
    }
    const at = await databaseMs(trx);
    const transitions = left.flatMap((payout) => transition(payout, at) ?? []);
    const lost = new Set(await applyTransitions(trx, transitions, now));
    done.push(...transitions.filter((one) => !lost.has(one)));
    left = await payoutsOf(
      trx,
      [...lost].map(({ payout }) => payout.id).sort((a, b) => (a < b ? -1 : 1)),
    );
  }
  return done;
}

/** Null: the payout is as the bank says. */
function transitionFor(
  payout: Payout,
  reported: ReportedAnswer,
  digest: string,
  at: bigint,
  rules: ChannelRules,
  actor: string,
): Transition | null {
  const facts: PayoutFacts = factsOf(payout, at);
  const isFinal = payout.state === 'SUCCESS' || payout.state === 'FAILED';
  if (reported.kind === 'PENDING') {
    if (isFinal) return null;
    const answer: ChannelAnswer = { kind: 'IN_PROGRESS', reference: null, digest };
    const code = `BANK_${reported.said.slice(0, 4)}`;
    const noted = { events: [], code, checkAfterMs: null, fruitless: payout.fruitless };
    return transitionOf(payout, answer, noted, at, actor);
  }
  const answer: ChannelAnswer =
    reported.kind === 'PAID'
      ? { kind: 'PAID', reference: null, digest, amountMinor: reported.amountMinor, currency: reported.currency }
      : { kind: 'REFUSED', reference: null, digest, reason: reported.said };
  const decision = decideLate(facts, answer, rules);
  // What is final and said again is nothing new.
  if (isFinal && decision.alarms !== true) return null;
  return transitionOf(payout, answer, decision, at, actor);
}
