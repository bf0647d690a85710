import { compareBytes } from '../kernel/ids.js';
import { formatMinorGrouped } from '../kernel/money.js';
import type { Discrepancy } from '../discrepancies/discrepancy.js';
import { countText, momentText } from './words.js';

/** A discrepancy of the day that is open. */
export interface ReportedDiscrepancy {
  id: bigint;
  class: string;
  state: string;
  severity: string;
  channel: string | null;
  key: string;
  currency: string | null;
  expectedMinor: bigint | null;
  actualMinor: bigint | null;
  expected: string | null;
  actual: string | null;
  stakeMinor: bigint;
  owner: string | null;
  firstSeen: string;
}

export function reportedDiscrepancy(one: Discrepancy): ReportedDiscrepancy {
  return {
    id: one.id,
    class: one.class,
    state: one.state,
    severity: one.severity,
    channel: one.channel,
    key: one.itemKey,
    currency: one.currency,
    expectedMinor: one.expectedMinor,
    actualMinor: one.actualMinor,
    expected: one.expectedText,
    actual: one.actualText,
    stakeMinor: one.stakeMinor,
    owner: one.owner,
    firstSeen: one.firstSeen,
  };
}

export const classColumns = ['Class', 'Open', 'Oldest first seen'] as const;

/** By class: how many are open, and since when the oldest is. */
export function byClass(discrepancies: readonly ReportedDiscrepancy[]): string[][] {
  const classes = new Map<string, { count: number; since: string }>();
  for (const { class: kind, firstSeen } of discrepancies) {
    const known = classes.get(kind);
    const since = known === undefined || firstSeen < known.since ? firstSeen : known.since;
    classes.set(kind, { count: (known?.count ?? 0) + 1, since });
  }
  return [...classes]
    .sort(([a], [b]) => compareBytes(a, b))
    .map(([kind, { count, since }]) => [kind, countText(count), momentText(since)]);
}

export const discrepancyColumns = [
  ...['Id', 'Class', 'Severity', 'Channel', 'Key', 'Expected', 'Found', 'Currency', 'First seen', 'Owner'],
] as const;

/** One row each, the oldest first. */
export function discrepancyRows(discrepancies: readonly ReportedDiscrepancy[]): string[][] {
  return discrepancies.map((one) => [
    ...[String(one.id), one.class, one.severity, one.channel ?? '-', one.key],
    ...[side(one.expectedMinor, one.expected, one.currency), side(one.actualMinor, one.actual, one.currency)],
    ...[one.currency ?? '-', momentText(one.firstSeen), one.owner ?? '-'],
  ]);
}

function side(minor: bigint | null, text: string | null, currency: string | null): string {
  if (minor !== null) return formatMinorGrouped(minor, currency ?? '');
  return text ?? '-';
}
