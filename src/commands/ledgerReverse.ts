import { instantText } from '../kernel/clock.js';
import { exitCodes } from '../kernel/errors.js';
import { formatMinorGrouped } from '../kernel/money.js';
import { printable } from '../kernel/printable.js';
import { reverseEntry, type ReversedEntry } from '../ledger/reverseEntry.js';
import { textTable } from '../reports/tables.js';
import { withDatabase, type Command } from './context.js';

/** `settle ledger reverse BIZ_NO`: takes a journal entry back by another, once; recorded. */
export const reverse: Command<{ bizNo: string; by: string; reason: string }> = (context, options) =>
  withDatabase(context, async (database) => {
    const decision = { by: options.by, reason: options.reason, at: instantText(context.clock.now()) };
    const reversed = await reverseEntry(database, options.bizNo, decision);
    if (context.output === 'text') await context.print(reversedText(reversed));
    else {
      const { entries, ...rest } = reversed;
      await context.document({ schema: 'settle.ledgerReverse', ...rest, ledgerEntries: entries });
    }
    return exitCodes.OK;
  });

function reversedText({ bizNo, reverses, batchDay, bookingDay, already, entries }: ReversedEntry): string {
  if (already) return printable(`${reverses} was reversed before, by ${bizNo} on ${bookingDay}. Nothing was changed.`);
  const rows = entries.map(({ ledgerAccount, subAccount, side, amountMinor, currency }) => [
    ledgerAccount,
    subAccount === '' ? '-' : subAccount,
    side === 'DEBIT' ? formatMinorGrouped(amountMinor, currency) : '',
    side === 'CREDIT' ? formatMinorGrouped(amountMinor, currency) : '',
    currency,
  ]);
  const right = (title: string) => ({ title, align: 'right' as const });
  return [
    printable(`${reverses} is reversed by ${bizNo}, booked on ${bookingDay} with the value date ${batchDay}.`),
    textTable(
      [{ title: 'ledger account' }, { title: 'sub-account' }, right('debit'), right('credit'), { title: '' }],
      rows,
    ),
    'Only the books have changed. Balances show it once that day is run.',
  ].join('\n');
}
