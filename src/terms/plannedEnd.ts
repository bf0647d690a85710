import type { ChargedFees, DayEnd, DayPosition } from './endOfDay.js';
import type { StoredTerms } from './termsQueries.js';

/** A net under terms that is planned and not written: what a dry run has instead of a row. */
export interface PlannedNet {
  readonly accountNo: string;
  readonly currency: string;
  readonly termsId: bigint;
  /** Before fees. */
  readonly netMinor: bigint;
  readonly feeMinor: bigint;
  readonly feeRest: bigint;
  readonly paymentMinor: bigint;
}

/** The end of a day as if these nets were written, too. */
export function withPlanned(
  end: DayEnd,
  nets: readonly PlannedNet[],
  terms: ReadonlyMap<bigint, Pick<StoredTerms, 'reserveRate' | 'reserveDays'>>,
): DayEnd {
  const positions = new Map(end.positions.map((position) => [keyOf(position), position]));
  for (const { accountNo, currency, termsId, netMinor, feeMinor, paymentMinor } of nets) {
    const own = terms.get(termsId);
    const start: DayPosition = {
      ...{ accountNo, currency, netMinor: 0n, paymentMinor: 0n },
      ...{ reserveRate: own?.reserveRate ?? 0n, reserveDays: own?.reserveDays ?? 0 },
    };
    const known = positions.get(keyOf(start)) ?? start;
    positions.set(keyOf(start), {
      ...known,
      netMinor: known.netMinor + netMinor - feeMinor,
      paymentMinor: known.paymentMinor + paymentMinor,
    });
  }
  return { ...end, positions: [...positions.values()] };
}

function keyOf({ accountNo, currency }: { accountNo: string; currency: string }): string {
  return currency + accountNo;
}

/** The fees of a day with those of these nets. */
export function feesWithPlanned(charged: readonly ChargedFees[], nets: readonly PlannedNet[]): ChargedFees[] {
  const fees = new Map(charged.map((own) => [own.currency, own]));
  for (const { currency, feeMinor, feeRest } of nets) {
    const known = fees.get(currency) ?? { currency, feeMinor: 0n, rest: 0n, bookedMinor: 0n, bookings: 0 };
    fees.set(currency, { ...known, feeMinor: known.feeMinor + feeMinor, rest: known.rest + feeRest });
  }
  return [...fees.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1));
}
