import { magnitude } from '../kernel/money.js';
import { compareBytes } from '../kernel/ids.js';
import type { DayReport } from './dayReport.js';
import type { Position } from './queries.js';
import { plural } from './words.js';

export interface Verdict {
  /** `good`: closed and nothing left. `attention`: a person has something to do. `bad`: the books contradict. */
  grade: 'good' | 'attention' | 'bad';
  headline: string;
  /** What needs a person, one sentence each. */
  needs: string[];
}

/** What the facts of a day come to, in words. */
export function verdictOf(report: DayReport): Verdict {
  const failed = report.checks.filter((check) => !check.ok);
  const bookedOn = report.lateBookedOn.join(', ');
  const needs = [
    ...failed.map((check) => `Check ${check.name} failed.`),
    ...some(report.quarantined.length, (n) => `${plural(n, 'account')} set aside in quarantine.`),
    ...some(report.parked.length, (n) => `${plural(n, 'message')} parked after repeated failure.`),
    ...some(report.withdrawn.length, (n) => `${plural(n, 'order')} withdrawn by somebody else during the run.`),
    ...some(sum(report.tieOut.map((row) => row.waiting.orders)), (n) => `${plural(n, 'order')} not settled yet.`),
    ...some(payoutsIn(report, 'MANUAL'), (n) => `${plural(n, 'payout')} for a person to decide on.`),
    ...some(
      payoutsIn(report, 'UNKNOWN'),
      (n) => `${plural(n, 'payout')} of which nobody knows yet whether it is paid.`,
    ),
    ...some(report.discrepancies.length, (n) => `${plural(n, 'discrepancy', 'discrepancies')} open.`),
    ...some(
      report.late.length === 0 ? 0 : sum(report.late.map((row) => row.orders)),
      (n) =>
        `${plural(n, 'order')} settled late, after the day was closed${bookedOn === '' ? '' : `, and booked on ${bookedOn}`}.`,
    ),
  ];
  if (failed.length > 0 || report.outcome === 'INTEGRITY') {
    return { grade: 'bad', headline: 'The books contradict each other. The day is not proven.', needs };
  }
  if (report.status !== 'CLOSED') {
    return { grade: 'attention', headline: `The day is open: ${report.status.toLowerCase()}.`, needs };
  }
  if (needs.length === 0) return { grade: 'good', headline: 'The day is closed. Nothing is left to do.', needs };
  return { grade: 'attention', headline: 'The day is closed, with something left for a person.', needs };
}

function some(count: number, sentence: (count: number) => string): string[] {
  return count === 0 ? [] : [sentence(count)];
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function payoutsIn({ payouts }: DayReport, state: string): number {
  return sum(payouts.filter((total) => total.state === state).map((total) => total.payouts));
}

export interface TopPositions {
  currency: string;
  /** All positions in this currency, of which `top` are the largest by magnitude. */
  positions: number;
  top: Position[];
}

/** The largest net positions of each currency, largest magnitude first, ties by account number. */
export function topPositions(positions: readonly Position[], count: number): TopPositions[] {
  const byCurrency = new Map<string, Position[]>();
  for (const position of positions) {
    const list = byCurrency.get(position.currency) ?? [];
    byCurrency.set(position.currency, list);
    list.push(position);
  }
  return [...byCurrency]
    .sort(([a], [b]) => compareBytes(a, b))
    .map(([currency, list]) => ({ currency, positions: list.length, top: list.sort(byMagnitude).slice(0, count) }));
}

function byMagnitude(a: Position, b: Position): number {
  const [left, right] = [magnitude(a.netMinor), magnitude(b.netMinor)];
  return left === right ? compareBytes(a.accountNo, b.accountNo) : left > right ? -1 : 1;
}
