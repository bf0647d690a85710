import { Buffer } from 'node:buffer';

/** Words by which banks say that there is no reference. */
const none = /^(?:NOTPROVIDED|NOT PROVIDED|NONREF|UNKNOWN|[EK]REF\+?|0+|-)?$/i;
const bytesMax = 64;

/** A reference as it stands, without blanks around it; null for none, and for what is too long to be one. */
export function referenceOf(text: string | undefined): string | null {
  const reference = text?.trim() ?? '';
  if (none.test(reference) || Buffer.byteLength(reference) > bytesMax) return null;
  // Characters that were lost on the way (U+FFFD), or that nobody sees, do not make a number to go by.
  return /[\p{Cc}\p{Cf}\uFFFD]/u.test(reference) ? null : reference;
}

/** The others, in order, without repeats and without those that the line has already. */
export function otherReferences(taken: readonly (string | null)[], more: readonly (string | null)[]): string[] {
  const found = new Set<string>();
  for (const reference of more) {
    if (reference !== null && !taken.includes(reference)) found.add(reference);
  }
  return [...found];
}

/**
 * What makes a line of a bank this line over all files: the bank's reference alone does not, since a fee may carry that of
 * its payment, and a transfer between two accounts has one on both. Null without a reference.
 */
export function lineKeyOf(
  channelReference: string | null,
  line: { accountRef: string | null; bookedDay: string; direction: 'CREDIT' | 'DEBIT'; amountMinor: bigint },
  ...more: readonly string[]
): string | null {
  if (channelReference === null) return null;
  const { accountRef, bookedDay, direction, amountMinor } = line;
  return [channelReference, accountRef ?? '', bookedDay, direction[0], String(amountMinor), ...more].join('|');
}
