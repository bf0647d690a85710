import type { Command as Program } from 'commander';
import { wholeNumber, type Adding } from './commandLineLedger.js';

/** What has to do with a table of orders that is not ours. */
export function addSourceCommands(program: Program, { on, examples }: Adding): void {
  const source = examples(
    program.command('source').description('the table of orders that the settings name (docs/own-tables.md)'),
    'settle source check',
    'settle source check --days 3 --json',
  );
  on(
    source
      .command('check')
      .description('what fits and what does not: columns, indexes, values, plans, rights; changes nothing')
      .option('--days <n>', 'look at the rows of so many days (default: as many as a run looks back)', wholeNumber),
    async () => (await import('./commands/source.js')).sourceCommands.check,
    (_args: string[], given: { days?: number }) => given,
  );
}
