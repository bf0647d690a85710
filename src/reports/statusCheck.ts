import { exitCodes } from '../kernel/errors.js';
import type { LiveView } from './live.js';
import type { DueCheck } from './status.js';
import { countText, durationText, plural } from './words.js';

/** What a monitor may ask for beside the due day; null: not looked at. */
export interface Thresholds {
  /** Whether what is PROCESSING for longer than the view's threshold counts. */
  stuck: boolean;
  maxLagMs: number | null;
  maxUnknown: number | null;
  maxDiscrepancies: number | null;
}

export interface CheckedStatus {
  ok: boolean;
  /** What is not as it should be, one sentence each. */
  findings: string[];
  exitCode: number;
}

/** What a monitor is told: exit code 0, or 3 with what is wrong, or 4 where the books of the due day contradict each other. Pure. */
export function checkStatus(view: LiveView, due: DueCheck, thresholds: Thresholds): CheckedStatus {
  const { stuck, payouts, discrepancies, ledger, sinks } = view;
  const { maxLagMs, maxUnknown, maxDiscrepancies } = thresholds;
  const contradicts = view.due.lastRun === 'INTEGRITY';
  const findings = [...due.missing];
  if (contradicts) findings.unshift(`The books of ${due.dueDay} contradict each other.`);
  if (thresholds.stuck) {
    const after = durationText(stuck.afterMs);
    if (stuck.orders > 0) findings.push(`${plural(stuck.orders, 'order')} PROCESSING for more than ${after}.`);
    if (stuck.payouts > 0) findings.push(`${plural(stuck.payouts, 'payout')} PROCESSING for more than ${after}.`);
  }
  if (maxLagMs !== null) {
    for (const { sink, oldestMs } of [{ sink: 'the ledger', oldestMs: ledger.oldestMs }, ...sinks]) {
      if (oldestMs === null || oldestMs <= maxLagMs) continue;
      findings.push(`A message waits for ${sink} for ${durationText(oldestMs)}, more than ${durationText(maxLagMs)}.`);
    }
  }
  const unknown = payouts.UNKNOWN + payouts.MANUAL;
  if (maxUnknown !== null && unknown > maxUnknown) {
    findings.push(`${plural(unknown, 'payout')} UNKNOWN or MANUAL, more than ${countText(maxUnknown)}.`);
  }
  if (maxDiscrepancies !== null && discrepancies.open > maxDiscrepancies) {
    const open = plural(discrepancies.open, 'open discrepancy', 'open discrepancies');
    findings.push(`${open}, more than ${countText(maxDiscrepancies)}.`);
  }
  const exitCode = contradicts ? exitCodes.INTEGRITY : findings.length > 0 ? exitCodes.PARTIAL : exitCodes.OK;
  return { ok: findings.length === 0, findings, exitCode };
}

/** One line, for a monitor's message. */
export function checkLine({ dueDay }: DueCheck, { ok, findings }: CheckedStatus): string {
  return ok ? `OK: ${dueDay} is closed.` : `NOT OK: ${findings.join(' ')} Next: settle status`;
}
