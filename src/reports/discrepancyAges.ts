import { compareBytes } from '../kernel/ids.js';
import type { ReportedDiscrepancy } from './discrepancyTables.js';
import { countText, msBetween } from './words.js';

/** Whole days of age up to which a discrepancy falls into each class. */
const ages = [
  { title: 'Up to 1 day', short: '0–1 d', daysMax: 1 },
  { title: '2 to 7 days', short: '2–7 d', daysMax: 7 },
  { title: '8 to 30 days', short: '8–30 d', daysMax: 30 },
  { title: 'Over 30 days', short: '30+ d', daysMax: Infinity },
] as const;

export const ageTitles = ages.map(({ title }) => title);

export const ageColumns = ['Class', ...ages.map(({ short }) => short), 'Open', 'Oldest'];

export interface AgedClass {
  class: string;
  /** How many of each age, in the order of `ageTitles`. */
  counts: number[];
  open: number;
  since: string;
}

/**
 * When the open discrepancies of a day were last looked for, which their age is counted to: a stored fact, so that the
 * report of the same facts stays the same. Null when there are none.
 */
export function agedAt(discrepancies: readonly ReportedDiscrepancy[]): string | null {
  return discrepancies.reduce<string | null>(
    (last, { lastSeen }) => (last === null || lastSeen > last ? lastSeen : last),
    null,
  );
}

/** Open discrepancies by class, in the order of the alphabet, and age. */
export function byAge(discrepancies: readonly ReportedDiscrepancy[]): AgedClass[] {
  const at = agedAt(discrepancies);
  const classes = new Map<string, AgedClass>();
  for (const { class: kind, firstSeen } of discrepancies) {
    const aged = classes.get(kind) ?? { class: kind, counts: ages.map(() => 0), open: 0, since: firstSeen };
    classes.set(kind, aged);
    const days = Math.floor(msBetween(firstSeen, at ?? firstSeen) / 86_400_000);
    const index = ages.findIndex(({ daysMax }) => days <= daysMax);
    aged.counts[index] = (aged.counts[index] ?? 0) + 1;
    aged.open += 1;
    if (firstSeen < aged.since) aged.since = firstSeen;
  }
  return [...classes.values()].sort((a, b) => compareBytes(a.class, b.class));
}

/** The same as rows below `ageColumns`. */
export function ageRows(discrepancies: readonly ReportedDiscrepancy[]): string[][] {
  return byAge(discrepancies).map(({ class: kind, counts, open, since }) => [
    ...[kind, ...counts.map(countText), countText(open), since.slice(0, 10)],
  ]);
}
