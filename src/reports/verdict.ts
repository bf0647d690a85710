import { magnitude } from '../kernel/money.js';
import { compareBytes } from '../kernel/ids.js';
import type { DayReport } from './dayReport.js';
import type { Position } from './queries.js';
import { plural } from './words.js';

export interface Need {
  /** What waits for a person, a sentence. */
  text: string;
  /** What to type about it. */
  command: string;
}

export interface Verdict {
  /** `good`: closed and nothing left. `attention`: a person has something to do. `bad`: the books contradict. */
  grade: 'good' | 'attention' | 'bad';
  headline: string;
  needs: Need[];
}

/** What the facts of a day come to, in words. */
export function verdictOf(report: DayReport): Verdict {
  const failed = report.checks.filter((check) => !check.ok);
  const needs = needsOf(report);
  if (failed.length > 0 || report.outcome === 'INTEGRITY') {
    return { grade: 'bad', headline: 'The books contradict each other. The day is not proven.', needs };
  }
  if (report.status !== 'CLOSED') {
    return { grade: 'attention', headline: `The day is open: ${report.status.toLowerCase()}.`, needs };
  }
  if (needs.length === 0) return { grade: 'good', headline: 'The day is closed. Nothing is left to do.', needs };
  return { grade: 'attention', headline: 'The day is closed, with something left for a person.', needs };
}

function needsOf(report: DayReport): Need[] {
  const day = `--batch-day ${report.batchDay}`;
  const bookedOn = report.lateBookedOn.length === 0 ? '' : `, and booked on ${report.lateBookedOn.join(', ')}`;
  const needs = [
    ...report.checks
      .filter((check) => !check.ok)
      .map((check) => ({ text: `Check ${check.name} failed.`, command: `settle verify ${day}` })),
    some(report.quarantined.length, 'account', 'set aside in quarantine.', `settle quarantine list ${day}`),
    some(report.parked.length, 'message', 'parked after repeated failure.', 'settle outbox status'),
    some(report.withdrawn.length, 'order', 'withdrawn by somebody else during the run.', `settle verify ${day}`),
    some(sum(report.tieOut.map((row) => row.waiting.orders)), 'order', 'not settled yet.', `settle run ${day}`),
    some(
      payoutsIn(report, 'MANUAL'),
      'payout',
      'for a person to decide on.',
      `settle payout list ${day} --state MANUAL`,
    ),
    some(
      payoutsIn(report, 'UNKNOWN'),
      'payout',
      'of which nobody knows yet whether it is paid.',
      'settle payout check',
    ),
    some(report.discrepanciesOpen, 'discrepancy', 'open.', `settle discrepancy list ${day}`),
    some(
      sum(report.late.map((row) => row.orders)),
      'order',
      `settled late, after the day was closed${bookedOn}.`,
      `settle ledger entries ${day}`,
    ),
  ];
  return needs.filter((need) => need !== null);
}

function some(count: number, what: string, sentence: string, command: string): Need | null {
  const many = what === 'discrepancy' ? 'discrepancies' : undefined;
  return count === 0 ? null : { text: `${plural(count, what, many)} ${sentence}`, command };
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
