import type { Session } from '../db/session.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { formatMinorGrouped } from '../kernel/money.js';
import { printable } from '../kernel/printable.js';
import {
  chartOfAccounts,
  daysNotClosed,
  ledgerBalances,
  trialBalance as trialBalanceOf,
  type LedgerBalance,
  type TrialBalance,
} from '../ledger/views.js';
import { journalEntries, type JournalEntryView } from '../ledger/entryViews.js';
import { textTable, type Column } from '../reports/tables.js';
import { momentText } from '../reports/words.js';
import { requireBatchDay, requireLimit } from './arguments.js';
import { withDatabase, type Command } from './context.js';

const right = (title: string): Column => ({ title, align: 'right' });

interface BalancesOptions {
  account?: string;
  ledgerAccount?: string;
  asOf?: string;
  general?: boolean;
}

/** `settle ledger balances`: the newest balance up to a day, on the natural side, and what moved it last. */
export const balances: Command<BalancesOptions> = (context, { account, ledgerAccount, general, ...options }) => {
  const asOf = requireBatchDay(options.asOf, '--as-of');
  if (general === true && account !== undefined) {
    throw new SettleError('USAGE', '--general shows whole ledger accounts, --account parts of them.', {
      next: 'Give one of the two.',
    });
  }
  return withDatabase(context, async (database) => {
    const { found, open } = await database.snapshot(async (session) => {
      await requireLedgerAccount(session, ledgerAccount);
      return {
        found: await ledgerBalances(session, { account, ledgerAccount, asOf, general }),
        open: await daysNotClosed(session, asOf),
      };
    });
    if (context.output !== 'text') {
      await context.document({
        schema: 'settle.ledgerBalances',
        account: account ?? null,
        ledgerAccount: ledgerAccount ?? null,
        general: general === true,
        asOf: asOf ?? null,
        notClosed: open,
        balances: found,
      });
    } else if (found.length === 0) await context.print('Nothing is booked here.');
    else await context.print(balancesText(found));
    if (context.output === 'text' && open.length > 0) {
      context.say(`Not closed yet, so balances are those of the last run: ${open.join(', ')}`);
    }
    return exitCodes.OK;
  });
};

async function requireLedgerAccount(session: Session, code: string | undefined): Promise<void> {
  if (code === undefined) return;
  const known = (await chartOfAccounts(session)).map((line) => line.code);
  if (known.includes(code)) return;
  throw new SettleError('NOT_FOUND', `The chart of accounts has no ${printable(code)}.`, {
    details: { ledgerAccount: code },
    next: `Ledger accounts that there are: ${known.join(', ')}`,
  });
}

function balancesText(found: readonly LedgerBalance[]): string {
  const rows = found.map((row) => [
    row.code,
    row.subAccount ?? '-',
    row.currency,
    row.bookingDay,
    formatMinorGrouped(row.openingMinor, row.currency),
    formatMinorGrouped(row.debitMinor, row.currency),
    formatMinorGrouped(row.creditMinor, row.currency),
    formatMinorGrouped(row.balanceMinor, row.currency),
  ]);
  const columns = ['ledger account', 'sub-account', '', 'moved on'].map((title) => ({ title }));
  return textTable([...columns, ...['opening', 'debit', 'credit', 'balance'].map(right)], rows);
}

/** `settle ledger entries`: the newest journal entries with their legs, newest last. */
export const entries: Command<{ account?: string; batchDay?: string; limit?: number }> = (context, options) => {
  const day = requireBatchDay(options.batchDay);
  const limit = requireLimit(options.limit, 50);
  return withDatabase(context, async (database) => {
    const found = await database.snapshot((session) =>
      journalEntries(session, { account: options.account, day, limit }),
    );
    if (context.output !== 'text') await context.document({ schema: 'settle.ledgerEntries', ...found });
    else if (found.entries.length === 0) await context.print('No journal entry fits.');
    else {
      await context.print(entriesText(found.entries));
      if (found.cut) context.say(`Only the newest ${String(limit)}; --limit shows more.`);
    }
    return exitCodes.OK;
  });
};

function entriesText(found: readonly JournalEntryView[]): string {
  const rows = found.flatMap((entry) => {
    const booked = entry.bookingDay === entry.batchDay ? '' : entry.bookingDay;
    const head = [entry.journalEntryId.toString(), entry.batchDay, booked, entry.bizNo, momentText(entry.postedAt)];
    if (entry.ledgerEntries.length === 0) return [[...head, '(zero amounts only)', '', '', '', '', '']];
    return entry.ledgerEntries.map((leg, at) => [
      ...(at === 0 ? head : ['', '', '', '', '']),
      leg.ledgerAccount,
      leg.subAccount ?? '-',
      leg.side === 'DEBIT' ? formatMinorGrouped(leg.amountMinor, leg.currency) : '',
      leg.side === 'CREDIT' ? formatMinorGrouped(leg.amountMinor, leg.currency) : '',
      leg.currency,
      leg.reason ?? '',
    ]);
  });
  const columns = ['batch day', 'booked on', 'number', 'posted', 'ledger account', 'sub-account'].map((title) => ({
    title,
  }));
  return textTable([right('entry'), ...columns, right('debit'), right('credit'), { title: '' }, { title: '' }], rows);
}

/** `settle ledger trial-balance`: exit code 4 when debits and credits do not agree in some currency. */
export const trialBalance: Command<{ asOf?: string }> = (context, options) => {
  const asOf = requireBatchDay(options.asOf, '--as-of');
  return withDatabase(context, async (database) => {
    const found = await database.read((session) => trialBalanceOf(session, asOf));
    if (context.output !== 'text') await context.document({ schema: 'settle.trialBalance', ...found });
    else await context.print(trialBalanceText(found));
    return found.balanced ? exitCodes.OK : exitCodes.INTEGRITY;
  });
};

function trialBalanceText({ byCurrency, balanced }: TrialBalance): string {
  if (byCurrency.length === 0) return 'The books are empty, and so they balance.';
  const tables = byCurrency.map(({ currency, debitMinor, creditMinor, accounts: lines }) => {
    const agree = debitMinor === creditMinor;
    return textTable(
      [{ title: currency }, { title: '' }, right('debit'), right('credit')],
      [
        ...lines.map((line) => [
          line.code,
          line.name,
          line.debitMinor === 0n ? '' : formatMinorGrouped(line.debitMinor, currency),
          line.creditMinor === 0n ? '' : formatMinorGrouped(line.creditMinor, currency),
        ]),
        [
          'total',
          agree ? 'agrees' : 'DIFFERS',
          formatMinorGrouped(debitMinor, currency),
          formatMinorGrouped(creditMinor, currency),
        ],
      ],
    );
  });
  return [...tables, balanced ? 'Balanced.' : 'NOT balanced.\nNext: settle verify'].join('\n\n');
}

/** `settle ledger accounts`: the chart of accounts. */
export const accounts: Command<object> = (context) =>
  withDatabase(context, async (database) => {
    const chart = await database.read(chartOfAccounts);
    if (context.output !== 'text') await context.document({ schema: 'settle.ledgerAccounts', accounts: chart });
    else {
      const columns = ['code', 'name', 'kind', 'sub-ledger'].map((title) => ({ title }));
      await context.print(
        textTable(
          columns,
          chart.map((line) => [line.code, line.name, line.kind, line.subLedger ?? '-']),
        ),
      );
    }
    return exitCodes.OK;
  });
