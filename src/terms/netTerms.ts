import type { OrderType } from '../kernel/states.js';
import { ruleUnder, type AppliedTerms } from './appliedTerms.js';
import { feeOf, type FeeRule } from './feePlan.js';

/** What an account's terms take from a net of its orders. */
export interface NetTerms {
  readonly termsId: bigint;
  /** The fees of the orders, each rounded by itself, and what rounding left over; see `Fee`. */
  readonly feeMinor: bigint;
  readonly feeRest: bigint;
  /** The payments among them, gross: what a reserve is a part of. */
  readonly paymentMinor: bigint;
  /** Null, or the first order that the fee plan should cover and does not: what the net costs is not known then. */
  readonly uncovered: string | null;
}

interface Charged {
  type: OrderType;
  channel: string;
  rule: FeeRule | 'FREE' | 'UNCOVERED';
}

/** The terms of one net, worked out as its orders are added. */
export class OpenNetTerms implements NetTerms {
  feeMinor = 0n;
  feeRest = 0n;
  paymentMinor = 0n;
  uncovered: string | null = null;
  /** The few types and channels that the net has, each with its rule. */
  private readonly known: Charged[] = [];

  constructor(
    private readonly applied: AppliedTerms,
    private readonly currency: string,
  ) {}

  get termsId(): bigint {
    return this.applied.id;
  }

  /** A reversal (below zero) costs nothing, and neither fee nor reserve of what it takes back is given back by it. */
  add(type: OrderType, channel: string, amountMinor: bigint): void {
    if (amountMinor < 0n) return;
    if (type === 'PAYMENT') this.paymentMinor += amountMinor;
    const rule = this.ruleOf(type, channel);
    if (rule === 'FREE') return;
    if (rule === 'UNCOVERED') {
      this.uncovered ??= `a ${type} over ${channel} in ${this.currency}`;
      return;
    }
    const { feeMinor, rest } = feeOf(rule, amountMinor);
    this.feeMinor += feeMinor;
    this.feeRest += rest;
  }

  private ruleOf(type: OrderType, channel: string): Charged['rule'] {
    for (const known of this.known) if (known.type === type && known.channel === channel) return known.rule;
    const rule = ruleUnder(this.applied, type, channel, this.currency);
    this.known.push({ type, channel, rule });
    return rule;
  }
}
