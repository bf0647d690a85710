import type { BatchDay } from '../kernel/batchDay.js';
import { formatMinorGrouped } from '../kernel/money.js';

/** A row of a table that touched the thing; those of one moment stand in the order in which one led to the other. */
export interface StoryRow {
  /** RFC 3339, UTC; null where the row does not say when. */
  at: string | null;
  table: string;
  what: string;
  /** Signed as money is for the account. */
  amountMinor: bigint | null;
  currency: string | null;
}

/** How an amount came about; the lines before a total add up to it. */
export interface Arithmetic {
  title: string;
  currency: string;
  lines: { what: string; orders: number | null; amountMinor: bigint; isTotal: boolean }[];
  /** Whether the lines add up to what is stored. */
  agrees: boolean;
}

export type StoryKind = 'order' | 'payout' | 'deposit' | 'discrepancy';

/** The whole life of one thing, on one page. */
export interface Story {
  kind: StoryKind;
  id: string;
  state: string;
  /** What it is, one sentence each. */
  head: string[];
  timeline: StoryRow[];
  arithmetic: Arithmetic[];
  /** Where it is stuck or what it waits for; null once nothing is to happen any more. */
  stuck: string | null;
  /** The command that moves it. */
  next: string | null;
}

/** What a story is told at. */
export interface Told {
  /** Whether a batch day has ended, by the calendar. */
  isOver(day: BatchDay): boolean;
}

/** Where something stands: what it waits for, and the command that moves it. */
export interface Standing {
  stuck: string | null;
  next: string | null;
}

/** What lets something be planned that is carried forward, by its reason. */
export const carriedNext: Readonly<Record<string, string>> = {
  WITHOUT_BENEFICIARY: 'settle import beneficiaries FILE',
  NOT_ACTIVE: 'settle import accounts FILE',
  ON_HOLD: 'settle import terms FILE',
};

export const done: Standing = { stuck: null, next: null };

export function row(
  at: string | null,
  table: string,
  what: string,
  amount?: { amountMinor: bigint; currency: string },
): StoryRow {
  return { at, table, what, amountMinor: amount?.amountMinor ?? null, currency: amount?.currency ?? null };
}

/** By time, in milliseconds as most tables have it; what is of one moment keeps its order, and what has none comes with the row before. */
export function inTimeOrder(rows: readonly StoryRow[]): StoryRow[] {
  let last = '';
  const keyed = rows.map((one) => ({ one, key: (last = one.at?.slice(0, 23) ?? last) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ one }) => one);
}

export function amountText({ amountMinor, currency }: { amountMinor: bigint; currency: string }): string {
  return `${formatMinorGrouped(amountMinor, currency)} ${currency}`;
}

/** An id as a shell takes it for one word. */
export function shellWord(id: string): string {
  return /^[\w.:/@%+,-]+$/.test(id) && !id.startsWith('-') ? id : `'${id.replaceAll("'", `'\\''`)}'`;
}

/** "INIT → PROCESSING", or the state alone where it stayed. */
export function moveText(from: string | null, to: string): string {
  return from === null || from === to ? to : `${from} → ${to}`;
}

/** "; reason" of what may be left out. */
export function partsText(parts: readonly (string | null | undefined)[]): string {
  return parts.filter((part) => part !== null && part !== undefined && part !== '').join(', ');
}
