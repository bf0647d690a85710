import type { StatementEvent, StatementLine } from '../statement.js';
import { detailOf, kindOf, typeOf, type CamtDetail } from './camtDetail.js';
import { amountAt, dateAt, directionAt, flagAt, wholeAt } from './camtNodes.js';
import { problem, refusal, shown } from './place.js';
import { lineKeyOf, otherReferences, referenceOf } from './references.js';
import { at, textAt, type XmlNode } from './xml.js';

/** A booking that lists more transactions than this is taken as one line, and said to be. */
export const detailsMax = 20_000;

export interface CamtEntry {
  readonly isBooked: boolean;
  readonly isReversal: boolean;
  readonly currency: string;
  readonly signedMinor: bigint;
  readonly events: readonly StatementEvent[];
}

/** What of an entry is read before the entry ends: its transactions, one by one, and what its batches say of themselves. */
export class EntryDetails {
  readonly details: CamtDetail[] = [];
  listed = 0;
  /** Stated number of transactions; null where a batch does not say. */
  stated: number | null = 0;
  private batches = 0;
  readonly batchIds: (string | null)[] = [];

  add(transaction: XmlNode, entry: XmlNode): void {
    this.listed += 1;
    const { currency } = amountAt(entry, 'Amt');
    if (this.details.length < detailsMax) this.details.push(detailOf(transaction, currency, directionAt(entry)));
  }

  /** The end of an NtryDtls, without the transactions. */
  endBatch(node: XmlNode): void {
    this.batches += 1;
    const count = wholeAt(node, 'Btch', 'NbOfTxs');
    this.stated = this.stated === null || count === undefined ? null : this.stated + Number(count);
    if (this.batchIds.length < 10) {
      this.batchIds.push(referenceOf(textAt(node, 'Btch', 'PmtInfId')), referenceOf(textAt(node, 'Btch', 'MsgId')));
    }
  }

  get count(): number | null {
    return this.batches === 0 ? null : this.stated;
  }
}

/** The lines of an entry: one for each transaction where they are listed and make its amount, else one for all. */
export function entryOf(
  node: XmlNode,
  found: EntryDetails,
  accountRef: string | null,
  timeZone: string | null,
): CamtEntry {
  const { minor, currency } = amountAt(node, 'Amt');
  const isCredit = directionAt(node);
  const isReversal = flagAt(node, 'RvslInd') ?? false;
  const signedMinor = isCredit ? minor : -minor;
  const entry = { isReversal, currency, signedMinor };
  if (!isBooked(node)) return { ...entry, isBooked: false, events: [] };
  const booked = dateAt(node, 'BookgDt', timeZone) ?? dateAt(node, 'ValDt', timeZone);
  if (booked === null) throw refusal('BAD_DATE', 'A booked entry states no day: BookgDt and ValDt are missing.', node);
  const base: EntryBase = {
    node,
    accountRef,
    currency,
    isCredit,
    isReversal,
    signedMinor,
    bookedDay: booked.day,
    occurredAt: booked.instant,
    reference: referenceOf(textAt(node, 'AcctSvcrRef')),
    ownReference: referenceOf(textAt(node, 'NtryRef')),
    type: typeOf(node),
  };
  const [lines, problems] = linesOf(base, found);
  return {
    ...entry,
    isBooked: true,
    events: [...lines.map((line): StatementEvent => ({ kind: 'line', line })), ...problems],
  };
}

const otherStates = new Set(['PDNG', 'INFO', 'FUTR']);

/** The state is text up to version 7 of the messages, below Cd from version 8 on. */
function isBooked(node: XmlNode): boolean {
  const state = textAt(node, 'Sts', 'Cd') ?? textAt(node, 'Sts') ?? '';
  if (state === 'BOOK') return true;
  if (otherStates.has(state)) return false;
  const shownState = textAt(node, 'Sts', 'Prtry') ?? state;
  throw refusal(
    'UNKNOWN_TYPE',
    `Ntry/Sts is ${shown(shownState)}, and must be BOOK, PDNG, INFO or FUTR.`,
    at(node, 'Sts') ?? node,
  );
}

interface EntryBase {
  readonly node: XmlNode;
  readonly accountRef: string | null;
  readonly currency: string;
  readonly isCredit: boolean;
  readonly isReversal: boolean;
  readonly signedMinor: bigint;
  readonly bookedDay: string;
  readonly occurredAt: string | null;
  readonly reference: string | null;
  readonly ownReference: string | null;
  readonly type: string | null;
}

function linesOf(base: EntryBase, found: EntryDetails): [StatementLine[], StatementEvent[]] {
  const { details, listed, count } = found;
  const [only] = details;
  if (listed <= 1 && (count ?? 1) <= 1) return [[singleLine(base, only, found)], []];
  if (listed > details.length) {
    const text = `The entry lists ${String(listed)} transactions, more than ${String(detailsMax)}: it is taken as one line.`;
    return [[batchLine(base, found)], [problem('RECORD_TOO_LONG', text, base.node)]];
  }
  const nets = netsOf(details, base.signedMinor);
  if (nets === null || listed <= 1) {
    const complete = count === listed && listed > 1 && details.every(({ signedMinor }) => signedMinor !== null);
    const text = `The ${String(listed)} transactions of the entry do not make its amount.`;
    return [[batchLine(base, found)], complete ? [problem('TOTAL_DIFFERS', text, base.node)] : []];
  }
  const lines = details.map((detail, index) => listedLine(base, detail, nets[index] ?? 0n, index, found));
  const text = `The entry says that it holds ${String(count)} transactions, and lists ${String(listed)}.`;
  return [lines, count === null || count === listed ? [] : [problem('COUNT_DIFFERS', text, base.node)]];
}

/** What each transaction moves, so that all make the entry: their amounts as they stand, or after their charges. */
function netsOf(details: readonly CamtDetail[], entryMinor: bigint): bigint[] | null {
  const amounts = details.map(({ signedMinor }) => signedMinor).filter((amount) => amount !== null);
  if (amounts.length < details.length) return null;
  const afterFees = amounts.map((amount, index) => amount - (details[index]?.feeMinors[0] ?? 0n));
  return [amounts, afterFees].find((nets) => nets.reduce((sum, net) => sum + net, 0n) === entryMinor) ?? null;
}

function singleLine(base: EntryBase, detail: CamtDetail | undefined, found: EntryDetails): StatementLine {
  const own = detailOf(base.node, base.currency, base.isCredit);
  const channelReference = base.reference ?? detail?.servicerReference ?? null;
  const gross = grossOf(
    base.signedMinor,
    [...(detail?.grossMinors ?? []), ...own.grossMinors],
    [...(detail?.feeMinors ?? []), ...own.feeMinors],
  );
  const ourReference = detail?.endToEndId ?? firstOther(detail);
  return lineOf(base, gross, {
    line: base.node.line,
    type: detail?.type ?? base.type,
    isReturn: own.isReturn || detail?.isReturn === true,
    ourReference,
    channelReference,
    more: [...(detail?.otherReferences ?? []), detail?.servicerReference ?? null, ...found.batchIds, base.ownReference],
    batchReference: null,
    batchCount: null,
    lineKey: lineKeyOf(channelReference, keyed(base, base.signedMinor)),
  });
}

function listedLine(
  base: EntryBase,
  detail: CamtDetail,
  net: bigint,
  index: number,
  found: EntryDetails,
): StatementLine {
  const channelReference = detail.servicerReference ?? base.reference;
  const batchReference =
    base.reference ??
    found.batchIds.find((id) => id !== null) ??
    // Nothing names the batch: no other of any file may share this.
    [base.accountRef ?? '', base.bookedDay, base.ownReference ?? `line ${String(base.node.line)}`].join('|');
  return lineOf(base, grossOf(net, detail.grossMinors, detail.feeMinors), {
    line: detail.line,
    type: detail.type ?? base.type,
    isReturn: detail.isReturn,
    ourReference: detail.endToEndId ?? firstOther(detail),
    channelReference,
    more: [...detail.otherReferences, base.reference, ...found.batchIds],
    batchReference,
    batchCount: null,
    lineKey: lineKeyOf(base.reference ?? detail.servicerReference, keyed(base, net), String(index)),
  });
}

function batchLine(base: EntryBase, found: EntryDetails): StatementLine {
  const [ourReference = null, ...ids] = found.batchIds.filter((id) => id !== null);
  return lineOf(
    base,
    { amountMinor: absolute(base.signedMinor), feeMinor: null, netMinor: base.signedMinor },
    {
      line: base.node.line,
      type: base.type,
      isReturn: false,
      ourReference,
      channelReference: base.reference,
      more: [...ids, base.ownReference],
      batchReference: null,
      batchCount: found.count ?? (found.listed > 1 ? found.listed : null),
      lineKey: lineKeyOf(base.reference, keyed(base, base.signedMinor)),
    },
  );
}

function firstOther(detail: CamtDetail | undefined): string | null {
  return detail?.otherReferences[0] ?? null;
}

function absolute(minor: bigint): bigint {
  return minor < 0n ? -minor : minor;
}

interface Gross {
  readonly amountMinor: bigint;
  readonly feeMinor: bigint | null;
  readonly netMinor: bigint;
}

/** Charges are a fee of the line only where amount and charges make what was booked; else they were booked on their own. */
function grossOf(netMinor: bigint, grosses: readonly bigint[], fees: readonly bigint[]): Gross {
  for (const gross of grosses) {
    for (const fee of fees) {
      if ((netMinor < 0n ? -gross : gross) - fee === netMinor) return { amountMinor: gross, feeMinor: fee, netMinor };
    }
  }
  return { amountMinor: absolute(netMinor), feeMinor: null, netMinor };
}

function keyed(base: EntryBase, netMinor: bigint): Parameters<typeof lineKeyOf>[1] {
  const direction = netMinor < 0n || (netMinor === 0n && !base.isCredit) ? 'DEBIT' : 'CREDIT';
  return { accountRef: base.accountRef, bookedDay: base.bookedDay, direction, amountMinor: absolute(netMinor) };
}

function lineOf(
  base: EntryBase,
  gross: Gross,
  of: {
    line: number;
    type: string | null;
    isReturn: boolean;
    ourReference: string | null;
    channelReference: string | null;
    more: readonly (string | null)[];
    batchReference: string | null;
    batchCount: number | null;
    lineKey: string | null;
  },
): StatementLine {
  const { direction } = keyed(base, gross.netMinor);
  return {
    line: of.line,
    kind: kindOf(of.type, direction === 'CREDIT', of.isReturn, base.isReversal),
    channelType: of.type ?? '',
    direction,
    currency: base.currency,
    ...gross,
    ourReference: of.ourReference,
    channelReference: of.channelReference,
    otherReferences: otherReferences([of.ourReference, of.channelReference], of.more),
    lineKey: of.lineKey,
    balanceMinor: null,
    state: 'DONE',
    occurredAt: base.occurredAt,
    bookedDay: base.bookedDay,
    batchCount: of.batchCount,
    batchReference: of.batchReference,
  };
}
