import { cutOffOf } from '../batch/calendar.js';
import type { Session } from '../db/session.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { idProblem } from '../kernel/ids.js';
import { shown } from '../kernel/printable.js';
import { formatMinorGrouped } from '../kernel/money.js';
import { accountStanding } from '../reports/accountStanding.js';
import { explainAccount, type ExplainedAccount, type ExplainedCurrency } from '../reports/explainAccount.js';
import { explainDeposit } from '../reports/explainDeposit.js';
import { explainDiscrepancy } from '../reports/explainDiscrepancy.js';
import { explainOrder } from '../reports/explainOrder.js';
import { explainPayout } from '../reports/explainPayout.js';
import { withHint } from '../reports/explainUnknown.js';
import { shellWord, type Story, type StoryKind, type Told } from '../reports/story.js';
import { storyText } from '../reports/storyText.js';
import { textTable } from '../reports/tables.js';
import { countText, plural, printable } from '../reports/words.js';
import { requireBatchDay } from './arguments.js';
import { withDatabase, type Command, type CommandContext } from './context.js';

interface Explained {
  id: string;
}

/** How each kind of thing is looked up, by what a person types. */
const kinds: Record<StoryKind, (session: Session, typed: string, told: Told) => Promise<Story>> = {
  order: explainOrder,
  payout: explainPayout,
  deposit: explainDeposit,
  discrepancy: explainDiscrepancy,
};

/** `settle explain order|payout|deposit|discrepancy ID`: its whole life: every row that touched it, and where it is stuck. */
function explained(kind: StoryKind): Command<Explained> {
  return (context, options) => {
    const typed = requireTyped(kind, options.id);
    const told = toldBy(context);
    return withDatabase(context, async (database) => {
      const story = await database
        .snapshot((session) => kinds[kind](session, typed, told))
        .catch(async (error: unknown) => {
          if (!(error instanceof SettleError) || error.code !== 'NOT_FOUND') throw error;
          throw await database.snapshot((session) => withHint(session, error, kind, typed));
        });
      if (context.output === 'text') await context.print(storyText(story));
      else {
        const { kind: of, id, state, timeline, next, ...rest } = story;
        await context.document({ schema: 'settle.explain', kind: of, id, state, timeline, next, ...rest });
      }
      return exitCodes.OK;
    });
  };
}

function toldBy({ clock, config }: CommandContext): Told {
  const now = clock.now();
  return { isOver: (day) => cutOffOf(day, config.calendar) <= now };
}

export const explainCommands = {
  order: explained('order'),
  payout: explained('payout'),
  deposit: explained('deposit'),
  discrepancy: explained('discrepancy'),
};

/** As it was typed or copied: blanks around it are not part of any id. Throws USAGE for what no id can be. */
function requireTyped(kind: StoryKind, given: string): string {
  const typed = given.trim();
  if (idProblem(typed) === null) return typed;
  throw new SettleError('USAGE', `${shown(given)} is no ${kind}: an id has 1 to 64 bytes that can be seen.`, {
    details: { [kind]: given },
    next: `settle explain ${kind} --help`,
  });
}

/** `settle explain account ACCOUNT`: the arithmetic of its day, from orders to what may be paid out. */
export const account: Command<{ account: string; batchDay?: string }> = (context, options) => {
  const day = requireBatchDay(options.batchDay);
  return withDatabase(context, async (database) => {
    const { found, standing } = await database.snapshot(async (session) => {
      const explainedDay = await explainAccount(session, options.account.trim(), day);
      return { found: explainedDay, standing: await accountStanding(session, explainedDay, toldBy(context)) };
    });
    const entriesOf = `settle ledger entries --account ${shellWord(found.accountNo)} --batch-day ${found.batchDay}`;
    const next = standing.next ?? entriesOf;
    const stands = standing.stuck === null ? '' : `Stands: ${printable(standing.stuck)}\n`;
    if (context.output === 'text') await context.print(`${accountText(found)}\n\n${stands}Next: ${printable(next)}`);
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
        stuck: standing.stuck,
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
