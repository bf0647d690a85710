import { exitCodes } from '../kernel/errors.js';
import { accountImport } from '../orders/accountsImport.js';
import { count, importFiles, type FileOutcome, type ImportKind } from '../orders/importFiles.js';
import { orderImport } from '../orders/importOrders.js';
import { printable } from '../kernel/printable.js';
import { beneficiaryImport } from '../payouts/beneficiariesImport.js';
import { feePlanImport } from '../terms/feePlansImport.js';
import { termsImport } from '../terms/termsImport.js';
import { fileChannelFault } from './payoutChannels.js';
import { withDatabase, type Command, type CommandContext } from './context.js';

interface ImportOptions {
  files: string[];
}

/** `settle import orders FILE…`: stores orders; exit code 2 when a file was refused, 3 when only rows were. */
const orders: Command<ImportOptions> = (context, { files }) =>
  importAndTell(context, files, orderImport(context.config.accounts.autoRegister), false);

/** `settle import accounts FILE…`: registers accounts and changes their states. */
const accounts: Command<ImportOptions> = (context, { files }) => importAndTell(context, files, accountImport, true);

/** `settle import fee-plans FILE…`: stores fee plans; a file is taken whole or, with exit code 2, not at all. */
const feePlans: Command<ImportOptions> = (context, { files }) => importAndTell(context, files, feePlanImport, true);

/** `settle import terms FILE…`: stores the terms of accounts, likewise. */
const terms: Command<ImportOptions> = (context, { files }) => importAndTell(context, files, termsImport, true);

/** `settle import beneficiaries FILE…`: stores where accounts are paid out to, likewise. */
const beneficiaries: Command<ImportOptions> = (context, { files }) =>
  importAndTell(context, files, beneficiaryImport(fileChannelFault(context.config)), true);

export const importCommands = { orders, accounts, 'fee-plans': feePlans, terms, beneficiaries };

/** Imports files of one kind and tells what became of each row; gives the exit code. */
export async function importAndTell<Row extends object>(
  context: CommandContext,
  files: readonly string[],
  kind: ImportKind<Row>,
  canChange: boolean,
): Promise<number> {
  const outcomes = await withDatabase(context, (database) =>
    importFiles(kind, files, {
      database,
      clock: context.clock,
      standardInput: process.stdin,
      signal: context.signal,
      say: (text) => {
        context.say(text);
      },
      onProgress: everyHalfMinute(context),
    }),
  );
  if (context.output === 'text') {
    for (const outcome of outcomes) await printOutcome(context, outcome, canChange);
    sayWhatNext(context, outcomes);
  } else {
    await context.document({
      schema: 'settle.import',
      files: outcomes.map((outcome) => outcomeDocument(outcome, canChange)),
    });
  }
  if (outcomes.some(({ refused }) => refused !== null)) return exitCodes.USAGE;
  return outcomes.some(({ rejectedCount }) => rejectedCount > 0) ? exitCodes.PARTIAL : exitCodes.OK;
}

/** For the person at the terminal; the document says it all by itself. */
function sayWhatNext(context: CommandContext, outcomes: readonly FileOutcome[]): void {
  for (const { file, refused } of outcomes.filter((outcome) => outcome.refused !== null)) {
    context.say(`settle: FILE_REFUSED: ${printable(file)}: ${refused?.code ?? ''}`);
    context.say('  next: mend the file and import it again; what is stored of it already counts as repeated');
  }
  if (outcomes.some(({ rejectedCount }) => rejectedCount > 0)) {
    context.say('Rejected rows are not stored; mend them and import the file again, the others count as repeated.');
  }
}

function outcomeDocument(outcome: FileOutcome, canChange: boolean): Record<string, unknown> {
  const { file, accepted, updated, repeated, rejected, rejectedCount, refused } = outcome;
  return {
    file,
    accepted,
    ...(canChange ? { updated } : {}),
    repeated,
    rejected,
    ...(rejectedCount > rejected.length ? { rejectedTruncated: true, rejectedCount } : {}),
    refused,
  };
}

const rejectedShown = 20;

async function printOutcome(context: CommandContext, outcome: FileOutcome, canChange: boolean): Promise<void> {
  const { accepted, updated, repeated, rejected, rejectedCount, refused } = outcome;
  const file = outcome.file === '-' ? 'standard input' : printable(outcome.file);
  const counts =
    `${count(accepted)} accepted${canChange ? ` (${count(updated)} changed)` : ''}, ` +
    `${count(repeated)} repeated, ${count(rejectedCount)} rejected`;
  if (refused === null) await context.print(`${file}: ${counts}`);
  else {
    const stored = accepted === 0 ? 'nothing of it is stored' : counts;
    await context.print(`${file}: refused, ${stored}: ${refused.code}: ${refused.message}`);
  }
  for (const { line, code, message } of rejected.slice(0, rejectedShown)) {
    await context.print(`  line ${String(line)}: ${code}: ${message}`);
  }
  const more = rejectedCount - rejectedShown;
  if (more > 0) await context.print(`  ... and ${count(more)} more; --json lists them`);
}

function everyHalfMinute(context: CommandContext): (file: string, rows: number) => void {
  const started = context.clock.now().getTime();
  let told = started;
  return (file, rows) => {
    const now = context.clock.now().getTime();
    if (context.progress === 'none' || now - told < 30_000) return;
    told = now;
    context.say(`${file}: ${count(rows)} rows after ${String(Math.round((now - started) / 1_000))} s`);
  };
}
