import type { BatchDay } from '../kernel/batchDay.js';
import type { DayOutcome } from '../kernel/dayOutcome.js';
import { toJson } from '../kernel/json.js';

export interface NoticeTotal {
  currency: string;
  orders: number;
  netMinor: bigint;
}

/** What is left for somebody, in the whole of the books. Counts only: who is behind them is asked of the program. */
export interface OpenCounts {
  quarantinedAccounts: number;
  parkedMessages: number;
  unknownPayouts: number;
  manualPayouts: number;
  openDiscrepancies: number;
}

/** What is told: nothing in it names an account, a bank, or a place of ours. */
export interface Notice {
  /** Names the change for one target, so that who receives it twice can tell; ASCII. */
  id: string;
  batchDay: BatchDay;
  outcome: DayOutcome;
  /** What was told before; null: nothing yet. */
  previous: DayOutcome | null;
  /** The day is closed with nothing left, after something else was told of it. */
  recovered: boolean;
  /** Sent by hand to see whether it arrives. */
  test: boolean;
  runId: bigint | null;
  exitCode: number | null;
  code: string | null;
  totals: readonly NoticeTotal[];
  open: OpenCounts;
  next: string;
}

const words: Record<DayOutcome, string> = {
  CLOSED: 'closed, nothing is left',
  PARTIAL: 'closed, with something left for a person',
  OPEN: 'still open after its run',
  INTEGRITY: 'NOT PROVEN: the books contradict each other',
  DEADLINE: 'stopped by its deadline',
  INTERRUPTED: 'stopped by hand',
  FAILED: 'failed',
};

/** One line that says it all. */
export function noticeTitle({ batchDay, outcome, recovered, test, code }: Notice): string {
  if (test) return 'Settle: test message';
  const why = outcome === 'FAILED' && code !== null ? ` (${code})` : '';
  return `Settle ${batchDay}: ${recovered ? 'recovered, ' : ''}${words[outcome]}${why}`;
}

/** For people: the title, the totals of the day, what is open, what to type. */
export function noticeText(notice: Notice): string {
  const { totals, open, runId, exitCode, previous } = notice;
  const counts: [number, string][] = [
    [open.quarantinedAccounts, 'accounts in quarantine'],
    [open.parkedMessages, 'messages parked'],
    [open.unknownPayouts, 'payouts UNKNOWN'],
    [open.manualPayouts, 'payouts for a person to decide on'],
    [open.openDiscrepancies, 'discrepancies open'],
  ];
  return [
    noticeTitle(notice),
    ...(notice.test ? ['This is how the end of a batch day is told here. Nothing has happened.'] : []),
    ...(previous === null ? [] : [`Before: ${words[previous]}.`]),
    ...(runId === null ? [] : [`Run ${String(runId)}, exit code ${exitCode === null ? 'none' : String(exitCode)}.`]),
    ...totals.map(
      ({ currency, orders, netMinor }) =>
        `${currency}: ${String(orders)} orders, net ${String(netMinor)} in minor units`,
    ),
    ...counts.filter(([count]) => count > 0).map(([count, what]) => `${String(count)} ${what}`),
    `Next: ${notice.next}`,
  ].join('\n');
}

/** For programs: one JSON document; `schemaVersion` counts changes that are not mere additions. */
export function noticeDocument(notice: Notice): string {
  const { id, ...rest } = notice;
  return toJson({ schema: 'settle.notification', schemaVersion: 1, id, title: noticeTitle(notice), ...rest });
}

/** The command that moves a day on. */
export function nextFor(outcome: DayOutcome, batchDay: BatchDay, open: OpenCounts): string {
  if (outcome === 'INTEGRITY') return `settle verify --batch-day ${batchDay}`;
  if (outcome === 'OPEN') return open.parkedMessages > 0 ? 'settle outbox status' : 'settle status';
  if (outcome === 'CLOSED') return `settle report --batch-day ${batchDay}`;
  if (outcome !== 'PARTIAL') return 'settle resume';
  if (open.quarantinedAccounts > 0) return 'settle quarantine list';
  return open.openDiscrepancies > 0 ? 'settle discrepancy list' : `settle report --batch-day ${batchDay}`;
}
