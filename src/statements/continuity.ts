import { addDays, type BatchDay } from '../kernel/batchDay.js';
import { formatMinor } from '../kernel/money.js';
import type { CountedStatement } from './storedFiles.js';

/** Where two statements that follow each other do not fit. */
export interface Break {
  readonly kind: 'GAP' | 'BALANCE';
  readonly accountRef: string | null;
  readonly before: CountedStatement;
  readonly after: CountedStatement;
  /** Of a BALANCE. */
  readonly currency: string | null;
  readonly expectedMinor: bigint | null;
  readonly actualMinor: bigint | null;
  readonly expectedText: string;
  readonly actualText: string;
}

/**
 * Follows the statements of a channel, account by account: numbers without a gap, and each opening balance the last closing
 * one. Where the format has neither, no day may be left out. Statements of days that were covered before (another cut of the
 * same account) prove nothing here.
 */
export function breaksOf(statements: readonly CountedStatement[]): Break[] {
  const accounts = new Map<string, CountedStatement[]>();
  for (const statement of statements) {
    const account = statement.accountRef ?? '';
    accounts.set(account, [...(accounts.get(account) ?? []), statement]);
  }
  return [...accounts.values()].flatMap((own) => {
    const ordered = withoutOverlaps([...own].sort(statementOrder));
    return ordered.slice(1).flatMap((after, at) => breaksBetween(ordered[at] as CountedStatement, after));
  });
}

/** The order in which statements follow each other: by day, then by number, then as they came. */
export function statementOrder(a: CountedStatement, b: CountedStatement): number {
  const byDay = compare(a.toDay ?? a.fromDay ?? '', b.toDay ?? b.fromDay ?? '');
  if (byDay !== 0) return byDay;
  if (a.sequence !== null && b.sequence !== null) {
    const byNumber = compare(a.sequence.number, b.sequence.number) || compare(a.sequence.page, b.sequence.page);
    if (byNumber !== 0) return byNumber;
  }
  return compare(a.fileId, b.fileId) || compare(a.no, b.no);
}

function compare<T extends string | number | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function withoutOverlaps(ordered: readonly CountedStatement[]): CountedStatement[] {
  const kept: CountedStatement[] = [];
  for (const statement of ordered) {
    const last = kept.at(-1);
    if (last === undefined || !overlaps(last, statement)) kept.push(statement);
  }
  return kept;
}

function overlaps(before: CountedStatement, after: CountedStatement): boolean {
  const [a, b] = [before.sequence, after.sequence];
  if (a !== null && b !== null) return a.number === b.number && a.page === b.page;
  return before.toDay !== null && after.fromDay !== null && after.fromDay <= before.toDay;
}

function breaksBetween(before: CountedStatement, after: CountedStatement): Break[] {
  const breaks: Break[] = [];
  const pair = { accountRef: after.accountRef, before, after };
  const none = { currency: null, expectedMinor: null, actualMinor: null };
  const [a, b] = [before.sequence, after.sequence];
  if (a !== null && b !== null && !follows(a, b, before.toDay, after.toDay)) {
    const [expectedText, actualText] = [`number ${String(a.number + 1n)}`, `number ${String(b.number)}`];
    breaks.push({ kind: 'GAP', ...pair, ...none, expectedText, actualText });
  }
  let chained = false;
  for (const { currency, openingMinor } of after.balances) {
    const closing = before.balances.find((balance) => balance.currency === currency)?.closingMinor ?? null;
    if (openingMinor === null || closing === null) continue;
    chained = true;
    if (openingMinor === closing) continue;
    const [expectedText, actualText] = [
      `opening ${formatMinor(closing, currency)}, the last closing`,
      `opening ${formatMinor(openingMinor, currency)}`,
    ];
    const amounts = { currency, expectedMinor: closing, actualMinor: openingMinor };
    breaks.push({ kind: 'BALANCE', ...pair, ...amounts, expectedText, actualText });
  }
  const next = before.toDay === null ? null : addDays(before.toDay, 1);
  if (a === null && !chained && next !== null && after.fromDay !== null && next < after.fromDay) {
    const [expectedText, actualText] = [`from ${next}`, `from ${after.fromDay}`];
    breaks.push({ kind: 'GAP', ...pair, ...none, expectedText, actualText });
  }
  return breaks;
}

/** The next page of the same number, the next number, or number 1 of another year. */
function follows(
  a: { number: bigint; page: number },
  b: { number: bigint; page: number },
  aDay: BatchDay | null,
  bDay: BatchDay | null,
): boolean {
  if (a.number === b.number) return b.page === a.page + 1;
  if (b.number === a.number + 1n) return true;
  return b.number === 1n && aDay !== null && bDay !== null && aDay.slice(0, 4) < bDay.slice(0, 4);
}
