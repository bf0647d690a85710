import { hostname } from 'node:os';
import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import { repeatable } from '../db/transaction.js';
import type { Found } from '../discrepancies/discrepancy.js';
import { alertSevere, countAttempts, syncScope, type Writer } from '../discrepancies/record.js';
import { openByClass, type OpenClass } from '../discrepancies/views.js';
import { instantText } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { formatMinorGrouped } from '../kernel/money.js';
import { batchDays } from '../reconciliation/days.js';
import { reconcileDay, type Reconciliation } from '../reconciliation/reconcile.js';
import { countText } from '../reports/words.js';
import { explainCash, type CashExplanation } from '../statements/cash.js';
import { channelsWithStatements, matchChannel, type ChannelMatched } from '../statements/matchChannel.js';
import { requireBatchDay } from './arguments.js';
import { withDatabase, type Command, type CommandContext } from './context.js';
import { statementChannel } from './statementChannels.js';

const headlines: Record<Reconciliation['outcome'], string> = {
  OK: 'reconciles',
  UNFINISHED: 'is not finished; what is done agrees',
  CONTRADICTION: 'does not reconcile',
};

interface Reconciled {
  books: Reconciliation | null;
  channels: ChannelMatched[];
  cash: CashExplanation[];
  open: OpenClass[];
}

/**
 * `settle reconcile`: matches statements, looks again for what is missing, proves the books of a day, and explains channel
 * cash. Killed anywhere and typed again it ends with the same rows. Exit code 3 while the day is unfinished or a discrepancy
 * is open, 4 when the books contradict each other.
 */
export const reconcile: Command<{ batchDay?: string }> = (context, options) => {
  const batchDay = requireBatchDay(options.batchDay);
  return withDatabase(context, async (database) => {
    const result = await reconcileAll(context, database, batchDay);
    const { books, open } = result;
    if (context.output === 'text') await print(context, result);
    else await context.document(documentOf(result));
    if (books?.outcome === 'CONTRADICTION') return exitCodes.INTEGRITY;
    return open.length > 0 || books?.outcome === 'UNFINISHED' ? exitCodes.PARTIAL : exitCodes.OK;
  });
};

async function reconcileAll(
  context: CommandContext,
  database: Database,
  wanted: string | undefined,
): Promise<Reconciled> {
  const writer = (): Writer => ({
    actor: `settle reconcile (${hostname()}, process ${String(process.pid)})`,
    now: instantText(context.clock.now()),
  });
  const names = await database.read(channelsWithStatements);
  const day = wanted ?? (await database.read(batchDays)).at(-1) ?? null;
  if (day === null && names.length === 0) {
    throw new SettleError('NOT_FOUND', 'No batch has been run yet.', { details: { days: [] }, next: 'settle run' });
  }
  const channels: ChannelMatched[] = [];
  for (const name of names) {
    const channel = statementChannel(context.config, name);
    const ports = { channel, actor: writer().actor, now: () => writer().now, signal: context.signal };
    channels.push(await matchChannel(database, ports));
  }
  const books = day === null ? null : await reconcileDay(database, day);
  if (books !== null) await sync(database, 'BOOKS', 'd.batch_day = ?', books.batchDay, booksFound(books), writer());
  const cash: CashExplanation[] = [];
  for (const name of names) {
    const explained = await database.snapshot((session) => explainCash(session, name));
    await sync(
      database,
      'CASH',
      'd.channel = ?',
      name,
      explained.flatMap((one) => cashFound(one, writer().now)),
      writer(),
    );
    cash.push(...explained);
  }
  const attempts = context.config.discrepancies.attempts;
  while ((await unit(database, 'count attempts', (trx) => countAttempts(trx, attempts, writer()))) > 0);
  while ((await unit(database, 'alert', (trx) => alertSevere(trx, writer()))) > 0);
  return { books, channels, cash, open: await database.read((session) => openByClass(session)) };
}

function unit<T>(database: Database, name: string, work: Parameters<typeof repeatable<T>>[1]): Promise<T> {
  return afterOthers(() => database.transact(repeatable(name, work)));
}

async function sync(
  database: Database,
  scope: 'BOOKS' | 'CASH',
  sql: string,
  of: string,
  found: readonly Found[],
  writer: Writer,
): Promise<void> {
  await unit(database, `reconcile ${scope}`, (trx) => syncScope(trx, scope, { sql, bindings: [of] }, found, writer));
}

/** What the checks of a day find, once it cannot be work on its way any more. */
function booksFound({ batchDay, outcome, checks }: Reconciliation): Found[] {
  if (outcome !== 'CONTRADICTION') return [];
  return checks
    .filter(({ ok }) => !ok)
    .flatMap(({ name, expected, actual, differences }) => {
      const parts = differences.length > 0 ? differences : [{ what: 'total', key: '', expected, actual }];
      return parts.map((one): Found => ({
        identity: ['BOOKS', batchDay, name, one.what, one.key],
        ...{ scope: 'BOOKS', class: 'BOOKS', severity: 'HIGH', channel: null, batchDay, currency: null },
        ...{ itemKey: `${name} ${one.what} ${one.key}`.trim(), expectedMinor: null, actualMinor: null },
        ...{ expectedText: one.expected, actualText: one.actual },
      }));
    });
}

/** What a channel's own balances leave open; what else is true of a difference has a row of its own. */
function cashFound({ channel, currency, asOf, items, statementMinor }: CashExplanation, now: string): Found[] {
  const unproven = items.find(({ reason }) => reason === 'UNPROVEN');
  if (unproven === undefined) return [];
  const batchDay = asOf ?? now.slice(0, 10);
  return [
    {
      identity: ['CASH', channel, currency, batchDay, String(unproven.minor)],
      ...{ scope: 'CASH', class: 'BALANCE', severity: 'HIGH', channel, batchDay, currency },
      ...{ itemKey: `closing balance ${channel} ${currency}`, actualText: 'closing balance' },
      ...{ expectedMinor: statementMinor - unproven.minor, actualMinor: statementMinor },
      expectedText: 'opening balance and lines',
    },
  ];
}

function documentOf({ books, channels, cash, open }: Reconciled): { schema: string } & Record<string, unknown> {
  const count = open.reduce((sum, { count: some }) => sum + some, 0);
  return {
    schema: 'settle.reconcile',
    batchDay: books?.batchDay ?? null,
    ok: (books === null || books.outcome === 'OK') && count === 0,
    outcome: books?.outcome ?? null,
    checks: books?.checks ?? [],
    totals: books?.totals ?? null,
    statements: channels,
    cash,
    discrepancies: { open: count, byClass: open },
  };
}

async function print(context: CommandContext, { books, channels, cash, open }: Reconciled): Promise<void> {
  if (books !== null) await printBooks(context, books);
  for (const { channel, lines, matched, missing, waiting } of channels) {
    const parts = [`${countText(lines)} new lines`, `${countText(matched)} matched`];
    if (waiting > 0) parts.push(`${countText(waiting)} without a counterpart`);
    if (missing > 0) parts.push(`${countText(missing)} of ours on no statement`);
    await context.print(`${channel}: ${parts.join(', ')}`);
  }
  for (const one of cash) await context.print(cashText(one));
  if (open.length === 0) await context.print('No discrepancy is open.');
  else {
    const parts = open.map(({ class: kind, count }) => `${countText(count)} ${kind}`);
    await context.print(`Open discrepancies: ${parts.join(', ')}.\nNext: settle discrepancy list`);
  }
}

async function printBooks(context: CommandContext, { batchDay, outcome, checks }: Reconciliation): Promise<void> {
  await context.print(`${batchDay} ${headlines[outcome]}.`);
  const unmet = outcome === 'UNFINISHED' ? context.colors.yellow('open ') : context.colors.red('WRONG');
  for (const check of checks) {
    const mark = check.ok ? context.colors.green('ok   ') : unmet;
    await context.print(`${mark} ${check.name.padEnd(13)} ${check.ok ? check.actual : `expected ${check.expected}`}`);
    if (!check.ok) await context.print(`${' '.repeat(19)} found    ${check.actual}`);
    for (const { what, key, expected, actual } of check.differences) {
      await context.print(`      ${what} ${key}: expected ${expected}, found ${actual}`);
    }
  }
}

const reasonTexts: Record<CashExplanation['items'][number]['reason'], string> = {
  OPENING_BALANCE: 'there before the first statement',
  ORDERS: 'moved for orders, which are booked as receivable',
  FEES: 'fees of the channel',
  TRANSFERS: 'transfers between accounts of ours',
  LINES_WAITING: 'lines whose counterpart may come with the next day',
  PAYOUTS_WAITING: 'payouts that the next statement may have',
  LINES_MISSING_OURS: 'lines of which we know nothing',
  DUPLICATES: 'lines that come twice',
  PAYOUTS_MISSING_THEIRS: 'payouts that no statement has',
  DIFFERING: 'payouts that differ in amount or state',
  OTHER_ENTRIES: 'journal entries that are no payouts',
  UNPROVEN: 'what the statement itself leaves open',
};

function cashText({ channel, currency, asOf, ledgerMinor, statementMinor, items }: CashExplanation): string {
  const amount = (minor: bigint): string => formatMinorGrouped(minor, currency).padStart(22);
  return [
    `${channel} ${currency}, cash as of ${asOf ?? '-'}:`,
    `  books     ${amount(ledgerMinor)}`,
    ...items.map(
      ({ kind, reason, minor }) => `  ${kind.toLowerCase().padEnd(9)} ${amount(minor)}  ${reasonTexts[reason]}`,
    ),
    `  statement ${amount(statementMinor)}`,
  ].join('\n');
}
