import type { ReasonCode } from './reasons.js';
import { readTransfer, type Receipt, type Transfer } from './receipt.js';

export interface Wanted {
  readonly token: string;
  readonly receiver: string;
  readonly amountRaw: bigint;
}

export interface Choice {
  /** The one event; null where there is none, or more than one. */
  readonly event: Transfer | null;
  /** Where several fit: all of them, so that a person can say which. */
  readonly candidates: readonly Transfer[];
  /** Why there is no event: from item 13 (`transfer-…`), 15 (a mismatch) or 16 (used). */
  readonly code: ReasonCode | null;
}

/**
 * Chooses the event of a receipt that pays an order. With a claimed log index it is exactly that log. Without one, the
 * well-formed Transfers are narrowed by contract, receiver, amount and what is not used yet: one that is left is chosen,
 * several are a person's choice, and of none the first step that left nothing is the reason.
 */
export function chooseEvent(
  receipt: Receipt,
  claimed: number | null,
  wanted: Wanted,
  isUsed: (logIndex: number) => boolean,
): Choice {
  const read = receipt.logs.map(readTransfer);
  if (claimed !== null) {
    const event = read[receipt.logs.findIndex(({ logIndex }) => logIndex === claimed)] ?? null;
    if (event === null) return none('transfer-missing');
    return event === 'unsupported' ? none('transfer-shape-unsupported') : { event, candidates: [], code: null };
  }
  const transfers = read.filter((transfer) => transfer !== null && transfer !== 'unsupported');
  const hasStrange = receipt.logs.some(({ address }, at) => read[at] === 'unsupported' && address === wanted.token);
  if (transfers.length === 0) return none(hasStrange ? 'transfer-shape-unsupported' : 'transfer-missing');
  return narrowed(transfers, wanted, isUsed, hasStrange);
}

function narrowed(
  transfers: readonly Transfer[],
  { token, receiver, amountRaw }: Wanted,
  isUsed: (logIndex: number) => boolean,
  hasStrange: boolean,
): Choice {
  const ofToken = transfers.filter((transfer) => transfer.token === token);
  if (ofToken.length === 0) return none(hasStrange ? 'transfer-shape-unsupported' : 'token-contract-mismatch');
  const received = ofToken.filter(({ to }) => to === receiver);
  if (received.length === 0) {
    const isPaidByOther = transfers.some(({ to }) => to === receiver);
    return none(isPaidByOther ? 'token-contract-mismatch' : 'receiver-address-mismatch');
  }
  const exact = received.filter(({ value }) => value === amountRaw);
  if (exact.length === 0) return none('amount-mismatch');
  const free = exact.filter(({ logIndex }) => !isUsed(logIndex));
  const [event = null] = free;
  if (event === null) return none('transfer-already-consumed');
  return free.length === 1
    ? { event, candidates: [], code: null }
    : { ...none('transfer-ambiguous'), candidates: free };
}

function none(code: ReasonCode): Choice {
  return { event: null, candidates: [], code };
}
