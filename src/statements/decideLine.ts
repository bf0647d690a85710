import type { StatedOrder } from '../orders/statedOrders.js';
import type { StatedPayout } from '../payouts/statedOutcomes.js';
import { magnitude } from '../kernel/money.js';
import { halfEven, rateOne } from '../terms/rate.js';
import { referencesOf, signedOf, type StoredLine } from './storedLine.js';

/** A row of ours that a line may stand for. */
export type Ours =
  | { readonly kind: 'PAYOUT'; readonly id: bigint; readonly payout: StatedPayout }
  | { readonly kind: 'ORDER'; readonly id: bigint; readonly order: StatedOrder };

/** What a line says happened to it: the money moved, a payout came back, or it was refused. */
export type Role = 'MOVED' | 'RETURNED' | 'REFUSED';
export type Verdict = 'AGREES' | 'CURRENCY' | 'AMOUNT' | 'STATE' | 'FEE';

/** What the channel asks for, where that is agreed: a share of the amount and a fixed part by currency. */
export interface AgreedFee {
  readonly rate: bigint;
  readonly fixed: ReadonlyMap<string, bigint>;
}

/** Rows of ours by the numbers under which a statement may name them. */
export interface OursByNumber {
  payoutByKey: ReadonlyMap<string, StatedPayout>;
  payoutByReference: ReadonlyMap<string, readonly StatedPayout[]>;
  orderByNo: ReadonlyMap<string, StatedOrder>;
}

/** What became of a line. NONE: it stands for nothing of ours, and needs not. */
export type Placed =
  | { readonly kind: 'NONE' }
  | { readonly kind: 'LOOSE'; readonly why: 'NOT_FOUND' | 'DUPLICATE' }
  | { readonly kind: 'MATCH'; readonly ours: Ours; readonly role: Role };

/** Fees and transfers between accounts of ours have no counterpart among payouts and orders. */
const ownAffairs: readonly string[] = ['FEE', 'TRANSFER'];

/**
 * Which row of ours a line stands for: the first that one of its numbers names, in the order of trust, and that moves money
 * the same way. `isTaken` tells whether another line stands for that row in that role already; then this one is a duplicate.
 */
export function placeLine(line: StoredLine, by: OursByNumber, isTaken: (ours: Ours, role: Role) => boolean): Placed {
  const candidates = candidatesOf(line, by);
  for (const { ours, role } of candidates) if (!isTaken(ours, role)) return { kind: 'MATCH', ours, role };
  const [first] = candidates;
  // Refused twice is refused.
  if (first !== undefined) return first.role === 'REFUSED' ? { kind: 'NONE' } : { kind: 'LOOSE', why: 'DUPLICATE' };
  if (ownAffairs.includes(line.kind) || line.state === 'FAILED') return { kind: 'NONE' };
  return { kind: 'LOOSE', why: 'NOT_FOUND' };
}

function candidatesOf(line: StoredLine, by: OursByNumber): { ours: Ours; role: Role }[] {
  const found: { ours: Ours; role: Role }[] = [];
  const seen = new Set<string>();
  const offer = (ours: Ours, role: Role | null): void => {
    const name = `${ours.kind} ${String(ours.id)}`;
    if (role === null || seen.has(name)) return;
    seen.add(name);
    found.push({ ours, role });
  };
  for (const reference of referencesOf(line)) {
    const payout = by.payoutByKey.get(reference);
    if (payout !== undefined) offer({ kind: 'PAYOUT', id: payout.id, payout }, payoutRole(line));
    for (const one of by.payoutByReference.get(reference) ?? []) {
      offer({ kind: 'PAYOUT', id: one.id, payout: one }, payoutRole(line));
    }
    const order = by.orderByNo.get(reference);
    if (order !== undefined) offer({ kind: 'ORDER', id: order.id, order }, orderRole(line, order));
  }
  return found;
}

function payoutRole({ kind, state, direction }: StoredLine): Role | null {
  if (kind === 'FEE') return null;
  if (state === 'FAILED') return 'REFUSED';
  return kind === 'RETURN' || direction === 'CREDIT' ? 'RETURNED' : 'MOVED';
}

/** A line that moves money the other way is about something else: a refund, a chargeback, a fee of the order. */
function orderRole(line: StoredLine, order: StatedOrder): Role | null {
  if (ownAffairs.includes(line.kind) !== (order.type === 'FEE')) return null;
  if (line.state === 'FAILED') return 'REFUSED';
  return signedOf(line) > 0n === order.movesMinor > 0n ? 'MOVED' : null;
}

/** The money that a row of ours says moved, as that role has it. */
export function expectedOf(ours: Ours, role: Role): bigint {
  if (ours.kind === 'ORDER') return ours.order.movesMinor;
  return role === 'RETURNED' ? ours.payout.amountMinor : -ours.payout.amountMinor;
}

/** How a line and its row of ours compare: currency before amount, amount before state, and the fee where both know one. */
export function verdictOf(line: StoredLine, ours: Ours, role: Role, fee: AgreedFee | null): Verdict {
  const currency = ours.kind === 'PAYOUT' ? ours.payout.currency : ours.order.currency;
  if (line.currency !== currency) return 'CURRENCY';
  if (line.amountMinor !== magnitude(expectedOf(ours, role))) return 'AMOUNT';
  if (!statesAgree(ours, role)) return 'STATE';
  const due = agreedFeeOf(line, role, fee);
  return due === null || due === line.feeMinor ? 'AGREES' : 'FEE';
}

const agreeing: Record<Ours['kind'], Record<Role, readonly string[]>> = {
  PAYOUT: { MOVED: ['SUCCESS'], RETURNED: ['FAILED'], REFUSED: ['FAILED'] },
  // What is not settled yet will be; its money has moved all the same.
  ORDER: { MOVED: ['INIT', 'PROCESSING', 'SUCCESS'], RETURNED: [], REFUSED: ['FAILED', 'CANCELED'] },
};

export function statesAgree(ours: Ours, role: Role): boolean {
  return agreeing[ours.kind][role].includes(stateOf(ours));
}

export function stateOf(ours: Ours): string {
  return ours.kind === 'PAYOUT' ? ours.payout.state : ours.order.state;
}

/** The fee that the line ought to state, half-even; null where it states none, or nothing is agreed. */
export function agreedFeeOf(line: StoredLine, role: Role, fee: AgreedFee | null): bigint | null {
  if (fee === null || line.feeMinor === null || role !== 'MOVED' || line.kind === 'REFUND') return null;
  return halfEven(line.amountMinor * fee.rate, rateOne) + (fee.fixed.get(line.currency) ?? 0n);
}
