import type pc from 'picocolors';
import type { RunDocument } from '../batch/document.js';
import { formatMinorGrouped } from '../kernel/money.js';
import { countText, plural } from '../reports/words.js';

/** The summary of a run for people: verdict first, then what needs a person, then the figures, then what to type. */
export function runText(document: RunDocument, colors: ReturnType<typeof pc.createColors>): string {
  return [headline(document, colors), ...attention(document), ...figures(document), ...next(document)].join('\n');
}

function headline(document: RunDocument, colors: ReturnType<typeof pc.createColors>): string {
  const { batchDay, outcome, cancellation, error } = document;
  const day = document.shard === null ? `Batch day ${batchDay}` : `Batch day ${batchDay}, shard ${document.shard}`;
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
      `  ${plural(quarantined, 'account')} set aside: settle quarantine list --batch-day ${document.batchDay}`,
    );
  for (const { code, stage, lane, accounts, firstAccountNo, orders } of document.cancelledShards) {
    const others = accounts > 1 ? ` and ${plural(accounts - 1, 'more account')}` : '';
    lines.push(
      `  shard cancelled by ${code} while ${stage.toLowerCase()}, lane ${String(lane)}: account ${firstAccountNo}${others}, ${plural(orders, 'order')}`,
    );
  }
  if (document.leftOrders > 0)
    lines.push(
      `  ${plural(document.leftOrders, 'order')} of the day not settled: settle run --batch-day ${document.batchDay}`,
    );
  if (document.unsentMessages > 0)
    lines.push(`  ${plural(document.unsentMessages, 'message')} not delivered: settle outbox status`);
  // While something is left the totals must differ; only a contradiction is worth the figures.
  for (const check of document.outcome === 'INTEGRITY' ? document.checks.filter(({ ok }) => !ok) : []) {
    lines.push(`  check ${check.name} differs: expected ${check.expected}; found ${check.actual}`);
  }
  for (const late of document.late) {
    for (const { currency, orders, netMinor } of late.totals) {
      lines.push(
        `  after ${late.batchDay} was closed: ${plural(orders, 'order')}, ${formatMinorGrouped(netMinor, currency)} ${currency}, settled under that day, booked on the open one`,
      );
    }
  }
  if (document.withdrawn.length > 0)
    lines.push(`  ${plural(document.withdrawn.length, 'order')} moved by somebody else during the run and left alone`);
  for (const { shard, orders, durationMs } of document.shardRuns)
    lines.push(`  shard ${shard} by this process: ${plural(orders, 'order')} in ${(durationMs / 1_000).toFixed(1)} s`);
  for (const day of document.catchUp)
    lines.push(`  ${day.batchDay} was owed and settled first: ${plural(day.orders, 'order')}, ${day.outcome}`);
  return lines;
}

function figures(document: RunDocument): string[] {
  const { totals, dryRun } = document;
  const lines = totals.source.map(({ currency, orders, netMinor }) => {
    const claimed = totals.claimed.find((total) => total.currency === currency)?.orders ?? 0;
    const posted = totals.posted.find((total) => total.currency === currency)?.orders ?? 0;
    const done = dryRun
      ? `${countText(claimed)} would be settled`
      : `${countText(claimed)} claimed, ${countText(posted)} posted`;
    return `  ${currency}  ${plural(orders, 'order')}, net ${formatMinorGrouped(netMinor, currency)}; ${done}`;
  });
  for (const { reason, currency, effects, amountMinor } of document.terms) {
    const what = `${reason} ${dryRun ? 'would be booked' : 'booked'} ${plural(effects, 'time')}`;
    lines.push(`  ${currency}  ${what}, ${formatMinorGrouped(amountMinor, currency)}`);
  }
  if (lines.length === 0 && document.cancellation === null) lines.push('  No orders: a quiet day.');
  // Documents of before have none.
  if (document.ledgerHead?.head !== undefined) lines.push(`  ledger head ${document.ledgerHead.head}`);
  if (!document.alreadyClosed) lines.push(speed(document));
  return lines;
}

/** What this run did itself, and how fast; the lines above tell of the whole day. */
function speed({ settledNow, durationMs, watermark }: RunDocument): string {
  const orders = settledNow.reduce((sum, total) => sum + total.orders, 0);
  const seconds = durationMs / 1_000;
  const rate = seconds > 0 && orders > 0 ? `, ${countText(Math.round(orders / seconds))} orders/s` : '';
  return `  ${plural(orders, 'order')} by this run in ${seconds.toFixed(1)} s${rate}; watermark ${watermark.reached} of ${watermark.top}`;
}

function next(document: RunDocument): string[] {
  const day = `--batch-day ${document.batchDay}`;
  if (document.dryRun) return [`Next: the same command without --dry-run`];
  if (document.cancellation !== null)
    return [document.shard === null ? 'Next: settle resume' : `Next: settle run --shard ${document.shard} ${day}`];
  if (document.outcome === 'INTEGRITY') return [`Next: settle verify ${day}`];
  if (document.unsentMessages > 0) return ['Next: settle outbox status'];
  if (document.leftOrders > 0) return [`Next: settle run ${day}`];
  if (document.accounts.quarantined > 0) return [`Next: settle quarantine list ${day}`];
  return [`Next: settle report ${day}`];
}
