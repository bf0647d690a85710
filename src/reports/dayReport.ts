import type { Database } from '../db/database.js';
import type { Session } from '../db/session.js';
import { openStates } from '../discrepancies/discrepancy.js';
import { listDiscrepancies, openDiscrepancies, type DiscrepancyFilter } from '../discrepancies/views.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import { compareBytes } from '../kernel/ids.js';
import type { BatchState, RunState } from '../kernel/states.js';
import { withdrawnOrders, settledTotals, type WithdrawnOrder } from '../orders/reportQueries.js';
import { parkedMessages, type ParkedMessage } from '../outbox/views.js';
import { payoutTotals, type PayoutTotal } from '../payouts/views.js';
import { activeQuarantine, type QuarantinedAccount } from '../settlement/quarantineViews.js';
import { reportedDiscrepancy, type ReportedDiscrepancy } from './discrepancyTables.js';
import { moversOf, type Comparison } from './comparison.js';
import { dayBefore, lastDays, type SettledDay } from './historyQueries.js';
import { payableTotals, type PayableTotal } from './payable.js';
import { totalsByCurrency, type CurrencyTotals } from './currencyTotals.js';
import type { SlowPiece } from './longTail.js';
import { ledgerHead, ledgerTotals, type LedgerHead } from './ledgerQueries.js';
import * as queries from './queries.js';
import { readRunDocument, type Check, type Provenance, type StageTime } from './runDocument.js';
import { tieOutOf, type TieOut } from './tieOut.js';

export interface ReportedRun {
  runId: bigint;
  kind: string;
  shard: string | null;
  state: RunState;
  exitCode: number | null;
  errorCode: string | null;
  reason: string | null;
  cancellation: { code: string; detail: string | null; stage: string | null } | null;
  orders: number;
  ordersPosted: number;
  startedAt: string;
  finishedAt: string | null;
}

/** The report of a day as data; `settle report` draws every format from it. Amounts are minor units. */
export interface DayReport {
  batchDay: BatchDay;
  status: BatchState;
  /** How the last run of the day ended; null before any has. */
  outcome: RunState | null;
  runs: ReportedRun[];
  totals: CurrencyTotals[];
  tieOut: TieOut[];
  netPositions: queries.Position[];
  payouts: PayoutTotal[];
  checks: Check[];
  quarantined: Omit<QuarantinedAccount, 'batchDay'>[];
  withdrawn: WithdrawnOrder[];
  late: (queries.Position & { runId: bigint })[];
  /** In whose books what came late stands. */
  lateBookedOn: BatchDay[];
  parked: Omit<ParkedMessage, 'batchDay'>[];
  /** Those of the day that are open, the oldest first; at most 10,000. */
  discrepancies: ReportedDiscrepancy[];
  discrepanciesOpen: number;
  /** The day beside the last one before it, or one that was asked for; null when there is none. */
  comparison: Comparison | null;
  /** The last days that have a batch, oldest first, this one being the last. */
  lastDays: SettledDay[];
  /** What the terms of the accounts made of the nets. */
  payable: PayableTotal[];
  stageTimes: StageTime[] | null;
  /** The longest pieces of work of the last finished run, longest first. */
  slowest: SlowPiece[];
  ledgerTotals: { currency: string; debitMinor: bigint; creditMinor: bigint }[];
  /** The end of the day's hash chain; null before the day was closed. */
  ledgerHead: LedgerHead | null;
  generatedFrom: {
    runIds: bigint[];
    /** Greatest id up to which everything is committed, by the last run. */
    watermark: bigint | null;
    topId: bigint;
    cutOff: string;
    openedAt: string;
    closedAt: string | null;
    ordersAtClose: bigint | null;
  };
  /** With what the last finished run was made; null when it did not say. */
  provenance: Provenance | null;
}

export interface ReportWanted {
  /** Default: the latest that has a batch. */
  day?: BatchDay | undefined;
  /** To stand the day beside; default: the last before it that has a batch. */
  compare?: BatchDay | undefined;
  /** Every account that moved since then, and not the top ones only. */
  everyMover?: boolean | undefined;
}

/** Movers of a currency that are kept; a report is read, and its CSV form has all. */
const moversMax = 20;
const lastDaysMax = 14;

/**
 * Everything the database says about a day, from one snapshot and in an order that does not depend on the database:
 * the same facts give the same report, byte for byte. Throws NOT_FOUND for a day that has no batch, and
 * USAGE for one that is to be compared with itself.
 */
export async function collectReport(database: Database, wanted: ReportWanted = {}): Promise<DayReport> {
  return database.snapshot(async (session) => {
    const batch = await requireBatch(session, wanted.day);
    const runs = (await queries.runRows(session, { day: batch.batchDay })).reverse();
    const lastFinished = runs.findLast((run) => run.finishedAt !== null);
    const document = readRunDocument(await queries.lastRunDocument(session, batch.batchDay));
    const settled = await settledTotals(session, batch.batchDay);
    const booked = await ledgerTotals(session, batch.batchDay);
    const late = await queries.latePositions(session, batch.batchDay);
    const netPositions = await queries.netPositions(session, batch.batchDay);
    return {
      batchDay: batch.batchDay,
      status: batch.state,
      outcome: lastFinished?.state ?? null,
      runs: runs.map(reportedRun),
      totals: totalsByCurrency(settled),
      tieOut: await tieOutOf(session, batch, settled, booked),
      netPositions: netPositions.sort(byAccount),
      payouts: await payoutTotals(session, batch.batchDay),
      checks: document.checks,
      quarantined: (await activeQuarantine(session, batch.batchDay)).map(({ batchDay: _, ...account }) => account),
      withdrawn: await withdrawnOrders(session, batch.batchDay),
      late: late.sort((a, b) => compareIds(a.runId, b.runId) || byAccount(a, b)),
      lateBookedOn: late.length === 0 ? [] : await queries.lateBookingDays(session, batch.batchDay),
      parked: (await parkedMessages(session, batch.batchDay)).map(({ batchDay: _, ...message }) => message),
      discrepancies: (await listDiscrepancies(session, openOf(batch.batchDay))).map(reportedDiscrepancy),
      discrepanciesOpen: await openDiscrepancies(session, batch.batchDay),
      comparison: await comparisonOf(session, batch.batchDay, netPositions, wanted),
      lastDays: await lastDays(session, batch.batchDay, lastDaysMax),
      payable: payableTotals(booked),
      stageTimes: document.stageTimes,
      slowest: document.slowest,
      ledgerTotals: booked
        .map(({ currency, debitMinor, creditMinor }) => ({ currency, debitMinor, creditMinor }))
        .sort((a, b) => compareBytes(a.currency, b.currency)),
      ledgerHead: await ledgerHead(session, batch.batchDay),
      generatedFrom: {
        runIds: runs.map((run) => run.id),
        watermark: runs.at(-1)?.reachedId ?? null,
        topId: batch.topId,
        cutOff: batch.cutOff,
        openedAt: batch.openedAt,
        closedAt: batch.closedAt,
        ordersAtClose: batch.ordersAtClose,
      },
      provenance: document.provenance,
    };
  });
}

async function comparisonOf(
  session: Session,
  day: BatchDay,
  netPositions: readonly queries.Position[],
  { compare, everyMover }: ReportWanted,
): Promise<Comparison | null> {
  if (compare === day) {
    throw new SettleError('USAGE', `--compare ${day} is the day of the report itself.`, {
      details: { batchDay: day },
      next: 'Name another day.',
    });
  }
  const other = compare ?? (await dayBefore(session, day));
  if (other === null) return null;
  const { state } = await requireBatch(session, other, `settle report --batch-day ${day} --compare`);
  const positions = await queries.netPositions(session, other);
  return {
    batchDay: other,
    status: state,
    totals: totalsByCurrency(await settledTotals(session, other)),
    movers: moversOf(netPositions, positions, everyMover === true ? Infinity : moversMax),
  };
}

/** A report is read, and kept: more rows than these are counted by `settle discrepancy list`. */
const discrepanciesMax = 10_000;

function openOf(batchDay: BatchDay): DiscrepancyFilter {
  return { states: openStates, batchDay, limit: discrepanciesMax };
}

async function requireBatch(
  session: Session,
  day: BatchDay | undefined,
  command = 'settle report --batch-day',
): Promise<queries.BatchRow> {
  const known = await queries.knownDays(session, 10);
  const wanted = day ?? known[0];
  const batch = wanted === undefined ? undefined : await queries.batchOf(session, wanted);
  if (batch !== undefined) return batch;
  if (wanted === undefined) {
    throw new SettleError('NOT_FOUND', 'No day has been settled yet, so there is nothing to report.', {
      details: { days: [] },
      next: 'settle import orders FILE, then settle run',
    });
  }
  const days = known.length === 0 ? 'No day has been settled yet.' : `Newest days with a report: ${known.join(', ')}.`;
  throw new SettleError('NOT_FOUND', `There is no batch for ${wanted}. ${days}`, {
    details: { batchDay: wanted, days: known },
    next: known[0] === undefined ? 'settle run' : `${command} ${known[0]}`,
  });
}

function reportedRun(run: queries.RunRow): ReportedRun {
  return {
    runId: run.id,
    kind: run.kind,
    shard: run.shard,
    state: run.state,
    exitCode: run.exitCode,
    errorCode: run.errorCode,
    reason: run.reason,
    cancellation: cancellationOf(run),
    orders: run.ordersClaimed,
    ordersPosted: run.ordersPosted,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
  };
}

/** Why a run was stopped, as documents carry it; null when it was not. */
export function cancellationOf(run: queries.RunRow): ReportedRun['cancellation'] {
  return run.cancelCode === null ? null : { code: run.cancelCode, detail: run.cancelDetail, stage: run.cancelStage };
}

function byAccount(a: queries.Position, b: queries.Position): number {
  return compareBytes(a.accountNo, b.accountNo) || compareBytes(a.currency, b.currency);
}

function compareIds(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
