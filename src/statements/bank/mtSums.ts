import { formatMinor } from '../../kernel/money.js';
import type { StatementEvent } from '../statement.js';
import type { MtEntry, MtSum } from './mtFields.js';
import { problem, type Place } from './place.js';

type Way = 'credits' | 'debits';

interface Totals {
  count: bigint;
  minor: bigint;
}

/**
 * Number and sum of the entries of an interim report (:90C:, :90D:). Banks do not agree whether a reversal counts by its
 * mark or by the way of its money, nor whether what is only expected counts: the sums hold if they do in one way for both.
 */
export class MtSums {
  private readonly counted = [0, 1, 2, 3].map(() => ({ credits: none(), debits: none() }));
  private readonly stated: Record<Way, (MtSum & { place: Place }) | null> = { credits: null, debits: null };

  add(entry: MtEntry): void {
    this.counted.forEach((totals, way) => {
      if (entry.isExpected && way % 2 === 1) return;
      const isCredit = way < 2 ? entry.isCredit : entry.markIsCredit;
      const one = totals[isCredit ? 'credits' : 'debits'];
      one.count += 1n;
      one.minor += entry.amountMinor;
    });
  }

  state(isCredit: boolean, sum: MtSum, place: Place): void {
    this.stated[isCredit ? 'credits' : 'debits'] = { ...sum, place };
  }

  faults(): StatementEvent[] {
    const differs = (totals: Record<Way, Totals>): Way[] =>
      (['debits', 'credits'] as const).filter((way) => {
        const stated = this.stated[way];
        return stated !== null && (stated.count !== totals[way].count || stated.minor !== totals[way].minor);
      });
    const [first] = this.counted;
    if (first === undefined || this.counted.some((totals) => differs(totals).length === 0)) return [];
    return differs(first).flatMap((way) => {
      const stated = this.stated[way];
      if (stated === null) return [];
      const { count, minor } = first[way];
      const [says, found] = [stated.minor, minor].map((sum) => formatMinor(sum, stated.currency));
      const text = `The report says ${String(stated.count)} ${way} of ${String(says)}; there are ${String(count)} of ${String(found)}.`;
      return [problem(stated.count === count ? 'TOTAL_DIFFERS' : 'COUNT_DIFFERS', text, stated.place)];
    });
  }
}

function none(): Totals {
  return { count: 0n, minor: 0n };
}
