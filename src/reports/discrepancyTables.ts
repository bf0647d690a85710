import { formatMinorGrouped } from '../kernel/money.js';
import type { Discrepancy } from '../discrepancies/discrepancy.js';

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
  /** When a reconciliation last found it. */
  lastSeen: string;
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
    lastSeen: one.lastSeen,
  };
}

export const discrepancyColumns = [
  ...['Id', 'Class', 'Severity', 'Channel', 'Key', 'Expected', 'Found', 'Currency', 'First seen', 'Owner'],
] as const;

/** One row each, the oldest first. */
export function discrepancyRows(discrepancies: readonly ReportedDiscrepancy[]): string[][] {
  return discrepancies.map((one) => [
    ...[String(one.id), one.class, one.severity, one.channel ?? '-', one.key],
    ...[side(one.expectedMinor, one.expected, one.currency), side(one.actualMinor, one.actual, one.currency)],
    ...[one.currency ?? '-', one.firstSeen.slice(0, 10), one.owner ?? '-'],
  ]);
}

function side(minor: bigint | null, text: string | null, currency: string | null): string {
  if (minor !== null) return formatMinorGrouped(minor, currency ?? '');
  return text ?? '-';
}
