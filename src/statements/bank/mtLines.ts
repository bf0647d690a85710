import type { LineKind, StatementLine } from '../statement.js';
import { mtDetailsOf, type MtDetails } from './mtDetails.js';
import type { MtEntry } from './mtFields.js';
import { lineKeyOf, otherReferences, referenceOf } from './references.js';

/** A :61: with its :86:, as a line of the statement. */
export function mtLineOf(
  entry: MtEntry,
  details: readonly string[],
  of: { accountRef: string; currency: string; line: number },
): StatementLine {
  const found = mtDetailsOf(details);
  const { isCredit, amountMinor, bookedDay } = entry;
  const direction = isCredit ? 'CREDIT' : 'DEBIT';
  const ownerReference = referenceOf(entry.ownerReference);
  const channelReference = referenceOf(entry.bankReference);
  const ourReference = found.endToEndId ?? found.ownerReference ?? ownerReference;
  return {
    line: of.line,
    kind: kindOf(entry, found),
    channelType: entry.type,
    direction,
    currency: of.currency,
    amountMinor,
    feeMinor: null,
    netMinor: isCredit ? amountMinor : -amountMinor,
    ourReference,
    channelReference,
    otherReferences: otherReferences(
      [ourReference, channelReference],
      [found.ownerReference, ownerReference, ...found.others],
    ),
    lineKey: lineKeyOf(channelReference, { accountRef: of.accountRef, bookedDay, direction, amountMinor }),
    balanceMinor: null,
    state: 'DONE',
    occurredAt: null,
    bookedDay,
    batchCount: null,
    batchReference: null,
  };
}

// By the codes of the German banks: 159 a transfer of ours that came back, 108 and 109 a direct debit that came back.
const returnCodes = new Set(['159', '108', '109']);

function kindOf(entry: MtEntry, { code }: MtDetails): LineKind {
  const { isCredit, isReversal } = entry;
  const type = entry.type.slice(1);
  if (isReversal) return isCredit ? 'RETURN' : 'OTHER';
  if (type === 'RTI' || (code !== null && returnCodes.has(code))) return isCredit ? 'RETURN' : 'DISPUTE';
  if (type === 'CHG' || type === 'COM') return 'FEE';
  if (type === 'INT') return 'OTHER';
  return isCredit ? 'PAYMENT' : 'PAYOUT';
}
