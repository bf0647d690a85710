import type { StatementEvent } from '../statement.js';
import { fixedOf, fixedOfMinor, fixedScale } from './amounts.js';
import type { CamtEntry } from './camtEntry.js';
import { isCreditAt, wholeAt } from './camtNodes.js';
import { problem, type Place } from './place.js';
import { at, type XmlNode } from './xml.js';

interface Totals {
  count: bigint;
  sum: bigint;
}

interface Counted {
  readonly credits: Totals;
  readonly debits: Totals;
}

const nothing = (): Counted => ({ credits: { count: 0n, sum: 0n }, debits: { count: 0n, sum: 0n } });

/**
 * Counts entries against the summary (TxsSummry) of a statement. Banks do not agree whether entries that are not booked
 * are among them: the summary holds if it does either way. Sums name no currency, and are of all.
 */
export class CamtTotals {
  private readonly all = nothing();
  private readonly booked = nothing();

  add({ isBooked, signedMinor, currency }: CamtEntry, isCredit: boolean): void {
    const fixed = fixedOfMinor(signedMinor < 0n ? -signedMinor : signedMinor, currency);
    for (const counted of isBooked ? [this.all, this.booked] : [this.all]) {
      const totals = isCredit ? counted.credits : counted.debits;
      totals.count += 1n;
      totals.sum += fixed;
    }
  }

  faults(summary: XmlNode): StatementEvent[] {
    return [
      ...this.compare(summary, 'TtlNtries', ({ credits, debits }) => ({
        count: credits.count + debits.count,
        sum: credits.sum + debits.sum,
      })),
      ...this.compare(summary, 'TtlCdtNtries', ({ credits }) => credits),
      ...this.compare(summary, 'TtlDbtNtries', ({ debits }) => debits),
      ...this.compareNet(summary),
    ];
  }

  private compare(summary: XmlNode, name: string, of: (counted: Counted) => Totals): StatementEvent[] {
    const stated = at(summary, name);
    if (stated === undefined) return [];
    const [count, sum] = [wholeAt(stated, 'NbOfNtries'), at(stated, 'Sum')];
    const fixed = sum === undefined ? undefined : fixedOf(sum.text.trim(), `${name}/Sum`, sum);
    const found = [this.all, this.booked].map(of);
    const faults: StatementEvent[] = [];
    if (count !== undefined && !found.some((totals) => totals.count === count)) {
      const text = `${name} says ${String(count)} entries; there are ${String(found[0]?.count)}.`;
      faults.push(problem('COUNT_DIFFERS', text, stated));
    }
    if (fixed !== undefined && !found.some((totals) => totals.sum === fixed)) {
      faults.push(differs(`${name}/Sum`, fixed, found[0]?.sum ?? 0n, stated));
    }
    return faults;
  }

  /** Up to version 3 as amount and mark beside the sum, from version 4 on in an element of its own; a sum may be signed too. */
  private compareNet(summary: XmlNode): StatementEvent[] {
    const totals = at(summary, 'TtlNtries');
    const below = totals === undefined ? undefined : at(totals, 'TtlNetNtry');
    const [holder, amount] =
      below === undefined
        ? [totals, totals === undefined ? undefined : at(totals, 'TtlNetNtryAmt')]
        : [below, at(below, 'Amt')];
    if (holder === undefined || amount === undefined) return [];
    const fixed = fixedOf(amount.text.trim(), 'TtlNtries net amount', amount);
    const credit = isCreditAt(holder);
    const signed = credit === false && fixed > 0n ? -fixed : fixed;
    const nets = [this.all, this.booked].map(({ credits, debits }) => credits.sum - debits.sum);
    return nets.includes(signed) ? [] : [differs('The net amount of TtlNtries', signed, nets[0] ?? 0n, amount)];
  }
}

function differs(name: string, stated: bigint, found: bigint, place: Place): StatementEvent {
  return problem('TOTAL_DIFFERS', `${name} says ${decimal(stated)}; the entries make ${decimal(found)}.`, place);
}

function decimal(fixed: bigint): string {
  const digits = (fixed < 0n ? -fixed : fixed).toString().padStart(fixedScale + 1, '0');
  const fraction = digits.slice(-fixedScale).replace(/0+$/, '').padEnd(2, '0');
  return `${fixed < 0n ? '-' : ''}${digits.slice(0, -fixedScale)}.${fraction}`;
}
