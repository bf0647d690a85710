import { exitCodes } from '../kernel/errors.js';
import { formatMinorGrouped } from '../kernel/money.js';
import { explainAccount, type ExplainedAccount, type ExplainedCurrency } from '../reports/explainAccount.js';
import { textTable } from '../reports/tables.js';
import { countText, plural, printable } from '../reports/words.js';
import { requireBatchDay } from './arguments.js';
import { withDatabase, type Command } from './context.js';

/** `settle explain account ACCOUNT`: the arithmetic of its day, from orders to what may be paid out. */
export const account: Command<{ account: string; batchDay?: string }> = (context, options) => {
  const day = requireBatchDay(options.batchDay);
  return withDatabase(context, async (database) => {
    const found = await database.snapshot((session) => explainAccount(session, options.account, day));
    const next = `settle ledger entries --account ${found.accountNo} --batch-day ${found.batchDay}`;
    if (context.output === 'text') await context.print(`${accountText(found)}\n\nNext: ${printable(next)}`);
    else {
      const { accountNo, state, entries, ...rest } = found;
      const timeline = entries.map(({ postedAt, bizNo, type, bookingDay, reason, amountMinor, currency }) => ({
        at: postedAt,
        table: 'ledger_entry',
        what: `${bizNo} ${reason ?? (type === 'SETTLEMENT' ? 'ORDERS' : type)}`,
        bookingDay,
        amountMinor,
        currency,
      }));
      await context.document({
        schema: 'settle.explain',
        kind: 'account',
        id: accountNo,
        state,
        timeline,
        ...rest,
        next,
      });
    }
    return exitCodes.OK;
  });
};

function accountText(found: ExplainedAccount): string {
  const { accountNo, state, batchDay, currencies, ordersLeft, entries } = found;
  const lines = [printable(`Account ${accountNo} (${state}), batch day ${batchDay}.`), termsText(found)];
  if (ordersLeft > 0) lines.push(`${plural(ordersLeft, 'order')} of the day not posted yet, and not counted here.`);
  if (currencies.length === 0) lines.push('Nothing was ever booked for it.');
  const later = [...new Set(entries.map(({ bookingDay }) => bookingDay))].filter((day) => day !== batchDay).sort();
  if (later.length > 0) lines.push(`Part of it came after the day was closed, and is booked on ${later.join(', ')}.`);
  return [lines.join('\n'), ...currencies.map(currencyText)].join('\n\n');
}

function termsText({ terms }: ExplainedAccount): string {
  if (terms === null) return 'It has no terms: no fees, no reserve, all of its payable due at once.';
  const parts = [
    terms.feePlan === null ? 'no fees' : `fee plan ${terms.feePlan}`,
    terms.reserveDays === 0
      ? 'no reserve'
      : `reserve of ${terms.reserveBasisPoints} basis points of payments for ${plural(terms.reserveDays, 'day')}`,
    `payouts T+${String(terms.payoutDelayDays)}${terms.payoutHold ? ', on hold' : ''}`,
  ];
  const of = terms.of === '*' ? 'The default terms' : 'Its terms';
  return printable(`${of} from ${terms.validFrom} on, version ${String(terms.version)}: ${parts.join('; ')}.`);
}

const prepositions: Record<string, string> = { RESERVE_HOLD: 'until', RESERVE_RELEASE: 'of', DEBT_RECOVERY: 'of' };

function currencyText(found: ExplainedCurrency): string {
  const { currency, steps, dayMinor, beforeMinor, payableMinor, debtMinor, dueMinor, dueDay, held } = found;
  const rows = steps.map(({ reason, of, orders, amountMinor }) => {
    const word = orders === null ? prepositions[reason] : 'over';
    const what = of === null || word === undefined ? reason : `${reason} ${word} ${of}`;
    return [what, orders === null ? '' : countText(orders), formatMinorGrouped(amountMinor, currency)];
  });
  const total = (what: string, minor: bigint): string[] => [what, '', formatMinorGrouped(minor, currency)];
  rows.push(total('= payable of the day', dayMinor));
  rows.push(total('+ payable before', beforeMinor), total('= payable', payableMinor));
  if (debtMinor > 0n) rows.push(total('- debts, recovered from later days', -debtMinor));
  const carried = { HOLD: 'payouts are on hold', BELOW_MINIMUM: 'below the minimum, carried forward' };
  rows.push(total(held === null ? `due for payout on ${dueDay}` : `due for payout: ${carried[held]}`, dueMinor));
  return textTable(
    [{ title: currency }, { title: 'orders', align: 'right' }, { title: 'amount', align: 'right' }],
    rows,
  );
}
