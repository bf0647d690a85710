import { instantText } from '../kernel/clock.js';
import { exitCodes } from '../kernel/errors.js';
import { purgeDeliveries } from '../outbox/purge.js';
import { requeueMessages } from '../outbox/requeue.js';
import { outboxStatus, type OutboxStatus } from '../outbox/views.js';
import { textTable } from '../reports/tables.js';
import { countText, durationText, momentText, plural } from '../reports/words.js';
import { withDatabase, type Command } from './context.js';

/** `settle outbox status`: messages by state, how long the oldest has waited, and what was given up. */
export const status: Command<object> = (context) =>
  withDatabase(context, async (database) => {
    const found = await database.snapshot(outboxStatus);
    if (context.output === 'text') await context.print(statusText(found));
    else await context.document({ schema: 'settle.outbox', ...found });
    return exitCodes.OK;
  });

function statusText(found: OutboxStatus): string {
  const { counts, oldestNew, parked, sinks, parkedDeliveries } = found;
  const lines = [
    `new     ${countText(counts.NEW)}${oldestNew === null ? '' : `, the oldest since ${momentText(oldestNew.createdAt)} (${durationText(oldestNew.ageMs)})`}`,
    `sent    ${countText(counts.SENT)}`,
    `parked  ${countText(counts.PARKED)}`,
  ];
  if (found.forOthers > 0) lines.push(`others  ${countText(found.forOthers)} that not all who ought to know have`);
  if (parked.length > 0) lines.push('', parkedTable(parked));
  if (sinks.length > 0) lines.push('', sinksTable(sinks));
  if (parkedDeliveries.length > 0) lines.push('', parkedDeliveriesTable(parkedDeliveries));
  const next = [
    ...(parked.length > 0 ? ['settle outbox requeue --by NAME --reason TEXT, then settle run'] : []),
    ...(parkedDeliveries.length > 0 ? ['settle outbox requeue --by NAME --reason TEXT, then settle outbox relay'] : []),
  ];
  if (next[0] !== undefined) lines.push('', `Next: ${next[0]}`);
  return lines.join('\n');
}

function parkedTable(parked: OutboxStatus['parked']): string {
  return textTable(
    [
      { title: 'message' },
      { title: 'batch day' },
      { title: 'account' },
      { title: 'orders', align: 'right' },
      { title: 'attempts', align: 'right' },
      { title: 'last error' },
    ],
    parked.map((row) => [
      row.bizNo,
      row.batchDay,
      row.accountNo ?? '-',
      countText(row.orders),
      countText(row.attempts),
      row.lastError,
    ]),
  );
}

function sinksTable(sinks: OutboxStatus['sinks']): string {
  return textTable(
    [
      { title: 'sink' },
      { title: 'waiting', align: 'right' },
      { title: 'parked', align: 'right' },
      { title: 'oldest' },
      { title: 'since' },
    ],
    sinks.map(({ sink, waiting, parked, oldest }) => [
      sink,
      countText(waiting),
      countText(parked),
      oldest?.bizNo ?? '-',
      oldest === null ? '-' : momentText(oldest.createdAt),
    ]),
  );
}

function parkedDeliveriesTable(parked: OutboxStatus['parkedDeliveries']): string {
  return textTable(
    [
      { title: 'sink' },
      { title: 'message' },
      { title: 'topic' },
      { title: 'account' },
      { title: 'attempts', align: 'right' },
      { title: 'last error' },
    ],
    parked.map((row) => [row.sink, row.bizNo, row.topic, row.accountNo ?? '-', countText(row.attempts), row.lastError]),
  );
}

/** `settle outbox requeue [BIZ_NO…]`: parked messages get fresh attempts, to the ledger and to sinks; recorded. */
export const requeue: Command<{ bizNos: string[]; sink?: string; by: string; reason: string }> = (context, options) =>
  withDatabase(context, async (database) => {
    const decision = { by: options.by, reason: options.reason, at: instantText(context.clock.now()) };
    const { messages, deliveries } = await requeueMessages(database, options.bizNos, decision, options.sink ?? null);
    if (context.output !== 'text') {
      await context.document({ schema: 'settle.outboxRequeue', requeued: messages, deliveries });
    } else if (messages.length + deliveries.length === 0) {
      await context.print('No message is parked; nothing to put back.');
    } else {
      const parts = [
        ...(messages.length > 0 ? [plural(messages.length, 'message')] : []),
        ...(deliveries.length > 0 ? [plural(deliveries.length, 'delivery', 'deliveries')] : []),
      ];
      const next = messages.length > 0 ? 'settle run' : 'settle outbox relay';
      await context.print(`Put back ${parts.join(' and ')}.\nNext: ${next}`);
    }
    return exitCodes.OK;
  });

/** `settle outbox purge --days N`: forgets what was sent to which sink so long ago; the messages stay. */
export const purge: Command<{ days: number; by: string; reason: string }> = (context, options) =>
  withDatabase(context, async (database) => {
    const decision = { by: options.by, reason: options.reason, at: instantText(context.clock.now()) };
    const purged = await purgeDeliveries(database, options.days, decision);
    if (context.output === 'text') await context.print(`Forgot ${plural(purged, 'delivery', 'deliveries')}.`);
    else await context.document({ schema: 'settle.outboxPurge', purged });
    return exitCodes.OK;
  });
