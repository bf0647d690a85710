import type { PayoutInstruction } from './channel.js';

type Known = Pick<PayoutInstruction, 'destination' | 'idempotencyKey'>;

/** Digits in a row, blanks and dashes between them included, that may be the number of an account or a card. */
const longNumber = /[0-9](?:[ -]?[0-9]){11,}/g;
const lettersShown = 4;

/** A channel's reference, without where the payout goes. Its numbers stay: a statement is matched by them. */
export function maskedReference(text: string | null, payout: Known): string | null {
  return text === null ? null : withoutDestination(text, payout);
}

/**
 * What a channel said in words, without where the payout goes and without other long numbers, which are masked but for their
 * last digits. The key of the payout stays.
 */
export function maskedReason(text: string | null, payout: Known): string | null {
  if (text === null) return null;
  const { idempotencyKey: key } = payout;
  return text
    .split(key)
    .map((part) => withoutDestination(part, payout).replace(longNumber, mask))
    .join(key);
}

/** In either case, with blanks or dashes between its letters or without. A short destination hides nothing, and is in many words. */
function withoutDestination(text: string, { destination }: Known): string {
  const letters = [...destination.replace(/[\s-]/g, '')];
  if (letters.length < 2 * lettersShown) return text;
  const escaped = letters.map((letter) => letter.replace(/[^\p{L}\p{N}]/u, '\\$&'));
  return text.replace(new RegExp(escaped.join('[\\s-]*'), 'gi'), mask);
}

function mask(found: string): string {
  return `…${found.slice(-lettersShown)}`;
}
