import { existsSync, rmSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dueDay, localDay } from '../batch/calendar.js';
import { loadConfig } from '../config.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { addDays } from '../kernel/batchDay.js';
import { makeFolder } from '../kernel/folder.js';
import type { CommandContext, Command } from './context.js';
import { demoDay } from './demoDay.js';
import { bankStatement, demoFeeBasisPoints, orderStatement, type BookEntry } from './demoStatements.js';
import { importCommands } from './import.js';
import { up } from './migrate.js';
import { report } from './report.js';
import { check, run as payoutRun } from './payout.js';
import { reconcile } from './reconcile.js';
import { run } from './run.js';
import { importCommand as importStatement } from './statement.js';
import { verify } from './verify.js';

interface Step {
  /** What a person would type, shown before it is done. */
  typed: string;
  exitCode: number;
  document: unknown;
}

/** A larger day would rather fill the disk than show anything. */
const ordersMax = 10_000_000;

/**
 * `settle demo`: writes a made-up day, then does with it what an operator does, one command after the other, on a
 * SQLite file of its own. Ends with 0 when the day closed and its books were verified.
 */
export const demo: Command<{ dir?: string; orders?: number }> = async (context, options) => {
  const dir = options.dir ?? 'settle-demo';
  const orders = options.orders ?? 50_000;
  const day = dueDay(context.clock.now(), context.config.calendar);
  const files = {
    database: join(dir, 'demo.db'),
    config: join(dir, 'settle.yaml'),
    book: join(dir, 'channel-book.ndjson'),
    accounts: join(dir, 'accounts.csv'),
    orders: join(dir, `orders-${day}.csv`),
    bank: join(dir, `statement-bank-${day}.ndjson`),
    acquirer: join(dir, `statement-${demoOrderChannel}-${day}.ndjson`),
  };
  const reportFile = join(dir, `report-${day}.html`);
  if (orders < 1 || orders > ordersMax) {
    throw new SettleError('USAGE', `--orders must be from 1 to ${String(ordersMax)}.`, { next: 'settle demo --help' });
  }
  prepareFolder(dir, files);
  const made = demoDay(day, orders);
  await writeLines(files.accounts, made.accountsCsv());
  await writeLines(files.orders, made.ordersCsv());
  await writeLines(files.config, [configText(files)]);

  const steps: Step[] = [];
  const step = async <Options>(typed: string, command: Command<Options>, given: Options): Promise<number> => {
    if (context.output === 'text') await context.print(`\n$ ${typed}`);
    const stored: Step = { typed, exitCode: 0, document: null };
    stored.exitCode = await command(
      stepContext(context, files.config, (document) => (stored.document = document)),
      given,
    );
    steps.push(stored);
    return stored.exitCode;
  };
  await step('settle migrate up', up, {});
  await step(`settle import accounts ${files.accounts}`, importCommands.accounts, { files: [files.accounts] });
  await step(`settle import orders ${files.orders}`, importCommands.orders, { files: [files.orders] });
  const settled = await step(`settle run --batch-day ${day}`, run, { batchDay: day });
  if (settled !== exitCodes.OK && settled !== exitCodes.PARTIAL) {
    context.say(`The demo stopped here. To go on: export SETTLE_CONFIG=${files.config}`);
    return settled;
  }
  await step('settle payout run', payoutRun, {});
  await step('settle payout check', check, {});
  const entries = bookEntries(await readFile(files.book, 'utf8').catch(() => ''));
  await writeLines(files.bank, bankStatement(day, localDay(context.clock.now(), context.config.calendar), entries));
  await writeLines(files.acquirer, orderStatement(day, addDays(day, 1), made.ordersCsv(), demoOrderChannel));
  for (const [file, channel] of [
    [files.bank, 'bank'],
    [files.acquirer, demoOrderChannel],
  ] as const) {
    await step(`settle statement import ${file} --channel ${channel}`, importStatement, { files: [file], channel });
  }
  await step(`settle reconcile --batch-day ${day}`, reconcile, { batchDay: day });
  const verified = await step(`settle verify --batch-day ${day}`, verify, { batchDay: day });
  await step(`settle report --batch-day ${day} --out ${reportFile}`, report, { batchDay: day, out: reportFile });

  if (context.output === 'text') await context.print(closing(day, files.config, reportFile));
  else
    await context.document({
      schema: 'settle.demo',
      batchDay: day,
      database: files.database,
      config: files.config,
      report: reportFile,
      steps,
    });
  // The demo day has frozen accounts on purpose, so PARTIAL is how its run should end.
  return verified;
};

/** The channel of the demo's orders that sends a statement. */
const demoOrderChannel = 'QR';

function bookEntries(text: string): BookEntry[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as BookEntry);
}

/** Only what an earlier demo made is replaced; its database is the mark of one. */
function prepareFolder(dir: string, { database, ...csv }: Record<'database' | 'accounts' | 'orders', string>): void {
  const foreign = existsSync(database) ? undefined : Object.values(csv).find((file) => existsSync(file));
  if (foreign !== undefined) {
    throw new SettleError('FILE_NOT_WRITABLE', `${foreign} is there already, and no demo made it.`, {
      details: { file: foreign },
      next: 'settle demo --dir ANOTHER_FOLDER',
    });
  }
  try {
    makeFolder(dir);
    for (const file of [database, ...Object.values(csv)])
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  } catch (error) {
    throw new SettleError('FILE_NOT_WRITABLE', `The folder ${dir} cannot be written: ${(error as Error).message}`, {
      cause: error,
      next: 'settle demo --dir ANOTHER_FOLDER',
    });
  }
}

async function writeLines(path: string, lines: Iterable<string>): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    let text = '';
    for (const line of lines) {
      text += line;
      if (text.length > 1_000_000) {
        await file.write(text);
        text = '';
      }
    }
    await file.write(text);
  } finally {
    await file.close();
  }
}

/** What the demo is configured by: its database, and a channel inside the program that keeps a book of what it paid. */
function configText({ database, book }: { database: string; book: string }): string {
  return [
    `database: { url: ${JSON.stringify(`sqlite:${database}`)} }`,
    'payouts: { channel: bank }',
    'channels:',
    '  bank: # pays in this process only; says nothing about some payouts, and refuses others',
    '    kind: simulator',
    `    book: ${JSON.stringify(book)}`,
    '    perSecond: 2000',
    '    checkAfter: [1ms]',
    'statements:',
    '  channels:',
    '    bank: { matches: [payouts], crossDayDays: 0 }',
    `    ${demoOrderChannel}: { matches: [orders], fee: { basisPoints: "${demoFeeBasisPoints}" } }`,
    '',
  ].join('\n');
}

/** The context of one step: configured as the demo is, and the answer shown or collected. */
function stepContext(context: CommandContext, file: string, collect: (document: unknown) => void): CommandContext {
  const { calendar } = context.config;
  return {
    ...context,
    config: { ...loadConfig({ file, environment: {} }), calendar },
    document: (document) => {
      collect(document);
      return Promise.resolve();
    },
  };
}

function closing(day: string, config: string, reportFile: string): string {
  return [
    '',
    `The day ${day} is settled. Its frozen accounts were set aside, which is why the run says PARTIAL.`,
    `Report:  ${reportFile}`,
    '',
    'Next, with the settings of the demo:',
    `  export SETTLE_CONFIG=${config}`,
    '  npx settle status',
    '  npx settle payout list --state FAILED',
    '  npx settle discrepancy list',
    '  npx settle quarantine list',
    '  npx settle ledger trial-balance',
    `  npx settle run --batch-day ${day}        # once more: nothing changes`,
  ].join('\n');
}
