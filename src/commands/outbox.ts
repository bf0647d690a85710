import { instantText } from '../kernel/clock.js';
import { exitCodes } from '../kernel/errors.js';
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

function statusText({ counts, oldestNew, parked }: OutboxStatus): string {
  const lines = [
    `new     ${countText(counts.NEW)}${oldestNew === null ? '' : `, the oldest since ${momentText(oldestNew.createdAt)} (${durationText(oldestNew.ageMs)})`}`,
    `sent    ${countText(counts.SENT)}`,
    `parked  ${countText(counts.PARKED)}`,
  ];
  if (parked.length === 0) return lines.join('\n');
  const table = textTable(
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
  return [...lines, '', table, '', 'Next: settle outbox requeue --by NAME --reason TEXT, then settle run'].join('\n');
}

/** `settle outbox requeue [BIZ_NO…]`: parked messages get fresh attempts in the next run; recorded. */
export const requeue: Command<{ bizNos: string[]; by: string; reason: string }> = (context, options) =>
  withDatabase(context, async (database) => {
    const decision = { by: options.by, reason: options.reason, at: instantText(context.clock.now()) };
    const requeued = await requeueMessages(database, options.bizNos, decision);
    if (context.output !== 'text') await context.document({ schema: 'settle.outboxRequeue', requeued });
    else if (requeued.length === 0) await context.print('No message is parked; nothing to put back.');
    else await context.print(`Put back ${plural(requeued.length, 'message')}.\nNext: settle run`);
    return exitCodes.OK;
  });
