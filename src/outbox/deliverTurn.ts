import { printable } from '../kernel/printable.js';
import { toEvent, Unsendable } from './toEvent.js';
import { unsent, type OutsideSink, type Outgoing, type SinkOutcome } from './sink.js';
import type { Refusal, WaitingDelivery } from './turns.js';

export interface TurnRules {
  readonly source: string;
  readonly attempts: number;
  readonly nowMs: bigint;
  readonly stop: AbortSignal;
}

export interface TurnResult {
  sentIds: bigint[];
  refusals: Refusal[];
  trouble: string | null;
  retryAfterMs: number | null;
}

/**
 * Delivers what waits in a lane. Messages of different accounts go together, those of one account after one another: the
 * second one only once the receiver has the first, or the first is parked, so that an account's order holds whatever is
 * refused.
 */
export async function deliverTurn(
  sink: OutsideSink,
  waiting: readonly WaitingDelivery[],
  rules: TurnRules,
): Promise<TurnResult> {
  const result: TurnResult = { sentIds: [], refusals: [], trouble: null, retryAfterMs: null };
  for (const wave of waves(waiting, rules, result)) {
    if (rules.stop.aborted) break;
    const outgoing = wave.flatMap((delivery) => prepared(sink, delivery, rules, result) ?? []);
    if (outgoing.length === 0) continue;
    const sent = await sink.send(
      outgoing.map(({ message }) => message),
      rules.stop,
    );
    const went = outgoing.map(({ delivery }, at) => ({ delivery, outcome: sent.outcomes[at] ?? unsent }));
    result.retryAfterMs = sent.retryAfterMs;
    const unclear = note(went, sent.trouble !== null, rules, result);
    result.trouble = sent.trouble ?? unclear;
    if (result.trouble !== null) break;
  }
  return result;
}

/** The first message of each account, then the second, and so on; an account whose message did not go waits with the rest. */
function* waves(
  waiting: readonly WaitingDelivery[],
  rules: TurnRules,
  result: TurnResult,
): Generator<WaitingDelivery[]> {
  const byAccount = new Map<string, WaitingDelivery[]>();
  for (const delivery of waiting) {
    // What has no account has no order to keep.
    const key = delivery.accountNo ?? `message ${delivery.bizNo}`;
    const queue = byAccount.get(key);
    if (queue === undefined) byAccount.set(key, [delivery]);
    else queue.push(delivery);
  }
  const gone = (id: bigint): boolean => sent.has(id) || parked.has(id);
  const sent = new Set<bigint>();
  const parked = new Set<bigint>();
  for (let nth = 0; byAccount.size > 0; nth += 1) {
    for (const id of result.sentIds) sent.add(id);
    for (const { outboxId, retryMs } of result.refusals) if (retryMs === null) parked.add(outboxId);
    const wave: WaitingDelivery[] = [];
    for (const [key, queue] of byAccount) {
      const [previous, next] = [queue[nth - 1], queue[nth]];
      const held = previous !== undefined && !gone(previous.outboxId);
      if (next === undefined || held || next.nextMs > rules.nowMs) byAccount.delete(key);
      else wave.push(next);
    }
    if (wave.length > 0) yield wave;
  }
}

/** The message as it goes out; null when it cannot go to this sink at all, and is parked. */
function prepared(
  sink: OutsideSink,
  delivery: WaitingDelivery,
  rules: TurnRules,
  result: TurnResult,
): { delivery: WaitingDelivery; message: Outgoing } | null {
  const park = (reason: string): null => {
    const { outboxId, attempts } = delivery;
    result.refusals.push({ outboxId, attempts: attempts + 1, reason, retryMs: null });
    return null;
  };
  try {
    const event = toEvent(delivery, rules.source);
    const body = Buffer.from(JSON.stringify(event));
    if (body.length > sink.bytesMax) {
      return park(`The message has ${String(body.length)} bytes; this sink takes ${String(sink.bytesMax)}.`);
    }
    const { topic, createdAt: time } = delivery;
    return { delivery, message: { id: event.id, topic, type: event.type, time, body } };
  } catch (error) {
    if (error instanceof Unsendable) return park(error.message);
    throw error;
  }
}

/**
 * What is not taken counts against the message when the receiver refuses this one, or takes others in the same turn. When it
 * takes none, the trouble is the receiver's, and no message is given up for it: that trouble is returned.
 */
function note(
  went: readonly { delivery: WaitingDelivery; outcome: SinkOutcome }[],
  isInTrouble: boolean,
  rules: TurnRules,
  result: TurnResult,
): string | null {
  for (const { delivery, outcome } of went) {
    if (outcome.kind === 'CONFIRMED') result.sentIds.push(delivery.outboxId);
  }
  const takesOthers = !isInTrouble && result.sentIds.length > 0;
  let trouble: string | null = null;
  for (const { delivery, outcome } of went) {
    if (outcome.kind === 'UNCLEAR' && !takesOthers) trouble ??= outcome.reason;
    else if (outcome.kind === 'REFUSED' || outcome.kind === 'UNCLEAR') {
      const attempts = delivery.attempts + 1;
      result.refusals.push({
        outboxId: delivery.outboxId,
        attempts,
        reason: printable(outcome.reason),
        retryMs: attempts >= rules.attempts ? null : retryMs(attempts),
      });
    }
  }
  return trouble;
}

/** 1 s, 2 s, 4 s, … 60 s: ten attempts take some four minutes. */
export function retryMs(attempts: number): number {
  return Math.min(60_000, 1_000 * 2 ** (attempts - 1));
}
