import { ordersChart, shardChart, shardRuns, stageChart, tailChart } from './chartsOfDay.js';
import type { DayReport } from './dayReport.js';
import { longTailText } from './longTail.js';
import { blocksOf, right, type HtmlBlock, type HtmlTable } from './reportHtmlTable.js';
import { countText, durationText, kindText, momentText, msBetween, printable } from './words.js';

/** Orders of the last days, runs, stages, shards and the long tail. */
export function timeBlocks(report: DayReport): HtmlBlock[] {
  const { batchDay, lastDays, stageTimes, slowest, runs } = report;
  const shards = shardRuns(runs);
  return [
    ...(lastDays.length < 2 ? [] : [{ charts: [ordersChart(lastDays, batchDay)], table: lastDaysTable(report) }]),
    ...blocksOf(runsTable(report)),
    ...(stageTimes === null || stageTimes.length === 0
      ? []
      : [{ charts: [stageChart(stageTimes)], table: stageTable(stageTimes) }]),
    ...(shards.length === 0 ? [] : [{ charts: [shardChart(shards)], table: shardTable(shards) }]),
    ...(slowest.length === 0 ? [] : [{ charts: [tailChart(slowest)], table: tailTable(slowest) }]),
  ];
}

function lastDaysTable({ lastDays }: DayReport): HtmlTable {
  return {
    caption: 'The last days, newest first',
    columns: [{ title: 'Day' }, { title: 'Status' }, right('Orders settled')],
    rows: [...lastDays].reverse().map(({ batchDay, status, orders }) => [batchDay, status, countText(orders)]),
  };
}

function runsTable({ runs }: DayReport): HtmlTable {
  return {
    caption: 'Runs of this day, oldest first',
    columns: [
      ...[{ title: 'Run' }, { title: 'Kind' }, { title: 'Ended' }, right('Orders'), { title: 'Started' }],
      right('Took'),
    ],
    rows: runs.map((run) => [
      run.runId.toString(),
      kindText(run),
      printable(run.cancellation === null ? run.state : `${run.state} (${run.cancellation.code})`),
      countText(run.orders),
      momentText(run.startedAt),
      run.finishedAt === null ? '–' : durationText(msBetween(run.startedAt, run.finishedAt)),
    ]),
  };
}

function stageTable(stages: NonNullable<DayReport['stageTimes']>): HtmlTable {
  const total = stages.reduce((sum, { durationMs }) => sum + durationMs, 0);
  return {
    caption: 'Stage times of the last finished run',
    columns: [{ title: 'Stage' }, right('Took')],
    hasSum: true,
    rows: [
      ...stages.map((row) => [printable(row.stage), durationText(row.durationMs)]),
      ['All stages', durationText(total)],
    ],
  };
}

function shardTable(shards: ReturnType<typeof shardRuns>): HtmlTable {
  return {
    caption: 'Runs over shards of the accounts',
    columns: [{ title: 'Shard' }, right('Run'), right('Orders'), right('Took')],
    rows: shards.map(({ shard, runId, orders, durationMs }) => [
      ...[shard, runId.toString(), countText(orders), durationText(durationMs)],
    ]),
  };
}

function tailTable(slowest: DayReport['slowest']): HtmlTable {
  const tail = longTailText(slowest);
  return {
    caption: 'Long tail: the longest pieces of work of the last finished run',
    columns: [{ title: 'Account' }, right('Lane'), right('Orders'), right('Took'), right('Times the median')],
    rows: slowest.map((piece) => [
      printable(piece.accountNo ?? 'several'),
      String(piece.lane),
      countText(piece.orders),
      durationText(piece.durationMs),
      (piece.durationMs / Math.max(1, piece.medianMs)).toFixed(1),
    ]),
    ...(tail === null ? {} : { note: printable(tail) }),
  };
}

/** Whence every figure of the report comes, so that it can be drawn again and checked. */
export function provenanceOf(report: DayReport): { title: string; value: string }[] {
  const { generatedFrom: from, ledgerHead, provenance } = report;
  return [
    { title: 'Ledger head', value: ledgerHead === null ? '–' : ledgerHead.head },
    {
      title: 'Link of the hash chain',
      value:
        ledgerHead === null
          ? '–'
          : `${countText(ledgerHead.link)}, with ${countText(ledgerHead.entries)} journal entries`,
    },
    { title: 'Settings (config hash)', value: provenance?.configHash ?? '–' },
    { title: 'Settled by', value: provenance === null ? '–' : printable(`Settle ${provenance.version}`) },
    {
      title: 'Cut-off',
      value:
        provenance === null
          ? momentText(from.cutOff)
          : printable(`${momentText(from.cutOff)}: ${provenance.cutOff} in ${provenance.timeZone}`),
    },
    { title: 'Runs', value: from.runIds.length === 0 ? '–' : from.runIds.join(', ') },
    { title: 'Watermark reached', value: from.watermark === null ? '–' : from.watermark.toString() },
    { title: 'Last order id', value: from.topId.toString() },
    { title: 'Orders at closing', value: from.ordersAtClose === null ? '–' : countText(from.ordersAtClose) },
    { title: 'Opened', value: momentText(from.openedAt) },
    { title: 'Closed', value: momentText(from.closedAt) },
  ];
}
