import { formatMinorGrouped } from '../kernel/money.js';
import { barChart, columnChart, type Bar, type Chart } from './chart.js';
import type { CurrencyTotals } from './currencyTotals.js';
import type { ReportedRun } from './dayReport.js';
import { ageTitles, byAge } from './discrepancyAges.js';
import type { ReportedDiscrepancy } from './discrepancyTables.js';
import type { SettledDay } from './historyQueries.js';
import type { SlowPiece } from './longTail.js';
import type { StageTime } from './runDocument.js';
import { countText, durationText, msBetween, plural, printable } from './words.js';

/** From gross to net in one currency, as a waterfall: currencies never share a scale. */
export function netChart(total: CurrencyTotals): Chart {
  const { currency, grossMinor, refundMinor, feeMinor, adjustmentMinor, netMinor } = total;
  const amount = (minor: bigint): string => formatMinorGrouped(minor, currency);
  let reached = 0;
  const step = (label: string, minor: bigint): Bar => {
    const from = reached;
    reached += Number(minor);
    return { label, from, to: reached, text: amount(minor), kind: minor < 0n ? 'less' : undefined } as Bar;
  };
  const bars: Bar[] = [
    step('Gross', grossMinor),
    step('Refunds', -refundMinor),
    step('Fees', -feeMinor),
    ...(adjustmentMinor === 0n ? [] : [step('Adjustments', adjustmentMinor)]),
    { label: `Net ${currency}`, from: 0, to: Number(netMinor), text: amount(netMinor), kind: 'sum' },
  ];
  const description = `Gross ${amount(grossMinor)}, less refunds ${amount(refundMinor)} and fees ${amount(feeMinor)}, leaves net ${amount(netMinor)} ${currency}.`;
  return barChart(`${currency}, ${plural(total.orders, 'order')}`, description, bars);
}

/** Orders settled on each of the last days. */
export function ordersChart(days: readonly SettledDay[], day: string): Chart {
  const columns = days.map(({ batchDay, orders }) => ({
    label: batchDay.slice(5),
    value: orders,
    text: countText(orders),
    isThis: batchDay === day,
  }));
  const most = days.reduce((one, other) => (other.orders > one.orders ? other : one));
  const now = days.find(({ batchDay }) => batchDay === day);
  return columnChart(
    'Orders settled by day',
    `${countText(now?.orders ?? 0)} orders on ${day}; the most of these days are ${countText(most.orders)} on ${most.batchDay}.`,
    columns,
  );
}

const timed = (label: string, ms: number): Bar => ({ label, from: 0, to: ms, text: durationText(ms) });

export function stageChart(stages: readonly StageTime[]): Chart {
  const longest = stages.reduce((one, other) => (other.durationMs > one.durationMs ? other : one));
  return barChart(
    'Time of each stage',
    `The longest stage is ${printable(longest.stage)} with ${durationText(longest.durationMs)}.`,
    stages.map(({ stage, durationMs }) => timed(printable(stage), durationMs)),
  );
}

/** The longest pieces of work against the median of all; `slowest` is not empty. */
export function tailChart(slowest: readonly SlowPiece[]): Chart {
  const [first] = slowest;
  const medianMs = first?.medianMs ?? 0;
  const bars = slowest.map((piece) =>
    timed(`Lane ${String(piece.lane)}, ${printable(piece.accountNo ?? 'several accounts')}`, piece.durationMs),
  );
  const description = `The longest took ${durationText(first?.durationMs ?? 0)}, the median of all ${durationText(medianMs)}.`;
  return barChart('Longest pieces of work', description, bars, {
    value: medianMs,
    text: `median ${durationText(medianMs)}`,
  });
}

/** Runs over shards of the accounts that have ended. */
export function shardRuns(runs: readonly ReportedRun[]): (ReportedRun & { shard: string; durationMs: number })[] {
  return runs.flatMap((run) => {
    if (run.shard === null || run.finishedAt === null) return [];
    return [{ ...run, shard: run.shard, durationMs: msBetween(run.startedAt, run.finishedAt) }];
  });
}

export function shardChart(runs: ReturnType<typeof shardRuns>): Chart {
  const longest = runs.reduce((one, other) => (other.durationMs > one.durationMs ? other : one));
  return barChart(
    'Time of each shard',
    `The longest is shard ${longest.shard} with ${durationText(longest.durationMs)}.`,
    runs.map(({ shard, durationMs }) => timed(`Shard ${shard}`, durationMs)),
  );
}

/** Open discrepancies by age, all classes together. */
export function ageChart(discrepancies: readonly ReportedDiscrepancy[]): Chart {
  const classes = byAge(discrepancies);
  const counts = ageTitles.map((_, index) => classes.reduce((sum, { counts: of }) => sum + (of[index] ?? 0), 0));
  return barChart(
    'Open discrepancies by age',
    ageTitles.map((title, index) => `${title}: ${countText(counts[index] ?? 0)}`).join('; '),
    ageTitles.map((label, index) => ({ label, from: 0, to: counts[index] ?? 0, text: countText(counts[index] ?? 0) })),
  );
}
