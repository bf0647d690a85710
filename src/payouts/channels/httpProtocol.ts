import { z } from 'zod';
import { printable } from '../../kernel/printable.js';
import type { ChannelAnswer, PayoutInstruction, UnclearCause } from '../channel.js';

/** The body of a submission. */
export function requestBody(payout: PayoutInstruction): string {
  const { idempotencyKey, currency, amountMinor, destination, holder, batchDay } = payout;
  return JSON.stringify({
    idempotencyKey,
    amount: { currency, minor: String(amountMinor) },
    destination,
    holder,
    batchDay,
  });
}

const amount = z.object({
  currency: z.string().regex(/^[A-Z]{3}$/),
  minor: z.string().regex(/^(0|[1-9][0-9]{0,18})$/),
});
const text = z.string().nullish();

/** What a channel answers; what else it says is passed over. */
const answerBody = z.object({
  idempotencyKey: z.string(),
  status: z.enum(['PAID', 'REFUSED', 'NOT_PAID', 'IN_PROGRESS', 'NOT_FOUND']),
  reference: text,
  amount: amount.nullish(),
  reason: text,
});

/** An answer as it came. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  /** Null when it is longer than anything that this protocol says. */
  readonly body: string | null;
}

/**
 * What an answer says of the payout that was asked about, by docs/payout-http.md: its own words, about this key and no other, or
 * else nothing. Of the body nothing but reference and reason is kept, cut and printable.
 */
export function readAnswer(ask: 'submit' | 'query', payout: PayoutInstruction, answer: HttpAnswer): ChannelAnswer {
  const { status } = answer;
  if (status === 429) return unclear('RATE_LIMITED', answer);
  if (status >= 500) return unclear('SERVER_ERROR', answer);
  const said = wordOf(payout, answer);
  if (status === 409) return { kind: 'IN_PROGRESS', reference: said?.reference ?? null };
  if (said === null) return unclear('UNREADABLE_ANSWER', answer);
  const { status: word, reference, reason } = said;
  if (status === 404) return word === 'NOT_FOUND' ? { kind: 'NOT_FOUND' } : unclear('UNREADABLE_ANSWER', answer);
  // An error of the query says nothing of the payment: only a submission is refused by an error.
  if (status >= 400) {
    return word === 'REFUSED' && ask === 'submit'
      ? { kind: 'REFUSED', reference, reason }
      : unclear('UNREADABLE_ANSWER', answer);
  }
  if (status !== 200 && status !== 201) return unclear('UNREADABLE_ANSWER', answer);
  switch (word) {
    case 'PAID':
      return said.paid === null ? unclear('UNREADABLE_ANSWER', answer) : { kind: 'PAID', reference, ...said.paid };
    case 'REFUSED':
    case 'NOT_PAID':
      return { kind: word, reference, reason };
    case 'IN_PROGRESS':
      return { kind: 'IN_PROGRESS', reference };
    case 'NOT_FOUND':
      return unclear('UNREADABLE_ANSWER', answer);
  }
}

interface Word {
  status: z.output<typeof answerBody>['status'];
  reference: string | null;
  reason: string;
  paid: { amountMinor: bigint; currency: string } | null;
}

/** The body in the words of the protocol; null when it is none, or about another payout. */
function wordOf(payout: PayoutInstruction, { body, contentType }: HttpAnswer): Word | null {
  if (body === null || !/^application\/json\s*(;|$)/i.test(contentType)) return null;
  let tree: unknown;
  try {
    tree = JSON.parse(body);
  } catch {
    return null;
  }
  const { success, data } = answerBody.safeParse(tree);
  if (!success || data.idempotencyKey !== payout.idempotencyKey) return null;
  const named = data.amount ?? null;
  const paid = named === null ? null : { amountMinor: BigInt(named.minor), currency: named.currency };
  const differs = paid !== null && (paid.amountMinor !== payout.amountMinor || paid.currency !== payout.currency);
  // Paid with another amount is for a person; a refusal of another amount is the refusal of something else.
  if (differs && data.status !== 'PAID') return null;
  return {
    status: data.status,
    reference: data.reference ? bounded(data.reference) : null,
    reason: bounded(data.reason ?? ''),
    paid,
  };
}

const textMax = 140;

function bounded(foreign: string): string {
  return printable(foreign.slice(0, textMax)).slice(0, textMax);
}

function unclear(cause: UnclearCause, { status, body }: HttpAnswer): ChannelAnswer {
  const length = body === null ? 'too long an answer' : `an answer of ${String(body.length)} characters`;
  return { kind: 'UNCLEAR', cause, detail: `HTTP status ${String(status)}, ${length}.` };
}
