import type pc from 'picocolors';
import type { RunDocument } from '../batch/document.js';
import { formatMinorGrouped } from '../kernel/money.js';

/** The summary of a run for people: verdict first, then what needs a person, then the figures, then what to type. */
export function runText(document: RunDocument, colors: ReturnType<typeof pc.createColors>): string {
  return [headline(document, colors), ...attention(document), ...figures(document), ...next(document)].join('\n');
}

function headline(document: RunDocument, colors: ReturnType<typeof pc.createColors>): string {
  const { batchDay, outcome, cancellation, error } = document;
  const day = `Batch day ${batchDay}`;
  if (document.dryRun) return colors.bold(`${day}: dry run, nothing was written. A real run would end ${outcome}.`);
  if (document.alreadyClosed)
    return colors.bold(`${day} is already closed; nothing was changed. These are its figures.`);
  if (cancellation !== null)
    return colors.bold(
      `${day}: stopped by ${cancellation.code} while ${(cancellation.stage ?? 'starting').toLowerCase()}. What was committed stands.`,
    );
  if (error !== null) return colors.bold(`${day}: ${outcome} ${error.code}: ${error.message}`);
  const state = document.closed ? 'closed' : 'not closed';
  return colors.bold(`${day}: ${outcome}, ${state}.`);
}

function attention(document: RunDocument): string[] {
  const lines: string[] = [];
  const { quarantined } = document.accounts;
  if (quarantined > 0)
    lines.push(
      `  ${String(quarantined)} account(s) set aside: settle quarantine list --batch-day ${document.batchDay}`,
    );
  if (document.unsentMessages > 0)
    lines.push(`  ${String(document.unsentMessages)} message(s) not delivered: settle outbox status`);
  for (const check of document.checks.filter(({ ok }) => !ok)) {
    lines.push(`  check ${check.name} differs: expected ${check.expected}; found ${check.actual}`);
  }
  for (const late of document.late) {
    for (const { currency, orders, netMinor } of late.totals) {
      lines.push(
        `  late for ${late.batchDay}: ${String(orders)} orders, ${formatMinorGrouped(netMinor, currency)} ${currency}, settled under that day`,
      );
    }
  }
  if (document.withdrawn.length > 0)
    lines.push(
      `  ${String(document.withdrawn.length)} order(s) were moved by somebody else during the run and left alone`,
    );
  for (const day of document.catchUp)
    lines.push(`  ${day.batchDay} was owed and settled first: ${String(day.orders)} orders, ${day.outcome}`);
  return lines;
}

function figures(document: RunDocument): string[] {
  const { totals } = document;
  const lines = totals.source.map(({ currency, orders, netMinor }) => {
    const claimed = totals.claimed.find((total) => total.currency === currency);
    const posted = totals.posted.find((total) => total.currency === currency);
    return (
      `  ${currency}  ${String(orders)} orders, net ${formatMinorGrouped(netMinor, currency)}` +
      `; claimed ${String(claimed?.orders ?? 0)}, posted ${String(posted?.orders ?? 0)}`
    );
  });
  if (lines.length === 0 && document.cancellation === null) lines.push('  No orders: a quiet day.');
  const orders = totals.source.reduce((sum, total) => sum + total.orders, 0);
  const seconds = document.durationMs / 1_000;
  const rate = seconds > 0 && orders > 0 ? `, ${String(Math.round(orders / seconds))} orders/s` : '';
  lines.push(
    `  ${String(document.accounts.settled)} accounts settled in ${seconds.toFixed(1)} s${rate}; watermark ${document.watermark.reached} of ${document.watermark.top}`,
  );
  return lines;
}

function next(document: RunDocument): string[] {
  if (document.dryRun) return ['Next: settle run'];
  if (document.cancellation !== null) return ['Next: settle resume'];
  if (document.outcome === 'INTEGRITY') return [`Next: settle verify --batch-day ${document.batchDay}`];
  return [`Next: settle report --batch-day ${document.batchDay}`];
}
