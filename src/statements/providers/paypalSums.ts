import { formatMinor } from '../../kernel/money.js';
import type { StatementEvent } from '../statement.js';
import type { Problems } from './reading.js';

/** Of one currency of a section: credits, debits, fee credits, fee debits, as its footer lists them. */
type Four = [bigint, bigint, bigint, bigint];

interface Sums {
  /** Of the rows that move money, and of all rows: a transaction report does not say which its totals are of. */
  readonly money: Four;
  readonly all: Four;
  hasFooter: boolean;
}

export interface PaypalFooter {
  readonly currency: string;
  readonly amounts: readonly bigint[];
  /** Available balance before and after, then others; none in a transaction report. */
  readonly balances: readonly bigint[];
}

const words = ['Gross credits', 'Gross debits', 'Fee credits', 'Fee debits'];

/** Holds the footers of a section against its rows. */
export class PaypalSums {
  private byCurrency = new Map<string, Sums>();
  /** What the footers of the sections add up to, which those of the report must repeat. */
  private readonly stated = new Map<string, bigint[]>();

  constructor(private readonly problems: Problems) {}

  /** Amounts signed: positive is CR. */
  add(currency: string, gross: bigint, fee: bigint, isMoney: boolean): void {
    const sums = this.of(currency);
    for (const four of isMoney ? [sums.money, sums.all] : [sums.all]) {
      four[gross < 0n ? 1 : 0] += gross < 0n ? -gross : gross;
      four[fee < 0n ? 3 : 2] += fee < 0n ? -fee : fee;
    }
  }

  *footer({ currency, amounts, balances }: PaypalFooter, line: number): Generator<StatementEvent> {
    const sums = this.of(currency);
    if (sums.hasFooter) {
      yield* this.problems.add('TOTAL_DIFFERS', `The section has totals of ${currency} twice.`, line);
      return;
    }
    sums.hasFooter = true;
    const before = this.stated.get(currency) ?? [];
    this.stated.set(
      currency,
      amounts.map((amount, at) => amount + (before[at] ?? 0n)),
    );
    const isAll = amounts.every((amount, at) => amount === sums.all[at]);
    for (const [at, amount] of amounts.entries()) {
      const sum = sums.money[at] ?? 0n;
      if (amount === sum || isAll) continue;
      const text = `${words[at] ?? ''} are ${formatMinor(amount, currency)} ${currency}, the rows add up to ${formatMinor(sum, currency)}.`;
      yield* this.problems.add('TOTAL_DIFFERS', text, line);
    }
    const [opening, closing] = balances;
    if (opening === undefined || closing === undefined) return;
    yield { kind: 'balance', balance: { kind: 'OPENING', currency, minor: opening, day: null } };
    yield { kind: 'balance', balance: { kind: 'CLOSING', currency, minor: closing, day: null } };
    const [credits, debits, feeCredits, feeDebits] = sums.money;
    const reached = opening + credits - debits + feeCredits - feeDebits;
    if (reached === closing) return;
    const text = `The rows lead from ${formatMinor(opening, currency)} to ${formatMinor(reached, currency)} ${currency}, the section closes with ${formatMinor(closing, currency)}.`;
    yield* this.problems.add('BALANCE_DIFFERS', text, line);
  }

  *reportFooter({ currency, amounts }: PaypalFooter, line: number): Generator<StatementEvent> {
    const sections = this.stated.get(currency) ?? [];
    if (amounts.every((amount, at) => amount === (sections[at] ?? 0n))) return;
    yield* this.problems.add(
      'TOTAL_DIFFERS',
      `The report's totals of ${currency} are not those of its sections.`,
      line,
    );
  }

  *endOfSection(line: number): Generator<StatementEvent> {
    for (const [currency, { hasFooter }] of this.byCurrency) {
      if (!hasFooter) yield* this.problems.add('TOTAL_DIFFERS', `The section has no totals of ${currency}.`, line);
    }
    this.byCurrency = new Map();
  }

  private of(currency: string): Sums {
    const known = this.byCurrency.get(currency);
    if (known !== undefined) return known;
    const sums: Sums = { money: [0n, 0n, 0n, 0n], all: [0n, 0n, 0n, 0n], hasFooter: false };
    this.byCurrency.set(currency, sums);
    return sums;
  }
}
