import { instantText } from '../kernel/clock.js';
import { exitCodes } from '../kernel/errors.js';
import { textTable } from '../reports/tables.js';
import { countText, momentText, printable } from '../reports/words.js';
import { activeQuarantine } from '../settlement/quarantineViews.js';
import { releaseAccount } from '../settlement/releaseAccount.js';
import { requireBatchDay } from './arguments.js';
import { withDatabase, type Command } from './context.js';

/** `settle quarantine list`: accounts that are set aside now, and why. */
export const list: Command<{ batchDay?: string }> = (context, options) => {
  const day = requireBatchDay(options.batchDay);
  return withDatabase(context, async (database) => {
    const accounts = await database.read((session) => activeQuarantine(session, day));
    if (context.output !== 'text') await context.document({ schema: 'settle.quarantine', accounts });
    else if (accounts.length === 0) await context.print('No account is in quarantine.');
    else {
      const columns = [
        { title: 'account' },
        { title: 'batch day' },
        { title: 'code' },
        { title: 'orders', align: 'right' as const },
        { title: 'since' },
        { title: 'detail' },
      ];
      const rows = accounts.map((row) => [
        row.accountNo,
        row.batchDay,
        row.code,
        countText(row.orders),
        momentText(row.since),
        row.detail,
      ]);
      await context.print(textTable(columns, rows));
    }
    return exitCodes.OK;
  });
};

/** `settle quarantine release ACCOUNT`: the next run settles the account again; recorded. */
export const release: Command<{ account: string; batchDay?: string; by: string; reason: string }> = (
  context,
  options,
) => {
  const day = requireBatchDay(options.batchDay);
  return withDatabase(context, async (database) => {
    const decision = { by: options.by, reason: options.reason, at: instantText(context.clock.now()) };
    const released = await releaseAccount(database, options.account, day, decision);
    const days = released.map((row) => row.batchDay);
    if (context.output !== 'text') {
      await context.document({ schema: 'settle.quarantineRelease', accountNo: options.account, batchDays: days });
    } else {
      await context.print(printable(`Released ${options.account} for ${days.join(', ')}.`));
      await context.print('Next: settle run');
    }
    return exitCodes.OK;
  });
};
