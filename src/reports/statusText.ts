import type { HeldLeaseView, LeaseView } from './lease.js';
import type { RunStatus, StatusView } from './status.js';
import { textTable } from './tables.js';
import { countText, durationText, kindText, momentText, msBetween, plural, printable } from './words.js';

/** The answer of `settle status` in words. */
export function statusText(view: StatusView): string {
  const lines = leaseLines(view.lease, view.leases);
  if (view.run === null) lines.push('No run yet.');
  else lines.push(...runLines(view.run, view.leases));
  for (const run of view.running) {
    if (run.runId !== view.run?.runId) lines.push(...runLines(run, view.leases).slice(0, 2));
  }
  lines.push(`Left: ${leftText(view)}`);
  if (view.next !== null) lines.push(`Next: ${view.next}`);
  return lines.map(printable).join('\n');
}

/** One line a lease that is held; one line too when none is. */
export function leaseLines(whole: LeaseView, held: readonly HeldLeaseView[]): string[] {
  if (held.length === 0) return [`Lease: ${leaseText(whole)}`];
  return held.map((lease) => `Lease${lease.shard === null ? '' : ` of shard ${lease.shard}`}: ${leaseText(lease)}`);
}

/** Who holds the lease and how fresh the sign of life is, by the database's clock. */
export function leaseText(lease: LeaseView): string {
  if (!lease.held || lease.holder === null) return `free (last fencing number ${lease.fencingNo})`;
  const { host, pid, command } = lease.holder;
  const age = lease.heartbeatAgeMs === null ? 'no heartbeat' : `heartbeat ${durationText(lease.heartbeatAgeMs)} ago`;
  const end = lease.expired ? 'EXPIRED: the next run takes over' : `good until ${momentText(lease.expiresAt)}`;
  return printable(
    `held by process ${pid} on ${host}${command === null ? '' : ` (${command})`}, ${age}, ${end}; fencing number ${lease.fencingNo}`,
  );
}

function runLines(run: RunStatus, leases: readonly HeldLeaseView[]): string[] {
  const dead = run.state === 'RUNNING' && !leases.some((lease) => lease.shard === run.shard && !lease.expired);
  const state = dead ? `${run.state}, but its lease is gone` : run.state;
  const lines = [
    `Run ${String(run.runId)}: ${kindText(run)} of ${run.batchDay}, ${state}, stage ${run.stage}`,
    `  orders ${countText(run.orders)} of ${countText(run.ordersTotal)} claimed, ${countText(run.ordersPosted)} posted`,
  ];
  if (run.ordersPerSecond !== null && !dead) {
    lines.push(`  ${countText(run.ordersPerSecond)} orders/s, ready in about ${durationText(run.etaMs ?? 0)}`);
  }
  lines.push(`  watermark ${String(run.watermark.reached)} of ${String(run.watermark.top)}`);
  const took = run.finishedAt === null ? '' : `, took ${durationText(msBetween(run.startedAt, run.finishedAt))}`;
  lines.push(
    `  started ${momentText(run.startedAt)}${took}${run.exitCode === null ? '' : `, exit code ${String(run.exitCode)}`}`,
  );
  if (run.cancellation !== null) lines.push(`  stopped by ${cancellationText(run.cancellation)}`);
  if (run.errorCode !== null) lines.push(`  error ${run.errorCode}`);
  if (run.reason !== null) lines.push(`  reason given: ${run.reason}`);
  return lines;
}

function cancellationText({ code, detail, stage }: NonNullable<RunStatus['cancellation']>): string {
  return `${code}${stage === null ? '' : ` in ${stage}`}${detail === null ? '' : `: ${detail}`}`;
}

function leftText({ left, openDays, owedDays }: StatusView): string {
  const parts = [
    ...(openDays.length > 0 ? [`open ${openDays.length === 1 ? 'day' : 'days'} ${openDays.join(', ')}`] : []),
    ...(left.orders > 0 ? [`${plural(left.orders, 'order')} not claimed${daysText(owedDays)}`] : []),
    ...(left.processing > 0 ? [`${plural(left.processing, 'order')} claimed and not posted`] : []),
    ...(left.messagesNew > 0 ? [`${plural(left.messagesNew, 'message')} not delivered`] : []),
    ...(left.messagesParked > 0 ? [`${plural(left.messagesParked, 'message')} parked`] : []),
    ...(left.quarantinedAccounts > 0 ? [`${plural(left.quarantinedAccounts, 'account')} in quarantine`] : []),
  ];
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

const daysShown = 5;

function daysText(owed: StatusView['owedDays']): string {
  if (owed.length === 0) return '';
  const more = owed.length > daysShown ? ` and ${String(owed.length - daysShown)} more days` : '';
  return ` (of ${owed
    .slice(0, daysShown)
    .map(({ batchDay }) => batchDay)
    .join(', ')}${more})`;
}

/** The table of `settle runs`, newest first. */
export function runsText(runs: readonly RunStatus[]): string {
  return textTable(
    [
      { title: 'run', align: 'right' },
      { title: 'batch day' },
      { title: 'kind' },
      { title: 'state' },
      { title: 'exit', align: 'right' },
      { title: 'orders', align: 'right' },
      { title: 'started' },
      { title: 'took', align: 'right' },
      { title: 'why' },
    ],
    runs.map((run) => [
      run.runId.toString(),
      run.batchDay,
      kindText(run),
      run.state,
      run.exitCode === null ? '-' : String(run.exitCode),
      countText(run.orders),
      momentText(run.startedAt),
      run.finishedAt === null ? '-' : durationText(msBetween(run.startedAt, run.finishedAt)),
      whyText(run),
    ]),
  );
}

function whyText(run: RunStatus): string {
  const parts = [
    ...(run.cancellation === null ? [] : [cancellationText(run.cancellation)]),
    ...(run.cancellation === null && run.errorCode !== null ? [run.errorCode] : []),
    ...(run.reason === null ? [] : [run.reason]),
  ];
  return parts.join('; ');
}
