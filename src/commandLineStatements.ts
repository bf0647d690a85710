import type { Command as Program } from 'commander';
import { wholeNumber, type Adding } from './commandLineLedger.js';

/** `settle reconcile`, `settle statement …` and `settle discrepancy …`: other people's records of the same money. */
export function addStatementCommands(program: Program, { on, examples }: Adding): void {
  const day = ['--batch-day <day>', 'batch day, YYYY-MM-DD'] as const;
  const given = <Options>(_args: string[], options: Options): object => options as object;
  on(
    examples(
      program
        .command('reconcile')
        .description('match statements, look again for what is missing, and prove the books of a day')
        .option(...day),
      'settle reconcile',
      'settle reconcile --batch-day 2026-11-29',
    ),
    async () => (await import('./commands/reconcile.js')).reconcile,
    given,
  );
  const statement = examples(
    program.command('statement').description('what channels say that they did'),
    'settle statement import statement.xml --channel bank',
    'settle statement list --channel bank',
  );
  on(
    statement
      .command('import')
      .description('read statements of a channel, each all of it or nothing; a repeat changes nothing')
      .argument('<file...>', 'files, or - for standard input')
      .requiredOption('--channel <name>', 'the channel that they are of')
      .option('--format <format>', 'their format (default: by their content)'),
    async () => (await import('./commands/statement.js')).importCommand,
    (files, options) => ({ ...(options as object), files }),
  );
  on(
    statement
      .command('list')
      .description('statements that were imported, the newest first')
      .option('--channel <name>', 'only this channel')
      .option('--limit <n>', 'at most so many (default: 100)', wholeNumber),
    async () => (await import('./commands/statement.js')).list,
    given,
  );
  addDiscrepancyCommands(program, { on, examples });
}

const decisions = {
  retry: 'have it looked for again by the next reconcile',
  resolve: 'close it: explained, or mended elsewhere',
  ignore: 'close it: it will stay',
} as const;

function addDiscrepancyCommands(program: Program, { on, examples }: Adding): void {
  const group = examples(
    program.command('discrepancy').description('what reconciliation found, and what became of it'),
    'settle discrepancy list',
    'settle discrepancy list --class MISSING_OURS --channel bank',
    'settle discrepancy resolve 17 --by alice --reason "refunded by the bank on 2 December"',
    'settle discrepancy resolve 18 --adjust --by alice --reason "charged twice, agreed with the bank"',
  );
  on(
    group
      .command('list')
      .description('discrepancies that are open, the oldest first')
      .option('--all', 'closed ones too')
      .option('--class <class>', 'only this class, such as AMOUNT')
      .option('--channel <name>', 'only this channel')
      .option('--batch-day <day>', 'only this batch day, YYYY-MM-DD')
      .option('--owner <name>', 'only those of this owner')
      .option('--limit <n>', 'at most so many (default: 1000)', wholeNumber),
    async () => (await import('./commands/discrepancy.js')).list,
    (_args, options) => options as object,
  );
  on(
    group.command('show').description('one discrepancy and all that happened to it').argument('<id>', 'its id'),
    async () => (await import('./commands/discrepancy.js')).show,
    (args) => ({ id: args[0] }),
  );
  const decided = (command: Program): Program =>
    command
      .argument('<id>', 'its id')
      .requiredOption('--by <name>', 'who decides')
      .requiredOption('--reason <text>', 'why');
  on(
    decided(group.command('assign').description('give it an owner')).requiredOption('--to <name>', 'the owner'),
    async () => (await import('./commands/discrepancy.js')).assign,
    (args, options) => ({ ...(options as object), id: args[0] }),
  );
  for (const kind of Object.keys(decisions) as (keyof typeof decisions)[]) {
    const command = decided(group.command(kind).description(decisions[kind]));
    if (kind === 'resolve') {
      command.option('--adjust', 'book what the statement says, against ADJUSTMENTS; a second person confirms it');
    }
    on(
      command,
      async () => (await import('./commands/discrepancy.js'))[kind],
      (args, options) => ({ ...(options as object), id: args[0] }),
    );
  }
}
