import utils from 'cli-table3/src/utils.js';
import type { HeldLeaseView } from './lease.js';
import type { LiveLane, LiveRun, LiveView } from './live.js';
import { countText, durationText, kindText, momentText, msBetween, plural, printable } from './words.js';

export interface FrameSize {
  columns: number;
  /** Lines that the screen has; null where it has no end. */
  rows: number | null;
}

const barWidth = 24;
const lanesShown = 8;
const accountWidth = 28;

/**
 * The live view as lines of text, none wider than the screen and none past its last line. Plain ASCII but for names, so that
 * it looks alike in every terminal; wide characters count for two columns.
 */
export function liveFrame(view: LiveView, size: FrameSize, trouble: string | null = null): string[] {
  const lines = [
    headLine(view),
    ...(trouble === null ? [] : [`! ${trouble}`]),
    '',
    ...view.runs.flatMap((run) => runLines(run, view)),
    ...(view.runs.length === 0 ? ['No run yet.'] : []),
    '',
    ...leaseLines(view),
    ...openLines(view),
    ...lagLines(view),
  ].map((line) => fit(printable(line), size.columns));
  if (size.rows === null || lines.length <= size.rows) return lines;
  const shown = Math.max(1, size.rows - 1);
  return [...lines.slice(0, shown), fit(`.. ${plural(lines.length - shown, 'line')} more`, size.columns)].slice(
    0,
    size.rows,
  );
}

function headLine({ at, due }: LiveView): string {
  const state = due.state ?? 'not begun';
  return `${momentText(at)}  due day ${due.day}: ${state}${due.state === 'CLOSED' || due.lastRun === null ? '' : `, last run ${due.lastRun}`}`;
}

function runLines(run: LiveRun, view: LiveView): string[] {
  const { runId, batchDay, state, stage, ordersTotal, ordersRead, orders, ordersPosted } = run;
  const isAtWork = state === 'RUNNING';
  const isDead = isAtWork && !view.leases.some((lease) => lease.shard === run.shard && !lease.expired);
  const since = isAtWork ? `for ${durationText(msBetween(run.startedAt, view.at))}` : endText(run);
  const lines = [
    `Run ${String(runId)} ${kindText(run)} of ${batchDay}: ${isDead ? 'RUNNING, but its lease is gone' : state} ${stage}, ${since}`,
    barLine('read', ordersRead, ordersTotal),
    barLine('claimed', orders, ordersTotal),
    barLine('posted', ordersPosted, ordersTotal),
  ];
  if (!isAtWork || isDead) return lines;
  const left = run.etaMs === null ? '' : `, ready in about ${durationText(run.etaMs)}`;
  if (run.ordersPerSecond !== null) lines.push(`  ${countText(run.ordersPerSecond)} orders/s${left}`);
  return [...lines, ...laneLines(run)];
}

function endText({ startedAt, finishedAt, exitCode, errorCode }: LiveRun): string {
  const took = finishedAt === null ? '' : `took ${durationText(msBetween(startedAt, finishedAt))}`;
  return [took, exitCode === null ? '' : `exit code ${String(exitCode)}`, errorCode ?? '']
    .filter((part) => part !== '')
    .join(', ');
}

/** "  claimed [############............]  48 %      480,000 of 1,000,000" */
function barLine(what: string, done: number, total: number): string {
  const share = total <= 0 ? 1 : Math.min(1, done / total);
  const full = Math.floor(share * barWidth);
  const bar = '#'.repeat(full) + '.'.repeat(barWidth - full);
  const percent = `${String(Math.floor(share * 100))} %`.padStart(6);
  return `  ${what.padEnd(8)}[${bar}]${percent}  ${countText(done).padStart(13)} of ${countText(total)}`;
}

function laneLines({ lanes, slowest, medianMs }: LiveRun): string[] {
  const byAge = [...lanes].sort((a, b) => b.forMs - a.forMs);
  const lines = byAge
    .slice(0, lanesShown)
    .map(
      (one) =>
        `  lane ${String(one.lane).padEnd(3)} ${pad(accountsText(one), accountWidth)} ${plural(one.orders, 'order').padStart(16)}  for ${durationText(one.forMs)}`,
    );
  if (byAge.length > lanesShown) lines.push(`  and ${plural(byAge.length - lanesShown, 'lane')} more`);
  if (slowest !== null) {
    const times =
      medianMs > 0 ? ` (${(slowest.durationMs / medianMs).toFixed(1)} x the median of ${durationText(medianMs)})` : '';
    lines.push(
      `  slowest  ${fit(slowest.accountNo ?? 'several accounts', accountWidth)}, ${durationText(slowest.durationMs)}${times}`,
    );
  }
  return lines;
}

function accountsText({ accountNo, accounts }: LiveLane): string {
  return accountNo ?? plural(accounts, 'account');
}

function leaseLines({ leases }: LiveView): string[] {
  if (leases.length === 0) return ['lease    free'];
  return leases.map((lease) => `lease    ${lease.shard === null ? '' : `shard ${lease.shard}: `}${holderText(lease)}`);
}

/** The age first, since a narrow screen may cut the end. */
function holderText({ holder, heartbeatAgeMs, acquiredAt, expired, fencingNo }: HeldLeaseView): string {
  const age = heartbeatAgeMs === null ? 'no heartbeat' : `heartbeat ${durationText(heartbeatAgeMs)} ago`;
  const who = holder === null ? 'nobody' : `process ${holder.pid} on ${holder.host}`;
  return `${expired ? 'EXPIRED, ' : ''}${age}, ${who}, since ${momentText(acquiredAt).slice(11, 19)}, number ${fencingNo}`;
}

/** What waits for a person, each with the command that shows it. */
function openLines({ stuck, payouts, discrepancies, quarantined, ledger }: LiveView): string[] {
  const after = durationText(stuck.afterMs);
  const facts: [number, string, string][] = [
    [stuck.orders, `${plural(stuck.orders, 'order')} PROCESSING for more than ${after}`, 'settle outbox status'],
    [stuck.payouts, `${plural(stuck.payouts, 'payout')} PROCESSING for more than ${after}`, 'settle payout run'],
    [payouts.UNKNOWN, `${plural(payouts.UNKNOWN, 'payout')} UNKNOWN`, 'settle payout check'],
    [payouts.MANUAL, `${plural(payouts.MANUAL, 'payout')} MANUAL`, 'settle payout list --state MANUAL'],
    [
      discrepancies.open,
      `${plural(discrepancies.open, 'open discrepancy', 'open discrepancies')}, ${countText(discrepancies.high)} HIGH`,
      'settle discrepancy list',
    ],
    [quarantined, `${plural(quarantined, 'account')} in quarantine`, 'settle quarantine list'],
    [ledger.parked, `${plural(ledger.parked, 'message')} parked`, 'settle outbox status'],
  ];
  const lines = facts
    .filter(([count]) => count > 0)
    .map(([, what, command]) => `open     ${what.padEnd(44)} ${command}`);
  return lines.length === 0 ? ['open     nothing'] : lines;
}

function lagLines({ ledger, sinks }: LiveView): string[] {
  const line = (to: string, waiting: number, oldestMs: number | null, parked: number): string => {
    const oldest = oldestMs === null ? '' : `, the oldest for ${durationText(oldestMs)}`;
    const given = parked === 0 ? '' : `, ${countText(parked)} parked`;
    return `outbox   ${to}: ${countText(waiting)} waiting${oldest}${given}`;
  };
  return [
    line('ledger', ledger.waiting, ledger.oldestMs, 0),
    ...sinks.map(({ sink, waiting, oldestMs, parked }) => line(sink, waiting, oldestMs, parked)),
  ];
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The text, cut to so many columns of a terminal; two dots stand for what is cut. */
export function fit(text: string, columns: number): string {
  if (utils.strlen(text) <= columns) return text;
  let [cut, width] = ['', 0];
  for (const { segment } of graphemes.segment(text)) {
    width += utils.strlen(segment);
    if (width > columns - 2) break;
    cut += segment;
  }
  return `${cut}..`.slice(0, Math.max(0, columns));
}

function pad(text: string, columns: number): string {
  const fitted = fit(text, columns);
  return fitted + ' '.repeat(columns - utils.strlen(fitted));
}
